"""The prior shares of the joint calibration, estimated from studies by their evidence, for `joint_validity`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from goldbench.measures.statistics import joint_calibration
from goldbench.measures.statistics.joint_calibration import Direct

Floats = npt.NDArray[np.float64]
_ROUNDS = 200
_BELIEFS = (*joint_calibration._INFORMED, joint_calibration._IGNORANT)


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior probabilities: of a good judge, a poor one and one that knows nothing; and that it favours one system."""

    shares: tuple[float, ...]
    favoured: float

    def __str__(self) -> str:
        return f"{', '.join(f'{share:.2f}' for share in self.shares)}; favoured {self.favoured:.2f}"


SHIPPED = Prior(tuple(belief.share for belief in _BELIEFS), joint_calibration._FAVOURED)


@contextmanager
def used(prior: Prior) -> Iterator[None]:
    """Make `joint_estimate` use a prior inside the ``with``."""
    *informed, ignorant = (replace(one, share=share) for one, share in zip(_BELIEFS, prior.shares, strict=True))
    with patch.multiple(joint_calibration, _INFORMED=tuple(informed), _IGNORANT=ignorant, _FAVOURED=prior.favoured):
        yield


def evidence(human: Floats, judge: Floats, others: Floats) -> Floats:
    """Return the log evidence of each belief without and with a favoured system, shape (3, 2), up to a constant."""
    systems, judged = human.shape
    everywhere = np.concatenate([judge, others], axis=1)
    axes = joint_calibration._axes(systems)
    direct = Direct.of(axes @ human, axes @ judge, axes @ everywhere, 1 - judged / everywhere.shape[1])
    slopes, shares, priors = joint_calibration._priors(direct, axes)
    apart = direct.estimates[:-1] - slopes[:, None] * direct.judge
    found = np.log(shares) + joint_calibration._evidence(apart, priors, direct)
    by_kind = found.reshape(len(_BELIEFS), -1, systems + 1)
    both = np.stack([logsumexp(by_kind[..., 0], axis=1), logsumexp(by_kind[..., 1:], axis=(1, 2))], axis=1)
    return np.asarray(both - np.log(_chances(SHIPPED)))


def _chances(prior: Prior) -> Floats:
    return np.outer(prior.shares, [1 - prior.favoured, prior.favoured])


def estimated(studies: Iterable[Floats]) -> Prior:
    """Return the prior under which the studies are most likely (expectation and maximization).

    Args:
        studies: What `evidence` returned for each of them.
    """
    table, prior = np.stack(list(studies)), SHIPPED
    for _ in range(_ROUNDS):
        weights = table + np.log(_chances(prior))
        chances = np.exp(weights - logsumexp(weights, axis=(1, 2), keepdims=True)).mean(axis=0)
        shares = np.maximum(chances.sum(axis=1), 1e-6)
        prior = Prior(
            tuple(float(share) for share in shares / shares.sum()), float(np.clip(chances[:, 1].sum(), 0.01, 0.99))
        )
    return prior


def left_out(groups: dict[str, list[Floats]]) -> dict[str, Prior]:
    """Return for each group of studies the prior that the other groups speak for."""
    return {
        name: estimated(study for other, studies in groups.items() if other != name for study in studies)
        for name in groups
    }
