"""What changed between two gold sets: documents, passages, queries, labels and people's decisions.

Items of two sets are paired by id and text, then by text alone, then by id or name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from goldbench.errors import InputError
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import (
    answers_of_queries,
    each_document,
    members_of,
    metadata_of,
    read_gold,
    texts_of_documents,
    texts_of_queries,
)
from goldbench.text.display import amount, queries, shown
from goldbench.text.similarity import wording_digest

PASSAGES = "passages"
_EXAMPLE = 300
"""Most characters of a passage that are kept to show it."""

Labels = Mapping[str, Mapping[str, int]]
_Value = TypeVar("_Value", bound=Hashable)
_Ids = tuple[str, ...]
"""The ids that tell an item: of a query, or of a query and a passage."""
_Texts = tuple[Mapping[str, str], Mapping[str, str]]
"""What a reader recognises items by, in the first set and in the second."""


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


@dataclass(frozen=True, slots=True)
class Counterparts:
    """The items of two sets side by side, by their ids.

    ``same`` maps ids of the first set to ids of the second that have the same text, ``changed`` those that are the same
    item with another text. ``removed`` are only in the first set, ``added`` only in the second.
    """

    same: dict[str, str]
    changed: dict[str, str]
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def found(self) -> dict[str, str]:
        """The id in the second set by the id in the first, for every item that is in both."""
        return {**self.same, **self.changed}

    @property
    def renamed(self) -> int:
        """How many items have the same text under another id."""
        return sum(before != after for before, after in self.same.items())


def counterparts(
    first: Mapping[str, bytes],
    second: Mapping[str, bytes],
    names: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> Counterparts:
    """Return which items of two sets are the same, changed, only in the first and only in the second.

    Texts that occur several times are paired in their order. Exchanging the sets exchanges the two sides.

    Args:
        first: Digest of the text by id, in the order of the set; see `similarity.wording_digest`.
        second: The same of the other set.
        names: A second name of some items in either set, as the path of a document: items of one name are the same.
    """
    same = {item: item for item, digest in first.items() if second.get(item) == digest}
    same |= _pairs(_but(first, same), _but(second, same))
    left = _but(first, same)
    right = _but(second, set(same.values()))
    changed = {item: item for item in left if item in right}
    unnamed = {item: names[0][item] for item in left if item in names[0] and item not in changed}
    changed |= _pairs(unnamed, {item: names[1][item] for item in right if item in names[1] and item not in changed})
    return Counterparts(
        same={item: same[item] for item in first if item in same},
        changed={item: changed[item] for item in first if item in changed},
        removed=tuple(_but(left, changed)),
        added=tuple(_but(right, set(changed.values()))),
    )


def _but(items: Mapping[str, _Value], left_out: Mapping[str, str] | set[str]) -> dict[str, _Value]:
    return {item: value for item, value in items.items() if item not in left_out}


def _pairs(left: Mapping[str, _Value], right: Mapping[str, _Value]) -> dict[str, str]:
    """Return items of both sides with equal values, the first with the first."""
    waiting: defaultdict[_Value, list[str]] = defaultdict(list)
    for item, value in reversed(list(right.items())):
        waiting[value].append(item)
    return {item: waiting[value].pop() for item, value in left.items() if waiting.get(value)}


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
    has_documents = home.holds_documents()
    documents: dict[str, bytes] = {}
    sources: dict[str, str] = {}
    for document in home.documents.read() if has_documents else ():
        documents[document.doc_id] = wording_digest(document.text)
        sources[document.doc_id] = document.source
    return SetContents(
        path=path,
        documents=documents if has_documents else None,
        sources=sources,
        passages={chunk_id: wording_digest(text) for chunk_id, text in each_document(path)},
        queries=_read_queries(path),
        labels=labels,
        metadata=metadata_of(path),
    )


def home_of(path: Path) -> Path:
    """Return the folder that the files of a set lie in."""
    return path.parent if path.name == DATASET else path


def _read_queries(path: Path) -> dict[str, QueryFacts]:
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
    query_pairs = counterparts(_digests(first), _digests(second))
    compare = _Comparison(
        _translation(query_pairs, first.queries), _translation(passages, first.passages), _texts_of(first, second)
    )
    sections = [
        _text_section(PASSAGES, passages),
        _query_section(first, second, query_pairs, passages),
        compare.section("labels", _flat(first.labels), _flat(second.labels)),
    ]
    if first.documents is not None and second.documents is not None:
        documents = counterparts(first.documents, second.documents, (_files(first), _files(second)))
        sections.insert(0, _text_section("documents", documents, (first.sources, second.sources)))
    if any(people):
        before, after = (decisions or Decisions() for decisions in people)
        sections.append(compare.section("people's grades", _flat(before.grades), _flat(after.grades)))
        verdicts = _by_tuple(before.verdicts), _by_tuple(after.verdicts)
        sections.append(compare.section("people's verdicts", *verdicts))
    applied = _by_tuple(_applied(first)), _by_tuple(_applied(second))
    if any(applied):
        sections.append(compare.section("applied verdicts", *applied))
    return Difference(tuple(sections), tuple(_notes(first, second, people, sections)))


def with_passage_texts(difference: Difference, paths: tuple[Path, Path], *, examples: int) -> Difference:
    """Return the difference with the texts of the first passages of each kind, which are read again.

    Args:
        difference: The difference.
        paths: The two sets.
        examples: How many passages of each kind get their text.
    """
    kinds = ("removed", "added", "changed")
    section = next(one for one in difference.sections if one.name == PASSAGES)
    wanted = [item for kind in kinds for item in getattr(section, kind)[:examples]]
    before = texts_of_documents(paths[0], {one for item in wanted for one in item.before}) if wanted else {}
    after = texts_of_documents(paths[1], {one for item in wanted for one in item.after}) if wanted else {}

    def told(item: Item) -> Item:
        text = before.get(item.before[0], "") if item.before else after.get(item.after[0], "")
        return replace(item, text=" ".join(text[:_EXAMPLE].split()))

    removed, added, changed = (tuple(map(told, getattr(section, kind))) for kind in kinds)
    new = replace(section, removed=removed, added=added, changed=changed)
    return replace(difference, sections=tuple(new if one is section else one for one in difference.sections))


def _files(contents: SetContents) -> dict[str, str]:
    """Return the paths of documents that are whole files: the number of a row does not say which row it is."""
    return {doc_id: source for doc_id, source in contents.sources.items() if "#" not in source}


def _digests(contents: SetContents) -> dict[str, bytes]:
    return {query_id: facts.digest() for query_id, facts in contents.queries.items()}


def _texts_of(first: SetContents, second: SetContents) -> _Texts:
    before, after = ({key: facts.text for key, facts in each.queries.items()} for each in (first, second))
    return before, after


def _translation(pairs: Counterparts, first: Mapping[str, object]) -> dict[str, str]:
    """Return the id in the first set of each item of the second; an id that is another item there names nothing."""
    return {item: f"\0{item}" for item in pairs.added if item in first} | {
        after: before for before, after in pairs.found.items()
    }


def _text_section(name: str, pairs: Counterparts, texts: _Texts | None = None) -> Section:
    before, after = texts or ({}, {})
    return Section(
        name=name,
        before=len(pairs.found) + len(pairs.removed),
        after=len(pairs.found) + len(pairs.added),
        same=len(pairs.same),
        removed=tuple(Item((item,), (), text=before.get(item, "")) for item in pairs.removed),
        added=tuple(Item((), (item,), text=after.get(item, "")) for item in pairs.added),
        changed=tuple(Item((a,), (b,), "text", before.get(a, "")) for a, b in pairs.changed.items()),
        renamed=pairs.renamed,
    )


def _query_section(
    first: SetContents, second: SetContents, query_pairs: Counterparts, passages: Counterparts
) -> Section:
    changed = []
    for before_id, after_id in query_pairs.found.items():
        before, after = first.queries[before_id], second.queries[after_id]
        fields = list(_changed_fields(before, after, query_pairs.found, passages.found))
        if before_id in query_pairs.changed:
            fields.insert(0, "wording")
        if fields:
            changed.append(Item((before_id,), (after_id,), ", ".join(fields), before.text))
    section = _text_section("queries", query_pairs, _texts_of(first, second))
    return replace(section, same=len(query_pairs.found) - len(changed), changed=tuple(changed))


def _changed_fields(
    before: QueryFacts, after: QueryFacts, query_ids: Mapping[str, str], passage_ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield what else is different about a query, its references read as those of the second set."""
    if before.answerable != after.answerable:
        yield "now has an answer" if after.answerable else "now has no answer"
    for name in ("answer", "history", "standalone"):
        if getattr(before, name) != getattr(after, name):
            yield name
    if [passage_ids.get(chunk_id) for chunk_id in before.needs] != list(after.needs):
        yield "needs"
    if (query_ids.get(before.original) if before.original else "") != after.original:
        yield "original"


