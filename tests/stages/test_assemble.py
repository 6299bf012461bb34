"""Which chunks are relevant: the source, neighbours that hold all of the evidence, near-duplicates of these."""

from __future__ import annotations

from pathlib import Path

from goldbench.formats.jsonl import RecordFile
from goldbench.records.corpus import Chunk, Evidence, Span
from goldbench.records.query import Query
from goldbench.stages.assemble import label

TEXT = "0123456789" * 10


def chunks(folder: Path, *spans: tuple[str, int, int]) -> RecordFile[Chunk]:
    return RecordFile.write(
        folder / "chunks.jsonl",
        Chunk,
        [
            Chunk(chunk_id=f"{doc}:{start}-{end}", span=Span(doc_id=doc, start=start, end=end), text=TEXT[start:end])
            for doc, start, end in spans
        ],
    )


def query(chunk_id: str, *evidence: tuple[int, int], doc: str = "a") -> Query:
    return Query(
        query_id="q1",
        text="why",
        generator="test",
        chunk_id=chunk_id,
        evidence=tuple(Evidence(doc_id=doc, start=s, end=e, quote=TEXT[s:e]) for s, e in evidence),
    )


def alone(position: int) -> tuple[int, ...]:
    return (position,)


def test_a_neighbour_that_holds_all_of_the_evidence_is_relevant(tmp_path: Path) -> None:
    stored = chunks(tmp_path, ("a", 0, 50), ("a", 40, 90), ("a", 85, 100))
    assert set(label(query("a:0-50", (41, 49)), 0, chunks=stored, cluster_of=alone)) == {"a:0-50", "a:40-90"}


def test_a_neighbour_that_holds_a_part_of_the_evidence_is_not(tmp_path: Path) -> None:
    stored = chunks(tmp_path, ("a", 0, 50), ("a", 40, 90))
    assert set(label(query("a:0-50", (39, 49)), 0, chunks=stored, cluster_of=alone)) == {"a:0-50"}
    assert set(label(query("a:0-50", (41, 49), (1, 2)), 0, chunks=stored, cluster_of=alone)) == {"a:0-50"}


def test_all_overlapping_neighbours_count_however_many(tmp_path: Path) -> None:
    stored = chunks(tmp_path, ("a", 0, 40), ("a", 10, 50), ("a", 20, 60), ("a", 30, 70))
    found = label(query("a:30-70", (31, 39)), 3, chunks=stored, cluster_of=alone)
    assert set(found) == {"a:0-40", "a:10-50", "a:20-60", "a:30-70"}


def test_near_duplicates_of_every_holder_share_the_label(tmp_path: Path) -> None:
    stored = chunks(tmp_path, ("a", 0, 50), ("a", 40, 90), ("b", 0, 50), ("c", 40, 90))
    clusters = {0: (0, 2), 2: (0, 2), 1: (1, 3), 3: (1, 3)}
    found = label(query("a:0-50", (41, 49)), 0, chunks=stored, cluster_of=clusters.__getitem__)
    assert set(found) == {"a:0-50", "a:40-90", "b:0-50", "c:40-90"}
