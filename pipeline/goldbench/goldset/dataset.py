"""The gold set on disk: ``dataset.json``, a BEIR folder and TREC files, all of one content."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from pydantic import ValidationError

from goldbench.errors import InputError, plain_file
from goldbench.formats.dataset_card import CardTable, contents_of, dataset_card, tables_with
from goldbench.formats.faults import explain, unreadable
from goldbench.formats.interchange_names import JUDGMENT_COLUMNS
from goldbench.formats.jsonl import as_line
from goldbench.goldset.content_digest import ContentDigest
from goldbench.goldset.file_names import (
    BEIR,
    CORPUS_COPY,
    DATASET,
    DATASET_CARD,
    QRELS,
    QRELS_COPY,
    QRELS_LINES,
    QUERIES_COPY,
    TOPICS,
)
from goldbench.goldset.gold_path import METADATA
from goldbench.records.corpus import Chunk, Evidence, Span, TitleUse
from goldbench.records.query import Query
from goldbench.records.record import Record
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.testset import Answer, Citation, TestSet
from goldbench.text.asked_query import AskedQuery
from goldbench.text.title_path import title_path, titled


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is indexed.

    ``full_title`` is its title also where titles are not indexed. ``span`` is its place in its document, None where
    that is not known.
    """

    chunk_id: str
    title: str
    text: str
    full_title: str = ""
    span: Span | None = None

    def text_with_title(self, titles: TitleUse) -> str:
        """Return the passage as ``dataset.json`` holds it, which has no field for a title."""
        return titled(self.title, self.text) if titles is TitleUse.JOIN else self.text or self.title


