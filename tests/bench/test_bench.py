"""``goldbench bench``, as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import ir_measures
import jsonschema
import pytest

from goldbench.bench.bench_file import load_bench
from goldbench.bench.experiment_files import fingerprint_of
from goldbench.errors import GoldbenchError
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_run
from goldbench.records.experiment import Experiment
from goldbench.records.published import schema_text
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import Analyzer, BM25Settings
from goldbench.retrieval.tokens import tokenizer
from goldbench.systems import resolve
from tests.bench.bench_files import asked, write_bench_gold
from tests.conftest import ROOT, Goldbench, posix

TWO = """
cutoffs = [1, 3]
compare = ["mrr@3"]
warm_up = 2
[systems.words]
kind = "bm25"
[systems.flat]
kind = "bm25"
b = 0
"""


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_bench_gold(tmp_path / "gold")


class Done(NamedTuple):
    """What a command said."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process, which spares each test a second of imports."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(*arguments: object) -> Done:
        from goldbench.cli.app import command_line

        sys.modules.pop("ours", None)
        capsys.readouterr()
        try:
            code = command_line()([str(argument) for argument in ("bench", *arguments)], standalone_mode=False) or 0
        except GoldbenchError as error:
            print(error, file=sys.stderr)
            code = error.exit_code
        return Done(int(code), *capsys.readouterr())

    return run


def write(folder: Path, text: str, name: str = "bench.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def found(folder: Path) -> Experiment:
    return Experiment.model_validate_json((folder / "experiment.json").read_bytes())


def means(folder: Path) -> dict[str, dict[str, float]]:
    return {s.system: {name: score.mean for name, score in s.scores.items()} for s in found(folder).card.systems}


def test_the_figures_are_those_of_the_runs_it_writes(bench: Command, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, TWO)
    done = bench("gold", "-c", "bench.toml", "--wide")
    assert done.returncode == 0, done.stderr
    judged = [ir_measures.Qrel(f"q{n:02}", f"d{n:02}", 1) for n in range(12)]
    for name in ("words", "flat"):
        lines = (gold / "bench" / "runs" / f"{name}.trec").read_text(encoding="utf-8").splitlines()
        run = [ir_measures.ScoredDoc(q, d, -float(rank)) for q, _, d, rank, *_ in map(str.split, lines)]
        for ours, theirs in (("hit@1", "Success@1"), ("mrr@3", "RR@3"), ("r@3", "R@3"), ("ndcg@3", "nDCG@3")):
            expected = ir_measures.calc_aggregate([ir_measures.parse_measure(theirs)], judged, run)
            assert means(gold / "bench")[name][ours] == pytest.approx(next(iter(expected.values()))), (name, ours)
            assert f"{means(gold / 'bench')[name][ours]:.4f}" in done.stdout


@pytest.mark.slow
def test_all_but_the_times_is_the_same_a_second_time(goldbench: Goldbench, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, TWO)
    for out, seed in (("one", "1"), ("two", "2")):
        assert goldbench("bench", gold, "-c", "bench.toml", "--out", out, PYTHONHASHSEED=seed).returncode == 0
    one, two = (sorted(p for p in (tmp_path / name).rglob("*") if p.is_file()) for name in ("one", "two"))
    assert [p.relative_to(tmp_path / "one") for p in one] == [p.relative_to(tmp_path / "two") for p in two]
    timed = [p for p in one if "timings" in str(p.relative_to(tmp_path / "one"))]
    assert len(timed) == 3
    for first, second in zip(one, two, strict=True):
        assert first in timed or first.read_bytes() == second.read_bytes(), first


def test_a_sweep_is_one_system_for_every_combination(bench: Command, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, 'cutoffs = [3]\nbaseline = "bm25[k1=0.9,b=0]"\n[sweep.bm25]\nk1 = [0.9, 1.2]\nb = [0, 0.75]\n')
    assert bench("gold", "-c", "bench.toml").returncode == 0
    assert set(means(gold / "bench")) == {f"bm25[k1={k1},b={b}]" for k1 in (0.9, 1.2) for b in (0, 0.75)}
    direct_system = BM25(BM25Settings(k1=0.9, b=0), tokens=tokenizer(Analyzer.UNICODE))
    gold_set = json.loads((gold / "dataset.json").read_bytes())
    direct_system.index(gold_set["corpus"])
    direct = direct_system.search(gold_set["queries"], k=100)
    swept = read_run(Source(gold / "bench" / "runs" / "bm25[k1=0.9,b=0].trec"))
    assert {name: list(docs.items()) for name, docs in swept.items()} == {
        name: list(docs.items()) for name, docs in direct.items()
    }
    pairs = {(c.first, c.second) for c in found(gold / "bench").card.comparisons}
    assert len(pairs) == 3
    assert all("bm25[k1=0.9,b=0]" in pair for pair in pairs)


def test_a_system_that_fails_is_one_line_and_the_others_go_on(bench: Command, tmp_path: Path, gold: Path) -> None:
    broken = '[systems.broken]\nkind = "python"\nfunction = "ours:broken"\n'
    write(tmp_path, TWO + broken + '[systems.mixed]\nkind = "rrf"\nof = ["words", "broken"]\n')
    done = bench("gold", "-c", "bench.toml")
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if line.startswith("failed: system broken: ")]
    assert len(lines) == 1
    assert "ValueError" in lines[0]
    assert [failure.system for failure in found(gold / "bench").failures] == ["broken", "mixed"]
    assert set(means(gold / "bench")) == {"words", "flat"}


