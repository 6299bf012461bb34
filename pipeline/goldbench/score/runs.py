"""Score files: join the readers of judgments and runs with the measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from goldbench.errors import InputError, Message, UsageError
from goldbench.formats.packed_files import STDIN, Source
from goldbench.formats.runs import run_tables
from goldbench.formats.runs.trec import read_run
from goldbench.goldset import gold_path
from goldbench.goldset.file_names import UNLABELLED
from goldbench.measures.all_needed import with_all_needed
from goldbench.measures.assessment import Missing, assess
from goldbench.measures.binary import ALL_NEEDED
from goldbench.measures.names import Measure
from goldbench.measures.ranks.judged_ranks import (
    BadScore,
    DuplicateDocument,
    JudgedColumns,
    Qrels,
    Scores,
    place_mapping,
    single_precision,
)
from goldbench.measures.ranks.order import best
from goldbench.measures.result import Result
from goldbench.text.display import queries, shell_command, shown

if TYPE_CHECKING:
    import polars as pl

Weight = Literal["frequency", "traffic"]
"""A query counts in means as often as users asked it, or as many searches of the log as it stands for."""

Column = Literal["query", "doc"]

Match = Literal["id", "text"]
"""A retrieved passage is matched with the judgments by its document id, or by its text."""

_SMALL = 5 * 2**20
"""A run up to this size in bytes is read in plain Python, which takes less time than importing polars."""


@dataclass(frozen=True, slots=True)
class Gold:
    """Judgments, and the path that their texts are read from.

    ``qrels`` is the grade of each judged document by query, ``level`` the smallest grade that counts as relevant.
    ``in_memory`` marks judgments without a file: ``path`` is only what messages call them.
    """

    path: Path
    qrels: dict[str, dict[str, int]]
    level: int = 1
    in_memory: bool = False

    def members(self, *, search: bool = False) -> dict[str, dict[str, Any]]:
        """Return the members of ``dataset.json`` that only some sets have; see `gold_path.members_of`."""
        return {} if self.in_memory else gold_path.members_of(self.path, search=search)

    def queries(self) -> dict[str, str]:
        """Return the text of each query; empty if the judgments have no texts."""
        return gold_path.texts_of_queries(self.path)

    def answers(self) -> dict[str, dict[str, Any]]:
        """Return the reference answer of each query that has one, with its evidence."""
        return gold_path.answers_of_queries(self.path)

    def corpus(self, doc_ids: Collection[str] | None = None) -> dict[str, str]:
        """Return the text of each document, or of those given; empty if the judgments have no texts."""
        return gold_path.texts_of_documents(self.path, doc_ids)

    def unanswerable(self) -> dict[str, str]:
        """Return the text of each query that nothing in the corpus answers; these are in no mean."""
        texts: dict[str, str] = self.members().get("unanswerable", {})
        return texts

    def weights(self, weight: Weight) -> dict[str, float]:
        """Return what each query that has such a weight counts; empty if its queries come from no log."""
        weights_of_queries: dict[str, float] = self.members(search=True).get(weight, {})
        return weights_of_queries

    def needs(self) -> dict[str, list[str]]:
        """Return the passages that are all needed, by query; empty if one passage is enough for every query."""
        needs: dict[str, list[str]] = self.members(search=True).get("needs", {})
        return {query_id: needed for query_id, needed in needs.items() if query_id in self.qrels}

    def needed_groups(self) -> dict[str, list[set[str]]]:
        """Return the passages that are all needed, by query, each with the relevant passages that may stand in for it.

        These are its near-duplicates: a retriever that finds one of them instead lacks nothing.
        """
        needs = self.needs()
        others = dict[str, list[str]]()
        for query_id, needed in needs.items():
            grades = self.qrels[query_id]
            others[query_id] = sorted(grade for grade in grades if grades[grade] >= self.level and grade not in needed)
        compared = {
            chunk_id
            for query_id, others_of_query in others.items()
            if others_of_query
            for chunk_id in (*others_of_query, *needs[query_id])
        }
        texts = self.corpus(compared) if compared else {}
        return {query_id: _groups(needed, others[query_id], texts) for query_id, needed in needs.items()}

    def about(self) -> dict[str, dict[str, Any]]:
        """Return the notes of a build on each query; empty if the judgments are not of a build."""
        return {} if self.in_memory else gold_path.notes_of_queries(self.path)

    def content_sha256(self) -> str | None:
        """Return the digest of the content of the set that the judgments belong to, None if it names none.

        Raises:
            InputError: The set is not JSON.
        """
        metadata = {} if self.in_memory else gold_path.metadata_of(self.path)
        digest = metadata.get("content_sha256")
        return digest if isinstance(digest, str) else None

    def fingerprint(self) -> str:
        """Return the SHA-256 of the judgments, whatever file they came in."""
        from hashlib import sha256

        digest = sha256()
        for query_id in sorted(self.qrels):
            for doc_id in sorted(self.qrels[query_id]):
                line = f"{query_id}\t{doc_id}\t{self.qrels[query_id][doc_id]}\n"
                digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _groups(needed: Sequence[str], others: Sequence[str], texts: Mapping[str, str]) -> list[set[str]]:
    groups = [{chunk_id} for chunk_id in needed]
    for other_id in others:
        from goldbench.stages.select.near_duplicates import are_alike

        alike = (
            at for at, chunk_id in enumerate(needed) if are_alike(texts.get(chunk_id, ""), texts.get(other_id, ""))
        )
        position = next(alike, None)
        if position is not None:
            groups[position].add(other_id)
    return groups


@dataclass(slots=True)
class Run:
    """The results of one system, in a file that is read again for each use."""

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


class RetrievedDocument(NamedTuple):
    """A retrieved document; ``grade`` is None if it was not judged, ``text`` unless documents are matched by text."""

    doc_id: str
    score: float
    grade: int | None
    text: str | None


def load_gold(path: Path | str) -> Gold:
    """Return the judgments at a path.

    Args:
        path: TREC or BEIR judgments, a table, ``dataset.json``, the folder of a build or of BEIR; ``-`` is stdin.

    Raises:
        InputError: The judgments cannot be read, or are not valid.
    """
    grades, level = gold_path.read_gold(path)
    return Gold(Path(path), grades, level)


def load_run(path: Path | str) -> Run:
    """Return the run in a file: TREC, JSON, JSON Lines, CSV, TSV or Parquet, packed or not; ``-`` is standard input.

    Raises:
        InputError: The file does not exist or cannot be read.
    """
    source = Source(path)
    if os.path.isdir(source.path) and str(path) != STDIN:  # noqa: PTH112  Path's own raises on a name too long
        raise InputError(source.name, "is a folder; give the file of a run")
    try:
        source.size()
    except InputError as error:
        if error.problem == "file not found" and str(path).isidentifier():
            command = shell_command("retrieve")
            more = f"a built-in system such as bm25 is run by '{command}', which writes the file of its run"
            raise InputError(error.path, f"{error.problem}; {more}") from None
        raise
    return Run(source)


def named_runs(arguments: Sequence[str]) -> dict[str, Run]:
    """Return the runs of ``NAME=FILE`` or ``FILE``; the name of the latter is that of the file.

    Raises:
        UsageError: Two runs have the same name, two are standard input, or a name cannot be shown.
        InputError: A file cannot be read.
    """
    files = [text for text in arguments if "=" not in text or os.path.isfile(text)]  # noqa: PTH113  as above
    names = dict(zip(files, run_tables.names_of_runs([Path(file) for file in files]), strict=True))
    named: dict[str, str] = {}
    for text in arguments:
        name, path = (names[text] or text, text) if text in names else text.split("=", 1)
        if not name or not path:
            raise UsageError(Message("{run} {}: give it as NAME=FILE", text))
        if not name.isprintable():
            raise UsageError(
                "the name of a run has characters that cannot be shown; name it with NAME=FILE", parameter="run"
            )
        if name in named:
            raise UsageError(
                Message("{run} {}: another run is called {} already; give this one a name with NAME=FILE", text, name)
            )
        if path == STDIN and STDIN in named.values():
            raise UsageError("only one run can be standard input; give a file for the other", parameter="run")
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
        gold: The judgments.
        run: The run.
        measures: The measures to compute, at least 1.
        missing: What a judged query that the run lacks counts.
        scores: How scores are compared.
        match: How retrieved passages are matched with the judgments.

    Raises:
        InputError: The run is not valid, or does not fit the judgments.
    """
    if not gold.qrels and (gold.path / UNLABELLED).is_file():
        raise InputError(str(gold.path), f"{gold_path.holds_no_query(gold.path)}: there is nothing to score")
    name = run.source.name
    if match == "text" or not _is_columnar(run):
        results = _mapping(gold, run, match)
        return score_results(gold, results, measures, name=name, missing=missing, scores=scores)
    from goldbench.measures.ranks.frame_ranks import place_rows

    with _rows(run) as rows:
        return _score(
            gold,
            measures,
            lambda qrels: place_rows(qrels, rows, scores=scores),
            lambda column: set(rows[column].unique()),
            name=name,
            missing=missing,
        )


