"""Differences between systems and the mean of all, estimated from judged queries alone, and how wrong they may be.

Systems are turned into axes: orthogonal contrasts, and last the common direction. Each judged query gives a value on
every axis; the model's values on all queries serve as a covariate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats

TINY = 1e-20
"""A variance below which values count as equal."""
_INFORMED = 0.5
"""Slope of people's values on an informed model's, between queries; its spread over models is as large."""
_MOST = 6.0
"""Largest log of a Bayes factor that is believed, about 400 to 1."""


@dataclass(frozen=True, slots=True)
class Direct:
    """Estimates on the axes from the judged queries.

    ``covariance``, shape (K, K), is that of the estimates around the values of exactly these queries, ``spread`` that
    of people's values over queries. ``variance`` is the pooled one of a contrast, ``freedom`` its degrees of freedom.
    ``judge_variance`` is that of the model's values over queries, mean of all contrasts.
    ``informed`` is the log of the Bayes factor of a model that knows which system does better on a query, against one
    that does not.
    """

    estimates: Floats
    judge: Floats
    human: Floats
    covariance: Floats
    spread: Floats
    variance: float
    freedom: float
    informed: float
    judge_variance: float

    @classmethod
    def of(cls, human: Floats, judge: Floats, all_judge: Floats, unseen: float) -> Direct:
        """Return the estimates, with one slope for all contrasts and one for the mean of all systems.

        Args:
            human: People's values on the axes, shape (K, m).
            judge: The model's values of the same queries, same shape.
            all_judge: The model's values of all queries, shape (K, N).
            unseen: Share of the queries that people did not judge, 0 to 1.
        """
        axes, judged = human.shape
        slopes = np.empty((axes, 1))
        slopes[:-1] = _slope(human[:-1], judge[:-1])
        slopes[-1] = _slope(human[-1:], judge[-1:])
        rest = human - slopes * judge
        everywhere = all_judge.mean(axis=1)
        covariance = _shrunk(rest) * (unseen / judged)
        wider = np.array([_widening(judge[:-1], all_judge[:-1])] * (axes - 1) + [_widening(judge[-1:], all_judge[-1:])])
        wider[-1] *= (judged - 1) / max(1, judged - 2)
        covariance *= np.sqrt(np.outer(wider, wider))
        return cls(
            estimates=rest.mean(axis=1) + slopes[:, 0] * everywhere,
            judge=everywhere[:-1],
            human=human[:-1].mean(axis=1),
            covariance=covariance,
            spread=_shrunk(human),
            variance=float(np.trace(covariance[:-1, :-1])) / (axes - 1),
            freedom=deviation_freedom(rest[:-1]),
            informed=_informed(human[:-1], judge[:-1]),
            judge_variance=float(all_judge[:-1].var(axis=1).mean()),
        )


def _slope(human: Floats, judge: Floats) -> float:
    """Return the slope of people's values on the model's within axes, pooled over axes, held within 0 and 1."""
    human, judge = human - human.mean(axis=1, keepdims=True), judge - judge.mean(axis=1, keepdims=True)
    squares = float((judge * judge).sum())
    return min(max(float((human * judge).sum()) / squares, 0.0), 1.0) if squares > TINY else 0.0


def _widening(judge: Floats, all_judge: Floats) -> float:
    """Return the factor on the variance for the error of the slope: judged queries may differ from all queries."""
    squares = float(((judge - judge.mean(axis=1, keepdims=True)) ** 2).sum())
    apart = float(((judge.mean(axis=1) - all_judge.mean(axis=1)) ** 2).sum())
    return 1 + judge.shape[1] * apart / squares if squares > TINY else 1.0


def deviation_freedom(rest: Floats) -> float:
    """Return the degrees of freedom of the variance of a contrast.

    Its own part has one less than queries. The pooled part has those of a chi-square with the same mean and variance
    as the squares of the queries, which few queries may dominate (Satterthwaite's approximation).

    Args:
        rest: Residuals by contrast and query, shape (K - 1, queries), 2 queries or more.
    """
    axes, judged = rest.shape
    squares = ((rest - rest.mean(axis=1, keepdims=True)) ** 2).mean(axis=0)
    pooled = (judged - 1.0) * axes
    if (unequal := float(squares.var(ddof=1))) > TINY**2:
        pooled = min(pooled, max(2 * judged * float(squares.mean()) ** 2 / unequal, judged - 2.0))
    own = (1 - _drawn(axes + 1, judged)) ** 2
    return float(1 / (own / (judged - 1) + (1 - own) / max(pooled, 1.0)))


def _drawn(axes: int, queries: int) -> float:
    """Return how far covariances are drawn towards equal variances, 0 to 1."""
    return (axes - 1) / (axes - 1 + (queries - 1) / 2)


def _informed(human: Floats, judge: Floats) -> float:
    """Return the log of the Bayes factor of a model that knows which system does better on a query.

    It compares Student densities of the slope within axes: around 0 with its standard error, which holds for any
    correlation within a query, and around ``_INFORMED`` with the spread of slopes on top.
    """
    human, judge = human - human.mean(axis=1, keepdims=True), judge - judge.mean(axis=1, keepdims=True)
    squares = float((judge * judge).sum())
    if squares <= TINY:
        return -_MOST
    queries = human.shape[1]
    slope = float((human * judge).sum()) / squares
    errors = ((human - slope * judge) * judge).sum(axis=0)
    error = float((errors * errors).sum()) / squares**2 * queries / max(1, queries - 2)
    if error <= TINY:
        return _MOST if slope > 0 else -_MOST
    freedom = max(1, queries - 2)
    wide = error + _INFORMED**2
    nothing, something = (
        np.log1p(apart**2 / freedom / of) for apart, of in ((slope, error), (slope - _INFORMED, wide))
    )
    told = ((freedom + 1) * (nothing - something) - np.log(wide / error)) / 2
    return float(np.clip(told, -_MOST, _MOST))


def _shrunk(values: Floats) -> Floats:
    """Return the covariance of axes over queries, drawn towards one variance for contrasts and one for the mean.

    Args:
        values: Shape (K, m), the mean of all systems last.
    """
    found = np.atleast_2d(np.cov(values))
    target = np.full(len(values), np.trace(found[:-1, :-1]) / (len(values) - 1))
    target[-1] = found[-1, -1]
    share = _drawn(*values.shape)
    return np.asarray((1 - share) * found + np.diag(share * target))
