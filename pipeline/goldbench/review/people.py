"""What people settled: their grades, the queries whose whole pool is judged, the random sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_qrels
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import folder_of
from goldbench.records.judgment import Origin, PooledPair
from goldbench.records.review_event import Event, Lane, Review
from goldbench.review.ledger import ledger_path, open_ledger
from goldbench.review.meanings import Meanings, SetMeanings
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.state import State, fold
from goldbench.review.translation import Stray

Grades = dict[str, dict[str, int]]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReviewedSet:
    """A gold set with the grades of people and of the model, by the present ids of its queries.

    ``events`` are those that apply to the set, by its ids; ``strays`` are the decisions that do not, ``carried`` the
    number of events that were about another set. ``record`` holds the ledger as it is.
    """

    material: ReviewableSet
    events: tuple[Event, ...]
    state: State
    people: Grades
    judge: Grades
    record: LedgerRecord
    strays: tuple[Stray, ...] = ()
    carried: int = 0


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """All events of a ledger, whatever set they are about, and what their ids mean."""

    events: tuple[Event, ...]
    meanings: Meanings


def load_reviewed(path: Path, ledger: str | None, *, create: bool = False) -> ReviewedSet:
    """Return a gold set with the decisions of its ledger.

    Args:
        path: The folder of a build, its ``dataset.json``, or judgments below it.
        ledger: The file of the ledger; None for the file in the folder.
        create: Whether an empty ledger is made if there is none.

    Raises:
        InputError: There is no data set or no ledger.
    """
    folder = folder_of(path)
    if folder is None:
        raise InputError(path, f"holds no {DATASET}, so it has no reviews; give the folder of a gold set")
    material = load_reviewable(folder)
    own = SetMeanings(material)
    path = ledger_path(folder, ledger)
    with open_ledger(path, data_sha=material.data_sha, meanings=own, create=create) as book:
        record = LedgerRecord(tuple(book.events()), book.meanings())
        translation = book.translated(record.events)
    state = fold(translation.events)
    people = people_of(
        state, material.queries, corpus=material.corpus, pool=material.pool, earlier=lineage(material.metadata)
    )
    return ReviewedSet(
        material=material,
        events=translation.events,
        state=state,
        people=people,
        judge=judge_of(material),
        record=record,
        strays=translation.strays,
        carried=translation.carried,
    )


def grades_of_people(folder: Path, ledger: str | None = None) -> Grades:
    """Return the grade that people settled for each pair of the set in a folder.

    Raises:
        InputError: There is no data set or no ledger, or nobody has judged a pair.
    """
    people = load_reviewed(folder, ledger).people
    if not people:
        raise InputError(folder, "nobody has judged a pair yet; open its review page first")
    return people


def judge_of(material: ReviewableSet) -> Grades:
    """Return the model's grade of each pair, by query; for a set without a judge, the grades before people's."""
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (query_id, chunk_id), grade in sorted(material.grades().items()):
        if query_id in material.queries:
            grades[query_id][chunk_id] = int(grade)
    return dict(grades) if grades else _before_people(material)


def _before_people(material: ReviewableSet) -> Grades:
    home = GoldFolder(material.folder)
    is_reviewed = home.unreviewed_labels.is_file()
    path = home.unreviewed_labels if is_reviewed else home.labels
    qrels = read_qrels(Source(path)) if path.is_file() else {}
    earlier = lineage(material.metadata) if is_reviewed else {}
    first_ids = {query_id: earlier.get(query_id, [query_id])[-1] for query_id in material.queries}
    return {query_id: dict(qrels[first]) for query_id, first in first_ids.items() if first in qrels}


def lineage(metadata: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the earlier ids of every query that was edited, the latest first."""
    review = metadata.get("review")
    queries = review.get("queries") if isinstance(review, Mapping) else None
    notes = queries if isinstance(queries, Mapping) else {}
    earlier = {query_id: note.get("earlier") for query_id, note in notes.items() if isinstance(note, Mapping)}
    return {query_id: list(map(str, ids)) for query_id, ids in earlier.items() if isinstance(ids, list) and ids}


def people_of(
    state: State,
    query_ids: Iterable[str],
    *,
    corpus: Collection[str],
    pool: Iterable[PooledPair],
    earlier: Mapping[str, Sequence[str]],
) -> Grades:
    """Return the grade people settled for each pair: the adjudicated, else the lower median, else the only one.

    A grade given to an earlier wording of a query holds until somebody judges the pair anew; near-duplicates share the
    grade of the chunk that is judged in their place.

    Args:
        state: What people decided.
        query_ids: The present ids of the queries.
        corpus: The ids of the chunks in the corpus.
        pool: The pool of these queries.
        earlier: The earlier ids of each query, the latest first.
    """
    settled_now = state.gold()
    people: Grades = {}
    for query_id in query_ids:
        grades: dict[str, int] = {}
        for name in [*reversed(earlier.get(query_id, ())), query_id]:
            grades |= {chunk_id: int(grade) for chunk_id, grade in settled_now.get(name, {}).items()}
        grades = {chunk_id: grade for chunk_id, grade in grades.items() if chunk_id in corpus}
        if grades:
            people[query_id] = grades
    for pooled in pool:
        grades = people.get(pooled.query_id, {})
        if pooled.shared_from in grades:
            grades.setdefault(pooled.chunk_id, grades[pooled.shared_from])
    return {query_id: dict(sorted(people[query_id].items())) for query_id in sorted(people)}


def current_ids(material: ReviewableSet) -> dict[str, str]:
    """Return the present id of a query by each id it ever had."""
    now = {query_id: query_id for query_id in material.queries}
    for query_id, earlier in lineage(material.metadata).items():
        now |= dict.fromkeys(earlier, query_id)
    return now


def complete_queries(reviewed: ReviewedSet) -> list[str]:
    """Return the sorted queries of lane C whose every pool pair is graded by people; all queries if all are.

    Only lane C is drawn at random as whole queries: a query of another lane that happens to be fully judged tells
    nothing about the others. If all queries are fully judged, there are no others.
    """
    now = current_ids(reviewed.material)
    drawn = {now.get(review.query_id) for review in reviewed.state.reviews() if review.lane is Lane.COMPLETE}
    pools: defaultdict[str, set[str]] = defaultdict(set)
    for pooled in reviewed.material.pool:
        pools[pooled.query_id].add(pooled.chunk_id)
    whole = {query_id for query_id, pool in pools.items() if pool <= reviewed.people.get(query_id, {}).keys()}
    return sorted(whole if whole == pools.keys() else whole & drawn)


def in_lanes(reviews: Iterable[Review], *lanes: Lane) -> list[Review]:
    """Return the judgments of these lanes; only random lanes show how far people and the model agree."""
    return [review for review in reviews if review.lane in lanes]


def sources_of(material: ReviewableSet) -> set[Pair]:
    """Return the pairs of a query and the chunk it was written from."""
    return {pair for pair, pooled in material.pairs.items() if pooled.origin is Origin.SOURCE}
