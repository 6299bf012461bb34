"""The means of several systems under people's judgments, from few queries by people and many judged by a model.

A model that judges too kindly or too strictly mostly does so for all systems alike. So its error is estimated for all
systems together, and a deviation of one system is believed as far as the judged queries speak for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from goldbench.measures.statistics.floats import Floats, of_finite_numbers
from goldbench.measures.statistics.ppi import LEAST
from goldbench.measures.statistics.resamples import NormalDraws, root_of

TINY = 1e-20
"""A variance below which values count as equal."""
_USUAL_SLOPE = 0.5
"""Slope of people's values on an informed model's, between queries; its spread over models is as large."""
_MOST_EVIDENCE = 6.0
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
            informed=_log_bayes_factor(human[:-1], judge[:-1]),
            judge_variance=float(all_judge[:-1].var(axis=1).mean()),
        )


def _slope(human: Floats, judge: Floats) -> float:
    """Return the slope of people's values on the model's within axes, pooled over axes, held within 0 and 1."""
    human = human - human.mean(axis=1, keepdims=True)
    judge = judge - judge.mean(axis=1, keepdims=True)
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


def _log_bayes_factor(human: Floats, judge: Floats) -> float:
    """Return the log of the Bayes factor of a model that knows which system does better on a query.

    It compares Student densities of the slope within axes: around 0 with its standard error, which holds for any
    correlation within a query, and around ``_USUAL_SLOPE`` with the spread of slopes on top.
    """
    human = human - human.mean(axis=1, keepdims=True)
    judge = judge - judge.mean(axis=1, keepdims=True)
    squares = float((judge * judge).sum())
    if squares <= TINY:
        return -_MOST_EVIDENCE
    queries = human.shape[1]
    slope = float((human * judge).sum()) / squares
    errors = ((human - slope * judge) * judge).sum(axis=0)
    error = float((errors * errors).sum()) / squares**2 * queries / max(1, queries - 2)
    if error <= TINY:
        return _MOST_EVIDENCE if slope > 0 else -_MOST_EVIDENCE
    freedom = max(1, queries - 2)
    wide = error + _USUAL_SLOPE**2
    nothing, something = (
        np.log1p(apart**2 / freedom / of) for apart, of in ((slope, error), (slope - _USUAL_SLOPE, wide))
    )
    log_factor = ((freedom + 1) * (nothing - something) - np.log(wide / error)) / 2
    return float(np.clip(log_factor, -_MOST_EVIDENCE, _MOST_EVIDENCE))


def _shrunk(values: Floats) -> Floats:
    """Return the covariance of axes over queries, drawn towards one variance for contrasts and one for the mean.

    Args:
        values: Shape (K, m), the mean of all systems last.
    """
    covariance = np.atleast_2d(np.cov(values))
    target = np.full(len(values), np.trace(covariance[:-1, :-1]) / (len(values) - 1))
    target[-1] = covariance[-1, -1]
    share = _drawn(*values.shape)
    return np.asarray((1 - share) * covariance + np.diag(share * target))


CONFIDENCE = 0.95
DRAWS = 4_000
"""Draws from the posterior distribution; the error of a 95 % limit is about 2 % of its distance."""

_FAVOURED = 0.4
_FAR = 1.0
"""Prior probability that one system has a bias of its own, and its spread as a multiple of the model's differences."""
_USUAL_CONTRASTS = 2.0
_USUAL_SHARE = 0.25
"""The mean square of the model's differences is drawn towards this share of their variance over queries, as if this
number of contrasts had shown it."""
_EQUAL = 1e-6
"""Relative difference up to which means count as equal; systems with equal means share a probability."""
_STEPS = 9
"""Points of the half-Cauchy distribution of a scale."""


@dataclass(frozen=True, slots=True)
class _Belief:
    """What may be true of the model's differences between systems.

    People's differences are the model's times ``slope`` (normal, with a standard deviation of ``slope_sd``), plus
    biases with a half-Cauchy scale of ``spread`` times the differences.
    """

    share: float
    slope: float
    slope_sd: float
    spread: float


