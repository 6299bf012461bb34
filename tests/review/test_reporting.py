"""``goldbench review report``: agreement weighted to the pool, people among themselves, when to stop."""

from __future__ import annotations

from pathlib import Path

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from goldbench.records.relevance import RELEVANT
from goldbench.records.review_event import Lane
from goldbench.records.review_report import ReviewReport
from goldbench.review.findings import report
from goldbench.review.people import load_reviewed
from tests.conftest import Goldbench
from tests.review.made_set import Made, judgments, ledger_of, make_set, only, queue_of

RESAMPLES = 200


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A set whose lane A and half of lane B and C are judged, a part of it by two."""
    made = make_set(tmp_path_factory.mktemp("reporting") / "gold", queries=60)
    material, ledger = ledger_of(made.folder)
    items = queue_of(material, calibration=100, complete=10)
    with ledger:
        ledger.append_all(judgments(material, only(items, Lane.CALIBRATION), made.truth, slips=0.1))
        ledger.append_all(
            judgments(material, only(items, Lane.CALIBRATION)[:40], made.truth, annotator="bob", slips=0.3)
        )
        ledger.append_all(judgments(material, only(items, Lane.COMPLETE, Lane.ERRORS)[:150], made.truth))
    return made


def found(made: Made) -> ReviewReport:
    return report(load_reviewed(made.folder, None), resamples=RESAMPLES)


@pytest.fixture(scope="module")
def shown(made: Made) -> ReviewReport:
    return found(made)


def lane_a(made: Made) -> tuple[list[int], list[int], list[float]]:
    """Return people's grades (the lower of two), the model's, and the weights of lane A."""
    _, ledger = ledger_of(made.folder)
    people: dict[tuple[str, str], list[int]] = {}
    weights = {}
    with ledger:
        for event in ledger.events():
            if event.lane is Lane.CALIBRATION:
                people.setdefault((event.query_id, str(event.chunk_id)), []).append(int(event.grade or 0))
                weights[event.query_id, str(event.chunk_id)] = 1 / float(event.inclusion or 0)
    pairs = sorted(people)
    return [min(people[p]) for p in pairs], [made.model[p] for p in pairs], [weights[p] for p in pairs]


@pytest.mark.parametrize(
    ("figure", "weights", "binary"),
    [("kappa", None, False), ("kappa_quadratic", "quadratic", False), ("kappa_binary", None, True)],
)
def test_kappas_are_those_of_scikit_learn_with_inverse_probabilities(
    made: Made, shown: ReviewReport, figure: str, weights: str | None, binary: bool
) -> None:
    people, model, weight = lane_a(made)
    if binary:
        people, model = ([int(grade >= RELEVANT) for grade in grades] for grades in (people, model))
    expected = cohen_kappa_score(people, model, weights=weights, sample_weight=weight)
    sample = shown.sample
    assert sample is not None
    estimate = getattr(sample, figure)
    assert estimate.value == pytest.approx(expected)
    assert estimate.low < estimate.value < estimate.high


def test_bias_and_effective_number_follow_from_the_weights(made: Made, shown: ReviewReport) -> None:
    people, model, weight = map(np.array, lane_a(made))
    sample = shown.sample
    assert sample is not None
    assert sample.bias.value == pytest.approx(np.average(model - people, weights=weight))
    assert sample.effective_pairs == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert sample.pairs == len(people) == 100
    assert np.sum(sample.confusion) == 100


def test_people_among_themselves_are_the_ceiling(made: Made, shown: ReviewReport) -> None:
    _, ledger = ledger_of(made.folder)
    said: dict[tuple[str, str | None], dict[str, int]] = {}
    with ledger:
        for event in ledger.events():
            said.setdefault((event.query_id, event.chunk_id), {})[event.annotator] = int(event.grade or 0)
    both = [given for given in said.values() if len(given) == 2]
    between = shown.between
    assert between is not None
    assert between.pairs == len(both) == 40
    ann, bob = ([given[name] for given in both] for name in ("ann", "bob"))
    alpha = krippendorff.alpha(np.array([ann, bob]), level_of_measurement="ordinal", value_domain=[0, 1, 2, 3])
    assert between.alpha.value == pytest.approx(alpha)
    assert between.kappa.value == pytest.approx(cohen_kappa_score(ann, bob))


def test_lanes_that_are_not_random_say_nothing_of_agreement(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=12)
    material, ledger = ledger_of(made.folder)
    items = queue_of(material, calibration=10, complete=2)
    with ledger:
        ledger.append_all(judgments(material, only(items, Lane.ERRORS), made.truth))
    said = found(made)
    assert (said.sample, said.complete, said.between) == (None, None, None)
    assert any("their agreement is unknown" in remark for remark in said.remarks)


def test_judgments_too_fast_to_have_read_are_flagged_and_kept(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=4)
    material, ledger = ledger_of(made.folder)
    said = judgments(material, queue_of(material, calibration=10), made.truth)
    with ledger:
        ledger.append_all(one.model_copy(update={"ms": 699 if n < 3 else 700}) for n, one in enumerate(said))
    (ann,) = found(made).annotators
    assert (ann.judgments, ann.timed, ann.too_fast, ann.median_ms) == (32, 32, 3, 700)
    assert "3 judgments took less than 700 ms, counted like the others" in found(made).remarks


def test_stop_rules_hold_when_they_should(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=40)
    material, ledger = ledger_of(made.folder)
    items = queue_of(material, calibration=60, complete=2)
    sample, errors = only(items, Lane.CALIBRATION), only(items, Lane.ERRORS)
    with ledger:
        ledger.append_all(judgments(material, sample[:-1], made.truth))
        assert [(rule.holds, rule.found) for rule in found(made).stop[::2]] == [
            (False, "1 pair left to judge"),
            (None, "0 of the 30 judgments needed, 0 grades changed"),
        ]
        ledger.append_all(judgments(material, sample, made.truth))
        agreeing = [one for one in errors if made.truth[one.pair] == made.model[one.pair]]
        changing = [error for error in errors if made.truth[error.pair] != made.model[error.pair]]
        ledger.append_all(judgments(material, [*changing, *agreeing[:27]], made.truth))
        assert [(rule.holds, rule.found) for rule in found(made).stop[::2]] == [
            (True, "all 60 pairs judged"),
            (False, "people changed 3 of the last 30 grades, fewer than 3 are needed"),
        ]
        ledger.append_all(judgments(material, agreeing[:28], made.truth))
    last = found(made).stop
    assert (last[2].holds, last[2].found) == (True, "people changed 2 of the last 30 grades, fewer than 3 are needed")
    assert last[1].holds is not None


def test_the_report_is_printed(goldbench_inside: Goldbench, made: Made) -> None:
    done = goldbench_inside("review", "report", made.folder, "--resamples", RESAMPLES)
    assert done.returncode == 0, done.stderr
    for words in (
        "People and model on the random sample: 100 pairs, equivalent to",
        "the ceiling for a model: 40 pairs judged twice",
        "When to stop",
    ):
        assert words in done.stdout
