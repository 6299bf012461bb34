"""What the ids in a ledger mean: the texts of judged queries and passages, and where these stood."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from goldbench.goldset.folder import GoldFolder
from goldbench.prompts.rubric import Rubric
from goldbench.records.corpus import Evidence
from goldbench.records.query import Query
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.text.similarity import wording_digest

_VERSION = re.compile(r"^(?P<stem>.+)\.v(?P<number>[1-9]\d{0,5})$")


def next_version(query_id: str) -> str:
    """Return the id that a query has after it was edited."""
    match = _VERSION.match(query_id)
    stem, number = (match["stem"], int(match["number"])) if match else (query_id, 1)
    return f"{stem}.v{number + 1}"


def version_before(query_id: str) -> str | None:
    """Return the id that an edited query had before its last edit, None if the id is not that of an edited one."""
    match = _VERSION.match(query_id)
    if match is None or int(match["number"]) < 2:
        return None
    return match["stem"] if match["number"] == "2" else f"{match['stem']}.v{int(match['number']) - 1}"


@dataclass(frozen=True, slots=True)
class QueryMeaning:
    """A query as it was judged: its text, and the stretches of documents that answer it."""

    text: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def digest(self) -> bytes:
        """What the text is recognised by."""
        return wording_digest(self.text)


@dataclass(frozen=True, slots=True)
class PassageMeaning:
    """A passage as it was judged: its text, and the title, path, id and first character of its document.

    Path and id are empty if the set does not tell the document.
    """

    text: str
    title: str = ""
    source: str = ""
    doc_id: str = ""
    start: int = 0

    @property
    def digest(self) -> bytes:
        """What the text is recognised by."""
        return wording_digest(self.text)

    def stretches(self, evidence: Iterable[Evidence]) -> list[tuple[int, int]]:
        """Return where evidence for a query stands in the text, as far as it stands in this passage."""
        spans = [(item.start - self.start, item.end - self.start) for item in evidence if item.doc_id == self.doc_id]
        inside = [(start, end) for start, end in spans if 0 <= start < end <= len(self.text)]
        return inside if self.doc_id else []


@dataclass(frozen=True, slots=True)
class Meanings:
    """What ids mean: by the digest of the data set, and the id of the query or passage."""

    queries: Mapping[tuple[str, str], QueryMeaning] = field(default_factory=dict)
    passages: Mapping[tuple[str, str], PassageMeaning] = field(default_factory=dict)

    def as_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the meanings as JSON objects, in the order of their ids."""
        for (data_sha, query_id), query in sorted(self.queries.items()):
            evidence = [item.model_dump(mode="json") for item in query.evidence]
            yield {"data_sha": data_sha, "query_id": query_id, "text": query.text, "evidence": evidence}
        for (data_sha, chunk_id), judged in sorted(self.passages.items()):
            yield {"data_sha": data_sha, "chunk_id": chunk_id, **asdict(judged)}

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Meanings:
        """Return meanings from what `as_rows` made of them.

        Raises:
            ValueError: A row is not valid.
        """
        queries: dict[tuple[str, str], QueryMeaning] = {}
        passages: dict[tuple[str, str], PassageMeaning] = {}
        for row in rows:
            try:
                if "query_id" in row:
                    evidence = tuple(Evidence.model_validate(item) for item in row.get("evidence", ()))
                    queries[str(row["data_sha"]), str(row["query_id"])] = QueryMeaning(str(row["text"]), evidence)
                else:
                    words = {name: str(row.get(name, "")) for name in ("text", "title", "source", "doc_id")}
                    passage_key = str(row["data_sha"]), str(row["chunk_id"])
                    passages[passage_key] = PassageMeaning(**words, start=int(row.get("start", 0)))
            except (KeyError, TypeError) as error:
                raise ValueError("a line with texts is not valid") from error
        return cls(queries, passages)


class SetMeanings:
    """What the ids of an open set mean; texts are looked up when they are asked for."""

    def __init__(self, material: ReviewableSet) -> None:
        self.material = material

    @property
    def data_sha(self) -> str:
        """The digest of the data set."""
        return self.material.data_sha

    @property
    def rubric(self) -> Rubric:
        """The rubric that people see."""
        return self.material.rubric

    @cached_property
    def wordings(self) -> dict[str, str]:
        """The text of every query that is in the set, or was before people changed it, by its id."""
        before = {query.query_id: query.alone for query in self._unreviewed.values()}
        return {**before, **{query_id: asked_query.judged for query_id, asked_query in self.material.asked.items()}}

    @cached_property
    def _unreviewed(self) -> dict[str, Query]:
        return {query.query_id: query for query in GoldFolder(self.material.folder).unreviewed.queries.read_any()}

    @cached_property
    def _sources(self) -> dict[str, str]:
        """The path of each document, by its id; empty without documents."""
        return {document.doc_id: document.source for document in GoldFolder(self.material.folder).documents.read_any()}

    def query(self, query_id: str) -> QueryMeaning | None:
        """Return what the id of a query means, None if it is not in the set."""
        if query_id not in self.wordings:
            return None
        if query_id in self._unreviewed:
            return QueryMeaning(self.wordings[query_id], self._unreviewed[query_id].evidence)
        noted = self.material.notes.get(query_id, {}).get("evidence")
        evidence = tuple(map(Evidence.model_validate, noted)) if isinstance(noted, list) else ()
        return QueryMeaning(self.wordings[query_id], evidence)

    def passage(self, chunk_id: str) -> PassageMeaning | None:
        """Return what the id of a passage means, None if it is not in the set."""
        if chunk_id not in self.material.corpus:
            return None
        position = self.material.position(chunk_id)
        if position.span is None or position.own is None:
            return PassageMeaning(self.material.corpus[chunk_id])
        doc_id = position.span.doc_id
        source = self._sources.get(doc_id, "")
        return PassageMeaning(position.own, position.title, source, doc_id, position.span.start)

    def passages(self) -> dict[str, PassageMeaning]:
        """Return what the ids of all passages mean, in the order of the corpus."""
        pairs = ((chunk_id, self.passage(chunk_id)) for chunk_id in self.material.corpus)
        return {chunk_id: meaning for chunk_id, meaning in pairs if meaning is not None}


def edited_wording(query_id: str, edits: Sequence[tuple[str, str]]) -> str | None:
    """Return the text of an edited query that has left its set: what the last edit made of it.

    Args:
        query_id: The id of the query.
        edits: The id of the edited query and its new text, of each edit in the set, in their order.
    """
    before = version_before(query_id)
    return next((" ".join(text.split()) for name, text in reversed(edits) if name == before), None)