_INFORMED = (_Belief(0.45, slope=1.0, slope_sd=0.05, spread=0.08), _Belief(0.2, slope=1.0, slope_sd=0.25, spread=0.3))
"""A good judge and a poor one.

On TREC Deep Learning 2023 people's differences of runs have a slope of 0.99 on those under GPT-4's labels, and the
standard deviation of the biases is 0.11 of that of the differences (``python -m tests.benchmarks.joint_validity``).
"""
_IGNORANT = _Belief(0.35, slope=0.0, slope_sd=0.3, spread=1.0)
"""A model that knows nothing of the systems: the judged queries alone decide, and no difference is shrunk."""


@dataclass(frozen=True)
class Joint:
    """The means of K systems under people's judgments.

    ``means`` has shape (K,). ``draws``, shape (``DRAWS``, K), are drawn from the distribution of the means over all
    queries like these, ``set_draws`` from that of the means over exactly these queries. ``raw`` are the model's means
    over all queries. ``shared`` is the share of the model's error, 0 to 1, that counts as common to all systems: near 0
    each system is corrected by its own judged queries alone.
    """

    means: Floats
    draws: Floats
    set_draws: Floats
    raw: Floats
    shared: float

    @cached_property
    def best(self) -> Floats:
        """The probability of each system to have the highest mean over all queries like these; they add up to 1."""
        highest = self.draws.max(axis=1, keepdims=True)
        first = self.draws >= highest - _EQUAL * np.abs(highest)
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def means_limits(self) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of all means, shape (K,) each, which hold together with 95 %."""
        return _together(self.means, self.draws)

    def differences(self) -> list[tuple[int, int]]:
        """Return the pairs of systems in the order of `differences_limits`."""
        return list(combinations(range(len(self.means)), 2))

    def differences_limits(self) -> tuple[Floats, Floats]:
        """Return the limits of the differences of all pairs, first minus second, which hold together with 95 %."""
        first, second = np.triu_indices(len(self.means), 1)
        return _together(self.means[first] - self.means[second], self.draws[:, first] - self.draws[:, second])

    def favours(self) -> tuple[Floats, Floats, Floats]:
        """Return by how much the model favours each system over the average one, and limits that hold together."""
        bias = self.raw - self.means
        drawn = self.raw - self.set_draws
        bias = bias - bias.mean()
        drawn = drawn - drawn.mean(axis=1, keepdims=True)
        return bias, *_together(bias, drawn)


def joint_estimate(human: Floats, judge: Floats, others: Floats, *, seed: int = 0) -> Joint:
    """Return the means of systems under people's judgments, from all systems and queries together.

    The differences of systems (orthogonal contrasts) are first estimated from the judged queries, with the model's
    values as a covariate. The prior of the true differences is a mixture: they follow the model's with a slope near 1
    and small biases; with an uncertain slope and larger biases; or they have nothing to do with the model's, and the
    estimates from the judged queries stand. In each case one system may have a far larger bias of its own. The cases
    are weighed by the estimates, and by whether the model knows which system does better on a query. The mean of all
    systems is estimated from the judged queries alone, with the model's values as a covariate.

    Args:
        human: Values under people's judgments, shape (K, m): K systems, 2 or more, m judged queries, 3 or more; finite.
        judge: Values of the same systems and queries under the model's judgments, same shape.
        others: Values of the other queries under the model's judgments, shape (K, N - m), which may be empty.
        seed: Of the draws, not negative.

    Raises:
        ValueError: Fewer than 2 systems or 3 queries, shapes that do not fit, or a value that is not finite.

    Source: for the covariate Angelopoulos, Duchi and Zrnic, PPI++ (2023); for shrinking the corrections of many means
        Li and Ignatiadis, Prediction-powered adaptive shrinkage estimation (2025).
    """
    human, judge, others = (np.asarray(values, np.float64) for values in (human, judge, others))
    systems, judged = human.shape
    fits = judge.shape == human.shape and others.shape[:1] == (systems,)
    if systems < 2 or judged < LEAST or not fits or not all(np.isfinite(v).all() for v in (human, judge, others)):
        raise ValueError(f"takes 2 systems and {LEAST} queries or more with values under both labels, all finite")
    with of_finite_numbers():
        return _estimated(human, judge, np.concatenate([judge, others], axis=1), seed)


def _estimated(human: Floats, judge: Floats, all_judge: Floats, seed: int) -> Joint:
    systems, judged = human.shape
    queries = all_judge.shape[1]
    unseen = 1 - judged / queries
    axes = _axes(systems)
    direct = Direct.of(axes @ human, axes @ judge, axes @ all_judge, unseen)
    cases = _Cases.of(direct, axes)
    normal = NormalDraws(seed, DRAWS)
    scales = np.column_stack([_scales(normal, direct.freedom)] * (systems - 1) + [_scales(normal, max(1, judged - 2))])
    errors = scales * normal.vectors(direct.covariance)
    contrasts, means = cases.draws(errors[:, :-1], normal)
    level = direct.estimates[-1]
    within = np.column_stack([contrasts, level + errors[:, -1]])
    beyond = within + scales * normal.vectors(direct.spread / queries)
    return Joint(
        means=np.append(means, level) @ axes,
        draws=beyond @ axes,
        set_draws=within @ axes,
        raw=all_judge.mean(axis=1),
        shared=cases.shared,
    )


def _scales(normal: NormalDraws, freedom: float) -> Floats:
    """Return draws of the true standard deviation, as a multiple of an estimate with these degrees of freedom."""
    return np.asarray(np.sqrt(freedom / normal.chi_square(freedom)))


def _axes(systems: int) -> Floats:
    """Return orthogonal contrasts of systems, with the common direction as the last row; shape (K, K)."""
    from scipy.linalg import helmert

    return np.roll(helmert(systems, full=True), -1, axis=0)


@dataclass(frozen=True, slots=True)
class _Cases:
    """The posterior of the contrasts: a mixture of normal distributions, C cases of K - 1 contrasts.

    ``gains``, shape (C, K - 1, K - 1), say how much of a deviation from what the model tells is believed.
    """

    weights: Floats
    means: Floats
    gains: Floats
    priors: Floats

    @classmethod
    def of(cls, direct: Direct, axes: Floats) -> _Cases:
        """Return the cases, weighed by the evidence; a single one if the direct estimates are certain."""
        size = len(axes) - 1
        if direct.variance <= TINY:
            believed = 0.0 if np.allclose(direct.estimates[:-1], direct.judge, rtol=0, atol=TINY**0.5) else 1.0
            cases = direct.estimates[None, :-1], believed * np.eye(size)[None], np.zeros((1, size, size))
            return cls(np.ones(1), *cases)
        slopes, shares, priors = _priors(direct, axes)
        expected = slopes[:, None] * direct.judge
        apart = direct.estimates[:-1] - expected
        evidence = np.log(shares) + _evidence(apart, priors, direct)
        weights = np.exp(evidence - evidence.max())
        gains = np.linalg.solve(priors + direct.covariance[:-1, :-1], priors).transpose(0, 2, 1)
        gains[-len(priors) // (len(_INFORMED) + 1) :] = np.eye(size)
        means = expected + np.einsum("cij,cj->ci", gains, apart)
        return cls(weights / weights.sum(), means, np.asarray(gains, np.float64), priors)

    @property
    def shared(self) -> float:
        return float(1 - self.weights @ np.trace(self.gains, axis1=1, axis2=2) / self.gains.shape[-1])

    def draws(self, errors: Floats, normal: NormalDraws) -> tuple[Floats, Floats]:
        """Return draws of the contrasts, shape (draws, K - 1), and their means, shape (K - 1,).

        Args:
            errors: Errors of the direct estimates, drawn.
            normal: Where further draws come from.
        """
        size = self.gains.shape[-1]
        picked = np.searchsorted(np.cumsum(self.weights)[:-1], normal.uniform())
        free = normal.vectors(np.eye(size))
        drawn = np.empty((len(errors), size))
        for case in np.unique(picked):
            at = np.flatnonzero(picked == case)
            held = np.eye(size) - self.gains[case]
            own = free[at] @ root_of(self.priors[case]) @ held.T
            drawn[at] = self.means[case] + errors[at] @ self.gains[case].T + own
        return drawn, self.weights @ self.means


def _evidence(apart: Floats, priors: Floats, direct: Direct) -> Floats:
    """Return the log density of the direct estimates in each case, shape (C,), up to a constant.

    The contrasts count as equally uncertain and uncorrelated. Their estimated covariance has too many entries for the
    judged queries: weighed by its inverse, the estimates look closer to the model than they are, and biases are missed.

    Args:
        apart: Direct estimates less what the model tells, shape (C, K - 1).
        priors: Covariance of the true contrasts, shape (C, K - 1, K - 1).
        direct: The direct estimates.
    """
    size = apart.shape[1]
    together = priors + direct.variance * np.eye(size)
    solved = np.linalg.solve(together, apart[..., None])[..., 0]
    far = np.log1p((apart * solved).sum(axis=1) / direct.freedom)
    return np.asarray(-(np.linalg.slogdet(together)[1] + (direct.freedom + size) * far) / 2)


def _priors(direct: Direct, axes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the slope, the prior probability and the covariance of the contrasts in each case, an ignorant model last.

    Probabilities need not add up to 1: those of an informed model are multiplied by their Bayes factor over queries.
    """
    contrasts = axes[:-1]
    size = len(contrasts)
    unit = np.eye(size)
    least = direct.variance / 4
    information = max(_told(direct), least)
    seen = max(float((direct.human**2).mean()) - direct.variance, least)
    quantiles = np.tan((np.arange(_STEPS) + 0.5) / _STEPS * np.pi / 2)
    alone = _FAR**2 * information * np.einsum("ik,jk->kij", contrasts, contrasts)
    kinds = np.concatenate([np.zeros((1, size, size)), alone])
    chances = np.array([1 - _FAVOURED] + [_FAVOURED / len(alone)] * len(alone))
    slopes = []
    shares = []
    priors = []
    for belief, squares, factor in (
        *((informed, information, np.exp(direct.informed)) for informed in _INFORMED),
        (_IGNORANT, seen, 1.0),
    ):
        by_slope = belief.slope_sd**2 * np.outer(direct.judge, direct.judge)
        for scale in belief.spread**2 * squares * quantiles**2:
            priors.append(kinds + by_slope + scale * unit)
            shares.append(chances * belief.share / _STEPS * factor)
            slopes.append(np.full(len(kinds), belief.slope))
    return np.concatenate(slopes), np.concatenate(shares), np.concatenate(priors)


def _told(direct: Direct) -> float:
    """Return the mean square of the model's differences, drawn towards what is usual for their spread over queries.

    Few systems may be close by chance. That does not make the model's biases small.
    """
    squares = float((direct.judge**2).sum())
    return (squares + _USUAL_CONTRASTS * _USUAL_SHARE * direct.judge_variance) / (len(direct.judge) + _USUAL_CONTRASTS)


def _together(centre: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """Return limits of figures that hold for all of them together.

    Each figure's own limits are widened by the same factor on both sides. They need not have its mean in the middle: a
    system that the model may favour has a long tail on one side only.

    Args:
        centre: The figures, shape (F,), which the limits hold in any case.
        draws: Shape (draws, F).
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    middle = (high + low) / 2
    half = (high - low) / 2
    apart = np.abs(draws - middle) / np.where(half > 0, half, 1.0)
    reach = np.quantile(apart.max(axis=1), CONFIDENCE) * half
    return np.minimum(middle - reach, centre), np.maximum(middle + reach, centre)
