"""What can be copied of an earlier set: the lines of documents that did not change.

Where a document stands as it was, so do its chunks, what the selection knows of them, and their lines in the corpus
unless other words are held out. So a set whose documents changed a little is made again in little time.
"""

from __future__ import annotations

import array
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from goldbench import __version__
from goldbench.errors import InputError
from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.dataset import CorpusLine, Held, held_out, indexed
from goldbench.goldset.file_names import CHUNKS, CONFIG, CORPUS_COPY, DATASET, DOCUMENTS, QUERIES, TRAITS
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.publication import sha256_of
from goldbench.goldset.whereabouts import Part
from goldbench.records.corpus import Chunk, Document, TitleUse
from goldbench.records.query import Query
from goldbench.stages.select import Traits

NEW = -1
"""The earlier position of a chunk that is not copied."""
_SETTINGS = ("documents", "chunk", "corpus")
_ID = rb'"(?:[^"\\]|\\.)*+"'
_DOCUMENT = re.compile(rb'\{"doc_id":(' + _ID + rb")")
_CHUNK = re.compile(rb'\{"chunk_id":(' + _ID + rb'),"span":\{"doc_id":(' + _ID + rb")")
_CORPUS, _END = b'"corpus": {\n', b"},\n"


class EarlierLines:
    """The lines of an earlier set by document.

    Args:
        folder: Its folder.
        with_traits: Whether the selection would find the same of its chunks.
    """

    def __init__(self, folder: GoldFolder, *, with_traits: bool) -> None:
        self._folder, self._with_traits = folder, with_traits
        self._chunks = _Lines(folder.chunks.path)
        parts = _parts(self._chunks)
        self._parts: dict[bytes, Part] = {}
        for line in folder.documents.read().lines():
            if part := parts.get(_document(line)):  # a document without chunks may have failed, and is cut again
                self._parts[_digest(line)] = part
        self._alike: dict[str, tuple[Part, Part]] = {}
        self.positions: array.array[int] = array.array("i")
        """For each chunk of today its position in the earlier set, or `NEW`; known once they are cut."""

    @classmethod
    def of(cls, folder: GoldFolder, settings: Mapping[str, Any]) -> EarlierLines | None:
        """Return the lines of the set in a folder, None if there is none that this version of goldbench made alike.

        Args:
            folder: The folder.
            settings: The settings of the new set.
        """
        try:
            manifest, earlier = folder.manifest(), folder.settings()
        except InputError:
            return None  # what stands there is damaged or missing, so nothing of it is copied
        alike = manifest.goldbench == __version__ and all(earlier.get(key) == settings.get(key) for key in _SETTINGS)
        needed, files = (CONFIG, DOCUMENTS, CHUNKS, QUERIES, DATASET, CORPUS_COPY), manifest.files
        if not alike or not all(_is_whole(folder, one, files) for one in needed):
            return None
        seeds = [found.get("generate", {}).get("seed") for found in (earlier, settings)]
        try:
            return cls(folder, with_traits=seeds[0] == seeds[1] and _is_whole(folder, TRAITS, files))
        except (ValueError, KeyError, TypeError):
            return None  # lines that goldbench did not write; whatever reads them as records says so

    def cut(
        self,
        documents: RecordFile[Document],
        cut: Callable[[Iterable[Document]], Iterable[Chunk]],
        advance: Callable[[int], None],
    ) -> Iterator[Chunk | bytes]:
        """Yield the chunks of documents, as lines where they are copied.

        Args:
            documents: The documents of today.
            cut: Cuts documents that are new or changed.
            advance: Called with 1 after each document.
        """
        parts = [self._parts.get(_digest(line)) for line in documents.lines()]
        lines = enumerate(zip(parts, documents.lines(), strict=True), start=1)
        new = _Ahead(cut(documents.parse(line, number) for number, (part, line) in lines if not part))
        for part, line in zip(parts, documents.lines(), strict=True):
            doc_id = _document(line)
            if part:
                self._alike[doc_id] = part, Part(len(self.positions), part.chunk_ids)
                places = range(part.first, part.first + len(part.chunk_ids))
                self.positions.extend(places)
                yield from self._chunks.at(places)
            else:
                for chunk in new.of(doc_id):
                    self.positions.append(NEW)
                    yield chunk
            advance(1)

    def alike(self) -> tuple[dict[str, Part], dict[str, Part]]:
        """Return the chunks of the documents that were copied, in the earlier set and in that of today.

        Documents that are one chunk are left out, because its id tells nothing of its text.
        """
        told = {one: parts for one, parts in self._alike.items() if one not in parts[0].chunk_ids}
        return {one: before for one, (before, _) in told.items()}, {one: now for one, (_, now) in told.items()}

    def traits(self) -> Traits | None:
        """Return what is known of the chunks of today, None if nothing is."""
        if not self._with_traits:
            return None
        known = Traits.unpacked(self._folder.traits.read_bytes(), len(self._chunks))
        return known.at(np.array(self.positions, np.int32)) if known else None

    def corpus(self, chunks: RecordFile[Chunk], queries: Iterable[Query], titles: TitleUse) -> Iterator[CorpusLine]:
        """Yield the lines of the corpus.

        Args:
            chunks: The chunks of today.
            queries: The queries of today, with the words held out for them.
            titles: Whether the passages get titles.
        """
        before, now = held_out(self._folder.queries.read()), held_out(queries)
        altered = {doc_id for doc_id in {*before, *now} if before.get(doc_id) != now.get(doc_id)}
        same = self._same(chunks, altered)
        dataset = _Lines(self._folder.file(DATASET), after=_CORPUS, until=_END)
        rows = _Lines(self._folder.file(CORPUS_COPY))
        copies = zip(chunks.lines(), dataset.at(same), rows.at(same), strict=True)
        for number, (line, entry, row) in enumerate(copies, start=1):
            found = _CHUNK.match(line)
            if found and entry.startswith(found[1]) and row.startswith(b'{"_id": ' + found[1]):
                yield CorpusLine(entry.rstrip(b",\n"), row)
            else:  # new, or with other words held out, or no longer at its place in the earlier files
                chunk = chunks.parse(line, number)
                yield CorpusLine.of(indexed(chunk, now.get(chunk.span.doc_id, Held()), titles), titles)

    def _same(self, chunks: RecordFile[Chunk], altered: set[str]) -> list[int]:
        """Return the earlier positions, without those of documents in which other words are held out."""
        same = self.positions.tolist()
        if altered:
            for position, line in enumerate(chunks.lines()):
                if _chunk(line)[1] in altered:
                    same[position] = NEW
        return same


