"""Files in, figures out: joins what reads judgments and runs with what measures them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline.errors import InputError, UsageError
from pipeline.formats.runs import run_tables
from pipeline.formats.runs.packed_files import STDIN, Source
from pipeline.formats.runs.trec import read_run
from pipeline.goldset import gold_path
from pipeline.measures.assessment import Missing, assess
from pipeline.measures.names import Measure
from pipeline.measures.ranks.judged_ranks import (
    BadScore,
    DuplicateDocument,
    Placed,
    Scores,
    place_mapping,
    single_precision,
)
from pipeline.measures.ranks.order import best
from pipeline.measures.result import Result

if TYPE_CHECKING:
    import polars as pl

Match = Literal["id", "text"]
"""By what a retrieved passage is known: its document id, or its text."""

_SMALL = 5 * 2**20
"""Up to here, in bytes, a run is read in plain Python: importing polars would take longer than reading it."""


@dataclass(frozen=True, slots=True)
class Gold:
    """Judgments, and where the texts beside them are.

    ``qrels`` is the grade of each judged document by query, ``level`` the smallest grade that counts as relevant.
    """

    path: Path
    qrels: dict[str, dict[str, int]]
    level: int = 1

    def queries(self) -> dict[str, str]:
        """Return the text of each query; nothing where the judgments stand alone."""
        return gold_path.texts_of_queries(self.path)

    def corpus(self, doc_ids: Collection[str] | None = None) -> dict[str, str]:
        """Return the text of each document, or of those asked for; nothing where the judgments stand alone."""
        return gold_path.texts_of_documents(self.path, doc_ids)

    def about(self) -> dict[str, dict[str, Any]]:
        """Return what a build noted of each query; nothing where this is none."""
        return gold_path.notes_of_queries(self.path)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the judgments, whatever file they came in."""
        from hashlib import sha256

        digest = sha256()
        for query_id in sorted(self.qrels):
            for doc_id in sorted(self.qrels[query_id]):
                line = f"{query_id}\t{doc_id}\t{self.qrels[query_id][doc_id]}\n"
                digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


@dataclass(slots=True)
class Run:
    """The results of one system, in a file that is read whenever they are needed."""

    source: Source
    _kind: run_tables.Kind | None = field(default=None, init=False)

    @property
    def path(self) -> str:
        """The path as given; ``-`` is standard input."""
        return str(self.source.path)

    @property
    def kind(self) -> run_tables.Kind:
        """The format of the file."""
        if self._kind is None:
            self._kind = run_tables.kind_of(self.source)
        return self._kind


class Retrieved(NamedTuple):
    """A retrieved document; ``grade`` is ``None`` where it was not judged, ``text`` where it is not matched by text."""

    doc_id: str
    score: float
    grade: int | None
    text: str | None


def load_gold(path: Path | str) -> Gold:
    """Return judgments with what belongs to them.

    Args:
        path: TREC or BEIR judgments, a table, ``dataset.json``, the folder of a build or of BEIR; ``-`` is stdin.

    Raises:
        InputError: it cannot be read, or something in it is wrong.
    """
    grades, level = gold_path.read_gold(path)
    return Gold(Path(path), grades, level)


