"""Logged feedback: a query, a passage and +1 or -1 in each row of CSV, TSV or JSON Lines, or events of users' searches.

Events are those of OpenSearch's User Behavior Insights; the text of their query stands in the export of searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goldbench.errors import InputError, Message
from goldbench.formats.behaviour_insights import event_of, is_event, is_search, records, search_id, vote_of
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.lines import all_lines, csv_records, json_objects, named_cells
from goldbench.formats.packed_files import Source
from goldbench.formats.query_logs import folded
from goldbench.records.judgment import Feedback
from goldbench.text.display import shown
from goldbench.text.draws import number_of

_QUERY = ("query_id", "query", "question", "q")
_CHUNK = ("chunk_id", "doc_id", "passage_id", "docid", "document", "chunk")
_VOTE = ("vote", "value", "feedback", "rating", "thumb", "thumbs", "label", "score", "+1/-1", "click")
_WORDS = {"1": 1, "+1": 1, "-1": -1, "up": 1, "down": -1, "click": 1, "👍": 1, "👎": -1}


class Vote(NamedTuple):
    """One row: the query (its id or text), the passage, +1 or -1."""

    query: str
    chunk_id: str
    value: int
    line: int


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Feedback by pair, in order of ids, and the rows whose query or passage the gold set does not hold."""

    feedback: tuple[Feedback, ...]
    rows: int
    unmatched: tuple[Vote, ...]
    unknown: tuple[Vote, ...]


def read_votes(source: Source) -> Iterator[Vote]:
    """Yield every row; columns are known by name, or in a file without header by order: query, passage, +1 or -1.

    Raises:
        InputError: A row is malformed, names no query or passage, or its vote is neither +1 nor -1.
    """
    with in_file(source.name):
        if source.suffix in {".jsonl", ".ndjson", ".json"}:
            yield from read_rows(json_objects(source), _vote_of_object)
        else:
            records = csv_records(all_lines(source), delimiter="\t" if source.suffix == ".tsv" else ",")
            yield from read_rows(_triples(records), lambda line, cells: _vote(line, *cells))


@dataclass(slots=True)
class Clicks:
    """Events of User Behavior Insights as votes; ``passed_over`` counts the others by reason once they were read.

    The reasons: ``other-action`` is neither for nor against a result, ``no-result`` names no search or no result,
    ``no-search`` belongs to a search that is not in the export, ``again`` repeats an action in the same search.
    """

    events: Source
    searches: Source
    passed_over: Counter[str] = field(default_factory=Counter)

    def votes(self) -> Iterator[Vote]:
        """Yield a vote for each search and result that an action was for or against.

        Raises:
            InputError: A file cannot be read or is malformed, or the searches hold none.
        """
        texts = _texts_of_searches(self.searches)
        seen: set[int] = set()
        for line, row in _rows(self.events):
            if not is_event(row):
                continue
            event = event_of(row)
            value = vote_of(event.action) if event else 0
            if event is None or not value:
                self.passed_over["no-result" if event is None else "other-action"] += 1
            elif event.query_id not in texts:
                self.passed_over["no-search"] += 1
            elif (key := number_of(*event[::2], value)) in seen:
                self.passed_over["again"] += 1
            else:
                seen.add(key)
                yield Vote(texts[event.query_id], event.object_id, value, line)


def clicks_in(source: Source, searches: Source | None = None) -> Clicks | None:
    """Return the events of a file of User Behavior Insights, None if its rows are other feedback.

    Args:
        source: JSON Lines or CSV.
        searches: The export of searches; None if they stand in the same file.

    Raises:
        InputError: The file cannot be read or is malformed.
    """
    first = next((row for _, row in _rows(source)), {})
    if not (is_event(first) or is_search(first)):
        return None
    return Clicks(source, source if searches is None else searches)


def _texts_of_searches(source: Source) -> dict[str, str]:
    texts: dict[str, str] = {}
    for _, row in _rows(source):
        query_id = search_id(row)
        text = row.get("user_query")
        if query_id is not None and isinstance(text, str) and text.strip():
            texts.setdefault(query_id, text)
    if not texts:
        problem = Message("holds no search with its text; name the export of ubi_queries with {searches=}")
        raise InputError(source.name, problem)
    return texts


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records of JSON Lines or CSV, whatever they are about."""
    if source.suffix in {".jsonl", ".ndjson", ".json"}:
        for line, row in json_objects(source):
            yield from ((line, record) for record in records(row))
        return
    with in_file(source.name):
        yield from named_cells(source)


def gather(votes: Iterator[Vote], queries: Mapping[str, str], chunk_ids: Mapping[str, object]) -> FeedbackCounts:
    """Return votes counted by query and passage of a gold set.

    A query is recognised by its id, or by its text in any case and width and with other spaces and final marks.

    Args:
        votes: The rows.
        queries: The texts of the gold set's queries, by id.
        chunk_ids: The gold set's passages, by id.
    """
    by_text: dict[str, str] = {}
    for identity, text in queries.items():
        if folded(text):
            by_text.setdefault(folded(text), identity)
    counts: dict[tuple[str, str], list[int]] = {}
    unmatched: list[Vote] = []
    unknown: list[Vote] = []
    rows = 0
    for vote in votes:
        rows += 1
        query_id: str | None = vote.query if vote.query in queries else by_text.get(folded(vote.query))
        if query_id is None:
            unmatched.append(vote)
        elif vote.chunk_id not in chunk_ids:
            unknown.append(vote)
        else:
            counts.setdefault((query_id, vote.chunk_id), [0, 0])[vote.value < 0] += 1
    feedback = tuple(
        Feedback(query_id=pair[0], chunk_id=pair[1], positive=up, negative=down)
        for pair, (up, down) in sorted(counts.items())
    )
    return FeedbackCounts(feedback, rows, tuple(unmatched), tuple(unknown))


def _vote(line: int, query: object, chunk_id: object, value: object) -> Vote:
    if not isinstance(query, str) or not query.strip():
        raise Fault("names no query")
    if not isinstance(chunk_id, str) or not chunk_id.strip():
        raise Fault("names no passage")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    vote = None if isinstance(value, bool) else _WORDS.get(str(value).strip().lower())
    if vote is None:
        raise Fault(f"the vote is {shown(str(value))[:40]!r}, neither +1 nor -1")
    return Vote(query.strip(), chunk_id.strip(), vote, line)


def _vote_of_object(line: int, row: Mapping[str, Any]) -> Vote:
    query, chunk_id, value = (next((row[key] for key in keys if key in row), None) for keys in (_QUERY, _CHUNK, _VOTE))
    return _vote(line, query, chunk_id, value)


def _triples(records: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Yield query, passage and vote of each record below the header, or of all if there is none."""
    places: tuple[int, ...] = ()
    for line, cells in records:
        if not places:
            places = _header(cells)
            if places:
                continue
            if len(cells) != 3 or cells[2].strip().lower() not in _WORDS:
                problem = "is neither the names query, chunk_id and vote nor a query, a passage and +1 or -1"
                raise Fault(problem, line=line)
            places = (0, 1, 2)
        if len(cells) <= max(places):
            raise Fault(f"has {len(cells)} fields, too few", line=line)
        yield line, [cells[column] for column in places]


def _header(cells: Sequence[str]) -> tuple[int, ...]:
    """Return the places of query, passage and vote; empty if the row does not name all three."""
    names = [cell.strip().lower() for cell in cells]
    places = [next((names.index(key) for key in keys if key in names), None) for keys in (_QUERY, _CHUNK, _VOTE)]
    return tuple(column for column in places if column is not None) if None not in places else ()
