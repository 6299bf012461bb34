"""The first line of the card: what the set is good for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import median

import polars as pl
import pytest

import goldbench
from goldbench.card import make_card
from goldbench.card.baselines import run_baselines
from goldbench.card.contents import verdict_of
from goldbench.card.described_set import read_described
from goldbench.records.set_card import Card
from goldbench.report.card_text import markdown, plain
from tests.card.sets import topical, write_dataset
from tests.conftest import Goldbench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    queries, corpus, relevant = topical(12)
    metadata = {"evidence_level": "human", "grades": {}}
    return write_dataset(tmp_path / "set", queries=queries, corpus=corpus, relevant_docs=relevant, metadata=metadata)


@pytest.fixture
def card(folder: Path) -> Card:
    return make_card(folder)


def test_the_verdict_is_the_first_line_in_every_form(card: Card) -> None:
    assert card.verdict is not None
    assert plain(card).startswith(f"Verdict: {card.verdict.sentence}.\n")
    title, empty, first, *_ = markdown(card).splitlines()
    assert (title[:10], empty, first[:14]) == ("# Card of ", "", "**Verdict:** g")
    assert list(Card.model_fields)[2] == "verdict"
    assert Card.model_validate_json(card.model_dump_json()) == card


def test_runs_in_the_folder_take_the_place_of_the_baselines(folder: Path) -> None:
    (folder / "runs").mkdir()
    for name, place in (("one", 0), ("two", 1)):
        lines = [f"q{n} Q0 d{n + place * (n != 1)} 1 1.0 x\nq{n} Q0 none 2 0.5 x\n" for n in range(12)]
        (folder / "runs" / f"{name}.trec").write_text("".join(lines), "utf-8")
    (folder / "runs" / "other.trec").write_text("elsewhere Q0 d1 1 1.0 x\n", "utf-8")
    material = read_described(folder)
    verdict = verdict_of(folder, material, run_baselines(material))
    assert verdict is not None
    assert verdict.sentence.startswith("ranks the 2 runs in its folder by ndcg@10")
    (folder / "runs" / "two.trec").unlink()
    alone = verdict_of(folder, read_described(folder), run_baselines(material))
    assert alone is not None
    assert alone.sentence.startswith("good for regressions of one system; every query has the same ndcg@10")


def test_runs_of_every_format_that_score_reads_are_the_cards_too(tmp_path: Path) -> None:
    queries, corpus, relevant = topical(12)
    dataset = write_dataset(tmp_path, queries=queries, corpus=corpus, relevant_docs=relevant)
    runs, rows = dataset / "runs", [(f"q{n}", f"d{n}", 1.0) for n in range(12)]
    runs.mkdir()
    trec = "".join(f"{q} Q0 {d} 1 {score} x\n" for q, d, score in rows)
    (runs / "words.trec").write_text(trec, "utf-8")
    (runs / "packed.run.gz").write_bytes(gzip.compress(trec.encode()))
    (runs / "words.json").write_text(json.dumps({q: {d: score} for q, d, score in rows}), "utf-8")
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    table.write_csv(runs / "table.csv")
    table.write_parquet(runs / "columns.parquet")
    (runs / ".hidden").write_text("no run", "utf-8")
    (runs / "README.md").write_text("# Runs\n\nMade on Monday.\n", "utf-8")
    described = read_described(dataset)
    names = {"words.trec", "words.json", "packed", "table", "columns"}
    assert described.runs.keys() == names, "two files of one name keep their suffixes"
    assert all(run == {q: [d] for q, d, _ in rows} for run in described.runs.values())
    assert described.unreadable == ["README.md"]


def test_files_that_are_no_runs_are_named(tmp_path: Path) -> None:
    queries, corpus, relevant = topical(3)
    dataset = write_dataset(tmp_path, queries=queries, corpus=corpus, relevant_docs=relevant)
    (dataset / "runs").mkdir()
    for name in ("a.json", "b.csv", "c.trec", "d.txt"):
        (dataset / "runs" / name).write_text("{not a run", "utf-8")
    told = next(figure for figure in make_card(dataset).figures if figure.name == "hole@10")
    assert "4 files there cannot be read as runs: a.json, b.csv, c.trec, …" in told.meaning


def test_a_set_without_a_manifest_tells_the_level_of_evidence_and_its_notice(tmp_path: Path) -> None:
    queries, corpus, relevant = topical(3)
    metadata = {"evidence_level": "smoke", "notice": "These queries are simulated."}
    dataset = write_dataset(tmp_path / "set", queries=queries, corpus=corpus, relevant_docs=relevant, metadata=metadata)
    other = {"evidence_level": "human"}
    write_dataset(tmp_path, queries=queries, corpus=corpus, relevant_docs=relevant, metadata=other)
    (tmp_path / "manifest.json").write_text("{}", "utf-8")
    card = make_card(dataset)
    assert card.evidence_level == "smoke", "the set's own, and not that of a set above it"
    assert card.notice == "These queries are simulated."
    assert "queries simulated or of a tiny model (smoke)" in plain(card)
    assert goldbench.GoldSet.load(dataset).metadata == metadata


def test_every_command_shows_the_same_detectable_difference_for_the_same_runs(
    tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    queries, corpus, relevant = topical(14)
    relevant["q13"] = []
    scores = {query_id: dict.fromkeys(ids, 3) for query_id, ids in relevant.items()} | {"q13": {"d0": 0}}
    more = {"relevance_scores": scores, "metadata": {"evidence_level": "human", "grades": {}}}
    dataset = write_dataset(tmp_path / "set", queries=queries, corpus=corpus, relevant_docs=relevant, **more)
    (dataset / "runs").mkdir()
    tables, files = [], {}
    for position, name in enumerate("abc"):
        files[name] = dataset / "runs" / f"{name}.trec"
        lines = [
            f"q{n} Q0 d{(n + at - (n * n + position) % 4) % 28} {at} {9 - at} x\n" for n in range(14) for at in range(4)
        ]
        files[name].write_text("".join(lines), "utf-8")
        tables.append(f"[systems.{name}]\nkind = 'run'\nfile = 'set/runs/{name}.trec'\n")
    (tmp_path / "bench.toml").write_text(f"compare = ['ndcg@10']\n{''.join(tables)}", "utf-8")
    gold = goldbench.GoldSet.load(dataset)
    options = [word for name, path in files.items() for word in ("--run", f"{name}={path}")]
    done = goldbench_inside("compare", dataset, *options, "--measure", "ndcg@10", "--format", "json")
    assert done.returncode == 0, done.stderr
    alone = [one["detectable"] for one in json.loads(done.stdout)["comparisons"]]
    assert goldbench_inside("bench", dataset, "-c", "bench.toml", "--out", "bench").returncode == 0
    experiment = json.loads((tmp_path / "bench" / "experiment.json").read_text("utf-8"))["card"]
    assert [one["detectable"] for one in experiment["comparisons"]] == pytest.approx(alone)
    verdicts = {
        "compare": json.loads(done.stdout)["verdict"]["sentence"],
        "bench": experiment["verdict"]["sentence"],
        "score": gold.evaluate(files, ["ndcg@10"]).verdict.sentence,
        "card": make_card(dataset).verdict.sentence.replace("the 3 runs in its folder", "these 3 systems"),
    }
    assert set(verdicts.values()) == {verdicts["score"]}
    assert f"differences of {median(alone):.3f}" in verdicts["score"]
