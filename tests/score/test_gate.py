"""``goldbench gate``, as a command in CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from goldbench.records.scorecard import Baseline
from tests.conftest import Goldbench
from tests.score.deciding_files import write_gold, write_run
from tests.workbench.workbench_set import write_workbench_set

Change = Callable[[str], bytes]
GATE = ("gate", "gold.qrels", "--baseline", "baseline.json")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def files(tmp_path: Path, goldbench: Goldbench) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.2)
    done = goldbench(*GATE, "--run", "good.trec", "--init", "--measure", "mrr@10,r@10")
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.usefixtures("files")
def test_an_unchanged_run_passes(goldbench: Goldbench) -> None:
    done = goldbench(*GATE, "--run", "good.trec")
    assert done.returncode == 0
    assert done.stdout.count("passed  ") == 2


@pytest.mark.usefixtures("files")
def test_a_regression_is_stopped_with_the_queries_that_fell_most(goldbench: Goldbench) -> None:
    done = goldbench(*GATE, "--run", "bad.trec", "--max-drop", "5%")
    assert done.returncode == 1
    assert "FAILED  mrr@10" in done.stdout
    assert "\n  - q0" in done.stdout
    assert "1.0000 → 0.0000" in done.stdout


def test_what_failed_names_the_queries_behind_it_and_how_to_open_the_first(
    tmp_path: Path, goldbench: Goldbench
) -> None:
    gold = write_workbench_set(tmp_path / "set")
    words, vectors = (str(gold / "runs" / f"{name}.trec") for name in ("words", "vectors"))
    asked = ("gate", str(gold), "--measure", "mrr@10")
    low = goldbench("gate", str(gold), "--run", vectors, "--min", "mrr@10=0.9")
    assert f"Worst by mrr@10(rel=2): q-x, q-zh, q-de (goldbench open {gold} --query q-x)" in " ".join(
        low.stdout.split()
    )
    assert goldbench(*asked, "--run", words, "--baseline", str(tmp_path / "b.json"), "--init").returncode == 0
    fell = goldbench(*asked, "--run", vectors, "--baseline", str(tmp_path / "b.json"))
    assert f"Fell most: q-zh, q-de, q-ar (goldbench open {gold} --query q-zh)" in " ".join(fell.stdout.split())


@pytest.mark.usefixtures("files")
def test_a_drop_may_be_allowed_for_all_or_for_one(goldbench: Goldbench) -> None:
    assert goldbench(*GATE, "--run", "bad.trec", "--max-drop", "100%").returncode == 0
    one = goldbench(*GATE, "--run", "bad.trec", "--max-drop", "100%", "--max-drop", "mrr@10=0.01")
    assert one.returncode == 1
    assert "FAILED  mrr@10" in one.stdout
    assert "passed  r@10" in one.stdout


def test_a_drop_that_chance_explains_passes_where_only_significant_ones_count(
    goldbench: Goldbench, files: Path
) -> None:
    lines = (files / "good.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (files / "unlucky.trec").write_text(
        "".join(line for line in lines if not line.startswith(("q000", "q001", "q002")))
    )
    assert goldbench(*GATE, "--run", "unlucky.trec", "--max-drop", "1%").returncode == 1
    lenient = goldbench(*GATE, "--run", "unlucky.trec", "--max-drop", "1%", "--significant-only")
    assert lenient.returncode == 0
    assert "below the bound, but within chance" in lenient.stdout
    assert "judged queries missing from the run: 3" in lenient.stdout
    assert goldbench(*GATE, "--run", "bad.trec", "--max-drop", "1%", "--significant-only").returncode == 1


@pytest.mark.usefixtures("files")
def test_lowest_means_need_no_baseline(goldbench: Goldbench) -> None:
    gate = ("gate", "gold.qrels", "--run", "good.trec")
    assert goldbench(*gate, "--min", "recall@10=0.5").returncode == 0
    failed = goldbench(*gate, "--min", "Success@1=0.999")
    assert (failed.returncode, "FAILED  hit@1" in failed.stdout) == (1, True)
    assert "Worst by hit@1: q0" in failed.stdout


@pytest.mark.usefixtures("files")
def test_a_target_is_a_set_of_lowest_means_and_may_be_changed(goldbench: Goldbench) -> None:
    targets = {"r@5": "0.8000", "r@10": "0.9000", "mrr": "0.7000", "ndcg@10": "0.8000"}
    done = goldbench("gate", "gold.qrels", "--run", "bad.trec", "--target", "precise-qa")
    assert done.returncode == 1
    for measure, bound in targets.items():
        assert any(measure in line and f"at least {bound}" in line for line in done.stdout.splitlines()), measure
    changed = goldbench("gate", "gold.qrels", "--run", "bad.trec", "--target", "precise-qa", "--min", "mrr=0.1")
    assert "required at least 0.1000" in changed.stdout


def test_a_baseline_is_replaced_only_on_request_and_only_by_a_run_that_passes(
    goldbench: Goldbench, files: Path
) -> None:
    first = (files / "baseline.json").read_bytes()
    again = goldbench(*GATE, "--run", "bad.trec", "--init")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert goldbench(*GATE, "--run", "bad.trec", "--update").returncode == 1
    assert (files / "baseline.json").read_bytes() == first
    assert goldbench(*GATE, "--run", "bad.trec", "--update", "--max-drop", "100%").returncode == 0
    assert Baseline.model_validate_json((files / "baseline.json").read_bytes()).system == "bad"


def test_junit_and_annotations_come_on_request(goldbench: Goldbench, files: Path) -> None:
    done = goldbench(*GATE, "--run", "bad.trec", "--junit", "gate.xml", "--github")
    suite = ElementTree.parse(files / "gate.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", str(done.stdout.count("::error ")))


def test_other_judgments_are_told_and_no_common_query_is_an_error(goldbench: Goldbench, files: Path) -> None:
    write_gold(files, queries=50)
    told = goldbench(*GATE, "--run", "good.trec")
    assert told.returncode == 0
    assert "the judgments have changed since the baseline" in told.stdout
    assert "compared on the 50 queries that both have, of 60" in told.stdout
    (files / "gold.qrels").write_text("other 0 d000 1\n", encoding="utf-8")
    (files / "other.trec").write_text("other Q0 d000 1 1.0 t\n", encoding="utf-8")
    none = goldbench(*GATE, "--run", "other.trec")
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert "no query in common" in none.stderr


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "nothing to check"),
        (("--baseline", "gold.qrels"), 2, "is not a baseline"),
        (("--baseline", "baseline.json", "--max-drop", "lots"), 2, "--max-drop"),
        (("--baseline", "baseline.json", "--measure", "map@7"), 2, "only mrr@10, r@10"),
        (("--min", "recall@10"), 2, "--min"),
    ],
)
def test_what_a_gate_cannot_do_is_one_line(
    goldbench: Goldbench, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = goldbench("gate", "gold.qrels", "--run", "good.trec", *arguments)
    assert done.returncode == code, done.stdout
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.encode("utf-16"), "is not a baseline"),
        (lambda text: text.replace('"q000"', r'"\ud83d"').encode(), "is not a baseline"),
        (lambda text: text.replace("1.0", "1e308").encode(), "a value is beyond 1e+12"),
        (lambda text: text.replace('"mrr@10":', '"MRR@10":').encode(), "holds 'MRR@10' in place of mrr@10"),
    ],
)
def test_a_damaged_baseline_is_refused_in_one_line(
    files: Path, goldbench: Goldbench, change: Change, said: str
) -> None:
    path = files / "baseline.json"
    text = path.read_text("utf-8")
    damaged = change(text)
    assert damaged != text.encode()
    path.write_bytes(damaged)
    done = goldbench(*GATE, "--run", "good.trec")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_markdown_has_the_change_with_the_interval_of_a_comparison_in_a_file_or_on_standard_output(
    goldbench: Goldbench, files: Path
) -> None:
    done = goldbench(*GATE, "--run", "bad.trec", "--markdown", "gate.md")
    assert done.returncode == 1
    text = (files / "gate.md").read_text(encoding="utf-8")
    printed = goldbench(*GATE, "--run", "bad.trec", "--markdown", "-")
    assert (printed.returncode, printed.stdout) == (1, text)
    runs = ("--run", "bad.trec", "--run", "good.trec")
    compared = goldbench("compare", "gold.qrels", *runs, "--measure", "mrr@10", "--json")
    (found,) = json.loads(compared.stdout)["comparisons"]
    sign = 1 if found["first"] == "bad" else -1
    low, high = sorted((sign * found["low"], sign * found["high"]))
    row = next(line for line in text.splitlines() if line.startswith("| mrr@10 "))
    assert "❌ failed" in row
    assert f"{sign * found['difference']:+.4f} \\[{low:+.4f}, {high:+.4f}\\]" in row


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--markdown", "-", "--github"), "--github and --markdown - both print on standard output"),
        (("--markdown", "bad.trec"), "--markdown"),
    ],
)
def test_options_of_the_markdown_that_contradict_are_refused_and_nothing_is_written(
    goldbench: Goldbench, files: Path, options: tuple[str, ...], told: str
) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    done = goldbench(*GATE, "--run", "bad.trec", *options)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before
