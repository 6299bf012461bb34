"""Documents cut into chunks that are exact, new spans."""

import hashlib
import time
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from goldbench.errors import UsageError
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import chunk_documents


def document(text: str, **fields: object) -> Document:
    return Document(**{"doc_id": "d", "title": "T", "text": text, "source": "d.txt", **fields})


def cut(text: str, size: int = 1000, overlap: int = 100) -> list[Chunk]:
    return list(chunk_documents([document(text)], size=size, overlap=overlap))


def langchain(text: str, size: int, overlap: int) -> list[str]:
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)


def assert_exact_and_new(text: str, chunks: list[Chunk]) -> None:
    held: set[int] = set()
    for chunk in chunks:
        assert text[chunk.span.start : chunk.span.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert not held.issuperset(range(chunk.span.start, chunk.span.end))
        held.update(range(chunk.span.start, chunk.span.end))
    assert [chunk.span.start for chunk in chunks] == sorted({chunk.span.start for chunk in chunks})
    assert [chunk.span.end for chunk in chunks] == sorted({chunk.span.end for chunk in chunks})
    assert all(text[number].isspace() for number in range(len(text)) if number not in held)


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
PERIODIC = st.builds(
    lambda unit, count: unit * count, st.text("ab \n。，ก\u0301", min_size=1, max_size=6), st.integers(1, 80)
)
MARKED = st.text(st.sampled_from("ab我们 \n\t。！？，、」ดีक्षि।؟\u200b\u0301👍🏽\x00"), max_size=200)
TEXTS = st.one_of(ANY_TEXT, PERIODIC, MARKED, st.lists(st.one_of(PERIODIC, MARKED), max_size=4).map("\n\n".join))
SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(TEXTS, SIZES)
@example("aaaa " * 100, (10, 9))
@example("\n" + "\n" + "b" * 9 + " " + "c" * 30, (10, 3))
@settings(max_examples=100, deadline=None)
def test_every_chunk_is_an_exact_new_span_and_all_are_the_text(text: str, sizes: tuple[int, int]) -> None:
    chunks = cut(text, *sizes)
    assert_exact_and_new(text, chunks)
    assert all(len(chunk.text) <= sizes[0] for chunk in chunks)


@given(
    st.text("abc d.,\n", max_size=400),
    st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
)
@settings(max_examples=100, deadline=None)
def test_plain_text_gives_langchains_chunks_but_those_inside_a_neighbour(text: str, sizes: tuple[int, int]) -> None:
    theirs = langchain(text, *sizes)
    ours = [chunk.text for chunk in cut(text, *sizes)]
    kept = iter(ours)
    wanted = next(kept, None)
    for index, chunk in enumerate(theirs):
        if chunk == wanted:
            wanted = next(kept, None)
        else:
            neighbours = theirs[max(index - 1, 0) : index] + theirs[index + 1 : index + 2]
            assert any(chunk in neighbour for neighbour in neighbours)
    assert wanted is None


def test_war_and_peace_gives_langchains_4343_chunks_with_the_ground_truths_in_place(collections: Path) -> None:
    text = (collections / "war_and_peace" / "2600-0.txt").read_text(encoding="utf-8")
    texts = [chunk.text for chunk in cut(text)]
    assert texts == langchain(text, 1000, 100)
    assert len(texts) == 4343
    assert all("Anna Pávlovna" in texts[truth] for truth in (9, 685, 686))


def test_chinese_is_cut_at_sentence_ends() -> None:
    sentence = "水泵停止运转时，应当先检查电源和保险丝是否正常。"
    chunks = cut(sentence * 40, 200, 30)
    assert all(chunk.text.endswith("。") and chunk.text.startswith("水泵") for chunk in chunks)


def test_thai_is_never_cut_between_a_letter_and_its_vowel_sign() -> None:
    chunks = cut("สวัสดีครับ" * 200, 50, 5)
    assert all(chunk.text[0] not in "\u0e31\u0e35" and chunk.text[-1] not in "เแโใไ" for chunk in chunks)


def test_a_ready_document_is_one_chunk_with_its_id_and_untouched() -> None:
    text = "  ready \n" * 300
    [chunk] = chunk_documents([document(text, ready=True)])
    assert (chunk.chunk_id, chunk.text, chunk.span.end, chunk.title) == ("d", text, len(text), "T")


@pytest.mark.parametrize("text", ["", "\n\n\t\u3000\n"])
def test_a_document_without_words_gives_no_chunk(text: str) -> None:
    assert cut(text) == []


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()[:12]


def test_a_chunk_id_says_document_and_text_and_which_of_the_chunks_with_that_text() -> None:
    a, b = digest("aaa"), digest("bbb")
    ids = [chunk.chunk_id for chunk in cut("aaa bbb aaa aaa", 4, 0)]
    assert ids == [f"d:{a}", f"d:{b}", f"d:{a}.2", f"d:{a}.3"]


def test_line_ends_white_space_and_unicode_composition_change_no_id() -> None:
    ids = [chunk.chunk_id for chunk in cut("Die Düse\nist zu.\n\nDas Öl ist alt.", 25, 0)]
    assert ids == [chunk.chunk_id for chunk in cut("Die Düse ist  zu.\n\n\nDas Öl\tist alt.", 25, 0)]
    decomposed = unicodedata.normalize("NFD", "Die Düse\nist zu.\n\nDas Öl ist alt.")
    assert ids == [chunk.chunk_id for chunk in cut(decomposed, 25, 0)]


PARAGRAPHS = st.lists(st.integers(0, 9), min_size=2, max_size=12)


def prose(numbers: list[int]) -> list[str]:
    return [" ".join(f"word{number}{place}" for place in range(5 + 3 * number)) + "." for number in numbers]


@given(PARAGRAPHS, st.data())
def test_what_is_said_before_and_after_a_chunk_changes_its_id_only_if_it_is_said_twice(
    numbers: list[int], data
) -> None:
    size = 60
    before = prose(numbers)
    after = list(before)
    place = data.draw(st.integers(0, len(after) - 1))
    edit = data.draw(st.sampled_from(["insert", "delete", "move", "append"]))
    if edit == "insert":
        after.insert(place, "An inserted paragraph.")
    elif edit == "append":
        after.append("An appended line.")
    else:
        moved = after.pop(place)
        after += [moved] if edit == "move" else []
    old, new = (cut("\n\n".join(texts), size, 0) for texts in (before, after))
    said = Counter(chunk.text for chunk in new)
    for text, count in Counter(chunk.text for chunk in old).items():
        one, other = ({chunk.chunk_id for chunk in found if chunk.text == text} for found in (old, new))
        assert len(one) == count
        assert len(one & other) == min(count, said[text])
    assert len({chunk.chunk_id for chunk in new}) == len(new)


def test_a_line_more_or_less_changes_the_ids_of_the_chunks_around_it() -> None:
    """The cut falls back into step at a boundary soon after: it does not run to the end of the section."""
    paragraphs = [
        f"Station {number} has {number * 7} valves. " + f"Valve {number} closes slowly. " * (number % 5 + 2)
        for number in range(300)
    ]
    before = {chunk.chunk_id for chunk in cut("\n\n".join(paragraphs))}
    inserted = [*paragraphs[:20], "The crank hangs behind the door of the cabinet.", *paragraphs[20:]]
    for changed in (inserted, [*paragraphs[:20], *paragraphs[21:]], [*paragraphs, "The last line."]):
        after = {chunk.chunk_id for chunk in cut("\n\n".join(changed))}
        assert 0 < len(after - before) <= 12
        assert len(before - after) <= 12


def test_headings_go_with_their_chunks() -> None:
    text = "# Pump\n\n## Start\n\n" + "Press the switch. " * 10 + "\n\n## Stop\n\n" + "Pull the plug. " * 10
    paths = [chunk.headings for chunk in cut(text, 120, 10)]
    assert paths[0] == ("Pump", "Start")
    assert paths[-1] == ("Pump", "Stop")


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_sizes_no_text_can_be_cut_to_are_a_usage_error(size: int, overlap: int) -> None:
    with pytest.raises(UsageError, match="must be"):
        list(chunk_documents([document("text")], size=size, overlap=overlap))


def test_documents_are_taken_one_at_a_time() -> None:
    def endless() -> object:
        while True:
            yield document("one two")

    assert next(chunk_documents(endless())).text == "one two"


@pytest.mark.parametrize("unit", ["a", "a line of words\n"])
def test_the_time_for_one_giant_document_is_linear(unit: str) -> None:
    def seconds(characters: int) -> float:
        text = unit * (characters // len(unit))
        began = time.process_time()
        cut(text)
        return time.process_time() - began

    cut("warm up")
    assert seconds(400_000) < 32 * max(seconds(50_000), 0.01)  # it would be 64 times as long if it were quadratic
