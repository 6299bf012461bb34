"""Passages that are asked about together share a rare term, say different things, and stay together."""

from __future__ import annotations

import pytest

from goldbench.records.corpus import Chunk, Span
from goldbench.stages.generate import Companions
from tests.stages.test_select import Held

COMMON = ("the", "device", "must", "be", "checked", "before", "work", "begins", "and", "after", "each", "long", "stop")


def chunk(doc: str, *terms: str, start: int = 0) -> Chunk:
    own = [f"{doc}{start}word{number}" for number in range(30)]
    text = " ".join([*COMMON, "near", *terms, *own])
    return Chunk(chunk_id=f"{doc}:{start}", span=Span(doc_id=doc, start=start, end=start + len(text)), text=text)


def crowd(count: int) -> list[Chunk]:
    return [chunk(f"crowd{number}", f"Pair{number // 2}") for number in range(count)]


def groups(chunks: list[Chunk], **asked: object) -> list[tuple[int, ...]]:
    return list(Companions(Held(chunks), range(len(chunks))).groups(**{"seed": 0, "purpose": "test", **asked}))  # type: ignore[arg-type]


def ids(chunks: list[Chunk], **asked: object) -> list[tuple[str, ...]]:
    return [tuple(chunks[at].chunk_id for at in group) for group in groups(chunks, **asked)]


def test_passages_are_joined_by_the_name_that_only_they_share() -> None:
    chunks = crowd(40)
    found = groups(chunks)
    assert sorted(tuple(sorted(group)) for group in found) == [(at, at + 1) for at in range(0, 40, 2)]


def test_a_new_document_leaves_the_other_groups_in_their_order() -> None:
    chunks = crowd(40)
    touched = {"crowd6:0", "crowd7:0", "new:0"}
    before, after = ids(chunks), ids([*chunks, chunk("new", "Pair3")])
    assert any("new:0" in group for group in after)
    assert [group for group in after if touched.isdisjoint(group)] == [
        group for group in before if touched.isdisjoint(group)
    ]


@pytest.mark.parametrize("across", [True, False])
def test_passages_of_one_document_are_joined_only_where_allowed(across: bool) -> None:
    chunks = [*crowd(30), chunk("one", "Zorbel"), chunk("one", "Zorbel", start=5000)]
    joined = [set(group) for group in ids(chunks, across_documents=across)]
    assert ({"one:0", "one:5000"} in joined) is not across


def test_passages_that_overlap_or_say_the_same_are_not_joined() -> None:
    one, overlapping = chunk("one", "Zorbel"), chunk("one", "Zorbel", start=40)
    twin = Chunk(chunk_id="twin:0", span=Span(doc_id="twin", start=0, end=len(one.text)), text=one.text)
    joined = [set(group) for group in ids([*crowd(30), one, overlapping, twin])]
    assert {"one:0", "one:40"} not in joined
    assert {"one:0", "twin:0"} not in joined
    assert {"one:40", "twin:0"} in joined
