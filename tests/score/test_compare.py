"""``goldbench compare``, as a command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from scipy import stats

from goldbench.measures.statistics.significance import holm
from goldbench.records.published import schema_text
from goldbench.records.scorecard import Scorecard, Verdict
from tests.conftest import Goldbench
from tests.score.deciding_files import write_gold, write_run

RUNS = ("--run", "good=good.trec", "--run", "bad=bad.trec", "--run", "same=same.trec")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.2)
    write_run(tmp_path, "same.trec", skill=0.9)
    return tmp_path


@pytest.mark.usefixtures("files")
def test_a_comparison_says_who_is_better(goldbench: Goldbench) -> None:
    done = goldbench("compare", "gold.qrels", *RUNS, "--measure", "mrr@10", "--verbose")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Verdict: ")
    results = dict(re.findall(r"mrr@10 +(\w+ - \w+) .* (\w+)$", done.stdout, re.MULTILINE))
    assert results == {"good - same": "same", "good - bad": "first", "same - bad": "first"}
    assert "By mrr@10, these are not separable from the best: good, same." in done.stdout
    assert "Holm over 3 comparisons" in done.stdout


def test_the_scorecard_holds_the_figures_of_the_files(goldbench: Goldbench, files: Path) -> None:
    done = goldbench("compare", "gold.qrels", *RUNS, "--measure", "mrr", "--format", "json", "--out", "card.json")
    card = Scorecard.model_validate_json(done.stdout)
    assert (files / "card.json").read_text(encoding="utf-8") == done.stdout
    per_query = {}
    for name in ("good", "bad"):
        lines = [line.split() for line in (files / f"{name}.trec").read_text(encoding="utf-8").splitlines()]
        per_query[name] = [1 / int(rank) for query, _, doc, rank, *_ in lines if doc == f"d{query[1:]}"]
    found = next(c for c in card.comparisons if {c.first, c.second} == {"good", "bad"})
    assert found.verdict is Verdict.FIRST
    assert found.p_t == pytest.approx(stats.ttest_rel(per_query["good"], per_query["bad"]).pvalue, rel=1e-9)
    assert [c.p_holm for c in card.comparisons] == pytest.approx(holm([c.p for c in card.comparisons]))


@pytest.mark.usefixtures("files")
def test_what_is_written_fits_the_published_schemas(goldbench: Goldbench, files: Path) -> None:
    run = ("--run", "good.trec", "--measure", "mrr@10")
    assert goldbench("compare", "gold.qrels", *RUNS, "--out", "scorecard.json").returncode == 0
    assert goldbench("gate", "gold.qrels", *run, "--baseline", "baseline.json", "--init").returncode == 0
    assert goldbench("monitor", "gold.qrels", *run, "--history", "history-entry.json").returncode == 0
    for name in ("scorecard", "baseline", "history-entry"):
        validator = jsonschema.Draft202012Validator(json.loads(schema_text(name)))
        validator.validate(json.loads((files / f"{name}.json").read_text(encoding="utf-8")))


@pytest.mark.usefixtures("files")
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(goldbench: Goldbench) -> None:
    command = ("compare", "gold.qrels", *RUNS[:4], "--format", "json", "--measure", "mrr@10")
    first, again = goldbench(*command).stdout, goldbench(*command, PYTHONHASHSEED="7").stdout
    assert first == again
    other = json.loads(goldbench(*command, "--seed", 1).stdout)
    assert other["comparisons"][0]["low"] != json.loads(first)["comparisons"][0]["low"]


def test_simulated_queries_name_no_better_system(goldbench: Goldbench, files: Path) -> None:
    (files / "run" / "trec").mkdir(parents=True)
    write_gold(files / "run" / "trec", name="qrels.txt")
    (files / "run" / "manifest.json").write_text("{}", encoding="utf-8")
    gold = {"relevant_docs": {}, "metadata": {"evidence_level": "smoke", "notice": "Made up by a machine."}}
    (files / "run" / "dataset.json").write_text(json.dumps(gold), encoding="utf-8")
    done = goldbench("compare", "run/trec/qrels.txt", *RUNS, "--measure", "mrr@10", "--verbose", COLUMNS="400")
    assert "better" not in done.stdout
    assert "best" not in done.stdout
    assert "Warning: Made up by a machine." in done.stderr


@pytest.mark.usefixtures("files")
def test_markdown_has_the_tables(goldbench: Goldbench) -> None:
    text = goldbench("compare", "gold.qrels", *RUNS, "--format", "markdown").stdout
    assert text.startswith("| system | ndcg@10 | mrr@10 | r@10 | judged@10 | queries |\n| --- |")
    assert re.search(r"\| ndcg@10 \| good \| bad \|.*\| first \|", text)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--run", "A=good.trec", "--run", "B=none.trec"), 2, "none.trec"),
        ((*RUNS, "--measure", "ndgc@10"), 2, "ndgc@10"),
        ((*RUNS, "--alpha", "1.5"), 2, "--alpha"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    goldbench: Goldbench, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = goldbench("compare", "gold.qrels", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
