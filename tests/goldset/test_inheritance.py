"""What a set inherits from the set before its documents changed, held against a plain search for its evidence."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.pipeline.formats.documents.identity import document_id
from goldbench.pipeline.goldset.inheritance import Estate, Inheritance, Kept, Retired, inherited
from goldbench.pipeline.goldset.whereabouts import Corpus
from goldbench.pipeline.stages.chunk import chunk_documents
from goldbench.schemas.corpus import Chunk, Document, Evidence
from goldbench.schemas.judgment import RELEVANT, Relevance
from goldbench.schemas.query import Query
from tests.conftest import ROOT
from tests.document_edits import edited

EXAMPLE = sorted((ROOT / "data" / "example" / "documents").rglob("*.md"))


@dataclass(frozen=True)
class Files:
    """Documents and their chunks, by id."""

    documents: dict[str, Document]
    chunks: dict[str, Chunk]

    @classmethod
    def cut(cls, texts: Mapping[str, str], size: int = 300) -> Files:
        documents = [
            Document(doc_id=document_id(source), title="", text=text, source=source)
            for source, text in sorted(texts.items())
        ]
        chunks = chunk_documents(documents, size=size, overlap=size // 10)
        return cls({one.doc_id: one for one in documents}, {one.chunk_id: one for one in chunks})

    @property
    def corpus(self) -> Corpus:
        return Corpus(list(self.documents.values()), list(self.chunks.values()))

    def evidence(self, quote: str, source: str) -> Evidence:
        """Return a stretch that a document holds, the first one."""
        document = self.documents[document_id(source)]
        start = document.text.index(quote)
        return Evidence(doc_id=document.doc_id, start=start, end=start + len(quote), quote=quote)

    def holding(self, evidence: Evidence) -> str:
        """Return the first chunk that holds a stretch."""
        return next(one.chunk_id for one in self.chunks.values() if one.span.contains(evidence))


def asked(files: Files, chance: random.Random, count: int) -> Estate:
    """Return a set of random queries about the files: evidence and grades as judges would have given them."""
    chunks = list(files.chunks.values())
    queries, labels = [], {}
    for number in range(count):
        needed = chance.sample(chunks, 2 if number % 5 == 0 else 1)
        evidence = tuple(sorted({_drawn(chunk, chance) for chunk in needed}, key=lambda one: (one.doc_id, one.start)))
        held = [next(one for one in needed if one.span.contains(item)).chunk_id for item in evidence]
        needs = tuple(dict.fromkeys(held)) if len(set(held)) > 1 else ()
        query = Query(
            query_id=f"q{number}",
            text=f"query {number}",
            generator="test",
            chunk_id=held[0],
            evidence=evidence,
            needs=needs,
        )
        others = [
            one
            for one in chance.sample(chunks, min(6, len(chunks)))
            if not any(item.quote in one.text for item in evidence)
        ]
        grades = {
            one.chunk_id: Relevance(chance.randrange(2)) for one in others if not any(map(one.span.meets, evidence))
        }
        labels[query.query_id] = grades | dict.fromkeys(held, Relevance.ANSWERS)
        queries.append(query)
    return Estate(files.corpus, queries, labels=labels)


def _drawn(chunk: Chunk, chance: random.Random) -> Evidence:
    """Return some words of a chunk."""
    start = chance.randrange(max(1, len(chunk.text) - 20))
    end = min(len(chunk.text), start + chance.randrange(20, 200))
    lead = len(chunk.text[start:end]) - len(chunk.text[start:end].lstrip())
    return chunk.evidence(start + lead, start + len(chunk.text[start:end].rstrip()))


def places(quote: str, files: Files) -> list[tuple[str, int]]:
    """Return where a stretch stands, by a plain search: the oracle."""
    found = []
    for document in files.documents.values():
        start = document.text.find(quote)
        while start >= 0:
            found.append((document.doc_id, start))
            start = document.text.find(quote, start + 1)
    return found


def assert_carried(before: Files, after: Files, earlier: Estate) -> Inheritance:
    """Check what is inherited against a plain search, and that inheriting once more changes nothing."""
    found = inherited(earlier, after.corpus)
    for query, heir in zip(earlier.queries, found.queries, strict=True):
        standing = [places(one.quote, after) for one in query.evidence]
        assert isinstance(heir, Kept) or any(len(one) != 1 for one in standing), (query, heir)
        if isinstance(heir, Retired):
            assert heir.query == query
            continue
        assert heir.query.query_id == query.query_id
        for old, new, there in zip(query.evidence, heir.query.evidence, standing, strict=False):
            assert len(there) != 1 or len(standing) > 1 or (new.doc_id, new.start) == there[0], (old, new)
        for new in heir.query.evidence:
            assert new.quote == after.documents[new.doc_id].text[new.start : new.end]
            assert any(new.quote.split() == old.quote.split() for old in query.evidence)
        assert_labelled(before, after, earlier, heir)
    again = inherited(estate(after, found), after.corpus)
    assert [(one.query, one.labels) for one in again.kept] == [(one.query, one.labels) for one in found.kept]
    assert not again.retired
    assert not any(one.moved or one.unjudged for one in again.kept)
    return found


def assert_labelled(before: Files, after: Files, earlier: Estate, heir: Kept) -> None:
    """Check that each label is on a passage with the text that was judged, or with the evidence."""
    judged = {
        (" ".join(before.chunks[chunk_id].text.split()), grade)
        for chunk_id, grade in earlier.labels[heir.query.query_id].items()
    }
    for chunk_id, grade in heir.labels.items():
        chunk = after.chunks[chunk_id]
        told = (" ".join(chunk.text.split()), grade) in judged
        assert told or (grade >= RELEVANT and any(chunk.span.meets(one) for one in heir.query.evidence)), chunk_id
    assert heir.labels[heir.query.chunk_id] >= RELEVANT
    assert all(heir.labels[chunk_id] >= RELEVANT for chunk_id in heir.query.needs)
    ids = list(after.chunks)
    assert [ids[position] for position in heir.positions] == [*(heir.query.needs or (heir.query.chunk_id,))]


def estate(files: Files, found: Inheritance) -> Estate:
    """Return what was inherited, as the set of a refreshed folder."""
    return Estate(
        corpus=files.corpus,
        queries=[one.query for one in found.kept],
        unanswerable=found.unanswerable,
        labels={one.query.query_id: one.labels for one in found.kept},
        derived={one.query.query_id: one.derived for one in found.kept},
    )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 8))
def test_after_any_edits_evidence_in_one_place_keeps_its_query_and_labels_stay_with_their_text(
    seed: int, edits: int
) -> None:
    chance = random.Random(seed)
    texts = {path.name: path.read_text(encoding="utf-8") for path in chance.sample(EXAMPLE, 4)}
    before, after = Files.cut(texts), Files.cut(edited(texts, chance, edits))
    found = assert_carried(before, after, asked(before, chance, 20))
    assert edits or not found.retired


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_after_edits_of_a_long_book_in_parts(collections: Path, seed: int) -> None:
    text = (collections / "war_and_peace" / "2600-0.txt").read_text(encoding="utf-8").replace("\r\n", "\n")
    parts = text.split("CHAPTER ")
    texts = {f"{number}.txt": "CHAPTER ".join(parts[number::40]) for number in range(40)}
    chance = random.Random(seed)
    before = Files.cut(texts, 1000)
    after = Files.cut(edited(texts, chance, 60), 1000)
    found = assert_carried(before, after, asked(before, chance, 300))
    assert len(found.kept) > 280
