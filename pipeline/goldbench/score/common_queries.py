"""A baseline, and which of its queries are still in a set: by their text, labels, and the texts of their passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench.errors import InputError, Message, UsageError, plain_file
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.scorecard_files import parsed
from goldbench.goldset.file_names import DATASET, MANIFEST
from goldbench.goldset.gold_path import document_ids, folder_of
from goldbench.records.scorecard import Baseline
from goldbench.score.runs import Gold
from goldbench.text.display import amount, printable, queries


def outdated_lines(gold: Gold, retrieved: Iterable[tuple[str, set[str]]]) -> Iterator[str]:
    """Yield a line for each run of which some passages, but not all, are not in a set made from documents.

    Documents change, and a run from before then scores lower than its retriever. The passages of an imported set stay
    as they are, and there may be millions of them: nothing is read then.

    Args:
        gold: The set.
        retrieved: The name of each run and the ids that it retrieved.
    """
    if not _is_of_documents(gold):
        return
    for name, passages in retrieved:
        missing = len(passages.difference(document_ids(gold.path)))
        if 0 < missing < len(passages):
            are = "is" if missing == 1 else "are"
            yield (
                f"{printable(name)}: {missing:,} of {amount(len(passages), 'passage')} in the run {are} not in the "
                "set; if its documents have changed since, search again and score the new run."
            )


def query_digests(gold: Gold) -> dict[str, str]:
    """Return a digest of each query's text and labels; empty if the judgments are of no set.

    Raises:
        InputError: The set is damaged.
    """
    folder = None if gold.in_memory else folder_of(gold.path)
    if gold.content_sha256() is None or folder is None:
        return {}
    from goldbench.goldset.content_digest import read_content

    digests = read_content(folder / DATASET).queries
    return {query_id: digest for query_id, digest in digests.items() if query_id in gold.qrels}


def comparable(baseline: Baseline, gold: Gold, *, common_queries: bool) -> Baseline:
    """Return a baseline as far as it can be compared with judgments: if the set has changed, the common queries alone.

    Args:
        baseline: The baseline.
        gold: The judgments.
        common_queries: Whether the common queries are to be compared if the set has changed.

    Raises:
        UsageError: The set has changed since, and ``common_queries`` is false.
        InputError: It does not tell its queries, or has none in common with the judgments.
    """
    digest = gold.content_sha256()
    measured = baseline.gold.content_sha256
    if digest == measured or (measured is None and baseline.gold.sha256 == gold.fingerprint()):
        return baseline
    again = Message("write a new baseline with {init=True}")
    if digest is None or measured is None:
        which = "the judgments given belong to no set" if digest is None else "it does not say which set it measured"
        raise InputError(Message("{baseline}"), Message("cannot be compared: {}; {}", which, again))
    if not common_queries:
        problem = f"measured the set when its content was {measured[:12]}; now it is {digest[:12]}"
        remedy = Message("give {common_queries=True} to compare the queries that are the same, or {}", again)
        raise UsageError(Message("{}; {}", problem, remedy), parameter="baseline")
    return _common(baseline, query_digests(gold), Message("has no query as it is now; {}", again))


def coverage_line(baseline: Baseline, gold: Gold) -> str:
    """Return in words how many queries are compared with the baseline.

    Args:
        baseline: The baseline as far as it is compared.
        gold: The judgments.
    """
    common = len(baseline.query_ids)
    every = len(gold.qrels)
    return (
        f"{common:,} of {queries(every)} are as in the baseline, which had {baseline.gold.queries:,}; "
        "only they are compared with it"
    )


def _common(baseline: Baseline, digests: Mapping[str, str], nothing: str) -> Baseline:
    """Return the baseline of the queries whose text and labels are as they were."""
    measured = enumerate(zip(baseline.query_ids, baseline.query_sha256, strict=False))
    rows = [row for row, (query_id, digest) in measured if digests.get(query_id) == digest]
    if not rows:
        raise InputError(Message("{baseline}"), nothing)
    return baseline.model_copy(
        update={
            "query_ids": [baseline.query_ids[row] for row in rows],
            "query_sha256": [baseline.query_sha256[row] for row in rows],
            "values": {name: [column[row] for row in rows] for name, column in baseline.values.items()},
        }
    )


def _is_of_documents(gold: Gold) -> bool:
    """Whether the judgments are of a set that was made from files, which may have changed since."""
    folder = None if gold.in_memory else folder_of(gold.path)
    if folder is None or not (folder / MANIFEST).is_file():
        return False
    manifest: Any = read_json(Source(folder / MANIFEST))
    return isinstance(manifest, dict) and bool(manifest.get("paths"))


_MOST = 1e12
"""Largest value of a measure that a baseline may hold; sums of larger ones lose the differences that a gate tests."""


def read_baseline(path: Path) -> Baseline:
    """Return the scores in a baseline.

    Raises:
        InputError: The file is missing or cannot be read, or is not a baseline.
    """
    with in_file(path):
        try:
            baseline = parsed(plain_file(path).read_bytes(), Baseline)
        except Fault as fault:
            raise Fault(Message("{}; write it again with {init=True}", fault)) from None
        if any(abs(value) > _MOST for column in baseline.values.values() for value in column):
            raise Fault(Message("is not a baseline: a value is beyond {:g}; write it again with {init=True}", _MOST))
        return baseline
