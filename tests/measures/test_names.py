"""Names of measures are read in three spellings and printed in two."""

from __future__ import annotations

from itertools import product

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import UnknownMeasure
from goldbench.measures.names import DEFAULT, FAMILIES, Measure, parse_measure, parse_measures


def every() -> list[Measure]:
    """Every family with every choice of its options, at three cutoffs and three levels, where it has them."""
    found = []
    for family in FAMILIES.values():
        cutoffs = {"required": (1, 10), "optional": (None, 1, 10), "none": (None,)}[family.cutoff]
        choices = product(cutoffs, (1, 2, 3) if family.has_rel else (1,), product(*family.options.values()))
        for k, rel, values in choices:
            options = tuple(
                (key, value)
                for (key, offered), value in zip(family.options.items(), values, strict=True)
                if value != offered[0]
            )
            found.append(Measure(family.name, k, rel, options))
    return found


@pytest.mark.parametrize("measure", every(), ids=str)
def test_a_printed_name_is_read_back(measure: Measure) -> None:
    assert parse_measure(measure.name) == measure


@pytest.mark.parametrize("measure", [m for m in every() if m.ir_name], ids=str)
def test_the_spelling_of_ir_measures_is_read_back_and_ir_measures_knows_it(measure: Measure) -> None:
    assert parse_measure(str(measure.ir_name)) == measure
    assert str(ir_measures.parse_measure(measure.ir_name)) == measure.ir_name


def test_names_as_people_write_them_print_as_they_are() -> None:
    text = "hit@5 mrr@10 ndcg@10 map@100 p@5 r@10 f1@10"
    assert " ".join(map(str, parse_measures([text]))) == text


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("recall@10", "r@10"), ("Precision@5", "p@5"), ("HitRate@3", "hit@3"), ("hit_rate@3", "hit@3"), ("MRR", "mrr"),
        ("ndcg_cut_10", "ndcg@10"), ("map_cut.100", "map@100"), ("recip_rank", "mrr"), ("P_5", "p@5"),
        ("recall_100", "r@100"), ("success_1", "hit@1"), ("Rprec", "rprec"), ("set_P", "p(k=returned)"),
        ("set_recall", "r"), ("nDCG(dcg='exp-log2')@10", "ndcg@10(gain=exp)"), ("AP(rel=2)@100", "map@100(rel=2)"),
        ("nDCG(cutoff=10)", "ndcg@10"), ("P(judged_only=False)@5", "p@5"), ("ap@10(norm=relevant)", "map@10"),
    ],
)  # fmt: skip
def test_other_spellings(written: str, name: str) -> None:
    assert parse_measure(written).name == name


def test_every_unknown_name_is_reported_with_the_nearest_known() -> None:
    with pytest.raises(UnknownMeasure) as caught:
        parse_measures(["ncdg@10 map@10", "recal@5", "p@0", "p"])
    assert len(caught.value.problems) == 4
    assert "did you mean ndcg@10?" in caught.value.problems[0]
    assert "did you mean recall@5?" in caught.value.problems[1]


@pytest.mark.parametrize(
    "written",
    ["", "@10", "p", "f1", "p@0", "p@-1", "p@1.5", "p@99999999999", "rprec@5", "ndcg@10(rel=2)", "p@5(rel=0)",
     "p@5(x=1)", "ap@5(norm=nothing)", "p@5(rel=2,rel=3)", "p@5(", "p@5)", "p@5(rel)", "ndcg@10\0", "p@５",
     "nDCG(dcg='ln')@5"],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused(written: str) -> None:
    with pytest.raises(UnknownMeasure):
        parse_measures([written])


def test_cutoffs_are_given_to_measures_that_have_none() -> None:
    assert [m.name for m in parse_measures(["p,ndcg mrr@7 rprec"], cutoffs=[1, 3])] == [
        "p@1", "p@3", "ndcg@1", "ndcg@3", "mrr@7", "rprec"
    ]  # fmt: skip


def test_a_measure_named_twice_is_measured_once() -> None:
    assert len(parse_measures(["ndcg@10", "nDCG@10 ndcg_cut_10"])) == 1


def test_a_default_level_is_for_measures_that_have_one() -> None:
    assert [m.name for m in parse_measures(DEFAULT, rel=2)][:2] == ["hit@10(rel=2)", "p@10(rel=2)"]
    assert parse_measure("ndcg@10", rel=2).name == "ndcg@10"
    assert parse_measure("p@10(rel=1)", rel=2).name == "p@10"


@given(st.text(max_size=30))
def test_no_text_brings_anything_but_measures_or_a_refusal(text: str) -> None:
    try:
        measures = parse_measures([text])
    except UnknownMeasure as error:
        problems = error.problems
        assert all(problem.isprintable() for problem in problems)
    else:
        assert parse_measures([m.name for m in measures]) == measures
