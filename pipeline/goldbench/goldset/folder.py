"""The run folder: what its files hold, what state it is in, and how a new set takes the place of an old one."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import re
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from goldbench import __version__
from goldbench.errors import InputError, Message, OutputError, explained, plain_file
from goldbench.formats.jsonl import R, RecordFile
from goldbench.formats.runs.run_tables import names_of_runs
from goldbench.formats.toml import write_toml
from goldbench.goldset import file_names as names
from goldbench.goldset import publication
from goldbench.goldset.dataset import GoldContents, read_dataset, write_gold
from goldbench.goldset.gold_path import read_metadata
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.corpus import Chunk, Document
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.manifest import Manifest, StageReport
from goldbench.records.query import (
    Candidate,
    DroppedQuery,
    Query,
    Rejection,
    RetiredQuery,
    TextRelevance,
    UnlabelledQuery,
)
from goldbench.records.testset import TestSet
from goldbench.stages.lineage import have_one_in_common
from goldbench.text.display import shell_command

_VERSION = re.compile(r"\.v[1-9]\d*$", re.ASCII)
"""The end of the id of a query that a person put into other words."""

LONGEST_RUBRIC = 4000
"""Characters of a rubric: it stands in every call of the judge, and people read it while they judge."""

ELSEWHERE = Message("give another {out=}, or {replace=True} to replace it")
_FILES_SEARCHED_WITH = (names.QUERIES, names.UNLABELLED, names.CHUNKS)
"""The files of what a run was searched with; other queries or passages make it a run of another set."""
_DOCUMENTS_COMPARED = 10_000
"""How many documents of an earlier run are compared with those of a new one; the others are not looked at."""


@dataclass(frozen=True, slots=True)
class Records(Generic[R]):
    """One file of records in a run folder, there or not."""

    path: Path
    kind: type[R]

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.is_file()

    def read(self) -> RecordFile[R]:
        """Return the stored records.

        Raises:
            InputError: The file is missing.
        """
        return RecordFile.open(self.path, self.kind)

    def read_any(self) -> Iterator[R]:
        """Yield the stored records; nothing if the file is missing."""
        if self.exists():
            yield from self.read()

    def write(self, records: Iterable[R | bytes]) -> RecordFile[R]:
        """Write the records, or the lines of such records, one by one and return them as stored.

        Raises:
            OSError: The disk is full or the folder cannot be written.
        """
        return RecordFile.write(self.path, self.kind, records)


@dataclass(frozen=True, slots=True)
class RecordsOf(Generic[R]):
    """Gives a folder one of its files of records, as an attribute."""

    name: str
    kind: type[R]

    def __get__(self, folder: GoldFolder, owner: type[GoldFolder]) -> Records[R]:
        """Return the file in this folder."""
        return Records(folder.path / self.name, self.kind)


@dataclass(frozen=True, slots=True)
class PathOf:
    """Gives a folder the path of one of its other files, as an attribute."""

    name: str

    def __get__(self, folder: GoldFolder, owner: type[GoldFolder]) -> Path:
        """Return the path in this folder."""
        return folder.path / self.name


@dataclass(frozen=True, slots=True)
class ReplacePolicy:
    """Decides whether a new set may take a folder.

    Args:
        settings: The settings that shape the new set, to name those that differ.
        config_sha256: The fingerprint of the new set.
        replace: Whether a set with other settings, of other documents or a damaged one may be replaced.
        graded: Whether the new set is graded; an ungraded set may not take the place of a graded one.
        reviewed: Whether the new set holds people's decisions itself.
    """

    settings: Mapping[str, Any]
    config_sha256: str
    replace: bool = False
    graded: bool = False
    reviewed: bool = False


class GoldFolder:
    """A run folder, finished or being written."""

    documents = RecordsOf(names.DOCUMENTS, Document)
    """The texts that every span refers to."""
    relevance = RecordsOf(names.RELEVANCE, TextRelevance)
    """What is relevant to each query whatever the chunking; only a rechunked set has it."""
    chunks = RecordsOf(names.CHUNKS, Chunk)
    """The passages, in reading order."""
    candidates = RecordsOf(names.CANDIDATES, Candidate)
    """The proposed queries."""
    queries = RecordsOf(names.QUERIES, Query)
    """The queries of the set."""
    unlabelled = RecordsOf(names.UNLABELLED, UnlabelledQuery)
    """The queries that came without a label, whether or not a passage was found for them since; missing if none."""
    unanswerable = RecordsOf(names.UNANSWERABLE, Query)
    """The queries that nothing in the corpus answers; missing if there are none."""
    unanswerable_judgments = RecordsOf(names.UNANSWERABLE_JUDGMENTS, Judgment)
    """The judgments that show it; missing if there are none."""
    rejections = RecordsOf(names.REJECTIONS, Rejection)
    """The rejected candidates, each with its reason."""
    retired = RecordsOf(names.RETIRED, RetiredQuery)
    """The queries that left the set when its documents changed; missing if there are none."""
    pool = RecordsOf(names.POOL, PooledPair)
    """The pairs of a query and a chunk that were to be judged."""
    judgments = RecordsOf(names.JUDGMENTS, Judgment)
    """What the judges said about each pair, judge checks included."""
    checks = RecordsOf(names.CHECKS, Judgment)
    """The judgments of each query's source, made with the answer in sight."""
    ungraded = RecordsOf(names.UNGRADED, DroppedQuery)
    """The queries that the grading left out."""
    rejected = RecordsOf(names.REJECTED, DroppedQuery)
    """The queries that the review left out."""

    labels = PathOf(names.QRELS)
    """The grade of each pair, as TREC qrels."""
    given_labels = PathOf(names.GIVEN_QRELS)
    """The labels from before the first grading."""
    unreviewed_labels = PathOf(names.UNREVIEWED_QRELS)
    """The labels from before an applied review."""
    ledger = PathOf(names.LEDGER)
    """The decisions of people, if they are not in a database elsewhere."""
    """The key that signs the sessions of the review page."""
    rubric_file = PathOf(names.RUBRIC)
    """What the grades mean, for the judge and for people; missing where the built-in rubric holds."""
    card_json = PathOf(names.CARD_JSON)
    """The card, for programs."""
    card_markdown = PathOf(names.CARD_MARKDOWN)
    """The card, for people."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, name: str) -> Path:
        """Return the path of a file of the folder; ``file_names`` holds the names."""
        return self.path / name

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file of the folder, None if it is missing."""
        return publication.sha256_of(self.file(name)) if self.file(name).is_file() else None

    @property
    def unreviewed(self) -> GoldFolder:
        """The folder with what an applied review keeps of the set before it."""
        return GoldFolder(self.path / names.UNREVIEWED)

    def runs(self) -> list[Path]:
        """Return the files of the folder for runs of users' systems, sorted; a file may be no run."""
        files = (self.path / names.RUNS).glob("*")
        return sorted(path for path in files if path.is_file() and not path.name.startswith("."))

    def named_runs(self) -> dict[str, Path]:
        """Return the files of `runs` by the names of the systems."""
        paths = self.runs()
        return dict(zip(names_of_runs(paths), paths, strict=True))

    def is_finished(self) -> bool:
        """Whether a run was put in place here."""
        return (self.path / names.MANIFEST).is_file()

    def holds_documents(self) -> bool:
        """Whether a finished run with its documents is here; never raises, whatever the folder."""
        return all(os.path.isfile(self.path / name) for name in (names.MANIFEST, names.DOCUMENTS))  # noqa: PTH113  Path's own raises

    def is_half_published(self) -> bool:
        """Whether a run ended while its files were being put in place here."""
        return publication.is_half_published(self.path)

    def has_reviews_applied(self) -> bool:
        """Whether the folder keeps a set from before people's decisions."""
        return any((self.path / names.UNREVIEWED).glob("*"))

    def manifest(self) -> Manifest:
        """Return the manifest.

        Raises:
            InputError: There is none, or it is damaged.
        """
        return publication.read_manifest(self.path)

    def dataset(self) -> TestSet:
        """Return the gold set, every reference checked.

        Raises:
            InputError: It is missing, damaged, or a reference does not resolve.
        """
        return read_dataset(self.path / names.DATASET)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the set; empty if there is no set."""
        return read_metadata(self.path / names.DATASET)

    def is_reviewed(self) -> bool:
        """Whether the set holds people's decisions."""
        return "review" in self.metadata()

    def waiting(self) -> list[UnlabelledQuery]:
        """Return the queries without a label that wait for one: not in the set, nor left out of it by a person.

        Raises:
            InputError: A file is damaged.
        """
        if not self.unlabelled.exists():
            return []
        return self.unlabelled_but([*self.queries.read_any(), *(item.query for item in self.rejected.read_any())])

    def unlabelled_but(self, known: Iterable[Query]) -> list[UnlabelledQuery]:
        """Return the queries that came without a label, except some in whatever wording.

        Raises:
            InputError: The file is damaged.
        """
        gone = {identity for query in known for identity in (query.query_id, _VERSION.sub("", query.query_id))}
        return [query for query in self.unlabelled.read_any() if query.query_id not in gone]

    def settings(self) -> dict[str, Any]:
        """Return the settings the set was made with; empty if the folder has none.

        Raises:
            InputError: They are damaged.
        """
        path = self.path / names.CONFIG
        if not path.is_file():
            return {}
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(path, "is damaged: make the run again") from None

    def rubric(self) -> Rubric:
        """Return the rubric of the set: the user's own, or the built-in one.

        Raises:
            InputError: The file is empty, too long, or not text in UTF-8.
        """
        path = self.rubric_file
        if not path.exists():
            return DEFAULT
        try:
            rubric = Rubric.of(plain_file(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(path, f"cannot be read ({(error.strerror or 'no reason given').lower()})") from None
        except UnicodeDecodeError:
            raise InputError(path, "is not text in UTF-8; save it as UTF-8") from None
        if not rubric.text:
            raise InputError(path, "holds no rubric; write one, or remove the file to use the built-in rubric")
        if len(rubric.text) > LONGEST_RUBRIC:
            raise InputError(
                path, f"holds {len(rubric.text):,} characters; a rubric has at most {LONGEST_RUBRIC:,}: shorten it"
            )
        return rubric

    def changed_files(self) -> Iterator[str]:
        """Yield one line for every file that is missing or was changed since it was written."""
        return publication.changed_files(self.path, self.manifest())

    def check_usable(self, policy: ReplacePolicy) -> None:
        """Refuse a folder that holds what a new set must not replace.

        Raises:
            OutputError: The folder is a file, or holds other files, another run, a reviewed one, or a graded one.
        """
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise OutputError(f"{self.path}: is a file; give a folder that does not exist yet")
        entries = {entry.name for entry in self.path.iterdir()}
        if names.MANIFEST not in entries or not self._is_of_goldbench():
            if publication.STAGING not in entries and entries - {publication.LOCK, names.RUBRIC}:
                foreign = f"{self.path}: holds files that are not a goldbench run"
                raise OutputError(Message("{}; give another {out=}", foreign))
            return
        if policy.replace:
            return
        try:
            manifest = self.manifest()
        except InputError:
            damaged = self.path / names.MANIFEST
            raise OutputError(Message("{}: is damaged; {}", damaged, ELSEWHERE)) from None
        problem = self.what_would_be_lost(manifest, policy)
        if problem is not None:
            raise OutputError(Message("{}: holds {}", self.path, problem))

    def _is_of_goldbench(self) -> bool:
        """Return whether the manifest is a set's, or, if it cannot be read, whether files lie here that only sets have.

        Web applications have a ``manifest.json``, too.
        """
        try:
            self.manifest()
        except InputError:
            return any(self.file(name).is_file() for name in (names.DOCUMENTS, names.CHUNKS, names.QUERIES))
        return True

    def what_would_be_lost(self, manifest: Manifest, policy: ReplacePolicy) -> str | None:
        """Return what would be lost if a new set took the folder, and what to do; None if nothing would be lost."""
        if manifest.config_sha256 != policy.config_sha256:
            differs = ", ".join(self._differing(policy.settings)) or "its prompts"
            return Message("a run with other settings ({}); {}", differs, ELSEWHERE)
        if self.has_reviews_applied() and not policy.reviewed:
            return Message(
                "what people decided in a review, which a new set would replace; give another {out=}, or "
                "{replace=True} to lose it"
            )
        if self._holds_own_queries():
            return Message(
                "queries added to it, which a new set would lack; run {}, or {replace=True} to lose them",
                shell_command("refresh"),
            )
        if manifest.grading is not None and not policy.graded:
            return Message(
                "a graded set, which an ungraded one would replace; give {grade=True} to grade it again "
                "(no answer is paid twice), another {out=}, or {replace=True} to lose the grades"
            )
        return None

    def _holds_own_queries(self) -> bool:
        """Whether the user added queries; a damaged file holds none."""
        with contextlib.suppress(InputError):
            names_of_writers = {query.generator for query in self.queries.read_any()}
            return names.OWN in names_of_writers | {query.generator for query in self.unlabelled.read_any()}
        return False

    def _differing(self, settings: Mapping[str, Any]) -> Iterator[str]:
        """Yield the keys whose values in the folder's settings are others."""
        if not self.file(names.CONFIG).is_file():
            return
        try:
            earlier = self.settings()
        except InputError:
            return
        for table in sorted(earlier.keys() | settings.keys()):
            old = earlier.get(table, {})
            new = settings.get(table, {})
            for key in sorted(old.keys() | new.keys()):
                if old.get(key) != new.get(key):
                    yield f"{table}.{key}"

    def check_same_corpus(self, documents: Iterable[Document]) -> None:
        """Refuse a new set if no document of the one here is left in it, whole or edited, under its name or another.

        Args:
            documents: Those of the new set; iterated over more than once if no document stayed as it was.

        Raises:
            OutputError: The run in the folder is of other documents.
        """
        if not self.is_finished() or not self.documents.exists():
            return
        if not have_one_in_common(self._first_documents, documents):
            raise OutputError(Message("{}: holds a run of other documents; {}", self.path, ELSEWHERE))

    def _first_documents(self) -> Iterator[Document]:
        """Yield the first documents here; a damaged line is passed over, because the set is about to be replaced."""
        with self.documents.path.open("rb") as file:
            for line in itertools.islice(file, _DOCUMENTS_COMPARED):
                with contextlib.suppress(ValueError):
                    yield Document.model_validate_json(line)

    @contextlib.contextmanager
    def replacing(self, policy: ReplacePolicy, *, is_renewal: bool = False) -> Iterator[Draft]:
        """Yield a draft for a new set that takes this folder; every other file of a set in it is removed.

        A new set with other queries or passages sets the runs and experiments in the folder aside: they would be shown
        as results on it.

        Args:
            policy: Decides whether the new set may take the folder.
            is_renewal: Whether the new set goes on from the one here, so that its runs stay.

        Raises:
            OutputError: The folder may not be used, cannot be written, or is being written.
        """
        with explained(self.path):
            self.check_usable(policy)
        with publication.staging(self.path) as staged, explained(self.path):
            self.check_usable(policy)
            draft = Draft(staged)
            yield draft
            if draft.finished is not None:
                finished = draft.stamped(self)
                suffix = self._suffix_for_runs(draft) if policy.replace and not is_renewal else None
                publication.publish(staged, self.path, finished, stale=names.FILES_OF_A_SET)
                draft.set_aside = list(self._set_runs_aside(suffix)) if suffix else []

    def _suffix_for_runs(self, draft: Draft) -> str | None:
        """Return the suffix for runs on the set that is here, None if a draft has the same queries and passages."""
        suffix = "earlier"
        with contextlib.suppress(InputError):
            manifest = self.manifest()
            if all(draft.digest(name) == manifest.files.get(name) for name in _FILES_SEARCHED_WITH):
                return None
            suffix = (manifest.content_sha256 or suffix)[:12]
        return suffix

    def _set_runs_aside(self, suffix: str) -> Iterator[str]:
        """Rename the folders of runs and experiments, and yield a line for each."""
        for folder in (self.file(names.RUNS), self.file(names.BENCH)):
            if folder.is_dir():
                aside = folder.rename(_free(folder.with_name(f"{folder.name}-{suffix}")))
                yield f"{aside}: holds the results on the earlier queries, which were in {folder.name}"

    @contextlib.contextmanager
    def rewriting(self) -> Iterator[Draft]:
        """Yield a draft for changes to the set in this folder; files that are not written again stay.

        Raises:
            OutputError: The folder cannot be written, or is being written.
        """
        with publication.staging(self.path) as staged, explained(self.path):
            draft = Draft(staged)
            yield draft
            if draft.finished is not None:
                finished = draft.stamped(self)
                files = self.manifest().files
                unchanged = {name: digest for name, digest in files.items() if not draft.file(name).is_file()}
                publication.publish(staged, self.path, finished, kept=unchanged)


def _free(path: Path) -> Path:
    """Return a path at which nothing is, with a number at its end if need be."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([path], numbered) if not candidate.exists())


class Draft(GoldFolder):
    """A set that is being written. At the end of its block it is put in place, or thrown away unless it is finished."""

    finished: Manifest | None = None
    set_aside: Sequence[str] = ()
    """A line for each folder of results on the earlier set that was renamed."""

    def write_gold(self, gold: GoldContents) -> None:
        """Write the gold set and its copies for other tools, and the queries without an answer if there are any."""
        if gold.unanswerable:
            self.unanswerable.write(gold.unanswerable)
        write_gold(self.path, gold)

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write the settings that the set is made with."""
        write_toml(self.path / names.CONFIG, settings)

    def finish(self, manifest: Manifest) -> None:
        """Put the set in place with this manifest when the block ends."""
        self.finished = manifest

    def stamped(self, before: GoldFolder) -> Manifest:
        """Return the manifest with the digest of the set's content.

        Args:
            before: The folder that the set is put into; a damaged set in it counts as none.
        """
        assert self.finished is not None
        digest: str | None = None
        if self.file(names.DATASET).is_file():
            digest = self.metadata()["content_sha256"]
        else:  # the set itself stays as it is
            with contextlib.suppress(InputError):
                digest = before.manifest().content_sha256
        return self.finished.model_copy(update={"content_sha256": digest})


def is_graded(manifest: Manifest) -> bool:
    """Whether a set has a pool and its judgments."""
    return manifest.grading is not None and names.JUDGMENTS in manifest.files


def stamp(started: float) -> dict[str, Any]:
    """Return the manifest's entries on who made a set, when, and how long it took.

    Args:
        started: The time of ``time.monotonic`` at the beginning, in seconds.
    """
    return {
        "goldbench": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 3),
    }


def with_reports(reports: Iterable[StageReport], new: Iterable[StageReport]) -> list[StageReport]:
    """Return the reports of a set with those of some stages renewed, at the end."""
    renewed = list(new)
    stages = {report.stage for report in renewed}
    return [*(report for report in reports if report.stage not in stages), *renewed]
