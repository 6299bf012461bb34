"""Put people's decisions into a gold set: their grades, the queries they edited, those they rejected.

What the set was before is kept below ``unreviewed/``, so that applying once more starts from there: it depends on the
set as built and on the ledger alone, and a decision taken back is taken back in the set as well. The ledger is only
read.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import BY_QUERY, DATASET, MANIFEST, QUERIES
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy, with_reports
from goldbench.goldset.publication import is_inside
from goldbench.measures.statistics.floats import effective_size, inverse_weights
from goldbench.records.manifest import Manifest, StageReport
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.review.decisions import DecidedSet, answered, decide
from goldbench.review.people import Grades, ReviewedSet, load_reviewed, people_of, sources_of
from goldbench.review.sample import SampledPair, sampled
from goldbench.review.unreviewed import UnreviewedSet, keep, renamed, sha256_if_there, unreviewed_set, with_waiting

STAGE = "review"
_PLACES = 6
"""Decimal places of the recorded figures; beyond them sums differ between machines."""


@dataclass(frozen=True, slots=True)
class AppliedReview:
    """What a review changed, in queries and in judgments; ``undecided`` queries are called bad, but not rejected.

    ``model`` counts the judgments that people did not make; ``judge`` says who made these.
    """

    folder: Path
    queries: int
    accepted: int
    edited: int
    dropped: dict[str, int]
    people: int
    model: int
    carried: int
    undecided: int
    not_applied: int
    judge: str


def apply_review(
    folder: Path, *, ledger: str | None, out: Path | None = None, reject_bad: bool = False
) -> AppliedReview:
    """Put a ledger's decisions into a set, in its own folder or in a new one, and return what changed.

    Args:
        folder: The folder of a build.
        ledger: The file of the ledger; None for the file in the folder.
        out: The folder of the new set; None for the folder itself.
        reject_bad: Whether a query that somebody called bad, and nobody accepted or edited, is rejected.

    Raises:
        InputError: The folder is not that of a build, or has no ledger.
        OutputError: The target holds something else or cannot be written.
    """
    home = GoldFolder(folder)
    target = folder if out is None or _same(out, folder) else out
    manifest = home.manifest()
    policy = ReplacePolicy({}, manifest.config_sha256, graded=True, reviewed=True)
    if target is not folder:
        GoldFolder(target).check_usable(policy)
    reviewed = load_reviewed(folder, ledger)
    work = Application.of(home, unreviewed_set(home, reviewed.material.metadata), reviewed, reject_bad=reject_bad)
    with home.rewriting() if target is folder else GoldFolder(target).replacing(policy) as draft:
        if target is not folder:
            copy_set(home, manifest, draft)
        keep(work.start, draft)
        review = work.write(draft, target)
        draft.finish(work.told(manifest))
    if target is not folder and home.rubric_file.is_file():
        shutil.copyfile(home.rubric_file, GoldFolder(target).rubric_file)
    return review


@dataclass(frozen=True, slots=True)
class Application:
    """A set and what people decided about it, on its way into a draft.

    ``home`` holds the files that do not belong to single queries, ``start`` the others.
    """

    home: GoldFolder
    start: UnreviewedSet
    reviewed: ReviewedSet
    decided: DecidedSet
    people: Grades
    grades: dict[str, dict[str, Relevance]]
    reject_bad: bool

    @classmethod
    def of(cls, home: GoldFolder, start: UnreviewedSet, reviewed: ReviewedSet, *, reject_bad: bool) -> Application:
        """Return what people's decisions make of a set.

        Args:
            home: The folder with the corpus of the set.
            start: The set before people's decisions.
            reviewed: What people decided.
        """
        start = with_waiting(start, home, reviewed.judge)
        decided = decide(start, reviewed, reject_bad=reject_bad)
        people = people_of(
            reviewed.state,
            [query.query_id for query in decided.queries],
            corpus=reviewed.material.corpus,
            pool=renamed(start.folder.pool, decided.now()),
            earlier=decided.earlier,
        )
        grades = answered(decided, start, people)
        return cls(home, start, reviewed, decided, people, grades, reject_bad)

    @property
    def changes(self) -> bool:
        """Whether people decided anything."""
        return bool(self.decided.notes or self.decided.dropped or self.people)

    def write(self, draft: Draft, target: Path) -> AppliedReview:
        """Write the set as decided into a draft that holds the set from before below ``unreviewed/``.

        Args:
            draft: The draft.
            target: The folder that the draft will take.
        """
        applied = _applied(target, self.start, self.reviewed, self.decided, self.grades, self.people)
        derived = _still_derived(self.home, self.decided.now(), self.grades, self.people)
        _write_records(draft, self.start, self.decided)
        review = _described(draft, applied, self.decided, self.reviewed)
        if self.reject_bad:
            review["reject_bad"] = True
        metadata = {**self.reviewed.material.metadata, "review": review}
        corpus = functools.partial(passages, self.home.chunks.read(), title_use(metadata))
        unanswerable = list(self.home.unanswerable.read_any())
        draft.write_gold(GoldContents(self.decided.queries, corpus, self.grades, metadata, unanswerable, derived))
        return applied

    def told(self, manifest: Manifest) -> Manifest:
        """Return the manifest of the set as decided."""
        return _manifest(manifest, self.start, self.decided)


def _same(path: Path, other_path: Path) -> bool:
    return path.exists() and path.samefile(other_path)


def _write_records(draft: Draft, start: UnreviewedSet, decided: DecidedSet) -> None:
    """Write every file whose records belong to single queries."""
    now = decided.now()
    draft.queries.write(decided.queries)
    draft.rejected.write(decided.dropped)
    if start.folder.pool.exists():
        draft.pool.write(renamed(start.folder.pool, now))
    for judgments, written in ((start.folder.judgments, draft.judgments), (start.folder.checks, draft.checks)):
        if judgments.exists():
            written.write(renamed(judgments, now))


def _applied(
    folder: Path,
    start: UnreviewedSet,
    reviewed: ReviewedSet,
    decided: DecidedSet,
    grades: Mapping[str, Mapping[str, Relevance]],
    people: Grades,
) -> AppliedReview:
    grades_of_people = {query_id: people.get(query_id, {}) for query_id in grades}
    by_people = sum(len(judged) for judged in grades_of_people.values())
    return AppliedReview(
        folder=folder,
        queries=len(decided.queries),
        accepted=sum(note.get("verdict") == "accepted" for note in decided.notes.values()),
        edited=sum(query.query_id in decided.earlier for query in decided.queries),
        dropped=decided.rules(),
        people=by_people,
        model=sum(len(graded) for graded in grades.values()) - by_people,
        carried=_carried(reviewed, decided, grades_of_people),
        not_applied=len(reviewed.strays),
        undecided=len(reviewed.state.bad_queries().keys() & {query.query_id for query in decided.queries}),
        judge=_judge(start, reviewed),
    )


def _judge(start: UnreviewedSet, reviewed: ReviewedSet) -> str:
    """Return who made the judgments that people did not make."""
    if start.folder.judgments.exists():
        return "the model"
    return "the build" if "seed" in reviewed.material.metadata else "the imported set"


def _still_derived(
    home: GoldFolder, now: Mapping[str, str], grades: Mapping[str, Mapping[str, Relevance]], people: Grades
) -> dict[str, list[str]]:
    """Return the derived labels that are still there and that no person gave, by the ids of the queries now."""
    derived = {
        now[query_id]: [
            chunk_id
            for chunk_id in chunk_ids
            if chunk_id in grades.get(now[query_id], {}) and chunk_id not in people.get(now[query_id], {})
        ]
        for query_id, chunk_ids in home.dataset().derived.items()
        if query_id in now
    }
    return {query_id: chunk_ids for query_id, chunk_ids in derived.items() if chunk_ids}


def _described(
    draft: Draft, applied_review: AppliedReview, decided: DecidedSet, reviewed: ReviewedSet
) -> dict[str, Any]:
    names = [name for name in BY_QUERY if draft.file(name).is_file()]
    return {
        "data_sha": reviewed.material.data_sha,
        "judgments": {
            "people": applied_review.people,
            "model": applied_review.model,
            "people_on_an_earlier_wording": applied_review.carried,
        },
        "random_sample": _sample(reviewed, decided),
        "annotators": len({review.annotator for review in reviewed.state.reviews()}),
        "queries": decided.notes,
        "dropped": applied_review.dropped,
        "files": {name: sha256_if_there(draft.file(name)) for name in names},
    }


def _sample(reviewed: ReviewedSet, decided: DecidedSet) -> dict[str, list[float]]:
    """Return what people find of the random sample, by the judge's grade.

    A list holds the number of pairs, how many are relevant, the number of equally weighted pairs that they are worth
    (pairs can have been drawn with different probabilities, as when a set grew), and the weighted share that is
    relevant. Sources are left out, which models grade unlike other passages, and queries that were edited or are left
    out.
    """
    kept_ids = {query.query_id for query in decided.queries} - decided.earlier.keys()
    sources = sources_of(reviewed.material)
    pairs: defaultdict[str, list[SampledPair]] = defaultdict(list)
    for sampled_pair in sampled(reviewed.state.reviews(), reviewed.state):
        query_id, chunk_id = sampled_pair.pair
        grade = reviewed.judge.get(query_id, {}).get(chunk_id)
        if query_id in kept_ids and grade is not None and sampled_pair.pair not in sources:
            pairs[str(grade)].append(sampled_pair)
    return {grade: _tallied(pairs[grade]) for grade in sorted(pairs)}


def _tallied(pairs: Sequence[SampledPair]) -> list[float]:
    weights = inverse_weights([pair.inclusion for pair in pairs])
    relevant = [judged_pair.people >= RELEVANT for judged_pair in pairs]
    share = float(weights[relevant].sum() / weights.sum())
    return [len(pairs), sum(relevant), round(effective_size(weights), _PLACES), round(share, _PLACES)]


def _carried(reviewed: ReviewedSet, decided: DecidedSet, people: Grades) -> int:
    """Return how many of people's grades were given to an earlier wording of their query."""
    settled = reviewed.state.gold()
    return sum(
        len(person.keys() - settled.get(query_id, {}).keys())
        for query_id, person in people.items()
        if query_id in decided.earlier
    )


def copy_set(folder: GoldFolder, manifest: Manifest, draft: Draft) -> None:
    """Copy every file that the manifest of a set names.

    Args:
        folder: The folder of the set.
        manifest: Its manifest.
        draft: The draft.

    Raises:
        InputError: The manifest names a file outside of the folder.
    """
    for name in manifest.files:
        if not is_inside(folder.path, name):
            raise InputError(folder.file(MANIFEST), f"names {name!r}, not a file of this folder; build the set again")
        draft.file(name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder.file(name), draft.file(name))


def _manifest(manifest: Manifest, start: UnreviewedSet, decided: DecidedSet) -> Manifest:
    stage = StageReport(
        stage=STAGE,
        reads=QUERIES,
        writes=DATASET,
        read=len(start.queries),
        written=len(decided.queries),
        rejected=len(decided.dropped),
        unused=len(decided.waiting),
        rules=decided.rules(),
    )
    stages = with_reports(manifest.stages, [stage])
    return manifest.model_copy(update={"queries": len(decided.queries), "stages": stages})


def as_json(applied_review: AppliedReview) -> str:
    """Return as JSON what a review changed."""
    return json.dumps(
        {name: getattr(applied_review, name) for name in applied_review.__slots__ if name != "folder"}, indent=2
    )
