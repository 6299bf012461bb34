"""What events come to: the algebra of undo and redo, and every kind of act."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.records.review_event import Event
from goldbench.review.state import fold
from tests.review.events import event, judge

ACTS = st.lists(
    st.tuples(st.sampled_from(["judge", "judge", "undo", "redo"]), st.integers(0, 3), st.sampled_from(["c1", "c2"])),
    max_size=30,
)


def _as_events(acts: list[tuple[str, int, str]]) -> tuple[list[Event], list[Event]]:
    """Return the events of a page that undoes and redoes, and what a plain stack says stands at the end."""
    events: list[Event] = []
    done: list[Event] = []
    undone: list[Event] = []
    for kind, grade, chunk in acts:
        if kind == "judge":
            events.append(judge(grade, chunk=chunk))
            done.append(events[-1])
            undone = []
        elif kind == "undo" and done:
            undone.append(done.pop())
            events.append(event("undo", chunk=undone[-1].chunk_id, undoes=undone[-1].client_id))
        elif kind == "redo" and undone:
            done.append(undone.pop())
            events.append(event("redo", chunk=done[-1].chunk_id, undoes=done[-1].client_id))
    return events, done


@settings(max_examples=50)
@given(ACTS)
def test_undo_and_redo_are_a_stack(acts: list[tuple[str, int, str]]) -> None:
    events, done = _as_events(acts)
    expected = {one.chunk_id: one.grade for one in done}
    assert {review.chunk_id: review.grade for review in fold(events).reviews()} == expected


@settings(max_examples=50)
@given(ACTS, ACTS)
def test_what_one_does_changes_nothing_of_what_another_said(
    mine: list[tuple[str, int, str]], theirs: list[tuple[str, int, str]]
) -> None:
    events, _ = _as_events(mine)
    others = [one.model_copy(update={"annotator": "bob"}) for one in _as_events(theirs)[0]]
    mixed = [one for pair in zip(events, others, strict=False) for one in pair]
    mixed += events[len(others) :] + others[len(events) :]
    alone = [(review.chunk_id, review.grade) for review in fold(events).reviews()]
    assert [(r.chunk_id, r.grade) for r in fold(mixed).reviews() if r.annotator == "anna"] == alone


def test_nobody_takes_back_what_another_did() -> None:
    said = judge(2)
    assert [r.grade for r in fold([said, event("undo", "bob", undoes=said.client_id)]).reviews()] == [2]


def test_a_redo_after_another_act_brings_nothing_back() -> None:
    first = judge(1)
    events = [first, event("undo", undoes=first.client_id), judge(3), event("redo", undoes=first.client_id)]
    assert [r.grade for r in fold(events).reviews()] == [3]


def test_gold_is_the_adjudicated_grade_else_the_lower_median() -> None:
    events = [judge(0), judge(3, "bob"), judge(1, chunk="c2"), judge(2, "bob", chunk="c2"), judge(2, chunk="c3")]
    assert fold(events).gold() == {"q1": {"c1": 0, "c2": 1, "c3": 2}}
    assert fold(events).disagreements() == [("q1", "c1"), ("q1", "c2")]
    decided = fold([*events, event("adjudicate", "carl", grade=2)])
    assert decided.gold()["q1"]["c1"] == 2
    assert decided.disagreements() == [("q1", "c2")]


def test_the_first_answer_is_the_last_one_before_the_judge_was_seen() -> None:
    (review,) = fold([judge(0), judge(1), judge(3, revealed=True)]).reviews()
    assert (review.first_grade, review.grade, review.revealed, review.blind) == (1, 3, True, True)


def test_a_second_look_is_kept_apart() -> None:
    state = fold([judge(2), judge(1, repeat=True)])
    assert [(review.grade, again) for review, again in state.repeats()] == [(2, 1)]
    assert state.gold() == {"q1": {"c1": 2}}


def test_later_cannot_and_reopening() -> None:
    assert fold([judge(2), event("later")]).reviews() == []
    later = fold([event("later")]).says("anna", ("q1", "c1"))
    assert later is not None
    assert later.kind == "later"
    assert fold([event("later"), event("cannot")]).cannot() == {("anna", "q1", "c1")}
    assert fold([judge(2), event("reopen")]).reviews() == []


def test_a_bad_query_is_parked_until_it_is_reopened() -> None:
    bad = event("bad_query", reason="unclear")
    assert fold([bad]).bad_queries() == {"q1": {"anna": "unclear"}}
    assert fold([bad]).parked("q1")
    assert not fold([bad, event("reopen", chunk=None)]).parked("q1")
    assert not fold([bad, event("undo", undoes=bad.client_id)]).parked("q1")


def test_an_edited_query_is_parked_with_its_wording() -> None:
    state = fold([event("bad_query", reason="unclear"), event("edit_query", chunk=None, text="Better?")])
    assert state.bad_queries() == {}
    assert state.parked("q1")
    assert state.query_verdicts()["q1"].text == "Better?"


def test_notes_are_no_acts_and_the_last_one_counts() -> None:
    said = judge(2)
    events = [
        event("note", note="one"),
        said,
        event("note", note="two", evidence=None),
        event("note", evidence="quote"),
    ]
    (review,) = fold(events).reviews()
    assert (review.note, review.evidence) == ("two", "quote")
    assert fold([*events, event("undo", undoes=said.client_id)]).reviews() == []
