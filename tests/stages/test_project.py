"""Labels carried to another chunking: by evidence where the cut differs, as they were where it is the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldbench.records.corpus import Chunk, Evidence, Span
from goldbench.records.query import JudgedPassage, Query, TextRelevance
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.project import Cuts, Projection, holding, judged_passage, project

TEXT = "".join(f"word{number:03d} " for number in range(125))  # 1,000 characters


def span(start: int, end: int, doc: str = "a") -> Span:
    return Span(doc_id=doc, start=start, end=end)


def evidence(start: int, end: int, doc: str = "a") -> Evidence:
    return Evidence(doc_id=doc, start=start, end=end, quote=TEXT[start:end])


def cuts(*places: tuple[int, int], doc: str = "a") -> dict[str, Cuts]:
    return {doc: Cuts([f"{doc}:{s}-{e}" for s, e in places], [span(s, e, doc) for s, e in places])}


def relevance(*passages: JudgedPassage, own: tuple[Evidence, ...]) -> TextRelevance:
    query = Query(query_id="q", text="why", generator="test", chunk_id="a:0-500", evidence=own)
    return TextRelevance(query=query, passages=passages)


def passage(start: int, end: int, grade: int, *rests_on: Evidence, doc: str = "a") -> JudgedPassage:
    return JudgedPassage(span=span(start, end, doc), grade=Relevance(grade), evidence=rests_on)


def graded(found: Projection | str) -> dict[str, int]:
    assert isinstance(found, Projection)
    return {chunk_id: int(grade) for chunk_id, grade in found.grades.items()}


def test_chunks_that_hold_all_of_the_evidence_are_relevant() -> None:
    own = evidence(220, 240)
    found = project(relevance(passage(0, 500, 3, own), own=(own,)), cuts((0, 210), (200, 300), (230, 500)))
    assert graded(found) == {"a:200-300": 3}


def test_a_chunk_is_derived_only_if_no_passage_that_somebody_read_makes_it_relevant() -> None:
    own, same = evidence(20, 40), evidence(620, 640)
    unread = passage(600, 700, 2, same).model_copy(update={"derived": True})
    pieces = cuts((0, 100), (600, 650), (650, 700))
    found = project(relevance(passage(0, 500, 3, own), unread, own=(own,)), pieces)
    assert graded(found) == {"a:0-100": 3, "a:600-650": 2}
    assert isinstance(found, Projection)
    assert found.derived == ("a:600-650",)
    read = project(relevance(passage(0, 500, 3, own), unread, passage(580, 700, 2, same), own=(own,)), pieces)
    assert isinstance(read, Projection)
    assert read.derived == ()


def test_where_no_chunk_holds_it_all_those_with_half_of_it_are() -> None:
    own = evidence(180, 220)
    found = project(relevance(passage(0, 500, 3, own), own=(own,)), cuts((0, 200), (200, 400)))
    assert graded(found) == {"a:0-200": 3, "a:200-400": 3}
    found = project(relevance(passage(0, 500, 3, own), own=(own,)), cuts((0, 190), (190, 400)))
    assert graded(found) == {"a:190-400": 3}


def test_a_query_whose_evidence_is_in_pieces_is_left_out_with_its_reason() -> None:
    own = evidence(100, 190)
    found = project(relevance(passage(0, 500, 3, own), own=(own,)), cuts((0, 130), (130, 160), (160, 400)))
    assert isinstance(found, str)
    assert "half" in found


def test_what_lies_within_a_passage_judged_not_relevant_is_not_relevant_either() -> None:
    own = evidence(10, 40)
    judged = relevance(passage(0, 100, 3, own), passage(500, 900, 1), own=(own,))
    found = project(judged, cuts((0, 60), (60, 550), (550, 700), (700, 1000)))
    assert graded(found) == {"a:0-60": 3, "a:550-700": 1}


def test_near_duplicates_are_found_by_the_words_of_the_evidence() -> None:
    own = evidence(80, 120)
    twin = Chunk(chunk_id="b:40-140", span=span(40, 140, "b"), text="xx " + TEXT[70:130] + " yy")
    query = Query(query_id="q", text="why", generator="test", chunk_id="a:0-500", evidence=(own,))
    found = judged_passage(query, twin, Relevance.ANSWERS)
    (place,) = found.evidence
    assert place.quote == TEXT[80:120].strip()
    assert twin.text[place.start - 40 : place.end - 40] == place.quote


@st.composite
def chunkings(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Chunks that leave no gap and grow at both ends, as the splitter's."""
    places, start, end = [], 0, 0
    while end < 1000:
        end = min(1000, max(end + 1, start + draw(st.integers(20, 400))))
        places.append((start, end))
        start = max(start + 1, end - draw(st.integers(0, 50)))
    return places


@given(chunkings(), chunkings(), st.integers(0, 990), st.integers(1, 300), st.data())
def test_every_positive_holds_half_of_an_evidence_span_and_going_back_changes_nothing(
    before: list[tuple[int, int]], after: list[tuple[int, int]], start: int, length: int, data: st.DataObject
) -> None:
    own = evidence(start, min(1000, start + length))
    old = cuts(*before)["a"]
    grades = {chunk_id: Relevance(data.draw(st.integers(0, 3))) for chunk_id in old.chunk_ids}
    grades |= dict.fromkeys(holding(own, old), Relevance.ANSWERS)
    query = Query(query_id="q", text="why", generator="test", chunk_id="a:0-0", evidence=(own,))
    passages = [
        judged_passage(query, Chunk(chunk_id=i, span=s, text=TEXT[s.start : s.end]), grades[i])
        for i, s in zip(old.chunk_ids, old.spans, strict=True)
    ]
    judged = TextRelevance(query=query, passages=tuple(passages))
    back = project(judged, {"a": old})
    if not isinstance(back, str):
        assert back.grades == grades
    found = project(judged, cuts(*after))
    if isinstance(found, str):
        return
    new = cuts(*after)["a"]
    spans = dict(zip(new.chunk_ids, new.spans, strict=True))
    same = set(before)
    for chunk_id, grade in found.grades.items():
        place = spans[chunk_id]
        if grade >= RELEVANT and (place.start, place.end) not in same:
            assert any(2 * common(place, e) >= e.end - e.start for e in found.evidence)
    assert found.source in found.grades
    assert found.grades[found.source] >= RELEVANT


def common(a: Span, b: Span) -> int:
    return min(a.end, b.end) - max(a.start, b.start)


def test_passages_that_are_all_needed_stay_apart_until_one_chunk_holds_them_all() -> None:
    first, second = evidence(20, 40), evidence(720, 740)
    whole = relevance(passage(0, 500, 3, first), passage(500, 1000, 3, second), own=(first, second))
    whole = whole.model_copy(update={"query": whole.query.model_copy(update={"needs": ("a:0-500", "a:500-1000")})})
    apart = project(whole, cuts((0, 100), (100, 700), (700, 1000)))
    together = project(whole, cuts((0, 900), (900, 1000)))
    assert isinstance(apart, Projection)
    assert isinstance(together, Projection)
    assert (apart.needs, together.needs) == (("a:0-100", "a:700-1000"), ())
