"""Tokens made elsewhere, by id and by text; the published experiment's own tokens give its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import Analyzer, BM25Settings
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer, cut, tokenizer


def file(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_tokens_are_found_by_id_in_files_of_passages_and_queries(tmp_path: Path) -> None:
    docs = file(tmp_path / "docs.tsv", "d1\tpump\tvalve", "d2\ttank", "d3")
    queries = file(tmp_path / "queries.tsv", "q1\tpump")
    tokens = TokenFiles([docs, queries])
    assert list(cut(tokens, {"d2": "x", "d1": "y", "d3": "z"})) == [["tank"], ["pump", "valve"], []]
    assert list(cut(tokens, {"q1": "any words"})) == [["pump"]]


def test_tokens_without_ids_are_found_by_text_though_words_are_left_out(tmp_path: Path) -> None:
    docs = file(tmp_path / "docs.tsv", "pump\tstation", "循环\t水泵", "pump\thums", "")
    tokens = TokenFiles([docs])
    texts = {"a": "循环水泵。", "b": "Pump-Station", "c": "The pump, it hums", "d": "?!"}
    assert list(cut(tokens, texts)) == [["循环", "水泵"], ["pump", "station"], ["pump", "hums"], []]


def test_a_text_that_is_in_no_file_is_named(tmp_path: Path) -> None:
    by_id = TokenFiles([file(tmp_path / "docs.tsv", "d1\tpump", "d2\ttank")])
    with pytest.raises(RetrieverFailed, match=r"docs\.tsv: no tokens for 1 of 3 texts, the first of them 'd9'"):
        by_id.of({"d1": "x", "d2": "y", "d9": "z"})
    with pytest.raises(RetrieverFailed, match="no tokens for 1 of 1 texts, the first of them 'q'"):
        by_id.of({"q": "some other text"})


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (b"\xff\xfe", "is not UTF-8")])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "docs.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RetrieverFailed, match=message):
        TokenFiles([path])


def hit_rates(tokens: Tokenizer | TokenFiles, folder: Path) -> list[float]:
    data = json.loads((folder / "doc_qa_test.json").read_text(encoding="utf-8"))
    retriever = BM25(BM25Settings(), tokens=tokens)
    retriever.index(data["corpus"])
    run = retriever.search(data["queries"], k=5)
    first = [list(run[query_id]).index(*map(str, relevant)) + 1 if relevant[0] in run[query_id] else 9
             for query_id, relevant in data["relevant_docs"].items()]  # fmt: skip
    return [sum(rank <= k for rank in first) for k in range(1, 6)]


def within(counted: list[float], expected: dict[int, float], queries: int = 321) -> bool:
    return all(abs(counted[k - 1] - rate * queries) <= 2.05 for k, rate in expected.items())


def test_the_published_experiment_comes_out_over_its_own_tokens(collections: Path) -> None:
    folder = collections / "percent4"
    tokens = TokenFiles([folder / "ik_smart.docs.tsv", folder / "ik_smart.queries.tsv"])
    assert within(hit_rates(tokens, folder), {1: 0.7944, 2: 0.8474, 3: 0.9003, 4: 0.9252, 5: 0.9346})


def test_the_published_experiment_comes_out_over_our_analyzers(collections: Path) -> None:
    folder = collections / "percent4"
    standard = hit_rates(tokenizer(Analyzer.STANDARD), folder)
    assert within(standard, {1: 0.7664, 2: 0.8442, 3: 0.8723, 4: 0.9097, 5: 0.9315})
    assert within(hit_rates(tokenizer(Analyzer.CJK_BIGRAM), folder), {1: 0.8037, 5: 0.9595})


def test_scores_are_lucenes_over_the_same_tokens(collections: Path) -> None:
    folder = collections / "percent4"
    data = json.loads((folder / "doc_qa_test.json").read_text(encoding="utf-8"))
    retriever = BM25(BM25Settings(), tokens=TokenFiles([folder / "ik_smart.docs.tsv", folder / "ik_smart.queries.tsv"]))
    retriever.index(data["corpus"])
    match = retriever.search(data["queries"], k=433)
    for line in (folder / "bm25_ik_smart_top10.trec").read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        assert match[query_id][doc_id] == pytest.approx(float(score), abs=1e-5)
