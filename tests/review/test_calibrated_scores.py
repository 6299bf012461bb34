"""``goldbench score --calibrated``: raw and corrected scores side by side, and whose judgments they use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from goldbench.errors import InputError
from goldbench.measures.names import parse_measures
from goldbench.measures.statistics.ppi import estimate
from goldbench.records.calibrated import Calibration
from goldbench.records.review_event import EventKind, Lane
from goldbench.review.corrected_scores import ScoreSettings, calibrate
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
    return calibrate(gold, runs, parse_measures(MEASURES, rel=gold.level), ledger=None, settings=ScoreSettings())


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


@pytest.mark.parametrize("measure", ["ndcg@5", "dcg@5"])
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
    assert score.corrected.high == pytest.approx(expected.high if measure == "dcg@5" else min(1, expected.high))


def complete_of(made: Made) -> list[str]:
    _, ledger = ledger_of(made.folder)
    with ledger:
        return sorted({e.query_id for e in ledger.events() if e.lane is Lane.COMPLETE})


def test_every_judgment_is_somebodys(made: Made, shown: Calibration) -> None:
    _, ledger = ledger_of(made.folder)
    with ledger:
        judged = {(e.query_id, e.chunk_id) for e in ledger.events()}
    assert (shown.people, shown.people + shown.model) == (len(judged), len(made.truth))
    for one in shown.resting:
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


def test_the_verdict_rests_on_the_corrected_order(goldbench_inside: Goldbench, made: Made) -> None:
    root = made.folder.parent
    asked = ("--run", root / "A.trec", "--run", root / "B.trec", "--measure", "ndcg@5", "--format", "json")
    found = json.loads(goldbench_inside("score", made.folder, *asked, "--calibrated").stdout)
    figures = Calibration.model_validate(found["calibrated"])
    assert found["runs"]["A"]["means"]["ndcg@5"] == pytest.approx(figures.scores[0].raw)
    ranking = figures.ranking["ndcg@5"]
    assert (ranking.complete, found["verdict"]["number"]) == (25, ranking.chance)
    alone = json.loads(goldbench_inside("score", made.folder, *asked).stdout)["verdict"]
    assert alone["level"] == "regressions"
    assert "a model judged" in alone["sentence"]
    assert alone["improvements"][0].startswith("use the judgments of people so far: goldbench score ")


def test_a_table_stands_beside_the_usual_one(goldbench_inside: Goldbench, made: Made) -> None:
    root = made.folder.parent
    done = goldbench_inside("score", made.folder, "--run", root / "A.trec", "--run", root / "B.trec", "--calibrated")
    assert done.returncode == 0, done.stderr
    assert "people judged 25 of 100 queries completely." in done.stdout
    heads = [line for line in done.stdout.splitlines() if "raw" in line]
    assert "corrected" in heads[0]
    assert heads[1].startswith("difference")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--ledger", "x.sqlite"), "give both"),
        (("--calibrated", "--format", "csv"), "table or json"),
        (("--calibrated", "--missing", "skip"), "a missing one counts 0"),
    ],
)
def test_what_does_not_go_together_is_refused(
    goldbench_inside: Goldbench, made: Made, options: tuple[str, ...], reason: str
) -> None:
    done = goldbench_inside("score", made.folder, "--run", made.folder.parent / "A.trec", *options)
    assert done.returncode == 2
    assert reason in done.stderr


def test_where_people_judged_everything_every_query_counts_whatever_its_lane(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=10)
    runs_of(made, tmp_path)
    material, ledger = ledger_of(made.folder)
    with ledger:
        ledger.append_all(judgments(material, queue_of(material, calibration=200), made.truth))
    found = calibrated(made)
    assert found.complete == 10
    score = next(one for one in found.scores if (one.system, one.measure) == ("A", "ndcg@5"))
    by_people = values(made, "A", "ndcg@5", made.truth)
    assert score.corrected.value == pytest.approx(np.mean(list(by_people.values())), abs=1e-12)


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