@dataclass(frozen=True, slots=True)
class GoldContents:
    """What is written: the corpus is a function that reads it again, so that it need not be held in memory.

    ``unanswerable`` are the queries that nothing in the corpus answers; they have no grades. ``derived`` are the chunks
    that nobody read for a query and that are labelled because they give the same answer.
    """

    queries: Sequence[Query]
    corpus: Callable[[], Iterable[Passage]]
    relevance: Mapping[str, Mapping[str, Relevance]]
    metadata: Mapping[str, Any]
    unanswerable: Sequence[Query] = ()
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def relevant_docs(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each query id with the ids of its relevant chunks, the highest grade first."""
        for query in self.queries:
            grades = self.relevance[query.query_id]
            ranked = sorted(grades, key=lambda chunk_id: (-grades[chunk_id], chunk_id != query.chunk_id, chunk_id))
            yield query.query_id, [chunk_id for chunk_id in ranked if grades[chunk_id] >= RELEVANT]

    def judgments(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yield each query id with its grades, ordered by chunk."""
        for query in self.queries:
            grades = self.relevance[query.query_id]
            yield query.query_id, {chunk_id: int(grades[chunk_id]) for chunk_id in sorted(grades)}

    def answers(self) -> dict[str, Answer]:
        """Return the reference answer of each query that has one, with the words it rests on.

        The words name the passage they stand in: the source of the query if that holds them, else a passage that the
        query needs, else the first one.
        """
        answered = [query for query in self.queries if query.answer and query.answer.strip()]
        by_document: dict[str, list[Evidence]] = {}
        for query in answered:
            for evidence in query.evidence:
                by_document.setdefault(evidence.doc_id, []).append(evidence)
        holders: dict[Evidence, list[str]] = {}
        for passage in self.corpus() if answered else ():
            for evidence in by_document.get(passage.span.doc_id, ()) if passage.span else ():
                if passage.span and passage.span.contains(evidence):
                    holders.setdefault(evidence, []).append(passage.chunk_id)
        answers = {}
        for query in answered:
            cited = []
            for evidence in query.evidence:
                held_by = holders.get(evidence, [])
                preferred = (query.chunk_id, *query.needs, *held_by)
                chunk_id = next((chunk_id for chunk_id in preferred if chunk_id in held_by), None)
                cited.append(Citation(quote=evidence.quote, chunk_id=chunk_id))
            answers[query.query_id] = Answer(text=query.answer or "", evidence=tuple(cited))
        return answers

    def query_metadata(self, answers: Mapping[str, object]) -> dict[str, dict[str, Any]]:
        """Return what stands in the metadata of each query's line for BEIR beside its source.

        Args:
            answers: The reference answers, as in ``dataset.json``.
        """
        texts = {query.query_id: query.text for query in self.queries}
        metadata = {}
        for query in self.queries:
            original = texts.get(query.original or "")
            query_asked = AskedQuery(query.text, query.history, query.standalone, original)
            answer = {"answer": answers[query.query_id]} if query.query_id in answers else {}
            asked_often = {"frequency": query.frequency, "traffic": query.traffic}
            known = {name: value for name, value in asked_often.items() if value is not None}
            metadata[query.query_id] = {**answer, **query_asked.metadata(), **known}
        return metadata

    def members(self) -> Iterator[tuple[str, list[tuple[str, object]]]]:
        """Yield the members of ``dataset.json`` that only some sets have, each with its entries by query id."""
        query_ids = {query.query_id for query in self.queries}
        every_query = [*self.queries, *self.unanswerable]
        members: dict[str, list[tuple[str, object]]] = {
            "needs": [(query.query_id, query.needs) for query in self.queries if self._holds_needs(query)],
            "unanswerable": [(query.query_id, query.text) for query in self.unanswerable],
            "answers": [(query_id, _dumped([answer])[0]) for query_id, answer in self.answers().items()],
            "history": [(query.query_id, _dumped(query.history)) for query in every_query if query.history],
            "standalone": [(query.query_id, query.standalone) for query in every_query if query.standalone],
            "derived": [(query_id, list(chunks)) for query_id, chunks in self.derived.items() if query_id in query_ids],
            "originals": [(query.query_id, query.original) for query in self.queries if query.original in query_ids],
            "frequency": [(query.query_id, query.frequency) for query in self.queries if query.frequency],
            "traffic": [(query.query_id, query.traffic) for query in self.queries if query.traffic],
        }
        return (member for member in members.items() if member[1])

    def _holds_needs(self, query: Query) -> bool:
        """Whether a query needs several passages and each is still relevant: a judge or a person may say otherwise."""
        grades = self.relevance.get(query.query_id, {})
        return bool(query.needs) and all(grades.get(chunk_id, 0) >= RELEVANT for chunk_id in query.needs)


def passages(chunks: Iterable[Chunk], titles: TitleUse) -> Iterator[Passage]:
    """Yield every chunk as it is indexed."""
    for chunk in chunks:
        full_title = chunk.title if titles is TitleUse.NONE else title_path(chunk)
        title = "" if titles is TitleUse.NONE else full_title
        text = "" if chunk.text == title else chunk.text
        yield Passage(chunk_id=chunk.chunk_id, title=title, text=text, full_title=full_title, span=chunk.span)


def title_use(metadata: Mapping[str, Any]) -> TitleUse:
    """Return how a gold set emits titles, by its metadata; sets that do not tell have none."""
    corpus = metadata.get("corpus")
    usage = corpus.get("title") if isinstance(corpus, Mapping) else None
    return TitleUse(usage) if usage in set(TitleUse) else TitleUse.NONE


def write_gold(folder: Path, gold: GoldContents) -> None:
    """Write ``dataset.json``, ``beir/`` and ``trec/`` below the folder.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    for name in (QRELS_COPY, QRELS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    members = dict(gold.members())
    metadata = gold.query_metadata(dict(members.get("answers", ())))
    _write_dataset(folder, gold, members)
    _write_beir(folder, gold, metadata)
    _write_card(folder, gold, tables_with({name for of_query in metadata.values() for name in of_query}))
    _write_trec(folder, gold)


def read_dataset(path: Path) -> TestSet:
    """Return the test set of a ``dataset.json``, every reference checked.

    Raises:
        InputError: The file is missing, is not JSON, or a reference does not resolve.
    """
    try:
        return TestSet.model_validate_json(plain_file(path).read_bytes())
    except FileNotFoundError:
        raise InputError(path, "is missing; give the folder of a gold set") from None
    except OSError as error:
        raise unreadable(error).of(path) from None
    except ValidationError as error:
        raise InputError(path, explain(error)) from None


def _write_dataset(folder: Path, gold: GoldContents, members: Mapping[str, Iterable[tuple[str, object]]]) -> None:
    """Write ``dataset.json`` with the digest of its content, and the corpus for BEIR in the same pass."""
    digest = ContentDigest()
    with (folder / DATASET).open("wb") as file, (folder / CORPUS_COPY).open("wb") as rows:
        file.write(b"{\n")
        _write_map(file, "queries", ((query.query_id, query.text) for query in gold.queries), digest)
        _write_map(file, "corpus", _corpus_entries(gold, rows), digest)
        _write_map(file, "relevant_docs", gold.relevant_docs())
        file.write(b'"mode": "text",\n')
        _write_map(file, "relevance_scores", gold.judgments(), digest)
        for name, entries in members.items():
            _write_map(file, name, entries, digest)
        metadata = {key: value for key, value in gold.metadata.items() if key != "members"}
        special = [name for name in members if name not in {"answers", "derived"}]  # what `score` looks for
        if special:
            metadata["members"] = special
        metadata["content_sha256"] = digest.hexdigest()
        file.write((METADATA + as_line(json.dumps(metadata, ensure_ascii=False, sort_keys=True))).encode())
        file.write(b"}\n")


def _corpus_entries(gold: GoldContents, rows: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield the entries of the corpus, and write its lines for BEIR."""
    titles = title_use(gold.metadata)
    for passage in gold.corpus():
        metadata = {"title": passage.full_title}
        row = {"_id": passage.chunk_id, "title": passage.title, "text": passage.text, "metadata": metadata}
        rows.write(as_line(json_text(row)).encode())
        yield passage.chunk_id, passage.text_with_title(titles)


def _dumped(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [record.model_dump(mode="json", exclude_none=True) for record in records]


def _write_map(
    file: BinaryIO, name: str, entries: Iterable[tuple[str, object]], digest: ContentDigest | None = None
) -> None:
    """Write one member of the outermost object, an entry per line, and add the entries to the digest."""
    file.write(f'"{name}": {{'.encode())
    separator = b"\n"
    for key, value in entries:
        file.write(separator + as_line(f"{json_text(key)}: {json_text(value)}")[:-1].encode())
        separator = b",\n"
        if digest is not None:
            digest.add(name, key, value)
    file.write(b"\n},\n")


def _write_beir(folder: Path, gold: GoldContents, metadata: Mapping[str, Mapping[str, Any]]) -> None:
    with (folder / QUERIES_COPY).open("w", encoding="utf-8", newline="\n") as file:
        for query in gold.queries:
            of_query = {"source": query.chunk_id, **metadata[query.query_id]}
            row = {"_id": query.query_id, "text": query.text, "metadata": of_query}
            _write_json(file, row)
    with (folder / QRELS_COPY).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(JUDGMENT_COLUMNS)
        table.writerows(_judgments(gold))
    with (folder / QRELS_LINES).open("w", encoding="utf-8", newline="\n") as file:
        for judgment in _judgments(gold):
            _write_json(file, dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)))


