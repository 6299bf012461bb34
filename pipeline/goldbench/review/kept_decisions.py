"""People's decisions kept while a new set takes the place of the one that they were applied to."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldbench.errors import Message, OutputError
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import BEIR, BY_QUERY, DATASET, REJECTED, TREC, UNREVIEWED
from goldbench.goldset.folder import Draft, GoldFolder
from goldbench.records.manifest import Manifest
from goldbench.records.relevance import Relevance
from goldbench.report.review_text import no_longer_applies
from goldbench.review.apply import Application, copy_set
from goldbench.review.people import load_reviewed
from goldbench.review.unreviewed import keep, unreviewed_set


@dataclass(frozen=True, slots=True)
class KeptDecisions:
    """The decisions that were applied to the set in a folder, to be put into the set that takes its place."""

    home: GoldFolder
    ledger: str
    say: Callable[[str], None] = lambda _: None
    """Takes a line about decisions that do not apply to the new set."""

    @property
    def _review(self) -> Mapping[str, Any]:
        review = self.home.metadata().get("review")
        return review if isinstance(review, Mapping) else {}

    def take_off(self, draft: Draft, manifest: Manifest) -> None:
        """Write the set of the folder, as it was before people's decisions, into a draft.

        Args:
            draft: The draft.
            manifest: The manifest of the set in the folder.

        Raises:
            InputError: A file of the set is missing or damaged.
        """
        metadata = self.home.metadata()
        start = unreviewed_set(self.home, metadata)
        of_the_review = (DATASET, REJECTED, f"{UNREVIEWED}/", f"{BEIR}/", f"{TREC}/")
        left = {name: digest for name, digest in manifest.files.items() if not name.startswith(of_the_review)}
        copy_set(self.home, manifest.model_copy(update={"files": left}), draft)
        for name in BY_QUERY:
            if start.folder.file(name).is_file():
                shutil.copyfile(start.folder.file(name), draft.file(name))
        grades = {
            query.query_id: {
                chunk_id: Relevance(grade) for chunk_id, grade in start.grades.get(query.query_id, {}).items()
            }
            for query in start.queries
        }
        metadata = {key: value for key, value in metadata.items() if key != "review"}
        corpus = functools.partial(passages, self.home.chunks.read(), title_use(metadata))
        unanswerable = list(self.home.unanswerable.read_any())
        draft.write_gold(GoldContents(list(start.queries), corpus, grades, metadata, unanswerable))
        if self.home.given_labels.is_file():
            shutil.copyfile(self.home.given_labels, draft.given_labels)

    async def put_on(self, draft: Draft, manifest: Manifest) -> Manifest:
        """Put what the ledger holds into a new set, and return its manifest; the set stays as it is if nothing applies.

        Args:
            draft: The draft with the new set, without people's decisions.
            manifest: The manifest of the new set.

        Raises:
            InputError: The ledger is damaged.
        """
        reviewed = load_reviewed(draft.path, self.ledger)
        if reviewed.strays:
            self.say(no_longer_applies(len(reviewed.strays)))
        reject_bad = bool(self._review.get("reject_bad"))
        start = unreviewed_set(draft, {})
        work = Application.of(draft, start, reviewed, reject_bad=reject_bad)
        if not work.changes:
            return manifest
        keep(start, draft)
        start = replace(work.start, folder=draft.unreviewed, qrels=draft.unreviewed_labels)
        work = replace(work, start=start)
        work.write(draft, self.home.path)
        return work.told(manifest)


def kept_decisions(
    folder: Path, ledger: str | None = None, *, strict: bool = True, say: Callable[[str], None] = lambda _: None
) -> KeptDecisions | None:
    """Return the decisions applied to the set in a folder, None if there are none.

    Args:
        folder: The folder, which need not exist.
        ledger: The file of the ledger; None for the file in the folder.
        strict: Whether decisions whose ledger is elsewhere are an error; otherwise they count as none.

    Raises:
        OutputError: The ledger is not in the folder, and no file was named, so that a new set would lose the
            decisions.
    """
    home = GoldFolder(folder)
    if not home.is_finished() or not home.has_reviews_applied():
        return None
    if ledger is not None or home.ledger.is_file():
        return KeptDecisions(home, ledger or str(home.ledger), say)
    if not strict:
        return None
    problem = (
        "{}: holds what people decided in a review, and their ledger is not in the folder, so a new set would "
        "lose it; copy the ledger there, or name it with {ledger=}"
    )
    raise OutputError(Message(problem, folder))
