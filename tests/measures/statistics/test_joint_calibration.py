"""Means of systems corrected together: closed forms, symmetry, and simulations that know the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from goldbench.measures.statistics.joint_calibration import joint_estimate

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


def within(limits: tuple[Floats, Floats], truth: Floats) -> bool:
    low, high = limits
    return bool(((low <= truth) & (truth <= high)).all())


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
    low, high = found.means_limits()
    assert (low < found.means).all()
    assert (found.means < high).all()


def test_a_system_that_the_model_favours_is_named_and_corrected() -> None:
    human, judge, others, truth = study(np.random.default_rng(5), judged=60)
    judge[2] += 0.2
    others[2] += 0.2
    found = joint_estimate(human, judge, others)
    bias, low, high = found.favours()
    assert low[2] > 0
    assert low[2] < 0.2 * 4 / 5 < high[2]
    assert [number for number in range(5) if low[number] > 0] == [2]
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


def test_a_model_that_scores_all_systems_alike_does_not_make_people_call_them_equal() -> None:
    human, judge, others, truth = study(np.random.default_rng(13), judged=60)
    judge, others = (np.repeat(part[:1], 5, axis=0) for part in (judge, others))
    found = joint_estimate(human, judge, others)
    assert found.shared < 0.1
    assert found.means - found.means.mean() == pytest.approx(human.mean(axis=1) - human.mean())
    assert error(found.means, truth) < truth.var() / 4


@pytest.mark.parametrize(("systems", "judged", "others"), [(2, 3, 0), (2, 3, 40), (35, 3, 40), (35, 40, 300)])
def test_any_number_of_systems_and_queries_gives_finite_limits(systems: int, judged: int, others: int) -> None:
    found = joint_estimate(*study(np.random.default_rng(15), systems=systems, judged=judged, others=others)[:3])
    for low, high in (found.means_limits(), found.differences_limits()):
        assert np.isfinite(low).all()
        assert (low <= high).all()


@pytest.mark.parametrize(
    "shapes",
    [((1, 5), (1, 5), (1, 9)), ((3, 2), (3, 2), (3, 9)), ((3, 5), (3, 4), (3, 9)), ((3, 5), (3, 5), (2, 9))],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="takes 2 systems and 3 queries or more"):
        joint_estimate(*(np.ones(shape) for shape in shapes))
