"""Passages that give the same answer about the same subject are relevant, and others with the same words are not."""

from __future__ import annotations

import pytest

from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Query, QueryKind
from goldbench.records.relevance import Relevance
from goldbench.stages.assemble import add_derived
from goldbench.stages.same_answers import same_answers

TEXTS = {
    "source": "Harvard Stadium is located in Allston. It was built in 1903.",
    "same": "The school lies elsewhere. Harvard Stadium, located across the river, is in Allston of Boston.",
    "apart": "Harvard Stadium is located across the river. Allston is a part of Boston.",
    "other": "The Kresge Stadium is located in Allston.",
    "longer word": "Harvard Stadium is located in Allstonville.",
    "titled": "It is located in Allston.",
}


def chunk(name: str, text: str) -> Chunk:
    title = "Harvard Stadium" if name == "titled" else ""
    return Chunk(
        chunk_id=name.replace(" ", "-"),
        span=Span(doc_id=name.replace(" ", "-"), start=0, end=len(text)),
        text=text,
        title=title,
    )


CHUNKS = [chunk(name, text) for name, text in TEXTS.items()]


def query(text: str = "Where is Harvard Stadium located?", answer: str | None = "Allston", **more: object) -> Query:
    made = Query(query_id="q1", text=text, answer=answer, chunk_id="source", generator="m", language="en")
    return made.model_copy(update=more)


def test_a_sentence_must_give_the_answer_and_name_what_is_asked_about() -> None:
    assert same_answers([query()], CHUNKS) == {"q1": ["source", "same", "titled"]}


def test_the_subject_must_be_named_too() -> None:
    assert same_answers([query(subject="stadium of Boston")], CHUNKS) == {"q1": ["same"]}


@pytest.mark.parametrize(
    "asked",
    [
        query(answer=None),
        query(answer="the"),
        query(text="Which stadium?"),
        query(needs=("source", "same")),
        query(kind=QueryKind.TEMPORAL),
    ],
)
def test_what_says_too_little_or_means_a_moment_has_none(asked: Query) -> None:
    assert same_answers([asked], CHUNKS) == {}


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    texts = {
        "a": "循环泵的启动压力是三百帕。",
        "b": "第二台循环泵在启动时压力是三百帕。",
        "c": "三百帕是压力。循环泵启动。",
    }
    asked = query(text="循环泵启动压力", answer="三百帕", language="zh")
    found = same_answers([asked], [chunk(name, text) for name, text in texts.items()])
    assert "c" not in found.get("q1", [])


def test_derived_labels_get_grade_2_and_change_no_other_label() -> None:
    noisy = query(original="q1", kind=QueryKind.NOISY).model_copy(update={"query_id": "q2"})
    relevance = {name: {"source": Relevance.ANSWERS, "same": Relevance.ANSWERS} for name in ("q1", "q2")}
    derived = add_derived(relevance, [query(), noisy], same_answers([query(), noisy], CHUNKS))
    assert derived == {"q1": ["titled"], "q2": ["titled"]}
    assert relevance["q1"] == relevance["q2"] == {"source": 3, "same": 3, "titled": 2}
