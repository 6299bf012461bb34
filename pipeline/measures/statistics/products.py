"""Products of matrices without the false alarms of some processors."""

from __future__ import annotations

import numpy as np


def of_finite_numbers() -> np.errstate:
    """Return a context in which a product of matrices of finite numbers warns of nothing.

    Vectorised kernels of OpenBLAS compute on padding they then drop, and on some processors what the padding held
    raises a floating-point flag, now and then, for a product that is right. Only for numbers known to be finite and
    far from the limits of their type.
    """
    return np.errstate(divide="ignore", over="ignore", invalid="ignore")
