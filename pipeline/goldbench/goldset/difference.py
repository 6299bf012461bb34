"""What changed between two gold sets: documents, passages, queries, labels and people's decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from goldbench.goldset.counterparts import Counterparts, counterparts
from goldbench.goldset.gold_path import texts_of_documents
from goldbench.goldset.set_contents import Labels, QueryFacts, SetContents
from goldbench.text.display import amount, queries

PASSAGES = "passages"
_EXAMPLE = 300
"""Most characters of a passage that are kept to show it."""

_Key = str | tuple[str]
"""An id of the first set; in a tuple, an id of the second set that has no counterpart in the first."""

_Texts = tuple[Mapping[str, str], Mapping[str, str]]
"""What a reader recognises items by, in the first set and in the second."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What people decided in a review: the grade of each pair by query, each query's verdict, and how many events."""

    grades: Labels = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    events: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One difference. ``before`` and ``after`` are its ids in either set, empty where it is missing.

    ``change`` says what is different about an item of both sets, ``text`` what a reader recognises it by.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    change: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The differences of one kind. ``renamed`` of the ``same`` items have another id."""

    name: str
    before: int
    after: int
    same: int
    removed: tuple[Item, ...] = ()
    added: tuple[Item, ...] = ()
    changed: tuple[Item, ...] = ()
    renamed: int = 0

    @property
    def differs(self) -> bool:
        """Whether anything was added, removed or changed."""
        return bool(self.removed or self.added or self.changed)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one set to another, section by section, and remarks in words."""

    sections: tuple[Section, ...]
    notes: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether anything was added, removed or changed; the same text under another id does not count."""
        return any(section.differs for section in self.sections)


def compare_sets(
    first: SetContents, second: SetContents, people: tuple[Decisions | None, Decisions | None] = (None, None)
) -> Difference:
    """Return what changed from one gold set to another.

    Args:
        first: The set before.
        second: The set after.
        people: The decisions in the ledger of either set; None if it has none.
    """
    passages = counterparts(first.passages, second.passages)
    asked = counterparts(_digests(first), _digests(second))
    texts = _texts(first), _texts(second)
    to_query, to_passage = _translation(asked, first.queries), _translation(passages, first.passages)
    sections = [
        _of_texts(PASSAGES, passages),
        _of_queries(first, second, asked, passages),
        _of_labels("labels", (first.labels, second.labels), (to_query, to_passage), texts),
    ]
    if first.documents is not None and second.documents is not None:
        documents = counterparts(first.documents, second.documents, (_files(first), _files(second)))
        sections.insert(0, _of_texts("documents", documents, (first.sources, second.sources)))
    known = tuple(one or Decisions() for one in people)
    if any(people):
        grades = known[0].grades, known[1].grades
        sections.append(_of_labels("people's grades", grades, (to_query, to_passage), texts))
        verdicts = _of_verdicts("people's verdicts", (known[0].verdicts, known[1].verdicts), to_query, texts)
        sections.append(verdicts)
    applied = _applied(first), _applied(second)
    if any(applied):
        sections.append(_of_verdicts("applied verdicts", applied, to_query, texts))
    return Difference(tuple(sections), tuple(_notes(first, second, people, sections)))


def with_passage_texts(found: Difference, paths: tuple[Path, Path], *, examples: int) -> Difference:
    """Return the difference with the texts of the first passages of each kind, which are read again.

    Args:
        found: The difference.
        paths: The two sets.
        examples: How many passages of each kind get their text.
    """
    kinds = ("removed", "added", "changed")
    section = next(one for one in found.sections if one.name == PASSAGES)
    wanted = [item for kind in kinds for item in getattr(section, kind)[:examples]]
    before = texts_of_documents(paths[0], {one for item in wanted for one in item.before}) if wanted else {}
    after = texts_of_documents(paths[1], {one for item in wanted for one in item.after}) if wanted else {}

    def told(item: Item) -> Item:
        text = before.get(item.before[0], "") if item.before else after.get(item.after[0], "")
        return replace(item, text=" ".join(text[:_EXAMPLE].split()))

    removed, added, changed = (tuple(map(told, getattr(section, kind))) for kind in kinds)
    new = replace(section, removed=removed, added=added, changed=changed)
    return replace(found, sections=tuple(new if one is section else one for one in found.sections))


def _files(contents: SetContents) -> dict[str, str]:
    """Return the paths of documents that are whole files: the number of a row does not say which row it is."""
    return {doc_id: source for doc_id, source in contents.sources.items() if "#" not in source}


def _digests(contents: SetContents) -> dict[str, bytes]:
    return {query_id: facts.digest() for query_id, facts in contents.queries.items()}


def _texts(contents: SetContents) -> dict[str, str]:
    return {query_id: facts.text for query_id, facts in contents.queries.items()}


def _translation(found: Counterparts, first: Mapping[str, object]) -> dict[str, _Key]:
    """Return by what key an item of the second set is compared, where that is not its id."""
    keys: dict[str, _Key] = {one: (one,) for one in found.added if one in first}
    return keys | {other: one for one, other in found.found.items()}


def _of_texts(name: str, found: Counterparts, texts: _Texts | None = None) -> Section:
    before, after = texts or ({}, {})
    return Section(
        name=name,
        before=len(found.found) + len(found.removed),
        after=len(found.found) + len(found.added),
        same=len(found.same),
        removed=tuple(Item((one,), (), text=before.get(one, "")) for one in found.removed),
        added=tuple(Item((), (one,), text=after.get(one, "")) for one in found.added),
        changed=tuple(Item((a,), (b,), "text", before.get(a, "")) for a, b in found.changed.items()),
        renamed=len(found.renamed),
    )


def _of_queries(first: SetContents, second: SetContents, asked: Counterparts, passages: Counterparts) -> Section:
    changed = []
    for one, other in asked.found.items():
        before, after = first.queries[one], second.queries[other]
        fields = list(_changed_fields(before, after, asked.found, passages.found))
        if one in asked.changed:
            fields.insert(0, "wording")
        if fields:
            changed.append(Item((one,), (other,), ", ".join(fields), before.text))
    return Section(
        name="queries",
        before=len(first.queries),
        after=len(second.queries),
        same=len(asked.found) - len(changed),
        removed=tuple(Item((one,), (), text=first.queries[one].text) for one in asked.removed),
        added=tuple(Item((), (one,), text=second.queries[one].text) for one in asked.added),
        changed=tuple(changed),
        renamed=len(asked.renamed),
    )


def _changed_fields(
    before: QueryFacts, after: QueryFacts, query_ids: Mapping[str, str], passage_ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield what else is different about a query, its references read as those of the second set."""
    if before.answerable != after.answerable:
        yield "now has an answer" if after.answerable else "now has no answer"
    for name in ("answer", "history", "standalone"):
        if getattr(before, name) != getattr(after, name):
            yield name
    if [passage_ids.get(one) for one in before.needs] != list(after.needs):
        yield "needs"
    if (query_ids.get(before.original) if before.original else "") != after.original:
        yield "original"


