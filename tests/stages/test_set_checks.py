"""The checks over a set: duplicates, held against brute force, and the quota of low overlap."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, diags
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Candidate, Constraints
from goldbench.stages.check import CheckContext, Finding, SetChecks
from goldbench.stages.check.set_checks import word_set
from goldbench.text.words import terms

TEXT = "alpha beta gamma delta epsilon zeta eta theta"


def accept(checks: SetChecks, text: str, indexed: str = TEXT, language: str | None = None) -> Finding | None:
    source = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=len(indexed)), text=indexed)
    candidate = Candidate(chunk_id="c1", text=text, generator="test")
    return checks.accept(candidate, CheckContext(source, Constraints(), language, indexed))


def kept(texts: list[str]) -> list[str]:
    checks = SetChecks(target=len(texts) + 1)
    return [text for text in texts if accept(checks, text, "") is None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("How long does the battery last?", "the battery last how long does"),
        ("battery replacement costs", "battery replacement cost"),
        ("青藏铁路全长多少公里", "青藏铁路全长多少公里？"),
    ],
)
def test_the_first_of_two_queries_that_are_alike_stays(first: str, second: str):
    assert kept([first, "something else entirely", second]) == [first, "something else entirely"]


def test_at_most_six_in_ten_of_the_target_may_share_most_of_their_words():
    checks = SetChecks(target=5)
    findings = [
        accept(checks, text) for text in ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "unseen words here")
    ]
    assert [finding and (finding.filter, finding.rewrite) for finding in findings] == [
        None,
        None,
        None,
        ("overlap-quota", True),
        None,
    ]


def brute_force(texts: list[str]) -> list[str]:
    """Keep each text that is like none kept before; every pair compared, with scikit-learn's counts."""
    lines = [f" {' '.join(terms(text))} " for text in texts]
    try:
        counts = CountVectorizer(analyzer="char", ngram_range=(3, 5), lowercase=False).fit_transform(lines).tocsr()
    except ValueError:  # no text has three characters
        counts = csr_matrix((len(texts), 1))
    rows, chosen, size = normalize(counts), [], 0
    for index, text in enumerate(texts):
        words = [(word_set(text), word_set(texts[other])) for other in chosen]
        near = any(5 * len(one & other) >= 4 * len(one | other) for one, other in words)
        if near or (chosen and (rows[chosen] @ rows[index].T).max() >= 0.85):
            continue
        chosen.append(index)
        if len(chosen) >= 2 * size:
            size = len(chosen)
            idf = np.log((1 + size) / (1 + (counts[chosen] > 0).sum(axis=0).A1)) + 1
            rows = normalize(counts @ diags(idf))
    return [texts[index] for index in chosen]


WORD = st.sampled_from(
    "how long does the battery last charge filter dock 电池 多久 充电 R2 v3 batteries lasts".split()  # noqa: SIM905 - as text
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORD, min_size=1, max_size=7).map(" ".join), min_size=1, max_size=25))
def test_the_index_finds_what_comparing_every_pair_finds(texts: list[str]):
    assert kept(texts) == brute_force(texts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_index_finds_every_duplicate_among_human_questions(collections: Path, language: str):
    lines = (collections / f"xquad_{language}" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines[:100]]
    texts += [text.replace("the ", "this ").rstrip("?？") for text in texts[::5]]
    assert kept(texts) == brute_force(texts)