def _write_card(folder: Path, gold: GoldContents, tables: Iterable[CardTable]) -> None:
    """Write the dataset card of the BEIR folder."""
    contents = {}
    for table in tables:
        with (folder / BEIR / table.file).open("rb") as file:
            contents[table] = contents_of(file)
    languages = {query.language for query in gold.queries if query.language}
    card = dataset_card(contents, gold.metadata, languages)
    (folder / DATASET_CARD).write_text(card, encoding="utf-8", newline="\n")


def _write_trec(folder: Path, gold: GoldContents) -> None:
    with (folder / QRELS).open("w", encoding="utf-8", newline="\n") as file:
        for query_id, chunk_id, grade in _judgments(gold):
            file.write(f"{query_id} 0 {chunk_id} {grade}\n")
    with (folder / TOPICS).open("w", encoding="utf-8", newline="\n") as file:
        for query in gold.queries:
            file.write(f"{query.query_id}\t{' '.join(query.text.split())}\n")


def _judgments(gold: GoldContents) -> Iterator[tuple[str, str, int]]:
    for query_id, grades in gold.judgments():
        for chunk_id, grade in grades.items():
            yield query_id, chunk_id, grade


def _write_json(file: TextIO, value: object) -> None:
    file.write(as_line(json_text(value)))


def json_text(value: object) -> str:
    """Return a value in JSON, with characters as they are."""
    return json.dumps(value, ensure_ascii=False)
