"""What a set inherits from the set before its documents changed, held against a plain search for its evidence."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.formats.documents.identity import document_id
from goldbench.goldset.transfer import (
    GONE,
    TELLING,
    ComparedCorpus,
    KeptQuery,
    OldSet,
    SearchedText,
    Transfer,
    tell_place,
    transfer_queries,
)
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.judgment import Canary, Judgment, PooledPair
from goldbench.records.query import Query, RetiredQuery
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.chunk import chunk_documents
from goldbench.text.evidence import Stretch, StretchMatch
from tests.conftest import ROOT
from tests.document_edits import edited

_Record = TypeVar("_Record")
EXAMPLE = sorted((ROOT / "data" / "example" / "documents").rglob("*.md"))


class Held(list[_Record]):
    """Records in memory, read as those on disk are."""

    def at(self, position: int) -> _Record:
        return self[position]


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
        return cls({document.doc_id: document for document in documents}, {chunk.chunk_id: chunk for chunk in chunks})

    @property
    def corpus(self) -> ComparedCorpus:
        return ComparedCorpus(Held(self.documents.values()), Held(self.chunks.values()))

    def evidence(self, quote: str, source: str) -> Evidence:
        """Return a stretch that a document holds, the first one."""
        document = self.documents[document_id(source)]
        start = document.text.index(quote)
        return Evidence(doc_id=document.doc_id, start=start, end=start + len(quote), quote=quote)

    def holding(self, evidence: Evidence) -> str:
        """Return the first chunk that holds a stretch."""
        return next(chunk.chunk_id for chunk in self.chunks.values() if chunk.span.contains(evidence))


def asked(files: Files, chance: random.Random, count: int) -> OldSet:
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
    return OldSet(files.corpus, queries, labels=labels)


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


def assert_carried(before: Files, after: Files, earlier: OldSet) -> Transfer:
    """Check what is inherited against a plain search, and that inheriting once more changes nothing."""
    found = transfer_queries(earlier, after.corpus)
    for query, heir in zip(earlier.queries, found.queries, strict=True):
        standing = [places(one.quote, after) for one in query.evidence]
        clear = all(len(one) == 1 for one in standing) and all(len(one.quote) >= TELLING for one in query.evidence)
        assert isinstance(heir, KeptQuery) or not clear, (query, heir)
        if isinstance(heir, RetiredQuery):
            assert heir.query == query
            continue
        assert heir.query.query_id == query.query_id
        for old, new, there in zip(query.evidence, heir.query.evidence, standing, strict=False):
            assert len(there) != 1 or len(standing) > 1 or (new.doc_id, new.start) == there[0], (old, new)
        for new in heir.query.evidence:
            assert new.quote == after.documents[new.doc_id].text[new.start : new.end]
            assert any(new.quote.split() == old.quote.split() for old in query.evidence)
        assert_labelled(before, after, earlier, heir)
    again = transfer_queries(estate(after, found), after.corpus)
    assert [(one.query, one.labels) for one in again.kept] == [(one.query, one.labels) for one in found.kept]
    assert not again.retired
    assert not any(one.moved or one.unjudged for one in again.kept)
    return found


def assert_labelled(before: Files, after: Files, earlier: OldSet, heir: KeptQuery) -> None:
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


def estate(files: Files, transfer: Transfer) -> OldSet:
    """Return what was inherited, as the set of a refreshed folder."""
    return OldSet(
        corpus=files.corpus,
        queries=[one.query for one in transfer.kept],
        unanswerable=transfer.unanswerable,
        labels={one.query.query_id: one.labels for one in transfer.kept},
        derived={one.query.query_id: one.derived for one in transfer.kept},
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


def query(name: str, files: Files, quote: str, source: str = "a.md", **more: object) -> Query:
    """Return a query whose evidence is a stretch of a document."""
    evidence = files.evidence(quote, source)
    known = {"query_id": name, "text": f"query {name}", "generator": "test", "chunk_id": files.holding(evidence)}
    return Query.model_validate({**known, "evidence": (evidence,), **more})


def only(transfer: Transfer) -> KeptQuery | RetiredQuery:
    (heir,) = transfer.queries
    return heir


def days(name: str, count: int = 8) -> str:
    step = len(name)  # so that no two crews count alike
    return "\n\n".join(
        f"On day {number} the {name} crew of hall {number * 7} counted {number * 10 + step} crates before noon, wrote "
        f"the sum into the blue book of the {name} and left the gate open until the night watch came at {number + 3}."
        for number in range(count)
    )


def estate_of(files: Files, *queries: Query, **more: object) -> OldSet:
    labels = {one.query_id: dict.fromkeys(one.needs or (one.chunk_id,), Relevance.ANSWERS) for one in queries}
    return OldSet(files.corpus, queries, **{"labels": labels, **more})  # type: ignore[arg-type]


def test_evidence_that_is_gone_or_twice_with_nothing_around_it_retires_its_query_with_the_reason() -> None:
    before = Files.cut({"a.md": days("red"), "b.md": days("green")})
    asked = query("q", before, "counted 33 crates before noon")
    gone = {"a.md": days("red").replace("33 crates", "some crates"), "b.md": days("green").replace("33 crates", "no")}
    heir = only(transfer_queries(estate_of(before, asked), Files.cut(gone).corpus))
    assert heir == RetiredQuery(query=asked, reason=GONE)
    twice = {"c.md": "counted 33 crates before noon", "d.md": "Nobody counted 33 crates before noon, they say."}
    heir = only(transfer_queries(estate_of(before, asked), Files.cut(twice).corpus))
    assert isinstance(heir, RetiredQuery)


def test_a_moved_paragraph_takes_its_query_along_although_its_words_also_stand_where_it_was() -> None:
    words = "counted 33 crates before noon"
    before = Files.cut({"a.md": f"{days('red')}\n\nWho {words}?", "b.md": days("green", 3)})
    parts = days("red").split("\n\n")
    moved = {
        "a.md": "\n\n".join([*parts[:3], *parts[4:], f"Who {words}?"]),
        "b.md": f"{parts[3]}\n\n{days('green', 3)}",
    }
    after = Files.cut(moved)
    heir = only(transfer_queries(estate_of(before, query("q", before, words)), after.corpus))
    assert isinstance(heir, KeptQuery)
    assert heir.query.evidence == (after.evidence(words, "b.md"),)


def test_judgments_go_with_the_text_and_with_the_evidence_and_no_further() -> None:
    before = Files.cut({"a.md": days("red"), "b.md": days("green")})
    asked = query("q", before, "counted 33 crates before noon")
    ids = list(before.chunks)
    grades = {chunk_id: Relevance(number % 2) for number, chunk_id in enumerate(ids)} | {
        asked.chunk_id: Relevance.ANSWERS
    }
    judged = [Judgment(query_id="q", chunk_id=one, relevance=grade, assessor="m") for one, grade in grades.items()]
    check = Judgment(
        query_id="q", chunk_id=asked.chunk_id, relevance=Relevance.UNRELATED, assessor="m", canary=Canary.QUERY_WORDS
    )
    after = Files.cut({"a.md": days("red").replace("On day 3", "Today"), "new/b.md": days("green")})
    found = transfer_queries(estate_of(before, asked, labels={"q": grades}), after.corpus)
    heir = only(found)
    assert isinstance(heir, KeptQuery)
    assert heir.moved
    told = list(found.pairs([*judged, check]))
    assert {one.chunk_id: one.relevance for one in told} == heir.labels
    assert len(told) == len(heir.labels)
    texts = {chunk.text for chunk in before.chunks.values()}
    assert all(after.chunks[one.chunk_id].text in texts for one in told if one.chunk_id != heir.query.chunk_id)
    assert heir.labels[heir.query.chunk_id] == Relevance.ANSWERS
    assert heir.unjudged == len(grades) - len(heir.labels)
    assert [one.canary for one in told if one.canary] == []
    pool = [PooledPair(query_id=name, chunk_id=one, shared_from=ids[0]) for name in ("q", "other") for one in ids]
    assert {one.chunk_id for one in found.pairs(pool)} == heir.labels.keys()
    assert {pair.shared_from for pair in found.pairs(pool)} <= {*after.chunks, None}


def test_a_query_of_several_passages_needs_those_that_hold_its_evidence_now() -> None:
    before = Files.cut({"a.md": days("red"), "b.md": days("green")})
    first, second = before.evidence("counted 33 crates", "a.md"), before.evidence("counted 55 crates", "b.md")
    needs = (before.holding(first), before.holding(second))
    asked = query("q", before, "counted 33 crates", needs=needs, evidence=(first, second))
    after = Files.cut({"b.md": "New.\n\n" + days("green").replace("On day 5", "Then"), "c.md": days("red")})
    heir = only(transfer_queries(estate_of(before, asked), after.corpus))
    assert isinstance(heir, KeptQuery)
    assert [after.chunks[need].text.count("crates") for need in heir.query.needs] == [1, 1]
    assert heir.query.needs[0] == heir.query.chunk_id
    assert [one.quote for one in heir.query.evidence] == ["counted 33 crates", "counted 55 crates"]
    red, green = days("red").split("\n\n")[3], days("green").split("\n\n")[5]
    close = Files.cut({"a.md": f"{red} {green}"}, size=600)
    heir = only(transfer_queries(estate_of(before, asked), close.corpus))
    assert isinstance(heir, KeptQuery)
    assert heir.query.needs == ()
    half = Files.cut({"a.md": days("red")})
    assert isinstance(only(transfer_queries(estate_of(before, asked), half.corpus)), RetiredQuery)


def test_a_noisy_form_stays_without_its_original_and_so_does_an_unanswerable_query() -> None:
    before = Files.cut({"a.md": days("red"), "b.md": days("green")})
    clean = query("q", before, "counted 33 crates before noon")
    noisy = query("n", before, "counted 55 crates before noon", source="b.md", original="q")
    nothing = query("u", before, "counted 23 crates", evidence=())
    after = Files.cut({"b.md": days("green"), "c.md": days("red").replace("33", "none")})
    found = transfer_queries(estate_of(before, clean, noisy, unanswerable=[nothing]), after.corpus)
    assert [one.query.query_id for one in found.retired] == ["q"]
    (kept,) = found.unanswerable
    assert after.chunks[kept.chunk_id].text == before.chunks[nothing.chunk_id].text


def test_a_query_left_out_by_grading_is_kept_without_labels_while_its_evidence_stands() -> None:
    before = Files.cut({"a.md": days("red")})
    asked = query("q", before, "counted 33 crates before noon")
    gone = query("g", before, "counted 23 crates before noon")
    after = Files.cut({"a.md": days("red").replace("On day 3", "Today").replace("23 crates", "nothing")})
    kept, retired = transfer_queries(OldSet(before.corpus, [], left_out=[asked, gone]), after.corpus).left_out
    assert isinstance(kept, KeptQuery)
    assert "33 crates" in after.chunks[kept.query.chunk_id].text
    assert isinstance(retired, RetiredQuery)


@pytest.mark.parametrize(
    ("places_found", "chosen"),
    [
        ([], None),
        ([(0, False)], 0),
        ([(50, True), (80, True), (10, False)], 1),
        ([(80, True), (80, True)], None),
        ([(80, False), (10, False)], None),
        ([(90, True), (90, True), (10, True)], None),
    ],
)
def test_a_stretch_stands_where_it_stands_alone_or_where_its_surroundings_tell(
    places_found: list[tuple[int, bool]], chosen: int | None
) -> None:
    hits = [(StretchMatch(alike, sure, 0, 1), number) for number, (alike, sure) in enumerate(places_found)]
    assert tell_place(hits) == chosen


@pytest.mark.parametrize(("length", "places_found"), [(TELLING - 1, 0), (TELLING, 1), (TELLING + 1, 1)])
def test_a_few_words_in_other_surroundings_may_be_there_by_chance(length: int, places_found: int) -> None:
    words = ("pump valve " * 9)[:length].strip().ljust(length, "x")
    stretch = Stretch(words, "what stood before it was this ", " and this stood after it")
    searched = SearchedText(f"Nothing of it is here now: {words}; the end is another")
    assert len(searched.places_of(stretch)) == places_found
