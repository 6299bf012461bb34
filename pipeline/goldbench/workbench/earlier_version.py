"""What changed for each query of a set since an earlier version of it: its wording, its labels, their passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.goldset.counterparts import Counterparts, counterparts
from goldbench.goldset.difference import compare_sets
from goldbench.goldset.gold_path import texts_of_documents
from goldbench.goldset.set_contents import SetContents, read_contents
from goldbench.review.payload import clean
from goldbench.review.people import lineage
from goldbench.text.display import shown

LONGEST = 20_000
"""Characters of a passage's earlier text that a query shows; the rest is cut."""

NEW, CHANGED, SAME, REMOVED = "new", "changed", "same", "removed"


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A label that is another one than before: the passage in either set, and its grades; None where there is none."""

    before: str | None
    after: str | None
    was: int | None
    now: int | None


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query since the earlier version: its id and text there, what else changed, labels, and passages with new text.

    ``fields`` name what changed of the query itself; ``texts`` are the passages whose text changed, the earlier id by
    the present one.
    """

    status: str
    before: str | None
    text: str
    fields: tuple[str, ...] = ()
    labels: tuple[LabelChange, ...] = ()
    texts: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """An earlier version of a set: its name, the changes by query of the set, the removed queries by their old ids.

    ``passages`` are the texts that passages had there, those that changed or are gone, by their old ids.
    """

    name: str
    changes: Mapping[str, QueryChange]
    removed: Mapping[str, QueryChange]
    passages: Mapping[str, str]

    def status(self, query_id: str) -> str:
        """Return whether a query of the set is new, changed or the same."""
        found = self.changes.get(query_id)
        return found.status if found else NEW

    def told(self, change: QueryChange) -> dict[str, Any]:
        """Return a change as the page shows it."""
        gone = {one.before for one in change.labels if one.before and one.after is None}
        old = {**{before: after for after, before in (change.texts or {}).items()}, **dict.fromkeys(gone)}
        texts = ((before, after, self.passages.get(before or "", "")) for before, after in old.items())
        return {
            "status": change.status,
            "before": change.before,
            "text": clean(change.text),
            "fields": list(change.fields),
            "labels": [
                {"before": one.before, "after": one.after, "was": one.was, "now": one.now} for one in change.labels
            ],
            "texts": [
                {"before": before, "after": after, "text": clean(text[:LONGEST]), "cut": len(text) > LONGEST}
                for before, after, text in texts
            ],
        }


def earlier_version(before: Path, now: Path) -> EarlierVersion:
    """Return what changed since an earlier version of a set.

    Args:
        before: The earlier version: its folder or ``dataset.json``.
        now: The set.

    Raises:
        InputError: One of them cannot be read as a set.
    """
    first, second = read_contents(before), read_contents(now)
    asked = counterparts(_digests(first), _digests(second), (_names(first), _names(second)))
    passages = counterparts(first.passages, second.passages)
    own = next(section for section in compare_sets(first, second).sections if section.name == "queries")
    fields = {one.after[0]: tuple(one.change.split(", ")) for one in own.changed}
    changes = {
        after: _change(first, second, (one, after), fields.get(after, ("wording",) * (one in asked.changed)), passages)
        for one, after in asked.found.items()
    }
    removed = {one: _gone(first, one) for one in asked.removed}
    wanted = {one.before for each in (changes, removed) for change in each.values() for one in change.labels}
    wanted |= {one for change in changes.values() for one in (change.texts or {}).values()}
    held = texts_of_documents(before, {one for one in wanted if one is not None}) if wanted else {}
    return EarlierVersion(shown(before.resolve().name), changes, removed, held)


def _digests(contents: SetContents) -> dict[str, bytes]:
    return {query_id: facts.digest() for query_id, facts in contents.queries.items()}


def _names(contents: SetContents) -> dict[str, str]:
    """Return the first id of every query, which it keeps as a name when people word it otherwise."""
    earlier = lineage(contents.metadata)
    return {query_id: earlier.get(query_id, [query_id])[-1] for query_id in contents.queries}


def _change(
    first: SetContents, second: SetContents, ids: tuple[str, str], fields: tuple[str, ...], passages: Counterparts
) -> QueryChange:
    before, after = ids
    was, now = first.labels.get(before, {}), second.labels.get(after, {})
    labels = tuple(_labels(was, now, passages.found))
    texts = {passages.changed[one]: one for one in was if one in passages.changed}
    status = CHANGED if fields or labels or texts else SAME
    return QueryChange(status, before, first.queries[before].text, fields, labels, texts)


def _labels(was: Mapping[str, int], now: Mapping[str, int], moved: Mapping[str, str]) -> Iterator[LabelChange]:
    """Yield the labels that changed: first those of passages that the earlier version judged, too."""
    known = set()
    for before, grade in was.items():
        after = moved.get(before)
        known.add(after)
        if after is None or now.get(after) != grade:
            yield LabelChange(before, after, grade, now.get(after) if after is not None else None)
    for after, grade in now.items():
        if after not in known:
            yield LabelChange(None, after, None, grade)


def _gone(first: SetContents, query_id: str) -> QueryChange:
    """Return a query that the set does not have any more, with its labels."""
    labels = tuple(LabelChange(one, None, grade, None) for one, grade in first.labels.get(query_id, {}).items())
    return QueryChange(REMOVED, query_id, first.queries[query_id].text, labels=labels)
