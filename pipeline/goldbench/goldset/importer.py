"""A public benchmark made into the folder that ``goldbench build`` writes, so that everything works on it.

A passage of the benchmark is a document and one ready chunk, its id kept wherever it can stand in a TREC file. A query
without a relevant passage measures nothing and is left out, counted. A reference to something that is not there, a
second item of the same id, or an empty text is refused with its line, or left out, counted and listed if asked for.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldbench import __version__
from goldbench.errors import InputError, Message, Parameter, UsageError
from goldbench.formats.benchmarks.checked_items import CollectionReader
from goldbench.formats.benchmarks.collection import Chosen, Collection, Qrel
from goldbench.formats.benchmarks.grades import Grading, choose_grading, in_words, parse_grades, suggestion
from goldbench.formats.benchmarks.kinds import open_collection
from goldbench.formats.benchmarks.left_out import Books, IssuedIds
from goldbench.formats.exported_about import About, about_export
from goldbench.formats.faults import unreadable
from goldbench.formats.jsonl import RecordFile, write_texts
from goldbench.goldset.dataset import GoldContents, Passage
from goldbench.goldset.file_names import CHUNKS, DATASET, QUERIES, RENAMED
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy, stamp
from goldbench.goldset.gold_path import metadata_of
from goldbench.goldset.publication import sha256_of
from goldbench.records.corpus import Chunk, Evidence
from goldbench.records.manifest import Manifest, StageReport
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.chunk import chunk_documents
from goldbench.text.display import shown


@dataclass(frozen=True, slots=True)
class Options:
    """How a benchmark is imported; ``grades`` and ``relevant_from`` say what grades become, see ``choose_grading``.

    ``notice`` is the warning of a gold set that is imported again.
    """

    chosen: Chosen
    grades: str | None = None
    relevant_from: int | None = None
    drop_broken: bool = False
    level: str | None = None
    replace: bool = False
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """A finished import.

    ``grades`` tells what each grade became, ``renamed`` how many ids had to be changed, ``set_aside`` which results on
    the set before are elsewhere now.
    """

    manifest: Manifest
    grades: Mapping[str, str]
    renamed: int
    set_aside: Sequence[str]


def import_benchmark(kind: str, path: str, out: Path, options: Options) -> ImportResult:
    """Write a public benchmark as a gold set and put it in place.

    A gold set that was exported before keeps its level of evidence and its warning, unless ``options`` name a level.

    Args:
        kind: The format; see ``goldbench.formats.benchmarks.kinds``.
        path: Its file, its folder, or its id in an online library.
        out: The run folder.
        options: What to import, and how.

    Raises:
        InputError: The path is not a benchmark of this kind, or something in it is broken.
        UsageError: The kind is not known, or the grades cannot be told from the options.
        OutputError: The folder holds something else, or cannot be written.
    """
    known = metadata_of(Path(path)) if Path(path).exists() else {}
    about = about_export(Path(path)) if Path(path).exists() else About()
    if options.grades is None and options.relevant_from is None:
        options = replace(options, relevant_from=about.relevant_from)
    if options.level is None and Path(path).exists():
        level = known.get("evidence_level", about.level)
        notice = known.get("notice", about.notice)
        options = replace(options, level=level, notice=notice)
    return import_collection(open_collection(kind, path, options.chosen), out, options)


def import_collection(collection: Collection, out: Path, options: Options) -> ImportResult:
    """Write a collection as a gold set and put it in place.

    Args:
        collection: The benchmark.
        out: The run folder.
        options: What to import, and how.

    Raises:
        InputError: Something in the collection is broken.
        UsageError: The grades cannot be told from the options.
        OutputError: The folder holds something else, or cannot be written.
    """
    if options.grades is not None and options.relevant_from is not None:
        raise UsageError(Message("{grades} and {relevant_from} both say what is relevant: give only one of them"))
    started = time.monotonic()
    stated = parse_grades(options.grades) if options.grades is not None else None
    settings = {"import": _settings(collection, options)}
    fingerprint = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    with GoldFolder(out).replacing(ReplacePolicy(settings, fingerprint, replace=options.replace)) as draft:
        work = _Import(collection, Books(options.drop_broken), draft)
        imported = work.run(stated, options)
        draft.write_settings(settings)
        manifest = Manifest(
            **stamp(started),
            generator=work.generator,
            evidence_level=options.level or collection.level,
            config_sha256=fingerprint,
            documents=imported.documents,
            queries=imported.queries,
            stages=imported.reports,
            failures=work.books.failures,
            packages={"pydantic": importlib.metadata.version("pydantic")},
        )
        draft.finish(manifest)
    renamed = sum(len(names.renamed) for _, names in _named(work.reader))
    return ImportResult(GoldFolder(out).manifest(), imported.grades, renamed, draft.set_aside)


def _settings(collection: Collection, options: Options) -> dict[str, Any]:
    """Return the settings that shape the set, with a digest of every file that is read."""
    digests: dict[str, str] = {}
    for number, path in enumerate(dict.fromkeys(collection.files)):
        try:
            digests[f"{number}-{shown(path.name)}"] = sha256_of(path)
        except OSError as error:
            raise unreadable(error).of(path) from None
    settings = {
        "kind": collection.kind,
        "source": None if digests else collection.names[0],
        "files": digests,
        "split": options.chosen.split,
        "grades": options.grades,
        "relevant_from": options.relevant_from,
        "level": options.level,
        "drop_broken": options.drop_broken,
    }
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _WrittenCounts:
    documents: int
    queries: int
    reports: list[StageReport]
    grades: dict[str, str]


class _Import:
    """One import under way: the items read so far, and the draft they are written to."""

    def __init__(self, collection: Collection, books: Books, draft: Draft) -> None:
        self.collection = collection
        self.books = books
        self.draft = draft
        self.reader = CollectionReader(collection, books)
        self.generator = f"import-{collection.kind}"

    def run(self, stated: Grading | None, options: Options) -> _WrittenCounts:
        """Write everything but the manifest."""
        judgments = self.reader.judgments()
        if not judgments:
            raise InputError(self.collection.names[2], "holds no judgment; check that KIND is its format")
        seen = Counter(qrel.grade for qrel in judgments)
        grading, unknown = choose_grading(seen, stated=stated, relevant_from=options.relevant_from)
        if unknown is not None:
            raise self._unknown_grade(judgments, unknown, seen)
        judged_ids = {qrel.query_id for qrel in judgments}
        self.reader.read_topics(judged_ids)
        documents = self.draft.documents.write(self.reader.documents())
        chunks = self.draft.chunks.write(chunk_documents(documents))
        relevance = self._relevance(judgments, grading)
        queries = list(self._kept_queries(relevance))
        if not queries:
            raise InputError(self.collection.names[2], "no query has a relevant passage")
        self.draft.queries.write(queries)
        grades = in_words(grading, seen)
        self._write_renamed()
        relevance_of_queries = {query.query_id: relevance[query.query_id] for query in queries}
        metadata = self._metadata(grades, options)
        unanswerable = list(self._unanswerable(relevance))
        self.draft.write_gold(
            GoldContents(queries, lambda: _passages(chunks), relevance_of_queries, metadata, unanswerable)
        )
        return _WrittenCounts(
            len(documents), len(queries), self._reports(len(documents), relevance_of_queries, len(unanswerable)), grades
        )

    def _unknown_grade(self, judgments: list[Qrel], grade: int, seen: Mapping[int, int]) -> InputError:
        judgment = next(qrel for qrel in judgments if qrel.grade == grade)
        scale = ", ".join(str(value) for value in sorted(seen))
        return self.reader.located(
            judgment,
            Message(
                "grade {} has no meaning yet; say what every grade here ({}) becomes, from 0 to 3 "
                "(2 and 3 are relevant), as {}",
                *(grade, scale, Parameter("grades", suggestion(seen))),
            ),
        )

    def _relevance(self, judgments: list[Qrel], grading: Grading) -> dict[str, dict[str, Relevance]]:
        """Return the grades of each query by the ids used here; count references to missing items as broken."""
        relevance: dict[str, dict[str, Relevance]] = {}
        for qrel in judgments:
            grade = grading[qrel.grade]
            absent = self._absent(qrel)
            if absent is not None:
                what, identity = absent
                problem = f"judges {what} {shown(identity)[:80]!r}, which is not in {self.reader.file(what == 'query')}"
                self.books.broken("judgments", f"unknown-{what}", identity, self.reader.located(qrel, problem))
            elif grade is None:
                self.books.leave_out("judgments", "unjudged-by-option")
            else:
                judged = relevance.setdefault(self.reader.query_ids[qrel.query_id], {})
                judged[self.reader.document_ids[qrel.doc_id]] = grade
        return relevance

    def _absent(self, qrel: Qrel) -> tuple[str, str] | None:
        if qrel.query_id not in self.reader.topics:
            return "query", qrel.query_id
        return None if qrel.doc_id in self.reader.document_ids else ("document", qrel.doc_id)

    def _kept_queries(self, relevance: Mapping[str, Mapping[str, Relevance]]) -> Iterator[Query]:
        """Yield the queries that have a relevant passage, in the order of their file."""
        for topic in self.reader.topics.values():
            if topic.unanswerable:
                continue
            query_id = self.reader.query_ids[topic.query_id]
            grades = relevance.get(query_id, {})
            best = max(grades.values(), default=Relevance.UNRELATED)
            if best < RELEVANT:
                self.books.leave_out("queries", "none-relevant")
                for _ in grades:
                    self.books.leave_out("judgments", "query-left-out")
                continue
            known = self.reader.document_ids
            if not all(doc_id in known for doc_id in topic.needs):
                self.books.leave_out("queries", "needed-passage-missing")
                continue
            needs = tuple(known[doc_id] for doc_id in topic.needs)
            yield Query(
                query_id=query_id,
                text=topic.text,
                generator=self.generator,
                chunk_id=next(doc_id for doc_id, grade in grades.items() if grade == best),
                answer=topic.answer or (topic.answers[0][3] if topic.answers else None),
                kind=topic.kind,
                needs=needs,
                history=topic.history,
                standalone=topic.standalone,
                evidence=tuple(
                    Evidence(doc_id=self.reader.document_ids[doc_id], start=start, end=end, quote=words)
                    for doc_id, start, end, words in topic.answers
                ),
            )

    def _unanswerable(self, relevance: Mapping[str, Mapping[str, Relevance]]) -> Iterator[Query]:
        """Yield the queries that no passage answers, except those that somebody judged."""
        for topic in self.reader.topics.values():
            query_id = self.reader.query_ids[topic.query_id]
            near = topic.near
            if not topic.unanswerable:
                continue
            if query_id in relevance or near is None or near not in self.reader.document_ids:
                self.books.leave_out("queries", "answered-elsewhere")
                continue
            yield Query(
                query_id=query_id,
                text=topic.text,
                generator=self.generator,
                chunk_id=self.reader.document_ids[near],
                kind=topic.kind,
            )

    def _reports(
        self, documents: int, relevance_of_queries: Mapping[str, Mapping[str, Relevance]], unanswerable: int
    ) -> list[StageReport]:
        labels = sum(len(grades) for grades in relevance_of_queries.values())
        return [
            self.books.report("documents", self.reader.file(0), CHUNKS, documents),
            self.books.report("queries", self.reader.file(1), QUERIES, len(relevance_of_queries) + unanswerable),
            self.books.report("judgments", self.reader.file(2), DATASET, labels),
        ]

    def _metadata(self, grades: Mapping[str, str], options: Options) -> dict[str, Any]:
        """Return the gold set's metadata."""
        return {
            **self.collection.notes,
            "generator": self.generator,
            "evidence_level": options.level or self.collection.level,
            "goldbench": __version__,
            "chunk": "ready chunks, as given" + (", title and text" if self.collection.joins_titles else ""),
            "grades": dict(grades),
            "source": [self.reader.file(which) for which in range(3)],
            **({"notice": options.notice} if options.notice else {}),
        }

    def _write_renamed(self) -> None:
        lines = [
            json.dumps({"kind": kind, "id": new, "original": original}, ensure_ascii=False)
            for kind, names in _named(self.reader)
            for original, new in names.renamed.items()
        ]
        clash = _clash(self.reader)
        if clash is not None:
            raise InputError(
                self.collection.names[0], f"the id {clash} is needed for an id that TREC files cannot hold; rename one"
            )
        if lines:
            write_texts(self.draft.file(RENAMED), lines)


def _passages(chunks: RecordFile[Chunk]) -> Iterator[Passage]:
    for chunk in chunks:
        yield Passage(chunk_id=chunk.chunk_id, title="", text=chunk.text, full_title=chunk.title, span=chunk.span)


def _named(reading: CollectionReader) -> tuple[tuple[str, IssuedIds], ...]:
    return ("document", reading.document_ids), ("query", reading.query_ids)


def _clash(reading: CollectionReader) -> str | None:
    return next((new for _, names in _named(reading) for new in names.renamed.values() if new in names), None)
