"""Which queries two versions of a set have in common: by their text, their labels, and the texts of their passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from goldbench.pipeline.errors import InputError, Message, UsageError
from goldbench.pipeline.formats.json_maps import read_json
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.goldset.file_names import DATASET, MANIFEST
from goldbench.pipeline.goldset.gold_path import folder_of
from goldbench.pipeline.score.runs import documents_of
from goldbench.pipeline.text.display import amount, printable, queries

if TYPE_CHECKING:
    from goldbench.pipeline.score.runs import Gold, Run
    from goldbench.schemas.scorecard import Baseline


def outdated_lines(gold: Gold, runs: Mapping[str, Run]) -> Iterator[str]:
    """Yield a line for each run with passages that the set no longer holds; none if it never followed edited documents.

    Args:
        gold: The set.
        runs: The runs by name, whose results are recognised by their ids.
    """
    yield from outdated_among(gold, ((name, documents_of(run)) for name, run in runs.items()))


def outdated_among(gold: Gold, retrieved: Iterable[tuple[str, set[str]]]) -> Iterator[str]:
    """Yield the lines of `outdated_lines`.

    Args:
        gold: The set.
        retrieved: The name of each run and the ids that it retrieved, taken only if the set followed edited documents.
    """
    if not _was_renewed(gold):
        return
    for name, found in retrieved:
        gone = len(found - gold.corpus(found).keys())
        if 0 < gone < len(found):
            are = "is" if gone == 1 else "are"
            yield (
                f"{printable(name)}: {gone:,} of {amount(len(found), 'passage')} in the run {are} not in this version "
                "of the set; search again, and score the new run."
            )


def query_digests(gold: Gold) -> dict[str, str]:
    """Return a digest of each query's text and labels; empty if the judgments are of no set.

    Raises:
        InputError: The set is damaged.
    """
    folder = None if gold.in_memory else folder_of(gold.path)
    if gold.content_sha256() is None or folder is None:
        return {}
    from goldbench.pipeline.goldset.content_digest import read_content

    digests = read_content(folder / DATASET).queries
    return {query_id: digest for query_id, digest in digests.items() if query_id in gold.qrels}


def comparable(baseline: Baseline, gold: Gold, *, across: bool) -> Baseline:
    """Return a baseline as far as it can be compared with judgments: of another version, the common queries alone.

    Args:
        baseline: The baseline.
        gold: The judgments.
        across: Whether two versions are to be compared.

    Raises:
        UsageError: It measured another version, and ``across`` is false.
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
    if not across:
        problem = f"measured the set when its content was {measured[:12]}; now it is {digest[:12]}"
        remedy = Message("give {across_versions=True} to compare their common queries, or {}", again)
        raise UsageError(Message("{}; {}", problem, remedy), parameter="baseline")
    return _common(baseline, query_digests(gold), Message("has no query as it is now; {}", again))


def told(baseline: Baseline, gold: Gold) -> str:
    """Return in words how many queries are compared across two versions.

    Args:
        baseline: The baseline as far as it is compared.
        gold: The judgments.
    """
    common, every = len(baseline.query_ids), len(gold.qrels)
    return (
        f"{common:,} of {queries(every)} are as in the baseline, which had {baseline.gold.queries:,}; "
        "only they are compared with it"
    )


def _common(baseline: Baseline, digests: Mapping[str, str], nothing: str) -> Baseline:
    """Return the baseline of the queries with equal digests, under the ids that these have now."""
    before = list(zip(baseline.query_ids, baseline.query_sha256, strict=False))
    same = {one for one, digest in before if digests.get(one) == digest}
    waiting: dict[str, list[str]] = {}
    for query_id, digest in digests.items():
        if query_id not in same:
            waiting.setdefault(digest, []).append(query_id)
    rows, now = list[int](), list[str]()
    for row, (query_id, digest) in enumerate(before):
        others = waiting.get(digest, [])
        if query_id in same or others:
            rows.append(row)
            now.append(query_id if query_id in same else others.pop(0))
    if not rows:
        raise InputError(Message("{baseline}"), nothing)
    values = {name: [column[row] for row in rows] for name, column in baseline.values.items()}
    kept = [baseline.query_sha256[row] for row in rows]
    return baseline.model_copy(update={"query_ids": now, "query_sha256": kept, "values": values})


def _was_renewed(gold: Gold) -> bool:
    """Whether the judgments are of a set that took over queries of an earlier one whose documents changed."""
    folder = None if gold.in_memory else folder_of(gold.path)
    if folder is None or not (folder / MANIFEST).is_file():
        return False
    manifest: Any = read_json(Source(folder / MANIFEST))
    return isinstance(manifest, dict) and manifest.get("renewed") is not None