def score_results(
    gold: Gold,
    results: Mapping[str, Mapping[str, float]],
    measures: Sequence[Measure],
    *,
    name: str,
    missing: Missing = "zero",
    scores: Scores = "float64",
) -> Result:
    """Return the value of every measure for every query, of a run in memory.

    Args:
        results: The score of each document by query.
        name: What messages call the run.

    Raises:
        InputError: The run is not valid, or does not fit the judgments.
    """

    def place(qrels: Qrels) -> tuple[dict[str, JudgedColumns], int]:
        try:
            placed = place_mapping(qrels, results, scores=scores)
        except BadScore as error:
            raise InputError(name, f"query {error.query_id!r}: {error}") from None
        return placed, len(results.keys() - gold.qrels.keys())

    def ids_in(column: Column) -> set[str]:
        if column == "query":
            return set(results)
        return {doc_id for documents in results.values() for doc_id in documents}

    return _score(gold, measures, place, ids_in, name=name, missing=missing)


def _score(
    gold: Gold,
    measures: Sequence[Measure],
    find_columns: Callable[[Qrels], tuple[dict[str, JudgedColumns], int]],
    ids_in: Callable[[Column], set[str]],
    *,
    name: str,
    missing: Missing,
) -> Result:
    """Return the result of a run, however it is held.

    Queries without an answer do not count as queries that nobody judged. A run without a judged document whose ids the
    corpus knows does not use other ids; it merely missed what is judged.

    Args:
        find_columns: Returns the ranks of the documents in some judgments, and how many queries are not judged.
        ids_in: Returns all ids of queries or of documents.
        name: What messages call the run.
    """
    placed, extra = find_columns(gold.qrels)
    needing = [measure for measure in measures if measure.family == ALL_NEEDED.name]
    computed = [measure for measure in measures if measure not in needing]
    computed = computed or [Measure("hit", needing[0].k)]  # of which only counts are kept
    result = assess(gold.qrels, placed, computed, extra=extra, missing=missing, names=(str(gold.path), name))
    if needing:
        together = gold.needed_groups()
        if not together.keys() & set(result.query_ids):
            problem = f"{needing[0]}: no query that is scored needs several passages; name another measure"
            raise InputError(gold.path, problem)
        numbered = {
            query_id: {doc_id: number for number, group in enumerate(groups, 1) for doc_id in group}
            for query_id, groups in together.items()
        }  # the grade of a hit tells which of the needed passages it is
        result = with_all_needed(result, measures, together, find_columns(numbered)[0])
    unanswerable = gold.unanswerable().keys() if extra else set[str]()
    if unanswerable:
        counts = replace(result.counts, extra=extra - len(unanswerable & ids_in("query")))
        result = replace(result, counts=counts)
    if result.strange and not gold.in_memory and gold.corpus(ids_in("doc")):
        result = replace(result, strange=False)
    return result


