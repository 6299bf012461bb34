"""What comparisons say in words."""

from __future__ import annotations

from goldbench.records.scorecard import (
    Comparison,
    GoldReference,
    Method,
    RunCounts,
    Score,
    Scorecard,
    SystemScores,
    Verdict,
)
from goldbench.report.scorecard_text import best, markdown
from goldbench.report.text_tables import p_value

COUNTS = RunCounts(queries=300, missing=0, extra=0, no_relevant=0, tied=0, holes=0)
METHOD = Method(missing="zero", scores="float64", permutations=100, resamples=100, seed=0, alpha=0.05, confidence=0.95)


def comparison(verdict: Verdict, *, first: str = "A", second: str = "B") -> Comparison:
    return Comparison(
        measure="ndcg@10",
        first=first,
        second=second,
        queries=300,
        difference=0.031,
        low=0.012,
        high=0.05,
        p=0.001,
        p_holm=0.003,
        p_t=0.001,
        wins=120,
        ties=100,
        losses=80,
        effect_size=0.2,
        detectable=0.014,
        detectable_holm=0.021,
        verdict=verdict,
    )


def card(*comparisons: Comparison, systems: str = "ABC", level: str | None = None) -> Scorecard:
    return Scorecard(
        goldbench="0",
        gold=GoldReference(name="g", sha256="0", queries=300, evidence_level=level),
        measures=["ndcg@10"],
        systems=[
            SystemScores(
                system=name,
                scores={"ndcg@10": Score(mean=0.5, low=0.4, high=0.6)},
                judged={"judged@10": 1},
                counts=COUNTS,
            )
            for name in systems
        ],
        comparisons=list(comparisons),
        method=METHOD,
    )


def test_simulated_queries_say_nothing_about_systems_and_name_no_best() -> None:
    smoke = card(comparison(Verdict.FIRST), level="smoke")
    assert best(smoke) is None


def test_the_best_is_named_only_where_it_beats_all_others() -> None:
    alone = card(comparison(Verdict.FIRST), comparison(Verdict.FIRST, second="C"))
    assert best(alone) == "By ndcg@10, A is the best of 3."
    two = card(comparison(Verdict.NOT_SEPARABLE), comparison(Verdict.FIRST, second="C"))
    assert best(two) == "By ndcg@10, these are not separable from the best: A, B."


def test_a_p_value_is_never_shown_as_0() -> None:
    assert [p_value(p) for p in (0.5, 0.0001, 0.00009, 1e-300)] == ["0.5000", "0.0001", "9.0e-05", "1.0e-300"]


def test_markdown_shows_hostile_names_as_they_are() -> None:
    hostile = card(comparison(Verdict.FIRST, first="<b>|x`\n# y"), systems="A")
    text = markdown(hostile)
    assert r"&lt;b&gt;\|x\` # y" in text
    assert "\n# y" not in text
