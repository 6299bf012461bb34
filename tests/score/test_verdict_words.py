"""The verdict in words, and where it comes from: files of a set, results of runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from goldbench.goldset.file_names import TEMPORARY
from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.fitness import Basis
from goldbench.records.calibrated import CorrectedRanking
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.scorecard_text import verdict_lines, verdict_markdown
from goldbench.score.runs import Gold, load_gold
from goldbench.score.set_makers import Makers, makers_of
from goldbench.score.verdict import Case, deciding, verdict_on
from tests.report.hostile import ENDINGS, IMAGE, SYSTEMS

PEOPLE = Makers(Basis("human", "people"), place="gold", per_query=24.0)
MODEL = Makers(Basis("human", "model", lists_others=True), place="gold", per_query=24.0)


def result(values: Sequence[float], *, unjudged: int = 0, strange: bool = False, measure: str = "ndcg@10") -> Result:
    query_ids = [f"q{number:03}" for number in range(len(values))]
    counts = Counts(len(values), 0, 0, 0, 0, 0)
    return Result(query_ids, {measure: values}, counts, strange=strange, top=10 * len(values), unjudged=unjudged)


GOOD, FAIR = [0.5, 0.7, 0.9, 0.6] * 15, [0.3, 0.6, 0.4, 0.5] * 15


def verdict_of(results: dict[str, Result], makers: Makers, ranking: CorrectedRanking | None = None) -> SetVerdict:
    return verdict_on(Case(deciding(list(next(iter(results.values())).values)), makers, results, ranking=ranking))


def told(makers: Makers = PEOPLE, ranking: CorrectedRanking | None = None, **values: Sequence[float]) -> SetVerdict:
    return verdict_of({name: result(column) for name, column in values.items()}, makers, ranking)


def test_a_ranking_names_its_chance_and_asks_for_nothing() -> None:
    found = told(good=GOOD, fair=FAIR)
    assert found.level == "ranks"
    assert found.sentence == (
        "ranks these 2 systems by ndcg@10: the chance that their order is right is > 99% (60 queries)"
    )
    assert found.number is not None
    assert found.number > 0.99
    assert found.improvements == ()


def test_a_model_s_labels_ask_for_people_first_then_for_queries() -> None:
    found = told(MODEL, good=GOOD, fair=FAIR)
    assert found.level == "regressions"
    assert "a model judged, and people judged fewer than 10 queries completely" in found.sentence
    assert found.improvements == ("let people judge 10 queries completely (about 240 pairs): goldbench review gold",)


def test_unjudged_results_are_the_cheapest_to_mend() -> None:
    pooled = Makers(Basis("human", "people", lists_others=True), "gold", 24.0)
    results = {"bm25": result(GOOD, unjudged=70), "dense": result(FAIR, unjudged=1), "old": result(FAIR)}
    verdict = verdict_of(results, pooled)
    assert "up to 12% of their top results are unjudged" in verdict.sentence
    assert verdict.improvements[0] == (
        "judge 71 unjudged results of bm25 and dense: goldbench grade gold --run NAME=FILE"
    )


def test_simulated_queries_are_for_smoke_tests_and_one_query_is_singular() -> None:
    smoke = Makers(Basis("smoke", "source"), "'my set'", 1.0)
    assert told(smoke, good=GOOD, fair=FAIR).sentence == (
        "good for smoke tests of one system only: its queries are simulated or written by a tiny model (60 queries)"
    )
    one = told(smoke, good=[0.5])
    assert one.sentence.endswith("simulated or written by a tiny model (1 query)")
    remedy = "replace the queries with 100 queries of users or people"
    assert one.improvements == (f"{remedy}: goldbench build DOCUMENTS --queries-from FILE --out NEW",)
    assert told(good=[0.5]).sentence.endswith("it has 1 query, and anything more needs 10")


def test_one_system_has_its_interval() -> None:
    found = told(good=GOOD)
    assert found.sentence.startswith("good for regressions of one system: it shows differences of 0.0")
    assert "(its mean is 0.675, 95% interval 0.6" in found.sentence
    assert told(good=[0.5] * 40).sentence == "good for regressions of one system; every query has the same ndcg@10"


def test_runs_with_other_ids_make_a_set_unusable() -> None:
    verdict = verdict_of({"a": result(GOOD), "b": result([0.0] * 60, strange=True)}, PEOPLE)
    assert (verdict.level, verdict.sentence) == (
        "unusable",
        "unusable: no result of b is judged; use the same ids in runs and judgments",
    )


def test_shares_of_judged_results_rank_nothing() -> None:
    columns = {"good": GOOD, "fair": FAIR}
    verdict = verdict_of({name: result(column, measure="judged@10") for name, column in columns.items()}, PEOPLE)
    assert verdict.level == "regressions"
    assert verdict.sentence.endswith("does not rank these 2 systems: judged@10 does not measure quality")
    assert verdict.improvements == ()


@pytest.mark.parametrize("name", [*SYSTEMS, ENDINGS, IMAGE, "\x1b[2Jx", "x" * 500])
def test_names_of_runs_cannot_steer_a_terminal_or_markdown(name: str) -> None:
    pooled = Makers(Basis("human", "people", lists_others=True), "gold", 24.0)
    verdict = verdict_of({name: result(GOOD, unjudged=300), "b": result(FAIR)}, pooled)
    lines = verdict_lines(verdict)
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 400
    assert "<" not in verdict_markdown(verdict).replace("&lt;", "")


def dataset(folder: Path, **metadata: object) -> Gold:
    docs = {"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 2}}
    found = {
        "queries": {"q1": "One?", "q2": "Two?"},
        "corpus": {"d1": "First.", "d2": "Second."},
        "relevant_docs": {query: [doc for doc, grade in judged.items() if grade] for query, judged in docs.items()},
        "relevance_scores": docs,
        "metadata": metadata,
    }
    (folder / "dataset.json").write_text(json.dumps(found), "utf-8")
    return load_gold(folder)


@pytest.mark.parametrize(
    ("metadata", "written", "judged"),
    [
        ({}, None, None),
        ({"evidence_level": "model", "seed": 0}, "model", "source"),
        ({"evidence_level": "model", "seed": 0, "grading": {}}, "model", "model"),
        ({"evidence_level": "users", "seed": 0, "grading": {}}, "users", "model"),
        ({"evidence_level": "human", "grades": {}}, "human", "people"),
    ],
)
def test_the_files_of_a_set_tell_who_made_it(
    tmp_path: Path, metadata: dict[str, object], written: str | None, judged: str | None
) -> None:
    makers = makers_of(dataset(tmp_path, **metadata))
    assert (makers.basis.written_by, makers.basis.judged_by, makers.basis.lists_others) == (written, judged, True)
    assert (makers.per_query, makers.reviewed) == (1.5, False)
    assert (makers.place is not None) == bool(metadata)


def test_a_file_of_judgments_has_unknown_makers_and_no_commands(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\n", "utf-8")
    makers = makers_of(load_gold(tmp_path / "gold.qrels"))
    assert (makers.basis, makers.place) == (Basis(), None)
    assert makers_of(Gold(Path("qrels"), {"q": {"d": 1}}, in_memory=True)).basis == Basis()


def test_no_command_names_a_set_that_python_deletes() -> None:
    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as temporary:
        folder = Path(temporary) / "set"
        folder.mkdir()
        makers = makers_of(dataset(folder, evidence_level="human"))
    assert makers.place is None
