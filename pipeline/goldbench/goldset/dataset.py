"""The gold set on disk: ``dataset.json``, a BEIR folder and TREC files, all of one content."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from pydantic import ValidationError

from goldbench.errors import InputError, plain_file
from goldbench.formats.dataset_card import (
    Made,
    Table,
    contents_of,
    dataset_card,
    needs_parquet,
    tables_with,
    write_parquet,
)
from goldbench.formats.faults import explain, unreadable
from goldbench.formats.interchange_names import JUDGMENT_COLUMNS
from goldbench.formats.jsonl import as_line
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
from goldbench.goldset.reference_answers import reference_answers
from goldbench.records.corpus import Chunk, Evidence, Span, TitleUse
from goldbench.records.query import Query
from goldbench.records.record import Record
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.testset import Answer, TestSet
from goldbench.text.asked_query import AskedQuery
from goldbench.text.title_path import text_below, title_path, titled


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is indexed.

    ``original`` is its text before held-out words were taken out, if there are any, ``full_title`` its title before.
    ``span`` is its place in its document, None where that is not known.
    """

    chunk_id: str
    title: str
    text: str
    original: str | None = None
    full_title: str = ""
    span: Span | None = None

    def alone(self, titles: TitleUse) -> str:
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
    lines: Callable[[], Iterable[CorpusLine]] | None = None
    """Gives the corpus as lines where most are known; else they are made of the passages."""

    def relevant_docs(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each query id with the ids of its relevant chunks, the highest grade first."""
        for query in self.queries:
            grades = self.relevance[query.query_id]
            ranked = sorted(grades, key=lambda chunk_id: (-grades[chunk_id], chunk_id != query.chunk_id, chunk_id))
            yield query.query_id, [chunk_id for chunk_id in ranked if grades[chunk_id] >= RELEVANT]

    def answers(self) -> dict[str, Answer]:
        """Return the reference answer of each query that has one."""
        return reference_answers(self.queries, ((passage.chunk_id, passage.span) for passage in self.corpus()))

    def described(self, answers: Mapping[str, object]) -> dict[str, dict[str, Any]]:
        """Return what stands in the metadata of each query's line for BEIR beside its source.

        Args:
            answers: The reference answers, as in ``dataset.json``.
        """
        texts = {query.query_id: query.text for query in self.queries}
        found = {}
        for query in self.queries:
            original = texts.get(query.original or "")
            asked = AskedQuery(query.text, query.history, query.standalone, original)
            answer = {"answer": answers[query.query_id]} if query.query_id in answers else {}
            asked_often = {"frequency": query.frequency, "traffic": query.traffic}
            known = {name: value for name, value in asked_often.items() if value is not None}
            found[query.query_id] = {**answer, **asked.metadata(), **known}
        return found

    def members(self) -> Iterator[tuple[str, list[tuple[str, object]]]]:
        """Yield the members of ``dataset.json`` that only some sets have, each with its entries by query id."""
        here = {query.query_id for query in self.queries}
        asked = [*self.queries, *self.unanswerable]
        members: dict[str, list[tuple[str, object]]] = {
            "needs": [(query.query_id, query.needs) for query in self.queries if self._holds_needs(query)],
            "unanswerable": [(query.query_id, query.text) for query in self.unanswerable],
            "answers": [(query_id, _dumped([answer])[0]) for query_id, answer in self.answers().items()],
            "history": [(query.query_id, _dumped(query.history)) for query in asked if query.history],
            "standalone": [(query.query_id, query.standalone) for query in asked if query.standalone],
            "derived": [(query_id, list(found)) for query_id, found in self.derived.items() if query_id in here],
            "originals": [(query.query_id, query.original) for query in self.queries if query.original in here],
            "frequency": [(query.query_id, query.frequency) for query in self.queries if query.frequency],
            "traffic": [(query.query_id, query.traffic) for query in self.queries if query.traffic],
        }
        return (named for named in members.items() if named[1])

    def _holds_needs(self, query: Query) -> bool:
        """Whether a query needs several passages and each is still relevant: a judge or a person may say otherwise."""
        grades = self.relevance.get(query.query_id, {})
        return bool(query.needs) and all(grades.get(chunk_id, 0) >= RELEVANT for chunk_id in query.needs)


@dataclass(slots=True)
class Held:
    """The words and titles of one document that are taken out of its passages."""

    masks: list[Evidence] = field(default_factory=list)
    titles: set[str] = field(default_factory=set)


def held_out(queries: Iterable[Query]) -> dict[str, Held]:
    """Return what is held out for queries, by document."""
    found: dict[str, Held] = {}
    for query in queries:
        for mask in query.masked:
            found.setdefault(mask.doc_id, Held()).masks.append(mask)
        for part in query.masked_titles:
            found.setdefault(part.doc_id, Held()).titles.add(part.text)
    return found


NOTHING_HELD = Held()


def passages(chunks: Iterable[Chunk], queries: Iterable[Query], titles: TitleUse) -> Iterator[Passage]:
    """Yield every chunk as it is indexed: without the words that were held out for queries.

    Args:
        chunks: The chunks.
        queries: The queries, with the words held out for them.
        titles: Whether the passages get titles.
    """
    held = held_out(queries)
    for chunk in chunks:
        yield indexed(chunk, held.get(chunk.span.doc_id, NOTHING_HELD), titles)


def indexed(chunk: Chunk, held: Held, titles: TitleUse) -> Passage:
    """Return a chunk as it is indexed.

    Args:
        chunk: The chunk.
        held: What is held out in its document.
        titles: As in `passages`.
    """
    text = text_below(chunk, held.masks, held.titles)
    emits = titles is not TitleUse.NONE
    full_title = title_path(chunk) if emits else chunk.title
    title = (title_path(chunk, held.titles) if held.titles else full_title) if emits else ""
    return Passage(
        chunk_id=chunk.chunk_id,
        title=title,
        text="" if text == title else text,
        original=None if text == chunk.text else chunk.text,
        full_title=full_title,
        span=chunk.span,
    )


@dataclass(frozen=True, slots=True)
class CorpusLine:
    """A passage in the files: its entry in ``dataset.json``, without what separates it, and its line for BEIR."""

    entry: bytes
    row: bytes

    @classmethod
    def of(cls, passage: Passage, titles: TitleUse) -> CorpusLine:
        """Return the lines of a passage."""
        metadata = {"title": passage.full_title}
        if passage.original is not None:
            metadata["original_text"] = passage.original
        row = {"_id": passage.chunk_id, "title": passage.title, "text": passage.text, "metadata": metadata}
        return cls(_entry(passage.chunk_id, passage.alone(titles)), as_line(json_text(row)).encode())


def title_use(metadata: Mapping[str, Any]) -> TitleUse:
    """Return how a gold set emits titles, by its metadata; sets that do not tell have none."""
    corpus = metadata.get("corpus")
    found = corpus.get("title") if isinstance(corpus, Mapping) else None
    return TitleUse(found) if found in set(TitleUse) else TitleUse.NONE


def write_gold(folder: Path, gold: GoldContents) -> None:
    """Write ``dataset.json``, ``beir/`` and ``trec/`` below the folder.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    for name in (QRELS_COPY, QRELS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    members = dict(gold.members())
    described = gold.described(dict(members.get("answers", ())))
    _write_dataset(folder, gold, members)
    _write_beir(folder, gold, described)
    _write_card(folder, gold, tables_with({name for metadata in described.values() for name in metadata}))
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
    """Write ``dataset.json``, and the corpus for BEIR in the same pass."""
    titles = title_use(gold.metadata)
    with (folder / DATASET).open("wb") as file, (folder / CORPUS_COPY).open("wb") as rows:
        file.write(b"{\n")
        _write_map(file, "queries", ((query.query_id, query.text) for query in gold.queries))
        lines = gold.lines() if gold.lines else (CorpusLine.of(passage, titles) for passage in gold.corpus())
        _write_entries(file, "corpus", _entries_beside(lines, rows))
        _write_map(file, "relevant_docs", gold.relevant_docs())
        file.write(b'"mode": "text",\n')
        _write_map(file, "relevance_scores", ((query.query_id, _plain(gold, query)) for query in gold.queries))
        for name, entries in members.items():
            _write_map(file, name, entries)
        rest = {key: value for key, value in gold.metadata.items() if key != "members"}
        special = [name for name in members if name not in {"answers", "derived"}]  # what `score` looks for
        metadata = {**rest, "members": special} if special else rest
        file.write((METADATA + as_line(json.dumps(metadata, ensure_ascii=False, sort_keys=True))).encode())
        file.write(b"}\n")


def _entries_beside(lines: Iterable[CorpusLine], rows: BinaryIO) -> Iterator[bytes]:
    """Yield the entries of the corpus, and write its lines for BEIR."""
    for line in lines:
        rows.write(line.row)
        yield line.entry


def _dumped(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [record.model_dump(mode="json", exclude_none=True) for record in records]


def _write_map(file: BinaryIO, name: str, items: Iterable[tuple[str, object]]) -> None:
    """Write one member of the outermost object, an entry per line."""
    _write_entries(file, name, (_entry(key, value) for key, value in items))


def _write_entries(file: BinaryIO, name: str, entries: Iterable[bytes]) -> None:
    file.write(f'"{name}": {{'.encode())
    separator = b"\n"
    for entry in entries:
        file.write(separator + entry)
        separator = b",\n"
    file.write(b"\n},\n")


def _entry(key: str, value: object) -> bytes:
    return as_line(f"{json_text(key)}: {json_text(value)}")[:-1].encode()


def _write_beir(folder: Path, gold: GoldContents, described: Mapping[str, Mapping[str, Any]]) -> None:
    with (folder / QUERIES_COPY).open("w", encoding="utf-8", newline="\n") as file:
        for query in gold.queries:
            metadata = {"source": query.chunk_id, **described[query.query_id]}
            row = {"_id": query.query_id, "text": query.text, "metadata": metadata}
            _write_json(file, row)
    with (folder / QRELS_COPY).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(JUDGMENT_COLUMNS)
        table.writerows(_judgments(gold))
    with (folder / QRELS_LINES).open("w", encoding="utf-8", newline="\n") as file:
        for judgment in _judgments(gold):
            _write_json(file, dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)))


def _write_card(folder: Path, gold: GoldContents, tables: tuple[Table, ...]) -> None:
    """Write the dataset card of the BEIR folder, and the Parquet files if it needs any."""
    found = {}
    for table in tables:
        with (folder / BEIR / table.file).open("rb") as file:
            found[table.name] = contents_of(file)
    for table in tables:
        copy = folder / BEIR / table.parquet
        if needs_parquet(found):
            write_parquet(table, folder / BEIR / table.file, copy)
        else:
            copy.unlink(missing_ok=True)
    made = Made(
        metadata=gold.metadata,
        grades=Counter(grade for _, _, grade in _judgments(gold)),
        languages={query.language for query in gold.queries if query.language},
        tables=tables,
    )
    (folder / DATASET_CARD).write_text(dataset_card(found, made), encoding="utf-8", newline="\n")


def _write_trec(folder: Path, gold: GoldContents) -> None:
    with (folder / QRELS).open("w", encoding="utf-8", newline="\n") as file:
        for query_id, chunk_id, grade in _judgments(gold):
            file.write(f"{query_id} 0 {chunk_id} {grade}\n")
    with (folder / TOPICS).open("w", encoding="utf-8", newline="\n") as file:
        for query in gold.queries:
            file.write(f"{query.query_id}\t{' '.join(query.text.split())}\n")


def _judgments(gold: GoldContents) -> Iterator[tuple[str, str, int]]:
    for query in gold.queries:
        for chunk_id, grade in _plain(gold, query).items():
            yield query.query_id, chunk_id, grade


def _plain(gold: GoldContents, query: Query) -> dict[str, int]:
    grades = gold.relevance[query.query_id]
    return {chunk_id: int(grades[chunk_id]) for chunk_id in sorted(grades)}


def _write_json(file: TextIO, value: object) -> None:
    file.write(as_line(json_text(value)))


def json_text(value: object) -> str:
    """Return a value in JSON, with characters as they are."""
    return json.dumps(value, ensure_ascii=False)
