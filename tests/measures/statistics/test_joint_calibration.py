"""Means of systems corrected together: closed forms, symmetry, and simulations that know the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from goldbench.measures.statistics.joint_calibration import Direct, Joint, _evidence, _together, joint_estimate

Floats = npt.NDArray[np.float64]


def study(
    draw: np.random.Generator, *, systems: int = 5, judged: int = 20, others: int = 180, follows: float = 1.0
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return people's and the model's values of judged queries, the model's of others, and the true means.

    Args:
        draw: The source of numbers.
        systems: How many.
        judged: Queries that people judged.
        others: Queries that the model judged alone.
        follows: How far the model's values follow people's; the rest is noise.
    """
    level, hardness = draw.normal(0.5, 0.1, (systems, 1)), draw.normal(0, 0.2, judged + others)
    people = level + hardness + draw.normal(0, 0.1, (systems, judged + others))
    noise = draw.normal(0.5, 0.2, people.shape)
    model = follows * people + (1 - follows) * noise + 0.2 + draw.normal(0, 0.1, people.shape)
    return people[:, :judged], model[:, :judged], model[:, judged:], people.mean(axis=1)


def error(means: Floats, truth: Floats) -> float:
    apart = (means - means.mean()) - (truth - truth.mean())
    return float((apart**2).mean())


def test_an_error_that_is_the_same_everywhere_is_taken_away_as_a_whole() -> None:
    draw = np.random.default_rng(1)
    judge = draw.random((4, 60))
    found = joint_estimate(judge[:, :10] - 0.2, judge[:, :10], judge[:, 10:])
    assert found.means == pytest.approx(judge.mean(axis=1) - 0.2)
    assert found.favours()[0] == pytest.approx(np.zeros(4), abs=1e-12)


def test_if_people_judged_every_query_their_means_stand() -> None:
    human, judge, _, _ = study(np.random.default_rng(2))
    found = joint_estimate(human, judge, judge[:, :0])
    assert found.means == pytest.approx(human.mean(axis=1))
    low, high = found.means_limits(these=True)
    assert low == pytest.approx(high)
    low, high = found.means_limits()
    assert (low < found.means).all()
    assert (found.means < high).all()


def test_systems_in_another_order_have_the_same_means() -> None:
    human, judge, others, _ = study(np.random.default_rng(3))
    order = [3, 0, 4, 1, 2]
    found, turned = joint_estimate(human, judge, others), joint_estimate(human[order], judge[order], others[order])
    assert turned.means == pytest.approx(found.means[order], abs=1e-9)
    assert turned.best == pytest.approx(found.best[order], abs=0.05)


def test_the_same_seed_gives_the_same_draws_and_the_probabilities_add_up() -> None:
    parts = study(np.random.default_rng(4))[:3]
    one, again, other = (joint_estimate(*parts, seed=seed) for seed in (1, 1, 2))
    assert one.draws.tobytes() == again.draws.tobytes()
    assert one.draws.tobytes() != other.draws.tobytes()
    assert one.best.sum() == pytest.approx(1)


def test_a_system_that_the_model_favours_is_named_and_corrected() -> None:
    human, judge, others, truth = study(np.random.default_rng(5), judged=60)
    judge[2] += 0.2
    others[2] += 0.2
    found = joint_estimate(human, judge, others)
    bias, low, high = found.favours()
    assert low[2] > 0
    assert low[2] < 0.2 * 4 / 5 < high[2]
    assert [place for place in range(5) if low[place] > 0] == [2]
    assert abs(bias[2] - 0.16) < 0.05
    assert error(found.means, truth) < error(found.raw, truth) / 10


def mean_error(times: int, **options: float) -> tuple[float, float, float]:
    """Return the mean squared errors of differences by people alone, the model alone, and both together."""
    errors = []
    for number in range(times):
        human, judge, others, truth = study(np.random.default_rng([7, number]), **options)  # type: ignore[arg-type]
        joint = joint_estimate(human, judge, others)
        errors.append((error(human.mean(axis=1), truth), error(joint.raw, truth), error(joint.means, truth)))
    people, model, both = np.mean(errors, axis=0)
    return float(people), float(model), float(both)


def test_a_good_model_cuts_the_error_and_a_useless_one_is_given_up() -> None:
    people, _, both = mean_error(60)
    assert both < people / 2
    people, model, both = mean_error(60, follows=0.0)
    assert both < 1.06 * people < model


def test_a_model_that_knows_nothing_is_given_up_and_people_decide_system_by_system() -> None:
    shares = [joint_estimate(*study(np.random.default_rng([8, n]), follows=0.0)[:3]).shared for n in range(20)]
    assert np.median(shares) < 0.1
    shares = [joint_estimate(*study(np.random.default_rng([8, n]))[:3]).shared for n in range(20)]
    assert np.median(shares) > 0.6


@pytest.mark.parametrize("factor", [1e-3, 40.0])
def test_values_on_another_scale_have_means_and_limits_on_that_scale(factor: float) -> None:
    parts = study(np.random.default_rng(12))[:3]
    one, scaled = joint_estimate(*parts), joint_estimate(*(factor * part - 7 for part in parts))
    assert scaled.means == pytest.approx(factor * one.means - 7)
    assert np.array(scaled.differences_limits()) == pytest.approx(factor * np.array(one.differences_limits()))
    assert scaled.shared == pytest.approx(one.shared)


