"""What a gold set holds, small enough to compare two of them: digests of texts, facts about queries, labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import (
    answers_of_queries,
    each_document,
    members_of,
    metadata_of,
    read_gold,
    texts_of_queries,
)
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT
from goldbench.text.display import shown
from goldbench.text.similarity import wording_digest

Labels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """A query as far as it is compared; ``needs`` and ``original`` hold ids of its own set."""

    text: str
    answerable: bool = True
    answer: str = ""
    history: tuple[tuple[str, str], ...] = ()
    standalone: str = ""
    needs: tuple[str, ...] = ()
    original: str = ""

    def digest(self) -> bytes:
        """Return the digest by which the query is recognised: its wording and the turns before it."""
        return wording_digest(self.text, *(question for question, _ in self.history))


@dataclass(frozen=True, slots=True)
class SetContents:
    """A gold set to compare. ``documents`` are digests by id, ``sources`` their paths; None if the set has none."""

    path: Path
    documents: dict[str, bytes] | None
    sources: dict[str, str]
    passages: dict[str, bytes]
    queries: dict[str, QueryFacts]
    labels: Labels
    metadata: Mapping[str, Any]


def read_contents(path: Path) -> SetContents:
    """Return what a gold set holds; its texts are read one by one and not kept.

    Args:
        path: The folder of a set, its ``dataset.json``, a BEIR folder, or a file of judgments.

    Raises:
        InputError: There is nothing that can be read as a set, or something in it is wrong.
    """
    if not path.exists():
        raise InputError(shown(path), "not found; give the folder of a gold set")
    labels, _ = read_gold(path)
    home = GoldFolder(home_of(path))
    finished = home.holds_documents()
    documents: dict[str, bytes] = {}
    sources: dict[str, str] = {}
    for document in home.documents.read() if finished else ():
        documents[document.doc_id] = wording_digest(document.text)
        sources[document.doc_id] = document.source
    return SetContents(
        path=path,
        documents=documents if finished else None,
        sources=sources,
        passages={chunk_id: wording_digest(text) for chunk_id, text in each_document(path)},
        queries=_of_records(home, labels) if finished else _of_files(path),
        labels=labels,
        metadata=metadata_of(path),
    )


def home_of(path: Path) -> Path:
    """Return the folder that the files of a set lie in."""
    return path.parent if path.name == DATASET else path


def _of_records(home: GoldFolder, labels: Labels) -> dict[str, QueryFacts]:
    queries = list(home.queries.read())
    here = {query.query_id for query in queries}
    found = {query.query_id: _facts(query, labels.get(query.query_id, {}), here) for query in queries}
    for query in home.unanswerable.read_any():
        found[query.query_id] = _facts(query, {}, here, answerable=False)
    return found


def _facts(query: Query, grades: Mapping[str, int], here: Collection[str], *, answerable: bool = True) -> QueryFacts:
    still_needed = all(grades.get(chunk_id, 0) >= RELEVANT for chunk_id in query.needs)
    return QueryFacts(
        text=query.text,
        answerable=answerable,
        answer=(query.answer or "").strip() if answerable else "",
        history=tuple((turn.question, turn.answer or "") for turn in query.history),
        standalone=query.standalone or "",
        needs=query.needs if still_needed else (),
        original=query.original if query.original and query.original in here else "",
    )


def _of_files(path: Path) -> dict[str, QueryFacts]:
    members, answers = members_of(path), answers_of_queries(path)
    history = members.get("history", {})
    texts = {query_id: (text, True) for query_id, text in texts_of_queries(path).items()}
    texts |= {query_id: (text, False) for query_id, text in members.get("unanswerable", {}).items()}
    return {
        query_id: QueryFacts(
            text=text,
            answerable=answerable,
            answer=str(answers.get(query_id, {}).get("text", "")).strip(),
            history=tuple((str(turn["question"]), turn.get("answer") or "") for turn in history.get(query_id, ())),
            standalone=members.get("standalone", {}).get(query_id, ""),
            needs=tuple(members.get("needs", {}).get(query_id, ())),
            original=members.get("originals", {}).get(query_id, ""),
        )
        for query_id, (text, answerable) in texts.items()
    }