def _of_labels(
    name: str, labels: tuple[Labels, Labels], translations: tuple[Mapping[str, _Key], ...], texts: _Texts
) -> Section:
    to_query, to_passage = translations
    before: dict[tuple[_Key, _Key], int] = {
        (query_id, doc_id): grade for query_id, found in labels[0].items() for doc_id, grade in found.items()
    }
    same, added, changed = 0, [], []
    for query_id, found in labels[1].items():
        for doc_id, grade in found.items():
            key = to_query.get(query_id, query_id), to_passage.get(doc_id, doc_id)
            earlier = before.pop(key, None)
            here = query_id, doc_id
            if earlier is None:
                added.append(Item((), here, str(grade), texts[1].get(query_id, "")))
            elif earlier == grade:
                same += 1
            else:
                pair = str(key[0]), str(key[1])
                changed.append(Item(pair, here, f"{earlier} → {grade}", texts[0].get(pair[0], "")))
    left = (((str(one), str(other)), grade) for (one, other), grade in before.items())
    removed = tuple(Item(pair, (), str(grade), texts[0].get(pair[0], "")) for pair, grade in left)
    total = same + len(changed)
    return Section(name, total + len(removed), total + len(added), same, removed, tuple(added), tuple(changed))


def _of_verdicts(
    name: str, verdicts: tuple[Mapping[str, str], Mapping[str, str]], to_query: Mapping[str, _Key], texts: _Texts
) -> Section:
    before: dict[_Key, str] = dict(verdicts[0].items())
    same, added, changed = 0, [], []
    for query_id, verdict in verdicts[1].items():
        key = to_query.get(query_id, query_id)
        earlier = before.pop(key, None)
        if earlier is None:
            added.append(Item((), (query_id,), verdict, texts[1].get(query_id, "")))
        elif earlier == verdict:
            same += 1
        else:
            changed.append(Item((str(key),), (query_id,), f"{earlier} → {verdict}", texts[0].get(str(key), "")))
    removed = tuple(Item((str(one),), (), said, texts[0].get(str(one), "")) for one, said in before.items())
    return Section(name, len(verdicts[0]), len(verdicts[1]), same, removed, tuple(added), tuple(changed))


def _applied(contents: SetContents) -> dict[str, str]:
    """Return the verdicts on queries that an applied review put into a set."""
    queries = _review(contents).get("queries")
    notes = queries.items() if isinstance(queries, Mapping) else ()
    return {one: str(note["verdict"]) for one, note in notes if isinstance(note, Mapping) and note.get("verdict")}


def _review(contents: SetContents) -> Mapping[str, Any]:
    review = contents.metadata.get("review")
    return review if isinstance(review, Mapping) else {}


def _notes(
    first: SetContents, second: SetContents, people: tuple[Decisions | None, Decisions | None], sections: list[Section]
) -> Iterator[str]:
    for section in sections:
        if section.renamed:
            what = section.name if section.renamed != 1 else {"queries": "query"}.get(section.name, section.name[:-1])
            yield f"{section.renamed:,} {what} of the same text under another id."
    if (first.documents is None) != (second.documents is None):
        yield "Documents are not compared: only one of the two sets has them."
    for name, contents, said in (("A", first, people[0]), ("B", second, people[1])):
        if said is not None:
            graded = sum(map(len, said.grades.values()))
            yield f"Ledger of {name}: {amount(said.events, 'event')}, {amount(graded, 'pair')} graded by people."
        counts = _review(contents).get("judgments")
        if isinstance(counts, Mapping) and isinstance(counts.get("people"), int):
            labels, decided = amount(counts["people"], "label"), queries(len(_applied(contents)))
            yield f"A review was applied to {name}: {labels} by people, {decided} with a verdict."
