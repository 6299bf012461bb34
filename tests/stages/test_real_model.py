"""The rules for single queries, on what a model of 1.5 billion parameters wrote; each reply was read once.

``python -m tests.benchmarks real_model`` makes such replies again. A good query is one that somebody who needs the
sentence would type, and the sentence answers it; an off one is answered by more or less than that; the rest is bad.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from goldbench.ports import Brief
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle
from goldbench.stages.check import CheckContext, check_candidate

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
        kind=QueryKind.FACT,
        style=QueryStyle.QUESTION,
        answer=reply["answer"],
        mean_logprob=reply["mean_logprob"],
    )
    brief = Brief(chunk=chunk, assignment=ASKED, constraints=Constraints(), language=reply["language"], own_words=False)
    return check_candidate(candidate, CheckContext.of(chunk, brief)) is None


def test_the_rules_keep_most_good_replies_and_few_bad_ones() -> None:
    passed = Counter(reply["verdict"] for reply in REPLIES if is_accepted(reply))
    everything = Counter(reply["verdict"] for reply in REPLIES)
    assert passed["good"] / passed.total() > everything["good"] / everything.total() + 0.1
    assert passed["bad"] / passed.total() < 0.7 * everything["bad"] / everything.total()
    assert passed["good"] / everything["good"] > 0.6
