"""OpenSearch's User Behavior Insights (UBI): searches (``ubi_queries``) and what users did then (``ubi_events``).

Read are the records of the specification's versions 1.0.0 to 1.3.0, as OpenSearch 2.15 and later store them, in every
shape in which the indexes are exported: JSON Lines of records, of hits (``_source``), of the bulk API (its action lines
are skipped) or of responses to a search (``hits.hits``); CSV with one column a field, nested names joined by dots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

POSITIVE = frozenset({
    "click", "click_through", "add_to_cart", "purchase", "watch", "thumbs_up", "thumb_up", "upvote", "like",
})  # fmt: skip
"""Actions that count for a result: those of the specification but ``view`` and ``impression``, which users do not
choose, and usual names of thumbs."""

NEGATIVE = frozenset({"thumbs_down", "thumb_down", "downvote", "dislike"})
"""Actions that count against a result."""

_BULK = frozenset({"index", "create", "update", "delete"})


class SearchEvent(NamedTuple):
    """What a user did with a result: the search's id, the action's name, the id of the result."""

    query_id: str
    action: str
    object_id: str


def records(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the records that an object of an export holds: none for an action line of the bulk API."""
    hits = row.get("hits")
    inner = hits.get("hits") if isinstance(hits, dict) else None
    if isinstance(inner, list):
        for hit in inner:
            if isinstance(hit, dict):
                yield from records(hit)
    elif isinstance(row.get("_source"), dict):
        yield row["_source"]
    elif not (len(row) == 1 and _BULK & row.keys() and isinstance(next(iter(row.values())), dict)):
        yield row


def is_search(row: Mapping[str, Any]) -> bool:
    """Return whether a record is a search of ``ubi_queries``."""
    return "user_query" in row


def is_event(row: Mapping[str, Any]) -> bool:
    """Return whether a record is an event of ``ubi_events``."""
    return "action_name" in row and "user_query" not in row


def search_id(row: Mapping[str, Any]) -> str | None:
    """Return the id of a search, by which its pages and its events know it."""
    identity = row.get("query_id")
    return identity if isinstance(identity, str) and identity else None


def event_of(row: Mapping[str, Any]) -> SearchEvent | None:
    """Return the event of a record, None if it names no search, no action or no result."""
    query_id = search_id(row)
    action = row.get("action_name")
    result = _result_of(row)
    if query_id is None or not isinstance(action, str) or result is None:
        return None
    return SearchEvent(query_id, action, result)


def vote_of(action: str) -> int:
    """Return +1 or -1 for an action for or against a result, 0 for every other action."""
    name = action.strip().lower().replace("-", "_").replace(" ", "_")
    return 1 if name in POSITIVE else -1 if name in NEGATIVE else 0


def _result_of(row: Mapping[str, Any]) -> str | None:
    attributes = row.get("event_attributes")
    held = attributes.get("object") if isinstance(attributes, dict) else None
    held = held if isinstance(held, dict) else {}
    for name in ("object_id", "internal_id"):
        for value in (held.get(name), row.get(f"event_attributes.object.{name}"), row.get(name)):
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return None