def weighted(gold: Gold, result: Result, weight: Weight | None) -> Result:
    """Return a result whose means are by weight; the result itself if the weight is None.

    Args:
        gold: The gold set.
        result: The result of a run.
        weight: What a query counts in means.

    Raises:
        InputError: A query has no such weight.
    """
    if weight is None:
        return result
    weights = gold.weights(weight)
    without = sum(query_id not in weights for query_id in result.query_ids)
    if without:
        problem = f"{without:,} of {queries(len(result.query_ids))} have no {weight}, which only queries of a log have"
        raise InputError(shown(gold.path), f"{problem}: leave the weight out")
    counts = [float(weights[query_id]) for query_id in result.query_ids]
    return replace(result, weights=counts, weighted_by=weight)


def read_results(run: Run) -> Mapping[str, Mapping[str, float]]:
    """Return the score of each document by query; the file is not needed any more.

    Raises:
        InputError: The run is not valid.
    """
    if not _is_columnar(run):
        return _read(run)
    from goldbench.measures.ranks.frame_ranks import results_of_rows

    with _rows(run) as rows:
        return results_of_rows(rows)


def top_documents(
    gold: Gold,
    run: Run,
    *,
    depth: int,
    query_ids: Collection[str] | None = None,
    scores: Scores = "float64",
    match: Match = "id",
) -> dict[str, list[RetrievedDocument]]:
    """Return the first ``depth`` documents of each query, or of those given, in the order that is measured.

    Args:
        depth: Number of documents, 1 or more.
        query_ids: The queries; those that the run lacks are absent from the result. None for all.

    Raises:
        InputError: The run is not valid.
    """
    wanted = gold.qrels.keys() if query_ids is None else gold.qrels.keys() & set(query_ids)
    texts = texts_in_order(run) if match == "text" else {}
    if match == "text" or not _is_columnar(run):
        results = _mapping(gold, run, match)
    else:
        from goldbench.measures.ranks.frame_ranks import in_utf8, results_of_rows

        with _rows(run) as rows:
            results = results_of_rows(rows.filter(rows["query"].is_in(in_utf8(wanted))))
    top_of_queries: dict[str, list[RetrievedDocument]] = {}
    for query_id in (query_id for query_id in results if query_id in wanted):
        documents = results[query_id]
        judged = gold.qrels[query_id]
        top = best(single_precision(documents) if scores == "float32" else documents, depth)
        top_of_queries[query_id] = [
            RetrievedDocument(
                doc_id, documents[doc_id], judged.get(doc_id), texts[query_id][position] if texts else None
            )
            for position, doc_id in enumerate(top)
        ]
    return top_of_queries


