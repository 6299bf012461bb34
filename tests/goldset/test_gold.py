"""The gold set on disk: read back by people's own loaders, whatever characters ids and texts hold."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.errors import InputError
from goldbench.goldset.dataset import GoldContents, Passage, read_dataset, write_gold
from goldbench.records.corpus import Evidence
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance
from goldbench.records.testset import TestSet

IDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zs", "Zl", "Zp")), min_size=1, max_size=12).filter(
    lambda text: not text.startswith("#") and not any(c.isspace() for c in text)
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60).filter(lambda text: text.strip())


def gold_set(queries: dict[str, str], corpus: dict[str, str], relevance: dict[str, dict[str, int]]) -> GoldContents:
    return GoldContents(
        queries=[
            Query(
                query_id=query_id,
                text=text,
                chunk_id=next(iter(relevance[query_id])),
                generator="test",
                evidence=(Evidence(doc_id="d", start=0, end=1, quote="x"),),
            )
            for query_id, text in queries.items()
        ],
        corpus=lambda: (Passage(chunk_id=key, title="", text=text) for key, text in corpus.items()),
        relevance={q: {d: Relevance(g) for d, g in grades.items()} for q, grades in relevance.items()},
        metadata={"evidence_level": "smoke"},
    )


HOSTILE = {
    'a"b': "tab\there",
    "'=1+1": 'quote " and \u2028 line separator \x85 next line',
    '"quoted"': "new\nline\r\nand carriage\rreturn",
    "ид-1": "</script><script>alert(1)</script>",
}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    queries = {'q"1': "what\tis\nthis", "q,2": '=HYPERLINK("x")'}
    relevance = {'q"1': {'"quoted"': 3, 'a"b': 2}, "q,2": {"ид-1": 3, "'=1+1": 1}}
    write_gold(tmp_path, gold_set(queries, HOSTILE, relevance))
    return tmp_path


def test_dataset_json_loads_with_json_alone_into_the_four_maps(hostile: Path) -> None:
    data = json.loads((hostile / "dataset.json").read_text(encoding="utf-8"))
    assert list(data) == ["queries", "corpus", "relevant_docs", "mode", "relevance_scores", "metadata"]
    assert data["corpus"] == HOSTILE
    assert data["mode"] == "text"
    assert data["relevant_docs"] == {'q"1': ['"quoted"', 'a"b'], "q,2": ["ид-1"]}
    assert data["relevance_scores"]["q,2"] == {"'=1+1": 1, "ид-1": 3}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its own
def test_beirs_own_loader_reads_the_folder_whatever_its_ids_and_texts_hold(hostile: Path) -> None:
    from beir.datasets import data_loader as loader

    corpus, queries, qrels = loader.GenericDataLoader(str(hostile / "beir")).load(split="test")
    assert {key: row["text"] for key, row in corpus.items()} == HOSTILE
    assert queries == {'q"1': "what\tis\nthis", "q,2": '=HYPERLINK("x")'}
    assert qrels == {'q"1': {'"quoted"': 3, 'a"b': 2}, "q,2": {"'=1+1": 1, "ид-1": 3}}


def test_ir_measures_reads_the_trec_qrels(hostile: Path) -> None:
    import ir_measures

    qrels = ir_measures.read_trec_qrels(str(hostile / "trec" / "qrels.txt"))
    read = {(item.query_id, item.doc_id, item.relevance) for item in qrels}
    assert read == {('q"1', '"quoted"', 3), ('q"1', 'a"b', 2), ("q,2", "'=1+1", 1), ("q,2", "ид-1", 3)}


@settings(max_examples=60, deadline=None)
@given(corpus=st.dictionaries(IDS, TEXTS, min_size=1, max_size=5), query=TEXTS)
def test_any_text_and_any_legal_id_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, corpus: dict[str, str], query: str
) -> None:
    folder = tmp_path_factory.mktemp("gold")
    first = next(iter(corpus))
    write_gold(folder, gold_set({"q1": query}, corpus, {"q1": {first: 3}}))
    gold = read_dataset(folder / "dataset.json")
    assert gold.corpus == corpus
    assert gold.queries == {"q1": query}
    rows = (folder / "beir" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["text"] for row in rows] == list(corpus.values())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data["relevant_docs"]["q1"].append("nowhere"), "not in corpus"),
        (lambda data: data["relevant_docs"].update(q9=["c1"]), "not in queries"),
        (lambda data: data["relevance_scores"]["q1"].update(c1=0), "graded 2 or more"),
        (lambda data: data.update(surprise=1), "surprise"),
        (lambda data: data.update(needs={"q9": ["c1", "c2"]}), "needs names query 'q9'"),
        (lambda data: data.update(unanswerable={"q1": "why"}), "in queries and in unanswerable"),
        (
            lambda data: data.update(answers={"q1": {"text": "so", "evidence": [{"quote": "x", "chunk_id": "c9"}]}}),
            "cites 'c9'",
        ),
        (lambda data: data.update(derived={"q1": ["c2"]}), "not among its relevant_docs"),
        (lambda data: data["queries"].update({"": "who"}), r"json: queries\.: not a valid id: it holds white space"),
        (lambda data: data["queries"].update(q1=" "), r"json: query 'q1' is empty$"),
    ],
)
def test_a_reference_that_does_not_resolve_is_named(tmp_path: Path, change: object, says: str) -> None:
    write_gold(tmp_path, gold_set({"q1": "why"}, {"c1": "text"}, {"q1": {"c1": 3}}))
    data = json.loads((tmp_path / "dataset.json").read_text())
    change(data)  # type: ignore[operator]
    (tmp_path / "dataset.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=says):
        read_dataset(tmp_path / "dataset.json")


@pytest.mark.parametrize(("grade", "kept"), [(2, {"q": ["a", "b"]}), (1, {})])
def test_passages_belong_together_only_while_each_is_relevant(tmp_path: Path, grade: int, kept: dict[str, Any]) -> None:
    made = gold_set({"q": "which pump feeds the tank"}, {"a": "x", "b": "y"}, {"q": {"a": 3, "b": grade}})
    asked = [query.model_copy(update={"needs": ("a", "b")}) for query in made.queries]
    write_gold(tmp_path, dataclasses.replace(made, queries=asked))
    assert read_dataset(tmp_path / "dataset.json").needs == kept
    refused = {"queries": {"q": "x"}, "corpus": {"a": "x", "b": "y"}, "relevant_docs": {"q": ["a"]}}
    with pytest.raises(ValueError, match="names 'b', which is not in its relevant_docs"):
        TestSet.model_validate({**refused, "needs": {"q": ["a", "b"]}})
