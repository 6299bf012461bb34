"""Ranks of queries: of one at a time by an index, and of a finished set without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.formats.jsonl import RecordFile
from goldbench.generate.rank_meter import RankMeter
from goldbench.records.corpus import Chunk, Span, TitleUse
from goldbench.records.query import Query

WORDS = st.lists(st.sampled_from(["pump", "pumps", "seal", "the", "gauge", "日本", "tank"]), min_size=1, max_size=8)
PLACES = st.lists(st.integers(0, 10**6), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@settings(max_examples=60)
@given(
    texts=st.lists(WORDS.map(" ".join), min_size=1, max_size=130),
    asked=st.lists(st.tuples(WORDS.map(" ".join), PLACES), max_size=4),
    alike=st.integers(1, 9),
    titles=st.sampled_from([TitleUse.NONE, TitleUse.JOIN]),
)
def test_both_find_the_same_difficulty(
    folder: Path, texts: list[str], asked: list[tuple[str, list[int]]], alike: int, titles: TitleUse
) -> None:
    made = [
        Chunk(
            chunk_id=f"c{number}",
            span=Span(doc_id=f"d{number // 3}", start=0, end=len(text)),
            text=text,
            title="Pump" if number % 2 else "",
        )
        for number, text in enumerate(texts)
    ]
    chunks = RecordFile.write(folder / "chunks.jsonl", Chunk, made)
    needed = [tuple(place % len(made) for place in places) for _, places in asked]
    queries = [query_about(made[places[0]], text) for (text, _), places in zip(asked, needed, strict=True)]
    one_by_one, together = (
        RankMeter(
            chunks=chunks,
            titles=titles,
            cluster_of=lambda place: [other for other in range(len(made)) if other % alike == place % alike],
        )
        for _ in range(2)
    )
    expected = [one_by_one.measure(query.text, places) for query, places in zip(queries, needed, strict=True)]
    assert [query.difficulty for query in together.measured(queries, needed)] == expected


def query_about(chunk: Chunk, text: str) -> Query:
    evidence = chunk.evidence(0, len(chunk.text))
    return Query(
        query_id=f"q-{chunk.chunk_id}",
        chunk_id=chunk.chunk_id,
        text=text,
        generator="test",
        evidence=(evidence,),
        quote=evidence.quote,
        language="en",
    )
