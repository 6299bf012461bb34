"""Why a system fails at a query, by cases worked out by hand: k is 3, grade 2 and above is relevant."""

from __future__ import annotations

import pytest

from goldbench.measures.ranks.failure_causes import Cause, ListedResult, failure_causes

K, LEVEL = 3, 2


def ranked(*grades: int | None, scores: list[float] | None = None) -> list[ListedResult]:
    """A list whose documents are named by their ranks: d1, d2 …; by default each scores less than the one above."""
    told = scores or [float(len(grades) - number) for number in range(len(grades))]
    rows = enumerate(zip(told, grades, strict=True), start=1)
    return [ListedResult(f"d{rank}", score, grade) for rank, (score, grade) in rows]


def causes(listeds: list[ListedResult], *relevant: str, **more: object) -> tuple[Cause, ...]:
    return failure_causes(listeds, relevant, K, level=LEVEL, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("grades", [(2, 0, 0), (0, 0, 3), (None, None, 2, 0)])
def test_a_relevant_passage_among_the_first_k_is_not_a_failure(grades: tuple[int | None, ...]) -> None:
    found = ranked(*grades)
    assert causes(found, *(one.doc_id for one in found if (one.grade or 0) >= LEVEL)) == ()


def test_only_unjudged_above_needs_every_one_to_be_unjudged() -> None:
    assert causes(ranked(None, None, None, 3), "d4") == (Cause.UNJUDGED_ABOVE, Cause.JUST_BELOW)
    assert causes(ranked(None, 0, None, 3), "d4") == (Cause.JUST_BELOW,)
    assert causes(ranked(None, None, None, None, 0, 3), "d6") == (Cause.JUST_BELOW,)  # rank 5 is judged, and above


def test_if_nothing_relevant_was_found_the_first_k_decide_about_unjudged() -> None:
    assert causes(ranked(None, None, None, 0), "elsewhere") == (Cause.UNJUDGED_ABOVE, Cause.NEVER_FOUND)
    assert causes(ranked(None, None, 1, None), "elsewhere") == (Cause.NEVER_FOUND,)


def test_a_tie_is_the_score_of_rank_k_whatever_stands_between() -> None:
    assert causes(ranked(0, 0, 0, 2, scores=[9, 8, 7, 7]), "d4") == (Cause.TIE, Cause.JUST_BELOW)
    assert causes(ranked(0, 0, 0, 0, 2, scores=[9, 7, 7, 7, 7]), "d5") == (Cause.TIE, Cause.JUST_BELOW)
    assert causes(ranked(0, 0, 0, 2, scores=[9, 8, 7, 6.999]), "d4") == (Cause.JUST_BELOW,)


def test_no_shared_words_needs_every_relevant_passage_to_share_none() -> None:
    found = ranked(0, 0, 0, 2)
    assert causes(found, "d4", "other", shares_words=lambda _: False) == (Cause.NO_SHARED_WORDS, Cause.JUST_BELOW)
    assert causes(found, "d4", "other", shares_words=lambda one: one == "other") == (Cause.JUST_BELOW,)
    assert causes([], "d4", shares_words=lambda _: False) == (Cause.NO_RESULTS, Cause.NO_SHARED_WORDS)


def test_a_near_duplicate_counts_among_the_first_k_only_and_not_if_it_is_relevant_itself() -> None:
    def copies(*pairs: tuple[str, str]) -> dict[str, object]:
        return {"alike": lambda one, other: (one, other) in pairs}

    found = ranked(0, None, 0, 1, 2)
    assert causes(found, "d5", **copies(("d2", "d5"))) == (Cause.NEAR_DUPLICATE_ABOVE, Cause.JUST_BELOW)
    assert causes(found, "d5", **copies(("d4", "d5"))) == (Cause.JUST_BELOW,)
    assert causes(found, "d5", "d2", **copies(("d2", "d5"))) == (Cause.JUST_BELOW,)
    assert causes(ranked(0, 0, 0), "lost", **copies(("d1", "lost"))) == (Cause.NEAR_DUPLICATE_ABOVE, Cause.NEVER_FOUND)


def test_the_cause_of_the_place_comes_last_and_is_always_one() -> None:
    places = {Cause.JUST_BELOW, Cause.FAR_BELOW, Cause.NEVER_FOUND}
    for grades in ((None, None, None, 2), (0,) * 9 + (3,), (None,) * 8):
        found = causes(ranked(*grades), f"d{len(grades)}", shares_words=lambda _: False, alike=lambda _, __: True)
        assert found[-1] in places
        assert len(places.intersection(found)) == 1
        assert list(found) == sorted(found, key=list(Cause).index)
