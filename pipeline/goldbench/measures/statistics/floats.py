"""Arrays of floating-point numbers: their type, and products without false alarms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def of_finite_numbers() -> np.errstate:
    """Return a context in which a product of matrices of finite numbers raises no warning.

    Vectorised kernels of OpenBLAS compute on padding that they then drop, and on some processors the content of the
    padding raises a floating-point flag for a product that is right. Only for numbers known to be finite and far from
    the limits of their type.
    """
    return np.errstate(divide="ignore", over="ignore", invalid="ignore")