def _is_columnar(run: Run) -> bool:
    """Return whether the run is a table, or a TREC file that polars reads faster than plain Python."""
    if run.kind == "trec":
        return run.source.size() * (4 if run.source.is_packed() else 1) > _SMALL
    return run.kind in {"csv", "tsv", "parquet"}


@contextmanager
def _rows(run: Run) -> Iterator[pl.DataFrame]:
    """Yield the rows of a run.

    Raises:
        InputError: The run is not valid, or a query was found to have a document twice.
    """
    if run.kind == "trec":
        from goldbench.formats.runs.trec_frames import find_duplicate, run_frame

        try:
            yield run_frame(run.source)
        except DuplicateDocument as error:
            raise find_duplicate(run.source, error.query_id, error.doc_id) from None
        return
    from goldbench.measures.ranks.columns import repeated, results

    table = run_tables.read_table(run.source, run.kind)
    try:
        yield results(table)
    except DuplicateDocument as error:
        raise repeated(table, error.query_id, error.doc_id) from None


def documents_of(run: Run) -> set[str]:
    """Return the ids of all documents that a run retrieves.

    Raises:
        InputError: The run is not valid.
    """
    if _is_columnar(run):
        with _rows(run) as rows:
            return set(rows["doc"].unique())
    return {doc_id for documents in _read(run).values() for doc_id in documents}


def _mapping(gold: Gold, run: Run, match: Match) -> Mapping[str, Mapping[str, float]]:
    if match == "text":
        return run_by_text(gold, texts_in_order(run))
    return _read(run)


def _read(run: Run) -> Mapping[str, Mapping[str, float]]:
    return read_run(run.source) if run.kind == "trec" else run_tables.read_json_run(run.source)


def run_by_text(gold: Gold, retrieved: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Return a run by ids of the texts that each query retrieved, best first.

    Raises:
        InputError: The judgments have no texts.
    """
    from goldbench.measures.ranks.text_match import TextMatch

    judged = {doc_id for grades in gold.qrels.values() for doc_id in grades}
    texts = gold.corpus()
    if judged.isdisjoint(texts):
        raise InputError(
            str(gold.path), Message("has no texts, which {match='text'} needs; give the folder of a gold set")
        )
    return TextMatch(gold.qrels, texts).run_of(retrieved)


def texts_in_order(run: Run) -> dict[str, list[str]]:
    """Return the texts that each query retrieved, best first.

    Raises:
        InputError: The file is not JSON with texts.
    """
    if run.kind not in {"json", "jsonl"}:
        raise InputError(run.source.name, Message("has no texts; {match='text'} needs JSON, {{query: [text, ...]}}"))
    return {
        query_id: [passage.text for passage in passages]
        for query_id, passages in run_tables.read_passages(run.source).items()
    }


DECIDING = ("ndcg@10", "mrr@10", "r@10")
"""The measures of a comparison that names none: few, so that the correction for many comparisons costs little."""


def score_all(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, missing: Missing, scores: Scores, match: Match
) -> dict[str, Result]:
    """Return the result of every run.

    Args:
        gold: The judgments.
        runs: The runs by name.
        measures: The measures to compute.

    Raises:
        InputError: A run or the judgments cannot be used.
    """
    return {
        name: score_run(gold, run, measures, missing=missing, scores=scores, match=match) for name, run in runs.items()
    }
