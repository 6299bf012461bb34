"""``goldbench score --calibrated``: raw, expected and corrected scores side by side, and whose judgments they use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goldbench.cli.score import _check_options
from goldbench.errors import InputError, UsageError
from goldbench.measures.names import parse_measures
from goldbench.measures.statistics.ppi import estimate
from goldbench.records.calibrated import Calibration
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.corrected_scores import Reading, calibrate
from goldbench.score.runs import Gold, load_gold, named_runs, score_run
from tests.conftest import Goldbench
from tests.review.made_set import Made, event, judgments, ledger_of, make_set, only, queue_of

MEASURES = ("ndcg@5", "p@5", "dcg@5", "mrr@5")


def runs_of(made: Made, folder: Path, *, seed: int = 3) -> None:
    """Write a run that follows the model more than the truth, and one that follows neither closely."""
    rng = np.random.default_rng(seed)
    for name, noise in (("A", 0.8), ("B", 2.5)):
        lines = []
        for (query_id, chunk_id), truth in made.truth.items():
            liked = 0.2 * truth + 0.8 * made.model[query_id, chunk_id] + noise * rng.normal()
            lines.append(f"{query_id} Q0 {chunk_id} 1 {liked:.6f} {name}\n")
        (folder / f"{name}.trec").write_text("".join(lines))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A set of 100 queries; people judged lane A and C, and half of lane B."""
    root = tmp_path_factory.mktemp("calibrated")
    made = make_set(root / "gold", queries=100)
    runs_of(made, root)
    material, ledger = ledger_of(made.folder)
    items = queue_of(material, calibration=120, complete=25, seed=1)
    other = only(items, Lane.ERRORS)
    with ledger:
        ledger.append_all(
            judgments(material, [*only(items, Lane.CALIBRATION, Lane.COMPLETE), *other[: len(other) // 2]], made.truth)
        )
    return made


def calibrated(made: Made, *names: str) -> Calibration:
    root = made.folder.parent
    gold = load_gold(made.folder)
    runs = named_runs([str(root / f"{name}.trec") for name in names or ("A", "B")])
    return calibrate(gold, runs, parse_measures(MEASURES, rel=gold.level), ledger=None, reading=Reading())


@pytest.fixture(scope="module")
def shown(made: Made) -> Calibration:
    return calibrated(made)


def values(made: Made, name: str, measure: str, grades: dict[tuple[str, str], int]) -> dict[str, float]:
    qrels: dict[str, dict[str, int]] = {}
    for (query_id, chunk_id), grade in grades.items():
        qrels.setdefault(query_id, {})[chunk_id] = grade
    run = named_runs([str(made.folder.parent / f"{name}.trec")])[name]
    result = score_run(Gold(made.folder, qrels, 2), run, parse_measures([measure], rel=2))
    return dict(zip(result.query_ids, next(iter(result.values.values())), strict=True))


@pytest.mark.parametrize("measure", MEASURES)
def test_the_corrected_score_of_one_system_is_the_estimate_of_the_completely_judged_queries(
    made: Made, measure: str
) -> None:
    found = calibrated(made, "A")
    complete = complete_of(made)
    assert len(complete) == found.complete == 25
    people, model = (values(made, "A", measure, grades) for grades in (made.truth, made.model))
    expected = estimate(
        [people[q] for q in complete], [model[q] for q in complete], [model[q] for q in model if q not in complete]
    )
    score = next(s for s in found.scores if s.system == "A" and s.measure.startswith(measure))
    assert score.raw == pytest.approx(np.mean(list(model.values())))
    assert score.corrected.value == pytest.approx(expected.mean)
    assert score.corrected.low == pytest.approx(max(0, expected.low))
    assert score.this_set.high == pytest.approx(expected.set_high if measure == "dcg@5" else min(1, expected.set_high))


def complete_of(made: Made) -> list[str]:
    _, ledger = ledger_of(made.folder)
    with ledger:
        return sorted({e.query_id for e in ledger.events() if e.lane is Lane.COMPLETE})


def test_corrected_intervals_hold_what_people_would_have_said_of_everything(made: Made, shown: Calibration) -> None:
    found = shown
    missed = 0
    for score in found.scores:
        truth = float(np.mean(list(values(made, score.system, score.measure, made.truth).values())))
        missed += not score.corrected.low <= truth <= score.corrected.high  # type: ignore[operator]
    for one in found.differences:
        first, second = (
            float(np.mean(list(values(made, name, one.measure, made.truth).values())))
            for name in (one.first, one.second)
        )
        missed += not one.corrected.low <= first - second <= one.corrected.high  # type: ignore[operator]
    assert missed <= 1, "one of the twelve intervals may miss at 95 %"


def test_expected_gains_come_nearer_to_people_than_the_models_grades(made: Made, shown: Calibration) -> None:
    for score in shown.scores:
        if score.gains.value is None:
            assert score.measure.startswith(("p@5", "mrr@5"))
            assert "whole grades" in str(score.gains.reason)
        else:
            truth = float(np.mean(list(values(made, score.system, score.measure, made.truth).values())))
            assert abs(score.gains.value - truth) < abs(score.raw - truth)


def test_every_judgment_is_somebodys(made: Made, shown: Calibration) -> None:
    found = shown
    _, ledger = ledger_of(made.folder)
    with ledger:
        judged = {(e.query_id, e.chunk_id) for e in ledger.events()}
    assert (found.people, found.people + found.model) == (len(judged), len(made.truth))
    for one in found.resting:
        assert one.people + one.model + one.unjudged == len(made.truth)


def test_without_people_figures_are_absent_with_their_reason(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=5)
    runs_of(made, tmp_path)
    with pytest.raises(InputError, match="nobody has judged here yet"):
        calibrated(made)
    material, ledger = ledger_of(made.folder)
    with ledger:
        ledger.append_all(judgments(material, queue_of(material, calibration=4, complete=1)[:3], made.truth))
    score = calibrated(made).scores[0]
    assert score.raw == pytest.approx(np.mean(list(values(made, "A", "ndcg@5", made.model).values())))
    assert score.corrected.value is None
    assert "judged completely; 3 are needed, 20 recommended" in str(score.corrected.reason)


@pytest.mark.slow
def test_figures_before_and_after_stand_in_one_json(goldbench: Goldbench, made: Made) -> None:
    asked = ("--measure", "ndcg@5", "--format", "json")
    done = goldbench("score", made.folder, "--run", made.folder.parent / "A.trec", "--calibrated", *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (score,) = Calibration.model_validate(found["calibrated"]).scores
    assert found["runs"]["A"]["means"]["ndcg@5"] == pytest.approx(score.raw)


def test_the_verdict_rests_on_the_corrected_order(goldbench: Goldbench, made: Made) -> None:
    root = made.folder.parent
    asked = ("--run", root / "A.trec", "--run", root / "B.trec", "--measure", "ndcg@5", "--format", "json")
    found = json.loads(goldbench("score", made.folder, *asked, "--calibrated").stdout)
    ranking = Calibration.model_validate(found["calibrated"]).ranking["ndcg@5"]
    assert (ranking.complete, found["verdict"]["number"]) == (25, ranking.chance)
    alone = json.loads(goldbench("score", made.folder, *asked).stdout)["verdict"]
    assert alone["level"] == "regressions"
    assert "a model judged" in alone["sentence"]
    assert alone["improvements"][0].startswith("use the judgments of people so far: goldbench score ")


def test_a_table_stands_beside_the_usual_one(goldbench: Goldbench, made: Made) -> None:
    root = made.folder.parent
    done = goldbench("score", made.folder, "--run", root / "A.trec", "--run", root / "B.trec", "--calibrated")
    assert done.returncode == 0, done.stderr
    assert "people judged 25 of 100 queries completely." in done.stdout
    heads = [line for line in done.stdout.splitlines() if "raw" in line]
    assert "expected gains   corrected" in heads[0]
    assert heads[1].startswith("difference")
    assert "average grade by people for each grade of the model: 0: " in done.stderr


@pytest.mark.parametrize(
    ("form", "missing", "ledger", "calibrated", "reason"),
    [
        ("table", "zero", "x.sqlite", False, "give both"),
        ("csv", "zero", None, True, "table or json"),
        ("table", "skip", None, True, "a missing one counts 0"),
    ],
)
def test_what_does_not_go_together_is_refused(
    form: str, missing: str, ledger: str | None, calibrated: bool, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        _check_options(form, missing, ledger, None, None, calibrated=calibrated)


def test_few_complete_queries_are_warned_of(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=20)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    with ledger:
        queue = queue_of(material, calibration=20, complete=6)
        ledger.append_all(judgments(material, only(queue, Lane.CALIBRATION, Lane.COMPLETE), made.truth))
    assert any("below 20" in remark for remark in calibrated(made).remarks)


def test_a_query_of_lane_c_counts_only_when_its_whole_pool_is_judged(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=10)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    everything = judgments(material, queue_of(material, calibration=0, complete=5), made.truth)
    last = next(e for e in reversed(everything) if e.lane is Lane.COMPLETE)
    with ledger:
        ledger.append_all([e for e in everything if e is not last])
    assert calibrated(made).complete == 4


def test_where_people_judged_everything_every_query_counts_whatever_its_lane(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=10)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    with ledger:
        ledger.append_all(judgments(material, queue_of(material, calibration=200), made.truth))
    found = calibrated(made)
    assert found.complete == 10
    gold = load_gold(made.folder)
    of_people: dict[str, dict[str, int]] = {}
    for (query_id, chunk_id), grade in made.truth.items():
        of_people.setdefault(query_id, {})[chunk_id] = grade
    run = named_runs([str(made.folder.parent / "A.trec")])["A"]
    measure = parse_measures(["ndcg@5"], rel=gold.level)[0]
    by_hand = score_run(replace(gold, qrels=of_people), run, [measure]).mean("ndcg@5")
    score = next(one for one in found.scores if (one.system, one.measure) == ("A", "ndcg@5"))
    assert score.corrected.value == pytest.approx(by_hand, abs=1e-12)


def test_a_judgment_taken_back_counts_no_more(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=10)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    everything = judgments(material, queue_of(material, calibration=0, complete=5), made.truth)
    last = next(e for e in reversed(everything) if e.lane is Lane.COMPLETE)
    undo = event(material, EventKind.UNDO, last.query_id, chunk_id=last.chunk_id, undoes=last.client_id)
    with ledger:
        ledger.append_all([*everything, undo])
    found = calibrated(made)
    assert (found.complete, found.people) == (4, 79)


def test_a_third_decision_is_the_one_that_counts(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=4)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    everything: list[Event] = judgments(material, queue_of(material, calibration=0, complete=4), made.truth)
    decided = event(material, EventKind.ADJUDICATE, "q000", chunk_id="c000-0", grade=Relevance(0), annotator="carl")
    with ledger:
        ledger.append_all(everything)
        before = calibrated(made)
        ledger.append(decided)
    after = calibrated(made)
    assert before.scores[0].corrected.value > after.scores[0].corrected.value  # type: ignore[operator]