def _flat(labels: Labels) -> dict[_Ids, object]:
    return {(query_id, doc_id): grade for query_id, grades in labels.items() for doc_id, grade in grades.items()}


def _by_tuple(verdicts: Mapping[str, str]) -> dict[_Ids, object]:
    return {(query_id,): verdict for query_id, verdict in verdicts.items()}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Compares values by query, or by query and passage; ids of the second set are read as those of the first."""

    query_ids: Mapping[str, str]
    passage_ids: Mapping[str, str]
    texts: _Texts

    def section(self, name: str, first: Mapping[_Ids, object], second: Mapping[_Ids, object]) -> Section:
        """Return the values that are only in one set, and those that are others."""
        before, after = self.texts
        left = dict(first)
        added, changed = list[Item](), list[Item]()
        for ids, value in second.items():
            key = (self.query_ids.get(ids[0], ids[0]), *(self.passage_ids.get(doc_id, doc_id) for doc_id in ids[1:]))
            earlier = left.pop(key, None)
            if earlier is None:
                added.append(Item((), ids, str(value), after.get(ids[0], "")))
            elif earlier != value:
                changed.append(Item(key, ids, f"{earlier} → {value}", before.get(key[0], "")))
        removed = tuple(Item(key, (), str(value), before.get(key[0], "")) for key, value in left.items())
        same = len(second) - len(added) - len(changed)
        return Section(name, len(first), len(second), same, removed, tuple(added), tuple(changed))


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
