"""A set that was exported comes back by ``goldbench import``; sets that others made come in, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet, InputError
from tests.exports.sample_exports import ALONE, ANSWERS, CONTEXTS, CORPUS, GRADES, QUESTIONS, UNANSWERED

RELEVANT = {key: {doc_id: GRADES[key][doc_id] for doc_id in found} for key, found in CONTEXTS.items()}
USED = {doc_id: CORPUS[doc_id] for found in CONTEXTS.values() for doc_id in found}
QUOTES = {
    key: {"text": answer, "evidence": [{"quote": CORPUS[CONTEXTS[key][0]][:4], "chunk_id": CONTEXTS[key][0]}]}
    for key, answer in ANSWERS.items()
}


@pytest.mark.parametrize(("to", "kind", "ending"), [
    ("ragas", "ragas", ".jsonl"), ("deepeval", "deepeval", ".json"), ("langsmith", "langsmith", ".jsonl"),
])  # fmt: skip
def test_rows_come_back_with_ids_grades_answers_evidence_and_turns(
    sample: Path, tmp_path: Path, to: str, kind: Any, ending: str
) -> None:
    file = GoldSet.load(sample).export(to, tmp_path / f"x{ending}")
    back = GoldSet.load(file, kind=kind)
    assert back.queries == QUESTIONS
    assert back.corpus == USED
    assert back.qrels == RELEVANT
    assert back.answers == QUOTES
    assert back.needs == {"q2": ["tank#1", "valve"]}
    assert back.standalone == {"q4": ALONE["q4"]}
    assert back.history == {"q4": [{"question": "Which valve is slow?", "answer": "The motor valve."}]}
    assert back.unanswerable == ({} if to == "ragas" else UNANSWERED)
    assert back.metadata["evidence_level"] == "model"
    assert back.metadata["notice"] == "Written by a test."


def test_llama_index_gives_back_the_whole_corpus_and_every_grade(sample: Path, tmp_path: Path) -> None:
    back = GoldSet.load(GoldSet.load(sample).export("llama-index", tmp_path / "x.json"), kind="llamaindex")
    assert (back.queries, back.corpus, back.qrels, back.answers) == (ALONE, CORPUS, GRADES, QUOTES)
    assert back.metadata["notice"] == "Written by a test."


@pytest.mark.parametrize("grades", [{"d1": 2, "d2": 0}, {"d1": 2, "d2": 1}])
def test_grades_and_blanks_at_the_ends_of_a_text_stay_as_they_are(tmp_path: Path, grades: dict[str, int]) -> None:
    data: dict[str, Any] = {
        "queries": {"q1": "which"},
        "corpus": {"d1": "\tone \n", "d2": "two"},
        "relevant_docs": {"q1": [doc_id for doc_id, grade in grades.items() if grade > 1]},
        "relevance_scores": {"q1": grades},
    }
    (tmp_path / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
    gold = GoldSet.load(tmp_path)
    for to in ("ir_datasets", "autorag"):
        back = GoldSet.load(gold.export(to, tmp_path / to), kind=to)
        assert (back.qrels, back.corpus) == ({"q1": grades}, data["corpus"])


def test_sets_of_others_come_in_with_ids_made_of_their_texts(tmp_path: Path) -> None:
    ragas = [
        {"user_input": "Who?", "reference_contexts": ["Ann built it.", "In May."], "reference": "Ann.", "x": 1},
        {"user_input": "When?", "reference_contexts": ["In May."], "reference": "May", "synthesizer_name": "s"},
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ragas), encoding="utf-8")
    gold_set = GoldSet.load(tmp_path / "r.jsonl", kind="ragas")
    assert list(gold_set.queries.values()) == ["Who?", "When?"]
    texts = gold_set.corpus
    assert sorted(texts.values()) == ["Ann built it.", "In May."]
    graded = [{texts[doc_id]: grade for doc_id, grade in judged.items()} for judged in gold_set.qrels.values()]
    assert graded == [{"Ann built it.": 2, "In May.": 2}, {"In May.": 3}]
    assert [answer["text"] for answer in gold_set.answers.values()] == ["Ann.", "May"]
    assert gold_set.metadata["evidence_level"] == "model"
    langsmith = [{"inputs": {"query": "Who?"}, "outputs": {"output": "Ann.", "documents": ["Ann built it."]}}]
    (tmp_path / "l.json").write_text(json.dumps(langsmith), encoding="utf-8")
    gold_set = GoldSet.load(tmp_path / "l.json", kind="langsmith")
    assert (list(gold_set.queries.values()), list(gold_set.corpus.values())) == (["Who?"], ["Ann built it."])
    rag = {"examples": [{"query": "Who?", "reference_contexts": ["Ann built it."], "reference_answer": "Ann."}]}
    (tmp_path / "rag.json").write_text(json.dumps(rag), encoding="utf-8")
    gold_set = GoldSet.load(tmp_path / "rag.json", kind="llamaindex")
    assert (list(gold_set.corpus.values()), [one["text"] for one in gold_set.answers.values()]) == (
        ["Ann built it."],
        ["Ann."],
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"user_input": [{"content": "a", "type": "human"}]}, "has no query that is a text; conversations"),
        ({"user_input": "Who?"}, "names no passage that answers its query"),
        ({"user_input": "Who?", "reference_contexts": "Ann"}, "has passages that are not a list of texts"),
        (["Who?"], "is not a JSON object"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_line_or_left_out(tmp_path: Path, row: Any, says: str) -> None:
    good = {"user_input": "When?", "reference_contexts": ["In May."]}
    (tmp_path / "r.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"r\.jsonl, line 2: {says}"):
        GoldSet.load(tmp_path / "r.jsonl", kind="ragas")
    assert list(GoldSet.load(tmp_path / "r.jsonl", kind="ragas", drop_broken=True).queries.values()) == ["When?"]


def test_one_id_with_two_texts_is_refused(tmp_path: Path) -> None:
    rows = [{"user_input": f"{n}?", "reference_contexts": [f"text {n}"], "reference_context_ids": [7]} for n in (1, 2)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError, match="line 2: the id '7' is that of line 1 too"):
        GoldSet.load(tmp_path / "r.jsonl", kind="ragas")