def test_a_model_that_scores_all_systems_alike_does_not_make_people_call_them_equal() -> None:
    human, judge, others, truth = study(np.random.default_rng(13), judged=60)
    judge, others = (np.repeat(part[:1], 5, axis=0) for part in (judge, others))
    found = joint_estimate(human, judge, others)
    assert found.shared < 0.1
    assert found.means - found.means.mean() == pytest.approx(human.mean(axis=1) - human.mean())
    assert error(found.means, truth) < truth.var() / 4


def test_equal_systems_stay_equal() -> None:
    human, judge, others = (np.repeat(part[:1], 4, axis=0) for part in study(np.random.default_rng(14))[:3])
    found = joint_estimate(human, judge, others)
    assert np.ptp(found.means) == pytest.approx(0, abs=1e-12)
    assert found.best == pytest.approx(np.full(4, 0.25))
    assert found.shared == 1


@pytest.mark.parametrize(("systems", "judged", "others"), [(2, 3, 0), (2, 3, 40), (35, 3, 40), (35, 40, 300)])
def test_any_number_of_systems_and_queries_gives_finite_limits(systems: int, judged: int, others: int) -> None:
    found = joint_estimate(*study(np.random.default_rng(15), systems=systems, judged=judged, others=others)[:3])
    for low, high in (found.means_limits(), found.differences_limits(), found.differences_limits(these=True)):
        assert np.isfinite(low).all()
        assert (low <= high).all()


@pytest.mark.slow
@pytest.mark.parametrize("these", [False, True])
@pytest.mark.parametrize(("follows", "favoured"), [(1.0, 0.0), (0.0, 0.0), (1.0, 0.2)])
def test_limits_hold_together_about_as_often_as_stated(follows: float, favoured: float, these: bool) -> None:
    held: list[tuple[bool, bool]] = []
    for number in range(200):
        draw = np.random.default_rng([11, number])
        human, judge, others, truth = study(draw, follows=follows)
        judge[0] += favoured
        others[0] += favoured
        found = joint_estimate(human, judge, others, seed=number)
        one, other = map(list, zip(*found.differences(), strict=True))
        inside = [
            within(found.means_limits(these=these), truth),
            within(found.differences_limits(these=these), truth[one] - truth[other]),
        ]
        held.append((inside[0], inside[1]))
    for share in np.mean(held, axis=0):
        assert share >= 0.92


def test_cases_are_weighed_by_student_densities_of_uncorrelated_contrasts() -> None:
    draw = np.random.default_rng(16)
    direct = Direct.of(*(draw.normal(0, 1, (5, count)) for count in (12, 12, 60)), unseen=0.8)
    roots, apart = draw.normal(0, 1, (3, 4, 4)), draw.normal(0, 1, (3, 4))
    priors = roots @ roots.transpose(0, 2, 1)
    theirs = [
        stats.multivariate_t(shape=prior + direct.variance * np.eye(4), df=direct.freedom).logpdf(one)
        for prior, one in zip(priors, apart, strict=True)
    ]
    ours = _evidence(apart, priors, direct)
    assert ours - ours[0] == pytest.approx(np.array(theirs) - theirs[0])


def test_two_systems_that_the_model_scores_alike_may_still_be_judged_with_a_bias() -> None:
    human, judge, others, _ = study(np.random.default_rng(17), systems=2, judged=10)
    human[1], judge[1], others[1] = (rows[1] - rows[1].mean() + rows[0].mean() for rows in (human, judge, others))
    low, high = joint_estimate(human, judge, others).differences_limits()
    alone = stats.sem(human[0] - human[1])
    assert high[0] - low[0] > alone


def test_limits_follow_a_long_tail_and_hold_together_as_often_as_stated() -> None:
    draws = np.random.default_rng(18).exponential(1, (4000, 3))
    low, high = _together(draws.mean(axis=0), draws)
    assert ((low <= draws) & (draws <= high)).all(axis=1).mean() == pytest.approx(0.95, abs=1e-3)
    assert (high - draws.mean(axis=0) > 2 * (draws.mean(axis=0) - low)).all()


def within(limits: tuple[Floats, Floats], truth: Floats) -> bool:
    low, high = limits
    return bool(((low <= truth) & (truth <= high)).all())


def test_constant_values_give_no_width() -> None:
    found: Joint = joint_estimate(np.full((2, 3), 0.5), np.full((2, 3), 0.7), np.full((2, 5), 0.7))
    assert found.means == pytest.approx([0.5, 0.5])
    low, high = found.differences_limits()
    assert high - low == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "shapes",
    [((1, 5), (1, 5), (1, 9)), ((3, 2), (3, 2), (3, 9)), ((3, 5), (3, 4), (3, 9)), ((3, 5), (3, 5), (2, 9))],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="takes 2 systems and 3 queries or more"):
        joint_estimate(*(np.ones(shape) for shape in shapes))


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        joint_estimate(np.full((2, 3), np.nan), np.ones((2, 3)), np.ones((2, 4)))
