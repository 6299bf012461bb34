"""Passages are indexed with their titles, and a query made from a title is not found by it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import goldbench
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.goldset.projection import rechunk
from goldbench.grade.pool import read_gradable
from goldbench.records.corpus import Chunk, Span
from goldbench.score.runs import load_gold
from goldbench.text.title_path import title_path
from tests.conftest import ROOT

EXAMPLE = ROOT / "data" / "example" / "documents"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def beir(run: Path) -> dict[str, dict[str, Any]]:
    return {row["_id"]: row for row in lines(run / "beir" / "corpus.jsonl")}


def emitted(run: Path) -> dict[str, str]:
    corpus: dict[str, str] = json.loads((run / "dataset.json").read_text(encoding="utf-8"))["corpus"]
    return corpus


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def copied(query: str, passage: str, least: int) -> bool:
    """Whether this number of the query's words stand in a row in the passage."""
    asked, there = words(query), f" {' '.join(words(passage))} "
    return any(f" {' '.join(asked[at : at + least])} " in there for at in range(len(asked) - least + 1))


def check_titles_and_queries(run: Path) -> None:
    """Check that passages hold their titles, and that no query is copied."""
    corpus, rows = emitted(run), beir(run)
    for chunk in lines(run / "1-chunks.jsonl"):
        row = rows[chunk["chunk_id"]]
        assert corpus[chunk["chunk_id"]] == "\n\n".join(filter(None, (row["title"], row["text"])))
        for part in filter(None, (chunk.get("title"), *chunk.get("headings", ()))):
            assert part in row["title"] or part in row["text"]
    for query in lines(run / "3-queries.jsonl"):
        assert not copied(query["text"], corpus[query["chunk_id"]], 6), query
    assert validate(run).problems == ()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("titles") / "run"
    goldbench.build(EXAMPLE / "support", out=run, queries=40, generator="simulated", progress=False)
    return run


def test_passages_hold_their_titles_and_no_query_stands_in_its_passage(made: Path) -> None:
    check_titles_and_queries(made)
    assert json.loads((made / "dataset.json").read_text("utf-8"))["metadata"]["corpus"] == {"title": "join"}


def test_built_in_systems_search_what_is_emitted(made: Path) -> None:
    assert load_gold(made).corpus() == emitted(made) == goldbench.GoldSet.load(made).corpus


def test_another_chunking_has_titles_too(made: Path) -> None:
    chunked = rechunk(made, size=300, overlap=30)
    contact = [text for doc_id, text in chunked.corpus.items() if doc_id.startswith("contact-")]
    assert contact
    assert all("Contact" in text.splitlines()[0] for text in contact)


ROWS = [
    {"title": "Orchards on steep ground", "text": "Terraces hold the water back, and drip lines save it."},
    {"title": "A bibliography of drip irrigation in glasshouses, with notes on emitters, 1961 to 1970", "text": ""},
    {"title": "Sand filters", "text": None},
    {"title": "", "text": "Rain gauges are read at nine in the morning, before the sun dries the funnel."},
    {"title": "  ", "text": "  "},
]


@pytest.mark.parametrize(("ready", "use"), [(True, "join"), (False, "field"), (False, "none")])
def test_rows_with_only_a_title_are_passages(tmp_path: Path, ready: bool, use: str) -> None:
    (tmp_path / "lisa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    config = {"corpus": {"title": use}, "documents": {"no_chunk": ready}}
    goldbench.build(tmp_path / "lisa.jsonl", out=tmp_path / "run", config=config, generator="simulated", progress=False)
    run = tmp_path / "run"
    titles = [row["title"] for row in ROWS]
    both = f"{titles[0]}\n\n{ROWS[0]['text']}" if use == "join" else ROWS[0]["text"]
    assert sorted(emitted(run).values()) == sorted([both, titles[1], titles[2], ROWS[3]["text"]])
    expected = {
        (titles[0], ROWS[0]["text"]), (titles[1], ""), (titles[2], ""), ("", ROWS[3]["text"])
    } if use != "none" else {("", text) for text in emitted(run).values()}  # fmt: skip
    assert {(row["title"], row["text"]) for row in beir(run).values()} == expected
    indexed = {f"{title}\n\n{text}".strip() for title, text in expected}
    assert set(load_gold(run).corpus().values()) == indexed
    assert validate(run).problems == ()


def passage(title: str, *headings: str, text: str = "Some text.") -> Chunk:
    return Chunk(chunk_id="c", span=Span(doc_id="d", start=0, end=len(text)), text=text, title=title, headings=headings)


@pytest.mark.parametrize(
    ("chunk", "shown"),
    [
        (passage("Frost", "Frost", "Draining"), "Frost › Draining"),
        (passage("Frost", "Frost", "Draining", text="## Draining\n\nOpen the tap."), "Frost"),
        (passage("one\ntwo\x00\x1b[31m\u2028three\u202e"), "one two [31m three"),
        (passage("x" * 5000), "x" * 200),
    ],
)
def test_a_title_path_is_one_line_without_repetition(chunk: Chunk, shown: str) -> None:
    assert title_path(chunk) == shown


def test_a_judge_sees_the_title_that_is_emitted(made: Path) -> None:
    folder = GoldFolder(made)
    judged, rows = read_gradable(folder, folder.manifest()), beir(made)
    for chunk in folder.chunks.read():
        seen, title = judged.text_of(chunk.chunk_id), rows[chunk.chunk_id]["title"]
        assert seen == (f"{title}\n\n{chunk.text}" if title else chunk.text)