class _Ahead:
    """Chunks that come in the order of their documents, taken document by document."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = iter(chunks)
        self._next: Chunk | None = None
        self._began = False

    def of(self, doc_id: str) -> Iterator[Chunk]:
        """Yield the chunks of the next document, none if it has none."""
        if not self._began:
            self._began, self._next = True, next(self._chunks, None)
        while self._next is not None and self._next.span.doc_id == doc_id:
            yield self._next
            self._next = next(self._chunks, None)


class _Lines:
    """The lines of a file, or those between two lines of it, by position."""

    def __init__(self, path: Path, *, after: bytes | None = None, until: bytes | None = None) -> None:
        self._path, self._places = path, array.array("Q")
        inside, place = after is None, 0
        if inside:
            self._places.append(place)
        with path.open("rb") as file:
            for line in file:
                if inside and line == until:
                    break
                place += len(line)
                inside = inside or line == after
                if inside:
                    self._places.append(place)

    def __len__(self) -> int:
        return max(0, len(self._places) - 1)

    def __iter__(self) -> Iterator[bytes]:
        return self.at(range(len(self)))

    def at(self, positions: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines at these positions, an empty one for each that is not there."""
        place = 0
        with self._path.open("rb") as file:
            for position in positions:
                if not 0 <= position < len(self):
                    yield b""
                    continue
                if self._places[position] != place:
                    file.seek(self._places[position])
                yield file.readline()
                place = self._places[position + 1]


def _is_whole(folder: GoldFolder, name: str, files: Mapping[str, str]) -> bool:
    """Whether a file is as it was written."""
    path = folder.file(name)
    return path.is_file() and files.get(name) == sha256_of(path)


def _parts(chunks: Iterable[bytes]) -> dict[str, Part]:
    """Return the chunks of each document, which stand together."""
    found: dict[str, list[str]] = {}
    firsts: dict[str, int] = {}
    for position, line in enumerate(chunks):
        chunk_id, doc_id = _chunk(line)
        firsts.setdefault(doc_id, position)
        found.setdefault(doc_id, []).append(chunk_id)
    return {doc_id: Part(first, found[doc_id]) for doc_id, first in firsts.items()}


def _document(line: bytes) -> str:
    """Return the id of a document from its line."""
    found = _DOCUMENT.match(line)
    return _string(found[1]) if found else str(json.loads(line)["doc_id"])


def _chunk(line: bytes) -> tuple[str, str]:
    """Return the ids of a chunk and of its document from the line of the chunk."""
    found = _CHUNK.match(line)
    if found is None:
        row = json.loads(line)
        return str(row["chunk_id"]), str(row["span"]["doc_id"])
    return _string(found[1]), _string(found[2])


def _string(token: bytes) -> str:
    return str(json.loads(token)) if b"\\" in token else token[1:-1].decode()


def _digest(line: bytes) -> bytes:
    return sha256(line).digest()
