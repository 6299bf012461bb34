"""Which queries two versions of a set have in common: by their text, their labels, and the texts of their passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.pipeline.errors import InputError, Message, UsageError
from goldbench.pipeline.formats.json_maps import read_json
from goldbench.pipeline.formats.lines import json_objects
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.goldset.file_names import DATASET, MANIFEST, QUERY_VERSIONS
from goldbench.pipeline.goldset.gold_path import folder_of
from goldbench.pipeline.score.runs import documents_of
from goldbench.pipeline.text.display import amount, printable, queries

if TYPE_CHECKING:
    from goldbench.pipeline.measures.result import Result
    from goldbench.pipeline.score.earlier_scores import EarlierScores
    from goldbench.pipeline.score.runs import Gold, Run


@dataclass(frozen=True, slots=True)
class Earlier:
    """The last version of a set that asked something else: its number, its queries, and those that stand as they were.

    ``before`` counts the queries of that version, ``now`` those of the present one.
    """

    version: str
    before: int
    now: int
    kept: frozenset[str]

    def means(self, result: Result) -> dict[str, float]:
        """Return the mean of each measure over the queries that stand as they were; none without such a query."""
        rows = [row for row, query_id in enumerate(result.query_ids) if query_id in self.kept]
        columns = {name: [float(column[row]) for row in rows] for name, column in result.values.items()}
        defined = {name: [one for one in column if not isnan(one)] for name, column in columns.items()}
        return {name: fsum(column) / len(column) for name, column in defined.items() if column}

    def as_member(self, result: Result) -> dict[str, Any]:
        """Return what `line` tells, for programs."""
        return {"version": self.version, "queries": len(self.kept), "before": self.before, "means": self.means(result)}

    def line(self, name: str, result: Result, measures: Sequence[str]) -> str:
        """Return in words which part of a run's scores is comparable with those on the earlier version.

        Args:
            name: The name of the run.
            result: Its scores.
            measures: The measures to name, those of the table.
        """
        found = self.means(result)
        means = ", ".join(f"{measure} {found[measure]:.4f}" for measure in measures if measure in found)
        many = f"{len(self.kept):,} of {queries(self.now)}"
        are = "is" if len(self.kept) == 1 else "are"
        return (
            f"{printable(name)}: {many} {are} as in version {self.version}, which had {self.before:,}"
            f"{f': {means} over them' if means else ''}."
        )


def earlier_version(gold: Gold) -> Earlier | None:
    """Return what the set has in common with its last version that asked something else, None if there is none."""
    folder = None if gold.in_memory else folder_of(gold.path)
    if folder is None or not (folder / QUERY_VERSIONS).is_file() or not (folder / MANIFEST).is_file():
        return None
    manifest: Any = read_json(Source(folder / MANIFEST))
    since = {query_id: version for query_id, (_, version) in _rows(folder).items() if query_id in gold.qrels}
    for _, before in pairwise(manifest.get("versions", ())):
        number = _numbers(before["version"])
        kept = frozenset(query_id for query_id, version in since.items() if _numbers(version) <= number)
        if before["queries"] and not len(kept) == len(since) == before["queries"]:
            return Earlier(before["version"], before["queries"], len(since), kept)
    return None


def outdated_lines(gold: Gold, runs: Mapping[str, Run]) -> Iterator[str]:
    """Yield a line for each run with passages that the set no longer holds; none if its passages never changed.

    Args:
        gold: The set.
        runs: The runs by name, whose results are recognised by their ids.
    """
    yield from outdated_among(gold, ((name, documents_of(run)) for name, run in runs.items()))


def outdated_among(gold: Gold, retrieved: Iterable[tuple[str, set[str]]]) -> Iterator[str]:
    """Yield the lines of `outdated_lines`.

    Args:
        gold: The set.
        retrieved: The name of each run and the ids that it retrieved, which are taken only if a passage ever changed.
    """
    version = gold.version()[0]
    if version is None or _numbers(version)[0] == 1:  # a change of a passage raises the first number
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
    """Return a digest of each query's text and labels; empty if the set has no version.

    Raises:
        InputError: The set is damaged.
    """
    folder = None if gold.in_memory else folder_of(gold.path)
    if gold.version()[1] is None or folder is None:
        return {}
    if (folder / QUERY_VERSIONS).is_file():
        found = {query_id: digest for query_id, (digest, _) in _rows(folder).items()}
    else:
        from goldbench.pipeline.goldset.content_digest import read_content

        found = read_content(folder / DATASET).queries
    return {query_id: digest for query_id, digest in found.items() if query_id in gold.qrels}


def comparable(baseline: EarlierScores, gold: Gold, *, across: bool) -> EarlierScores:
    """Return a baseline as far as it can be compared with judgments: of another version, the common queries alone.

    Args:
        baseline: The baseline.
        gold: The judgments.
        across: Whether two versions are to be compared.

    Raises:
        UsageError: It measured another version, and ``across`` is false.
        InputError: It does not tell its queries, or has none in common with the judgments.
    """
    version, digest = gold.version()
    measured = baseline.gold.content_sha256
    if digest == measured or (measured is None and baseline.gold.sha256 == gold.fingerprint()):
        return baseline
    again = Message("write a new baseline with {init=True}")
    if digest is None or measured is None:
        which = "the judgments have no version" if digest is None else "it does not say which version it measured"
        raise InputError(Message("{baseline}"), Message("measured other judgments, and {}; {}", which, again))
    if not across:
        problem = f"measured version {baseline.gold.version} of the set, this is {_named(version, baseline)}"
        remedy = Message("give {across_versions=True} to compare their common queries, or {}", again)
        raise UsageError(Message("{}; {}", problem, remedy), parameter="baseline")
    return _common(baseline, query_digests(gold), Message("has no query as it is in version {}; {}", version, again))


def told(baseline: EarlierScores, gold: Gold) -> str:
    """Return in words how many queries are compared across two versions.

    Args:
        baseline: The baseline as far as it is compared.
        gold: The judgments.
    """
    common, every = len(baseline.query_ids), len(gold.qrels)
    return (
        f"{common:,} of {queries(every)} are as in version {baseline.gold.version}, which had "
        f"{baseline.gold.queries:,}; only they are compared with it"
    )


def _named(version: str | None, baseline: EarlierScores) -> str:
    return f"version {version}" + (" with another content" if version == baseline.gold.version else "")


def _common(baseline: EarlierScores, digests: Mapping[str, str], nothing: str) -> EarlierScores:
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
    return replace(baseline, query_ids=now, query_sha256=kept, values=values)


def _rows(folder: Path) -> dict[str, tuple[str, str]]:
    rows = (record for _, record in json_objects(Source(folder / QUERY_VERSIONS)))
    return {str(row["query_id"]): (str(row["sha256"]), str(row["since"])) for row in rows}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
