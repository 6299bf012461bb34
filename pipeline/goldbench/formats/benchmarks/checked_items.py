"""A collection read item by item; every item must have an id of its own and a text, or it is counted as broken."""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Iterator
from pathlib import Path

from goldbench.errors import InputError
from goldbench.formats.benchmarks.collection import Collection, Entry, MalformedItem, Qrel, Topic, joined
from goldbench.formats.benchmarks.left_out import Books, IssuedIds, is_unicode
from goldbench.formats.documents.titles import short_title
from goldbench.formats.faults import Fault, Location, location_in_words
from goldbench.records.corpus import Document
from goldbench.text.display import shown


class CollectionReader:
    """The ids read from a collection so far, and its judged queries."""

    def __init__(self, collection: Collection, books: Books) -> None:
        self.collection = collection
        self.books = books
        self.document_ids = IssuedIds()
        self.query_ids = IssuedIds()
        self.topics: dict[str, Topic] = {}

    def judgments(self) -> list[Qrel]:
        """Return the judgments; of two judgments of one pair, the first. Malformed rows count as broken queries."""
        first: dict[tuple[str, str], Location] = {}
        judgments = []
        for qrel in self.collection.judgments():
            if isinstance(qrel, MalformedItem):
                error = self.located(qrel, qrel.problem)
                if qrel.part:
                    self.books.broken_part("queries", qrel.part, qrel.query_id, error)
                else:
                    self.books.broken("queries", "malformed", qrel.query_id, error)
                continue
            pair = (qrel.query_id, qrel.doc_id)
            if pair in first:
                before = location_in_words(first[pair])
                problem = f"query {shown(qrel.query_id)!r} has document {shown(qrel.doc_id)!r} already at {before}"
                self.books.broken("judgments", "duplicate", f"{pair[0]} {pair[1]}", self._at(2, qrel.location, problem))
                continue
            first[pair] = qrel.location
            judgments.append(qrel)
        return judgments

    def read_topics(self, judged_ids: Group[str]) -> None:
        """Read the queries that are asked for; all others count as unjudged."""
        for topic in self.collection.queries():
            if not self.query_ids.add(topic.query_id, topic.location):
                problem = _taken(topic.query_id, self.query_ids)
                self.books.broken("queries", "duplicate", topic.query_id, self._at(1, topic.location, problem))
            elif topic.query_id not in judged_ids and not topic.unanswerable:
                self.books.leave_out("queries", "unjudged")
            elif fault := _fault(topic.text):
                del self.query_ids.places[topic.query_id]
                self.books.broken("queries", "no-text", topic.query_id, self._at(1, topic.location, fault))
            else:
                self.topics[topic.query_id] = topic

    def documents(self) -> Iterator[Document]:
        """Yield the passages that are not broken, each under its id in the gold set."""
        for number, entry in enumerate(self.collection.documents(), 1):
            text = self._indexed(entry)
            if fault := _fault(text, entry.title):
                self.books.broken("documents", "no-text", entry.doc_id, self._at(0, entry.location, fault))
            elif not self.document_ids.add(entry.doc_id, entry.location):
                problem = _taken(entry.doc_id, self.document_ids)
                self.books.broken("documents", "duplicate", entry.doc_id, self._at(0, entry.location, problem))
            else:
                yield Document(
                    doc_id=self.document_ids[entry.doc_id],
                    title=short_title(entry.title),
                    text=text,
                    source=f"{self.file(0)}#{entry.location if isinstance(entry.location, int) else number}",
                    ready=True,
                )

    def _indexed(self, entry: Entry) -> str:
        """Return the indexed text of a passage: with its title, as BEIR does, if the collection joins them."""
        return joined(entry.title, entry.text) if self.collection.joins_titles else entry.text

    def file(self, which: int) -> str:
        """Return the name of the file of passages (0), queries (1) or judgments (2)."""
        return Path(self.collection.names[which]).name or self.collection.names[which]

    def located(self, qrel: Qrel | MalformedItem, problem: str) -> InputError:
        """Return the error for a judgment or a row, with its place."""
        return self._at(2, qrel.location, problem)

    def _at(self, which: int, location: Location, problem: str) -> InputError:
        return Fault(problem).at(location).of(self.collection.names[which])


def _fault(text: str, title: str = "") -> str | None:
    """Return why a text cannot be used, or None."""
    if not text.strip():
        return "has no text"
    if not is_unicode(text + title):
        return "holds half a character (a lone surrogate)"
    return None


def _taken(identity: str, names: IssuedIds) -> str:
    return f"the id {shown(identity)!r} is that of {location_in_words(names.places[identity])} too"
