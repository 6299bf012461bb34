"""Ranks without an index are those of the results of BM25."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval import term_ranks
from goldbench.retrieval.analyzer_names import Analyzer
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.postings import Occurrences
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.term_ranks import ranks_of
from goldbench.retrieval.tokens import tokenizer

WORDS = st.lists(st.sampled_from(["pump", "pumps", "the", "seal", "a", "日本", "gauge"]), max_size=9).map(" ".join)
CORPORA = st.dictionaries(st.text("abZ9é", min_size=1, max_size=3), WORDS, max_size=12)


@pytest.fixture(autouse=True)
def few_passages_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_ranks, "_CELLS", 1)
    monkeypatch.setattr(term_ranks, "_FEWEST_ROWS", 3)


@pytest.mark.parametrize(
    "settings",
    [
        BM25Settings(),
        BM25Settings(language="en"),
        BM25Settings(analyzer=Analyzer.NGRAMS, k1=0.0),
        BM25Settings(analyzer=Analyzer.NGRAMS, b=1.0),
    ],
    ids=str,
)
@given(corpus=CORPORA, queries=st.lists(WORDS, max_size=4))
def test_ranks_are_those_of_an_index(settings: BM25Settings, corpus: dict[str, str], queries: list[str]) -> None:
    tokens, ids = tokenizer(settings.analyzer, language=settings.language), in_tie_order(corpus)
    words = Occurrences.of(tokens.words(corpus[doc_id]) for doc_id in ids)
    sought = [(number, place) for number in range(len(queries)) for place in range(len(ids))]
    index = BM25(settings, tokens=tokens)
    index.index(corpus)
    found = index.search({str(number): query for number, query in enumerate(queries)}, k=len(ids) + 1)
    ranks = [{doc_id: rank for rank, doc_id in enumerate(found[str(number)], 1)} for number in range(len(queries))]
    assert ranks_of(settings, tokens, words, queries, sought) == [
        ranks[number].get(ids[place]) for number, place in sought
    ]