def load_run(path: Path | str) -> Run:
    """Return the results in a file: TREC, JSON, JSON Lines, CSV, TSV, Parquet, packed or not; ``-``: standard input.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    source = Source(path)
    if os.path.isdir(source.path) and str(path) != STDIN:  # noqa: PTH112  Path's own raises on a name too long
        raise InputError(source.name, "is a folder: name the file of a run")
    source.size()
    return Run(source)


def named_runs(given: Sequence[str]) -> dict[str, Run]:
    """Return the runs of ``NAME=FILE`` or ``FILE``, which is then called by the file's name without suffixes.

    Raises:
        UsageError: two have the same name, or standard input is asked for twice.
        InputError: a file cannot be read.
    """
    named: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or os.path.isfile(text):  # noqa: PTH113  as above
            name, path = Path(text).name.split(".")[0] or text, text
        if not name or not path:
            raise UsageError(f"--run {text}: give it as NAME=FILE")
        if name in named:
            raise UsageError(f"--run {text}: there is a run called {name} already; name it otherwise, NAME=FILE")
        if path == STDIN and STDIN in named.values():
            raise UsageError("--run: standard input can be one run only")
        named[name] = path
    return {name: load_run(path) for name, path in named.items()}


def score_run(
    gold: Gold,
    run: Run,
    measures: Sequence[Measure],
    *,
    missing: Missing = "zero",
    scores: Scores = "float64",
    match: Match = "id",
) -> Result:
    """Return the value of every measure for every query of the gold set.

    Args:
        gold: the judgments.
        run: the results.
        measures: what to measure.
        missing: what a judged query that the run lacks counts.
        scores: how scores are compared.
        match: by what a retrieved passage is known.

    Raises:
        InputError: the run is not what it should be, or does not fit the judgments.
    """
    placed, extra = _place(gold, run, scores, match)
    names = (str(gold.path), run.source.name)
    return assess(gold.qrels, placed, measures, extra=extra, missing=missing, names=names)


def top_documents(
    gold: Gold,
    run: Run,
    *,
    depth: int,
    query_ids: Collection[str] | None = None,
    scores: Scores = "float64",
    match: Match = "id",
) -> dict[str, list[Retrieved]]:
    """Return the first ``depth`` documents of each query, or of those asked for, in the order that is measured.

    Args:
        gold: the judgments.
        run: the results.
        depth: how many documents.
        query_ids: only these queries; those that the run lacks are absent from the answer.
        scores: how scores are compared.
        match: by what a retrieved passage is known.

    Raises:
        InputError: the run is not what it should be.
    """
    wanted = None if query_ids is None else set(query_ids)
    texts = _texts_in_order(run) if match == "text" else {}
    found: dict[str, list[Retrieved]] = {}
    for query_id, documents in _queries(gold, run, match, wanted):
        judged = gold.qrels.get(query_id, {})
        top = best(single_precision(documents) if scores == "float32" else documents, depth)
        found[query_id] = [
            Retrieved(doc_id, documents[doc_id], judged.get(doc_id), texts[query_id][place] if texts else None)
            for place, doc_id in enumerate(top)
        ]
    return found


def _place(gold: Gold, run: Run, scores: Scores, match: Match) -> tuple[dict[str, Placed], int]:
    if match == "id" and _is_columnar(run):
        return _place_columns(gold, run, scores)
    mapping = _mapping(gold, run, match)
    try:
        placed = place_mapping(gold.qrels, mapping, scores=scores)
    except BadScore as error:
        raise InputError(run.source.name, f"query {error.query_id!r}: {error}") from None
    return placed, len(mapping.keys() - gold.qrels.keys())


def _is_columnar(run: Run) -> bool:
    """Return whether the run is a table, or a TREC file that polars reads sooner than plain Python."""
    if run.kind == "trec":
        return run.source.size() * (4 if run.source.is_packed() else 1) > _SMALL
    return run.kind in {"csv", "tsv", "parquet"}


def _place_columns(gold: Gold, run: Run, scores: Scores) -> tuple[dict[str, Placed], int]:
    from pipeline.measures.ranks.grouped import place_frames

    if run.kind == "trec":
        from pipeline.formats.runs.trec_frames import find_duplicate, run_frames

        try:
            return place_frames(gold.qrels, lambda: run_frames(run.source), scores=scores)
        except DuplicateDocument as error:
            raise find_duplicate(run.source, error.query_id, error.doc_id) from None
    from pipeline.measures.ranks.columns import repeated, results

    table, where = run_tables.read_table(run.source, run.kind)
    rows = results(table, run.source.name, where)
    try:
        return place_frames(gold.qrels, lambda: iter([rows] if rows.height else []), scores=scores)
    except DuplicateDocument as error:
        raise repeated(rows, error.query_id, error.doc_id, run.source.name, where) from None


def _mapping(gold: Gold, run: Run, match: Match) -> Mapping[str, Mapping[str, float]]:
    if match == "text":
        from pipeline.measures.ranks.text_match import match_texts

        judged = {doc_id for grades in gold.qrels.values() for doc_id in grades}
        texts = gold.corpus(judged)
        if not texts:
            raise InputError(str(gold.path), "has no texts beside the judgments, which --match text needs")
        return match_texts(gold.qrels, texts, _texts_in_order(run))
    return read_run(run.source) if run.kind == "trec" else run_tables.read_json_run(run.source)


def _texts_in_order(run: Run) -> dict[str, list[str]]:
    if run.kind not in {"json", "jsonl"}:
        raise InputError(run.source.name, "holds no texts: --match text needs JSON, {query: [text, ...]}")
    return {
        query_id: [passage.text for passage in found]
        for query_id, found in run_tables.read_passages(run.source).items()
    }


def _queries(
    gold: Gold, run: Run, match: Match, wanted: Collection[str] | None
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the results of each query that is judged and wanted."""
    if match == "text" or not _is_columnar(run):
        mapping = _mapping(gold, run, match)
    else:
        from pipeline.measures.ranks.judgment_columns import in_utf8

        gathered: dict[str, dict[str, float]] = {}
        asked = in_utf8(gold.qrels if wanted is None else wanted)
        for frame in _frames(run):
            kept = frame.filter(frame["query"].is_in(asked))
            for query_id, doc_id, score in kept.iter_rows():
                gathered.setdefault(query_id, {})[doc_id] = score
        mapping = gathered
    for query_id, documents in mapping.items():
        if query_id in gold.qrels and (wanted is None or query_id in wanted):
            yield query_id, documents


def _frames(run: Run) -> Iterator[pl.DataFrame]:
    if run.kind == "trec":
        from pipeline.formats.runs.trec_frames import run_frames

        yield from run_frames(run.source)
    else:
        from pipeline.measures.ranks.columns import results

        table, where = run_tables.read_table(run.source, run.kind)
        yield results(table, run.source.name, where)
