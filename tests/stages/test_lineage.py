"""Passages of an earlier corpus are recognised in a later one: by their text, wherever their file went."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.formats.documents.identity import document_id
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import chunk_documents
from goldbench.stages.lineage import KnownPassage, passages_of, successors
from tests.conftest import ROOT
from tests.document_edits import edited

EXAMPLE = sorted((ROOT / "data" / "example" / "documents").rglob("*.md"))


def passages(files: dict[str, str], ids: str = "") -> list[KnownPassage]:
    """Return the passages of files by their source; ``ids`` gives all documents other ids."""
    return list(passages_of(*chunked(files, ids)))


def chunked(files: dict[str, str], ids: str = "") -> tuple[list[Chunk], dict[str, str]]:
    documents = [
        Document(doc_id=document_id(source, *ids), title="", text=text, source=source)
        for source, text in sorted(files.items())
    ]
    chunks = list(chunk_documents(documents, size=200, overlap=20))
    return chunks, {document.doc_id: document.source for document in documents}


def texts(files: dict[str, str], ids: str = "") -> dict[str, str]:
    return {chunk.chunk_id: chunk.text for chunk in chunked(files, ids)[0]}


def story(name: str, count: int = 6) -> str:
    return "\n\n".join(
        f"{name} {number} tells what the keeper of station {number} wrote down about the {name} of that year, and why "
        f"nobody believed it before the {number + 2} of May, when the water came."
        for number in range(count)
    )


@pytest.mark.parametrize(
    "after",
    [
        {"new/place.md": story("flood"), "b.md": story("fire")},
        {"a.md": story("fire"), "b.md": story("flood")},
        {"both.md": story("flood") + "\n\n" + story("fire")},
    ],
    ids=["renamed", "swapped", "joined"],
)
def test_a_file_that_went_elsewhere_is_recognised_by_its_content(after: dict[str, str]) -> None:
    before = {"a.md": story("flood"), "b.md": story("fire")}
    found = successors(passages(before), passages(after))
    old, new = texts(before), texts(after)
    assert len(found) >= len(old) - 1
    assert all(old[one] == new[other] for one, other in found.items())


def test_a_text_that_many_files_have_goes_with_its_own_file_or_with_none() -> None:
    licence = (
        "\n\nThis page may be copied by anyone who names its makers, and by nobody else, in any form whatever it is."
    )
    before = {f"{name}.md": story(name) + licence for name in ("flood", "fire", "frost")}
    after = {f"new/{name}": text for name, text in before.items()}
    found = successors(passages(before), passages(after))
    old, new = texts(before), texts(after)
    assert found.keys() == old.keys()
    sources = {passage.chunk_id: passage.source for passage in [*passages(before), *passages(after)]}
    assert all(sources[other] == f"new/{sources[one]}" for one, other in found.items())
    lone = {"licence.md": licence.strip()}
    assert successors(passages(lone), passages({"x.md": licence.strip(), "y.md": licence.strip()})) == {}
    assert new


def test_ids_of_another_form_are_recognised_by_source_and_text_the_second_for_the_second() -> None:
    twice = {"a.md": "\n\n".join([story("flood", 2), story("fire", 1), story("flood", 2)])}
    found = successors(passages(twice, ids="x"), passages(twice))
    assert list(found.values()) == list(texts(twice))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_after_any_edits_a_successor_has_the_same_text_and_a_text_in_one_place_has_its_successor(
    seed: int, edits: int
) -> None:
    chance = random.Random(seed)
    before = {path.name: path.read_text(encoding="utf-8") for path in chance.sample(EXAMPLE, 4)}
    assert_recognised(before, edited(before, chance, edits))


def assert_recognised(before: dict[str, str], after: dict[str, str]) -> None:
    earlier, later = passages(before), passages(after)
    found = successors(earlier, later)
    told = {one.chunk_id: one for one in earlier}, {one.chunk_id: one for one in later}
    assert all(told[0][old].digest == told[1][new].digest for old, new in found.items())
    places = {one.digest: {other.doc_id for other in later if other.digest == one.digest} for one in earlier}
    for one in earlier:
        kept = any(other.source == one.source and other.digest == one.digest for other in later)
        assert (one.chunk_id in found) or not (kept or len(places[one.digest]) == 1), one
    unchanged = {
        one.chunk_id for one in earlier if one.chunk_id in told[1] and one.digest == told[1][one.chunk_id].digest
    }
    assert all(found[one] == one for one in unchanged)
