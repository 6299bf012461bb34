"""The drawing order and the counts of a selection."""

import csv
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.records.corpus import Chunk, Document, Span
from goldbench.stages.chunk import chunk_documents
from goldbench.stages.select import Limits, Selection, select

ANY = Limits(min_words=1, min_characters=1, min_letters=0.0, sentence_words=1)


class Held(list[Chunk]):
    """Chunks in memory, read as stored ones are."""

    def at(self, position: int) -> Chunk:
        return self[position]


def chunk(doc: str, number: int, text: str | None = None) -> Chunk:
    text = text or " ".join(f"{doc}{number}x{word}" for word in range(12)) + "."
    return Chunk(chunk_id=f"{doc}:{number}", span=Span(doc_id=doc, start=number, end=number + len(text)), text=text)


def corpus(sizes: dict[str, int]) -> Held:
    return Held(chunk(doc, number) for doc, count in sizes.items() for number in range(count))


def drawn(chunks: Held, selection: Selection) -> list[str]:
    return [chunks[position].chunk_id for position in selection.order]


SIZES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), min_size=1)


@given(SIZES, st.integers(0, 5), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_what_is_drawn_does_not_depend_on_the_order_of_chunks(sizes: dict[str, int], seed: int, chance) -> None:
    chunks = corpus(sizes)
    shuffled = Held(chunks)
    chance.shuffle(shuffled)
    assert drawn(chunks, select(chunks, seed=seed, limits=ANY)) == drawn(
        shuffled, select(shuffled, seed=seed, limits=ANY)
    )


@given(SIZES, st.integers(1, 9))
@settings(deadline=None, max_examples=50)
def test_a_document_that_is_added_leaves_the_order_of_the_others_as_it_was(sizes: dict[str, int], more: int) -> None:
    before = corpus(sizes)
    after = corpus({**sizes, "new": more})
    order = drawn(after, select(after, seed=1, limits=ANY))
    assert [chunk_id for chunk_id in order if not chunk_id.startswith("new")] == drawn(
        before, select(before, seed=1, limits=ANY)
    )


@given(SIZES, st.integers(0, 80))
@settings(deadline=None, max_examples=50)
def test_the_first_n_fill_documents_like_water(sizes: dict[str, int], budget: int) -> None:
    chunks = corpus(sizes)
    first = drawn(chunks, select(chunks, seed=2, limits=ANY))[:budget]
    taken = Counter(chunk_id.split(":")[0] for chunk_id in first)
    level = max(taken.values(), default=0)
    assert all(taken[doc] >= min(count, level - 1) for doc, count in sizes.items())
    assert len(first) == min(budget, sum(sizes.values()))


def test_another_seed_draws_other_chunks() -> None:
    chunks = corpus({"a": 50})
    assert drawn(chunks, select(chunks, seed=1, limits=ANY)) != drawn(chunks, select(chunks, seed=2, limits=ANY))


@given(SIZES, st.integers(0, 5), st.data())
@settings(deadline=None, max_examples=50)
def test_a_chunk_that_goes_on_otherwise_is_drawn_in_the_same_place(sizes: dict[str, int], seed: int, data) -> None:
    long = {corpu.chunk_id: " ".join(f"{corpu.chunk_id}x{word}" for word in range(30)) for corpu in corpus(sizes)}
    before = Held(chunk(doc, n, long[f"{doc}:{n}"]) for doc, count in sizes.items() for n in range(count))
    place = data.draw(st.integers(0, len(before) - 1))
    old = before[place]
    longer = old.text + " A line more."
    new = Chunk(chunk_id=f"{old.chunk_id}x", span=old.span.model_copy(update={"end": 99}), text=longer)
    after = Held([*before[:place], new, *before[place + 1 :]])
    order = drawn(after, select(after, seed=seed, limits=ANY))
    assert [old.chunk_id if one == new.chunk_id else one for one in order] == drawn(
        before, select(before, seed=seed, limits=ANY)
    )


def test_of_near_duplicates_one_is_drawn_and_all_are_named() -> None:
    same = "The pump stops when the water in the tank falls below the lower mark of the scale."
    chunks = Held([chunk("a", 0), chunk("a", 1, same), chunk("b", 0, same.upper()), chunk("c", 0, same), chunk("c", 1)])
    selection = select(chunks, seed=1, limits=ANY)
    assert len(selection.order) == 3
    assert selection.near_duplicates == 2
    assert selection.eligible == 5
    assert selection.cluster_of(1) == selection.cluster_of(2) == selection.cluster_of(3) == (1, 2, 3)
    assert selection.cluster_of(0) == (0,)


def test_counts_add_up_on_a_published_row_set(collections: Path) -> None:
    with (collections / "percent4" / "doc_qa_dataset.csv").open(encoding="utf-8", newline="") as rows:
        documents = [
            Document(doc_id=row["cont_id"], title="", text=row["content"], source="rows.csv", ready=True)
            for row in csv.DictReader(rows)
        ]
    chunks = Held(chunk_documents(documents))
    selection = select(chunks, seed=1, ready=True)
    assert len(chunks) == 433 == len(selection.order) + selection.near_duplicates + sum(selection.ineligible.values())
