"""The rules for single queries, on what a model of 1.5 billion parameters wrote; each reply was read once.

``python -m tests.benchmarks real_model`` makes such replies again. A good query is one that somebody who needs the
sentence would type, and the sentence answers it; an off one is answered by more or less than that; the rest is bad.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from goldbench.pipeline.ports import Brief
from goldbench.pipeline.stages.check import CheckContext, check_candidate
from goldbench.schemas.corpus import Chunk, Span
from goldbench.schemas.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "real_model/replies.jsonl").read_text(encoding="utf-8").splitlines()
]
ASKED = Assignment(kind=QueryKind.FACT, style=QueryStyle.QUESTION)


def is_accepted(reply: dict[str, str]) -> bool:
    passage = reply["passage"]
    chunk = Chunk(
        chunk_id="c", span=Span(doc_id="d", start=0, end=len(passage)), text=passage, headings=[reply["title"]]
    )
    start = passage.index(reply["evidence"])
    candidate = Candidate(
        chunk_id="c",
        text=reply["query"],
        generator="ask.v1",
        evidence=(chunk.evidence(start, start + len(reply["evidence"])),),
        language=reply["language"],
        kind=QueryKind.FACT,
        style=QueryStyle.QUESTION,
        answer=reply["answer"],
        mean_logprob=reply["mean_logprob"],
    )
    brief = Brief(chunk=chunk, assignment=ASKED, constraints=Constraints(), language=reply["language"], own_words=False)
    return check_candidate(candidate, CheckContext.of(chunk, candidate, brief)) is None


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    """Return the share of good and bad replies among those that pass, and the share of good ones that do."""
    passed = Counter(reply["verdict"] for reply in REPLIES if is_accepted(reply))
    everything = Counter(reply["verdict"] for reply in REPLIES)
    return {
        "good": passed["good"] / passed.total(),
        "bad": passed["bad"] / passed.total(),
        "good before": everything["good"] / everything.total(),
        "bad before": everything["bad"] / everything.total(),
        "kept": passed["good"] / everything["good"],
    }


def test_the_rules_make_a_set_of_real_replies_better(shares: dict[str, float]) -> None:
    assert shares["good"] > shares["good before"] + 0.1
    assert shares["bad"] < 0.7 * shares["bad before"]


def test_most_good_replies_pass(shares: dict[str, float]) -> None:
    assert shares["kept"] > 0.6