@pytest.mark.slow
def test_a_finished_system_is_not_searched_again(bench: Command, tmp_path: Path, gold: Path) -> None:
    table = '[systems.own]\nkind = "python"\nfunction = "ours:first"\n'
    write(tmp_path, f"warm_up = 2\n{table}")
    assert bench("gold", "-c", "bench.toml").returncode == 0
    queries = list(json.loads((gold / "dataset.json").read_bytes())["queries"].values())
    assert asked(tmp_path) == [*queries[:2], *queries], "two to warm up, then one query at a time"
    before = (gold / "bench" / "timings.json").read_bytes()
    done = bench("gold", "-c", "bench.toml")
    assert "Cached: " in done.stderr
    assert len(asked(tmp_path)) == 14
    assert (gold / "bench" / "timings.json").read_bytes() == before
    ours = tmp_path / "ours.py"
    ours.write_text(ours.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert bench("gold", "-c", "bench.toml").returncode == 0
    assert len(asked(tmp_path)) == 28, "what has changed is searched again"


def test_a_function_beside_the_file_is_searched_again_where_its_package_changed(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("ours.py", "below.py"):
        (folder / name).write_text("def f(query, k):\n    return []\n", encoding="utf-8")
    table = '[systems.own]\nkind = "python"\nfunction = "lib.ours:f"\n'

    def fingerprint() -> str:
        bench = load_bench(write(tmp_path, table), level=1)
        settings = resolve(["own"], bench.described, folder=bench.folder)
        return fingerprint_of(bench, settings, bench.points[0], queries="", corpus="")

    before = fingerprint()
    assert fingerprint() == before
    (folder / "below.py").write_text("def f(query, k):\n    return [1]\n", encoding="utf-8")
    assert fingerprint() != before


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_searched(
    bench: Command, tmp_path: Path, gold: Path
) -> None:
    write(tmp_path, '[systems.own]\nkind = "python"\nfunction = "ours:first"\n')
    write(tmp_path, "", "taken")
    done = bench("gold", "-c", "bench.toml", "--out", "taken")
    assert done.returncode == 2
    assert "taken/runs: cannot be written" in done.stderr
    assert asked(tmp_path) == []


def test_a_damaged_run_is_searched_again(bench: Command, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, TWO)
    assert bench("gold", "-c", "bench.toml").returncode == 0
    run = gold / "bench" / "runs" / "flat.trec"
    whole = run.read_bytes()
    run.write_bytes(whole[:100])
    done = bench("gold", "-c", "bench.toml")
    assert "flat: 12 of 12" in done.stderr
    assert "Cached: words (use --again to rerun)\n" in done.stderr
    assert run.read_bytes() == whole


@posix
def test_what_is_finished_survives_a_kill_in_the_middle(goldbench: Goldbench, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, TWO + '[systems.slow]\nkind = "python"\nfunction = "ours:slow"\n')
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "goldbench", "bench", "gold", "-c", "bench.toml"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 200
        while len(asked(tmp_path)) < 4 and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=100)
    assert not (gold / "bench" / "experiment.json").exists()
    done = goldbench("bench", "gold", "-c", "bench.toml", "--system", "words", "--system", "flat")
    assert done.returncode == 0, done.stderr
    assert "Cached: words, flat (use --again to rerun)\n" in done.stderr


def test_published_figures_stand_beside_ours_counted_in_queries(bench: Command, tmp_path: Path, gold: Path) -> None:
    write(tmp_path, TWO)
    table = '[published]\ntop_k = [1, 3]\n[published.article]\nbeside = ["words", "absent"]\n'
    write(tmp_path, table + "hit_rate = [0.5, 0.75]\nmrr = [0.25, 0.5]\n", "p.toml")
    done = bench("gold", "-c", "bench.toml", "--published", "p.toml", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert "published article: no measured system absent" in done.stderr
    ours = means(gold / "bench")["words"]
    texts = (
        done.stdout,
        (gold / "bench" / "figures.md").read_text("utf-8"),
        (tmp_path / "page.html").read_text("utf-8"),
    )
    for measure, value in {"hit@1": 0.5, "hit@3": 0.75, "mrr@1": 0.25, "mrr@3": 0.5}.items():
        cell = f"{ours[measure]:.4f} ({(ours[measure] - value) * 12:+.1f})"
        assert all(cell in text and "published article" in text for text in texts), measure


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("gold", "--system", "bm25", "--measure", "ndgc@10"), 2, "ndcg"),
        (("gold", "--system", "bm25", "--published", "gold/dataset.json"), 2, "is not TOML"),
        (("gold", "--system", "bm25", "--published", "empty.toml"), 2, "has no table [published]"),
        (("qrels.txt", "--system", "bm25"), 2, "texts"),
        (("gold", "--system", "bm25", "--html", "gold/dataset.json"), 2, "is one of the inputs"),
    ],
)
def test_what_cannot_be_benched_is_one_line(
    bench: Command, tmp_path: Path, gold: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    write(tmp_path, "q1 0 d1 1\n", "qrels.txt")
    write(tmp_path, "", "empty.toml")
    before = sorted(tmp_path.rglob("*"))
    done = bench(*arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.splitlines()[-1].count(said) >= 1, done.stderr
    assert sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts) == before


def test_what_is_written_fits_the_published_schemas(bench: Command, tmp_path: Path, gold: Path) -> None:
    broken = '[systems.broken]\nkind = "python"\nfunction = "ours:broken"\n'
    table = '[published]\ntop_k = [1]\n[published.article]\nbeside = ["words"]\nhit_rate = [0.5]\n'
    write(tmp_path, f"{TWO}{broken}{table}")
    assert bench("gold", "-c", "bench.toml").returncode == 3
    for name in ("experiment", "timings"):
        validator = jsonschema.Draft202012Validator(json.loads(schema_text(name)))
        validator.validate(json.loads((gold / "bench" / f"{name}.json").read_bytes()))


def test_nothing_is_written_into_a_collection_of_somebody_else(bench: Command, tmp_path: Path, gold: Path) -> None:
    (gold / "manifest.json").unlink()
    assert bench("gold", "--system", "bm25").returncode == 0
    assert sorted(path.name for path in gold.iterdir()) == ["dataset.json"]
    assert (tmp_path / "bench-gold" / "experiment.json").exists()
