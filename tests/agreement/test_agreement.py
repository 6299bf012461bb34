"""``goldbench agreement``: the public label files give the published figures; every odd input gives one clear line."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path

import pytest
from scipy.stats import kendalltau

from goldbench.agreement.judgment_files import Labels, read_labels
from goldbench.agreement.label_pairs import agree, rank_runs
from goldbench.cli.output import screen
from goldbench.cli.trust import show_agreement
from goldbench.errors import InputError
from goldbench.measures.names import parse_measure
from goldbench.records.agreement_report import Agreement
from goldbench.report.agreement_text import markdown
from goldbench.score.runs import load_run
from tests.conftest import Goldbench

FEW = {"resamples": 100}


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def labels_folder(collections: Path) -> Path:
    return collections / "llm_judgments"


def text(agreement: Agreement) -> str:
    """What the command prints."""
    screen.begin(quiet=False, verbose=False, json=False)  # whatever a command in this process was told
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_agreement(agreement, whole=True)
    return printed.getvalue()


def labels(grades: dict, name: str = "x", **more) -> Labels:
    return Labels(name, Path(name), grades, **more)


@pytest.mark.parametrize(
    ("source", "first", "last"), [("human", 0, 3_000_000), ("t5", 3_000_000, 3_100_000), ("gpt4", 3_100_000, 10**9)]
)
def test_gpt4_has_the_kappas_of_the_table_by_who_wrote_the_query(
    labels_folder: Path, source: str, first: int, last: int
) -> None:
    table = csv.DictReader((labels_folder / "agreement.csv").read_text(encoding="utf-8").splitlines())
    row = next(row for row in table if row["set"] == f"dl23 gpt-4 vs NIST, {source} queries")
    sides = []
    for name in ("withDupes", "gpt4"):
        read = read_labels(str(labels_folder / "dl23_gpt4" / f"2023.qrels.pass.{name}.txt.gz"))
        sides.append(
            labels({query: judged for query, judged in read.grades.items() if first <= int(query) < last}, name)
        )
    figures = agree(*sides, **FEW).overall
    assert figures is not None
    assert figures.pairs == int(row["pairs"])
    assert figures.kappa.value == pytest.approx(float(row["kappa"]), abs=5.1e-5)
    assert figures.kappa_quadratic.value == pytest.approx(float(row["kappa_quadratic"]), abs=5.1e-5)
    assert figures.kappa_binary.value == pytest.approx(float(row["kappa_ge2"]), abs=5.1e-5)


def test_every_setup_of_llmjudge_has_the_kappas_of_the_table(labels_folder: Path) -> None:
    people = read_labels(str(labels_folder / "llmjudge" / "llmjudge_test_qrel_idx.txt"))
    rows = list(csv.DictReader((labels_folder / "agreement.csv").read_text(encoding="utf-8").splitlines()))
    setups = [row for row in rows if row["set"].startswith("llmjudge/") and "MEDIAN" not in row["set"]]
    assert len(setups) == 33
    for row in setups:
        file = labels_folder / "llmjudge" / "submissions" / f"{row['set'].removeprefix('llmjudge/')}.txt"
        figures = agree(people, read_labels(str(file)), **FEW).overall
        assert figures is not None
        for column, ours in (
            ("exact", figures.exact),
            ("kappa", figures.kappa),
            ("kappa_linear", figures.kappa_linear),
            ("kappa_quadratic", figures.kappa_quadratic),
            ("kappa_ge2", figures.kappa_binary),
        ):
            assert ours.value == pytest.approx(float(row[column]), abs=5.1e-5), (row["set"], column)


def test_pairs_are_counted_by_who_graded_them() -> None:
    found = agree(labels({"q": {"a": 3, "b": 0}}), labels({"q": {"a": 2, "c": 1}, "r": {"a": 1}}, "y"), **FEW)
    assert found.overall is not None
    assert (found.overall.pairs, found.only_reference, found.only_judge) == (1, 1, 2)
    assert "One pair says nothing about agreement." in text(found)


def test_labels_of_other_collections_share_no_pair() -> None:
    found = agree(labels({"q": {"a": 3}}), labels({"r": {"a": 3}}, "y"), **FEW)
    assert found.overall is None
    assert "No pair was graded by both" in text(found)
    assert "Ceiling" not in text(found)
    assert "splits" not in text(found)


def test_one_query_is_no_plural() -> None:
    found = agree(labels({"q": {"a": 3, "b": 0}}), labels({"q": {"a": 2, "b": 1}}, "y"), **FEW)
    assert "2 pairs of 1 query graded by both" in text(found)


def test_a_negative_grade_is_no_judgment_and_one_beyond_the_scale_is_bounded() -> None:
    people, judge = labels({"q": {"a": 3, "b": 1, "c": -1}}), labels({"q": {"a": 9, "b": 1, "c": 2}}, "y")
    found = agree(people, judge, scale=3, **FEW)
    assert (found.unjudged, found.clipped, found.only_judge) == (1, 1, 1)
    assert found.overall is not None
    assert found.overall.exact.value == 1
    free = agree(people, judge, **FEW)
    assert free.grades == list(range(10))
    assert any("--scale 3 would bound them" in remark for remark in free.remarks)


def test_grades_that_are_no_scale_are_refused() -> None:
    with pytest.raises(InputError, match="not a scale of relevance"):
        agree(labels({"q": {"a": 1000}}), labels({"q": {"a": 1}}), **FEW)


def test_binary_labels_are_told_to_need_another_level() -> None:
    found = agree(labels({"q": {"a": 1, "b": 0}}), labels({"q": {"a": 3, "b": 0}}, "y"), **FEW)
    assert any("give --rel 1" in remark for remark in found.remarks)


def test_reviews_drawn_with_known_probabilities_are_weighted() -> None:
    people = labels({"q": {"a": 3, "b": 0}, "r": {"c": 0}}, weights={"q": {"a": 1.0, "b": 3.0}, "r": {"c": 1.0}})
    found = agree(people, labels({"q": {"a": 3, "b": 2}, "r": {"c": 0}}, "y"), **FEW).overall
    assert found is not None
    assert found.weighted
    assert found.exact.value == pytest.approx(2 / 5)
    assert found.effective_pairs == pytest.approx(5**2 / (1 + 9 + 1))
    assert found.pairs == 3


def test_runs_are_ranked_over_the_queries_both_grade(tmp_path: Path) -> None:
    queries = [f"q{number}" for number in range(8)]
    people = {query: {"a": 3, "b": 0, "c": 0} for query in queries} | {"only": {"a": 3}}
    judge = {query: {"a": 0, "b": 3, "c": 0} for query in queries}
    runs = {}
    for name, order in (("x", "abc"), ("y", "bac"), ("z", "cba")):
        lines = [f"{query} Q0 {doc} {rank} {-rank} t\n" for query in queries for rank, doc in enumerate(order, 1)]
        (tmp_path / name).write_text("".join(lines))
        runs[name] = load_run(tmp_path / name)
    found = rank_runs(people, judge, runs, measure=parse_measure("ndcg@10", rel=2))
    assert [one.system for one in found.systems] == ["x", "y", "z"]
    assert found.queries == 8
    people_means, judge_means = ([getattr(one, side) for one in found.systems] for side in ("reference", "judge"))
    assert found.tau.value == pytest.approx(kendalltau(people_means, judge_means).statistic)


def test_two_runs_have_no_order_to_speak_of(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("q Q0 a 1 1 t\n")
    run = load_run(tmp_path / "x")
    runs = rank_runs({"q": {"a": 3}}, {"q": {"a": 3}}, {"x": run, "y": run}, measure=parse_measure("ndcg@10"))
    assert runs.tau.value is None
    assert "2 systems" in (runs.tau.reason or "")


def test_hostile_names_start_no_markup_and_steer_no_terminal() -> None:
    evil = "<script>x|y</script>[a](http://b)\x1b[31m"
    found = agree(labels({"q": {"a": 3, "b": 0}}, evil), labels({"q": {"a": 3, "b": 1}}, "y"), **FEW)
    assert "<script" not in markdown(found)
    assert "[a]" not in markdown(found)
    assert "://" not in markdown(found)
    assert "\x1b" not in text(found) + markdown(found)


def test_the_command_prints_json_and_says_what_is_wrong_in_one_line(goldbench: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("q 0 a 3\nq 0 b 0\nr 0 a 1\n")
    (tmp_path / "b.txt").write_text("q 0 a 2\nq 0 b 0\nr 0 a 1\n")
    done = goldbench("agreement", "a.txt", "b.txt", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["overall"]["pairs"] == 3
    bad = goldbench("agreement", "a.txt", "no.txt")
    assert (bad.returncode, bad.stderr) == (2, "goldbench: no.txt: file not found\n")
    assert goldbench("agreement").returncode == 2
