"""What changed between two gold sets: documents, passages, queries and labels.

Items of two sets are paired by id and text, then by text alone, then by id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from goldbench.errors import InputError
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import answers_of_queries, each_document, members_of, read_gold, texts_of_queries
from goldbench.text.display import shown
from goldbench.text.similarity import wording_digest

PASSAGES = "passages"
_EXAMPLE = 100
"""Most characters of a passage that are kept to show it."""

Labels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Items:
    """Documents, passages or queries of a set: by id the digest of the text, and what a reader recognises it by."""

    digests: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetContents:
    """A gold set to compare; ``documents`` is None if it has none. ``answers`` are those of its answerable queries."""

    documents: Items | None
    passages: Items
    queries: Items
    answers: Mapping[str, str]
    labels: Labels


@dataclass(frozen=True, slots=True)
class DifferenceItem:
    """One difference. ``before`` and ``after`` are its ids in either set, empty where it is missing.

    ``change`` says what is different about an item of both sets, ``text`` what a reader recognises it by.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    change: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class DifferenceSection:
    """The differences of one kind. ``renamed`` of the ``same`` items have another id."""

    name: str
    before: int
    after: int
    same: int
    removed: tuple[DifferenceItem, ...] = ()
    added: tuple[DifferenceItem, ...] = ()
    changed: tuple[DifferenceItem, ...] = ()
    renamed: int = 0

    @property
    def differs(self) -> bool:
        """Whether anything was added, removed or changed."""
        return bool(self.removed or self.added or self.changed)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one set to another, section by section, and remarks in words."""

    sections: tuple[DifferenceSection, ...]
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


def pair_items(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> Counterparts:
    """Return which items of two sets are the same, changed, only in the first and only in the second.

    Texts that occur several times are paired in their order. Exchanging the sets exchanges the two sides.

    Args:
        first: Digest of the text by id, in the order of the set; see `similarity.wording_digest`.
        second: The same of the other set.
    """
    same = {item: item for item, digest in first.items() if second.get(item) == digest}
    waiting: defaultdict[bytes, list[str]] = defaultdict(list)
    for item, digest in reversed(list(second.items())):
        if item not in same:
            waiting[digest].append(item)
    same |= {item: waiting[first[item]].pop() for item in first if item not in same and waiting.get(first[item])}
    left = [item for item in first if item not in same]
    paired = set(same.values())
    right = [item for item in second if item not in paired]
    return Counterparts(
        same={item: same[item] for item in first if item in same},
        changed={item: item for item in left if item in second and item not in paired},
        removed=tuple(item for item in left if item not in second or item in paired),
        added=tuple(item for item in right if item not in first or item in same),
    )


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
    home = GoldFolder(path.parent if path.name == DATASET else path)
    documents = None
    if home.holds_documents():
        documents = _read_items((item.doc_id, item.text, item.source) for item in home.documents.read())
    members = members_of(path)
    queries = texts_of_queries(path)
    queries |= members.get("unanswerable", {})
    turns = {
        query_id: [str(turn["question"]) for turn in history]
        for query_id, history in members.get("history", {}).items()
    }
    return SetContents(
        documents=documents,
        passages=_read_items((doc_id, text, " ".join(text[:_EXAMPLE].split())) for doc_id, text in each_document(path)),
        queries=Items(
            {query_id: wording_digest(text, *turns.get(query_id, ())) for query_id, text in queries.items()}, queries
        ),
        answers={query_id: str(answer["text"]).strip() for query_id, answer in answers_of_queries(path).items()},
        labels=labels,
    )


def _read_items(rows: Iterable[tuple[str, str, str]]) -> Items:
    """Return items of their ids, their texts and what a reader recognises them by."""
    items = Items()
    for item_id, text, shown_text in rows:
        items.digests[item_id] = wording_digest(text)
        items.texts[item_id] = shown_text
    return items


def compare_sets(first: SetContents, second: SetContents) -> Difference:
    """Return what changed from one gold set to another."""
    passages = pair_items(first.passages.digests, second.passages.digests)
    queries = pair_items(first.queries.digests, second.queries.digests)
    sections = [
        _text_section(PASSAGES, passages, first.passages, second.passages),
        _query_section(first, second, queries),
        _label_section(first, second, queries, passages),
    ]
    if first.documents is not None and second.documents is not None:
        documents = pair_items(first.documents.digests, second.documents.digests)
        sections.insert(0, _text_section("documents", documents, first.documents, second.documents))
    return Difference(tuple(sections), tuple(_notes(first, second, sections)))


def _text_section(name: str, pairs: Counterparts, first: Items, second: Items) -> DifferenceSection:
    return DifferenceSection(
        name=name,
        before=len(first.digests),
        after=len(second.digests),
        same=len(pairs.same),
        removed=tuple(DifferenceItem((item,), (), text=first.texts[item]) for item in pairs.removed),
        added=tuple(DifferenceItem((), (item,), text=second.texts[item]) for item in pairs.added),
        changed=tuple(DifferenceItem((a,), (b,), "text", first.texts[a]) for a, b in pairs.changed.items()),
        renamed=sum(before != after for before, after in pairs.same.items()),
    )


def _query_section(first: SetContents, second: SetContents, pairs: Counterparts) -> DifferenceSection:
    """Return the differences of the queries; one of the same wording is changed if its answer is another."""
    section = _text_section("queries", pairs, first.queries, second.queries)
    answered = [
        DifferenceItem((before,), (after,), "answer", first.queries.texts[before])
        for before, after in pairs.same.items()
        if first.answers.get(before) != second.answers.get(after)
    ]
    return replace(section, same=section.same - len(answered), changed=(*section.changed, *answered))


def _label_section(
    first: SetContents, second: SetContents, queries: Counterparts, passages: Counterparts
) -> DifferenceSection:
    """Return the labels that are only in one set, and those with another grade."""
    query_ids, passage_ids = (
        {**pairs.same, **pairs.changed, **dict.fromkeys(pairs.removed, "")} for pairs in (queries, passages)
    )
    before = {
        (query_id, doc_id): grade for query_id, labels in first.labels.items() for doc_id, grade in labels.items()
    }
    after = {
        (query_id, doc_id): grade for query_id, labels in second.labels.items() for doc_id, grade in labels.items()
    }
    added = dict(after)
    removed: list[DifferenceItem] = []
    changed: list[DifferenceItem] = []
    for (query_id, doc_id), grade in before.items():
        text = first.queries.texts.get(query_id, "")
        now = query_ids.get(query_id, query_id), passage_ids.get(doc_id, doc_id)
        later_grade = added.pop(now, None)
        if later_grade is None:
            removed.append(DifferenceItem((query_id, doc_id), (), str(grade), text))
        elif later_grade != grade:
            changed.append(DifferenceItem((query_id, doc_id), now, f"{grade} → {later_grade}", text))
    return DifferenceSection(
        name="labels",
        before=len(before),
        after=len(after),
        same=len(before) - len(removed) - len(changed),
        removed=tuple(removed),
        added=tuple(
            DifferenceItem((), pair, str(grade), second.queries.texts.get(pair[0], "")) for pair, grade in added.items()
        ),
        changed=tuple(changed),
    )


def _notes(first: SetContents, second: SetContents, sections: Iterable[DifferenceSection]) -> Iterator[str]:
    for section in sections:
        if section.renamed:
            yield f"Of {section.name}, {section.renamed:,} have the same text under another id."
    if (first.documents is None) != (second.documents is None):
        yield "Documents are not compared: only one of the two sets has them."
