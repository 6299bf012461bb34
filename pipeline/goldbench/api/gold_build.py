"""Documents to a gold set, as ``goldbench build`` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Literal, Unpack, overload

from goldbench.api.builds import plan_build, run_build
from goldbench.api.cost_plan import CostPlan
from goldbench.api.given_documents import documents_of, id_field_of, paths_in
from goldbench.api.gold_grade import decisions_of
from goldbench.api.gold_set import GoldSet
from goldbench.api.keywords import BuildKeywords, BuildOptions, ConfigGiven, config_from, keywords_named, path_of
from goldbench.api.temporary_folder import temporary_folder
from goldbench.config import Config
from goldbench.errors import UsageError
from goldbench.formats.documents.sources import SourceFiles
from goldbench.generate.writers import check_replay
from goldbench.goldset.file_names import answers_beside
from goldbench.grade.build_order import BuildOrder
from goldbench.score.runs import load_gold

if TYPE_CHECKING:
    from pathlib import Path

_TABLES = ("documents", "chunk", "generate", "model", "machines")
_PAID = (
    "out: a model's answers are stored beside the set, so that none is paid for twice: give out=, or answers= for the "
    "store, or generator='simulated' for simulated queries"
)


@overload
def build(
    documents: object = None, *, dry_run: Literal[False] = False, **options: Unpack[BuildKeywords]
) -> GoldSet: ...


@overload
def build(documents: object = None, *, dry_run: Literal[True], **options: Unpack[BuildKeywords]) -> CostPlan: ...


@keywords_named()
def build(
    documents: object = None,
    *,
    texts: Iterable[str | None] | Mapping[str, str | None] | None = None,
    out: str | PathLike[str] | None = None,
    config: ConfigGiven | None = None,
    answers: str | PathLike[str] | None = None,
    replace: bool = False,
    replay: bool = False,
    batch: bool = False,
    grade: bool = False,
    dry_run: bool = False,
    progress: bool = True,
    **options: Unpack[BuildOptions],
) -> GoldSet | CostPlan:
    """Build a gold set from documents, with the defaults and the results of ``goldbench build``.

    A string is always a path; texts are given as ``texts``. Rows of a frame are documents; ``text_field``,
    ``title_field`` and ``id_field`` name its columns. Texts give the set that a file ``texts.jsonl`` with an object
    ``{"text": …}`` per line gives, a frame the set of the file ``frame.parquet`` that it would be written to.

    Without ``out`` the set lies in a temporary folder, which is deleted with the last reference to it; ``save`` keeps
    it. The call works in a notebook, whose event loop it leaves alone. If it is interrupted, nothing is put in place,
    and the same call continues with the answers that a model has given.

    >>> import goldbench
    >>> texts = [
    ...     "The circulation pump starts when the tank falls below forty litres and stops when it is full.",
    ...     "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes.",
    ...     "Sand filters are washed at night, so that clay cannot settle in the lower bed of gravel.",
    ... ]
    >>> gold = goldbench.build(texts=texts, queries=2, no_chunk=True, progress=False)
    >>> gold.complete, len(gold.queries), sorted(gold.corpus.values()) == sorted(texts)
    (True, 2, True)
    >>> goldbench.build("no/such/folder")
    Traceback (most recent call last):
    goldbench.errors.UsageError: no/such/folder: no such file or folder; give documents or a folder of them;
    a string is a path: give texts as texts=[...], or by id as texts={...}

    Args:
        documents: A file, a folder, a glob, several of them in a list, or a frame of pandas or polars.
        texts: Texts, or texts by id, whose ids are kept; None and NaN are texts that are missing, counted as failures.
        out: Folder of the gold set (default: a temporary folder).
        config: A ``goldbench.toml``, or its tables; the other parameters override it.
        answers: Store of model answers (default: answers.sqlite beside ``out``).
        replace: Replace a set with other settings in ``out``.
        replay: Take every answer from the store; use no network.
        batch: Send batches: half the price, within a day.
        grade: Also judge a pool, as ``GoldSet.grade`` does.
        dry_run: Return the expected cost; send and write nothing.
        progress: Show the progress: in the output of a notebook's cell, else on standard error.
        options: Settings of the tables ``[documents]``, ``[chunk]``, ``[generate]``, ``[model]`` and
            ``[machines]``, as ``queries=100`` and ``model="qwen3"``; see `BuildOptions`.

    Raises:
        UsageError: A parameter is wrong, a path does not exist, or no model is named.
        InputError: Nothing could be read.
        OutputError: ``out`` holds something else, or cannot be written.
        ModelError: The model's server cannot be used; the answers so far are in the store.
    """
    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    settings = config_from(config, options, *_TABLES)
    id_field = id_field_of(texts, settings)
    if id_field is not None:
        settings = config_from(config, {**options, "id_field": id_field}, *_TABLES)
    rows = documents_of(documents, texts, settings)
    if out is None and answers is None and not dry_run and (replay or settings.uses_model()):
        raise UsageError(_PAID)
    flags = {"replace": replace, "replay": replay, "batch": batch, "grade": grade}
    with temporary_folder(out) as place:
        order = _order(settings, rows, documents, place.folder, answers, **flags)
        if dry_run:
            return plan_build(order, progress=progress)
        remarks, complete = run_build(order, progress=progress)
        return GoldSet(load_gold(order.out), remarks=remarks, complete=complete, temporary=place.temporary)


def _order(
    config: Config,
    rows: SourceFiles,
    documents: object,
    folder: Path,
    answers: str | PathLike[str] | None,
    **flags: bool,
) -> BuildOrder:
    decisions = None if flags["replace"] else decisions_of(folder)
    return BuildOrder(
        config=config,
        sources=rows,
        out=folder,
        answers=answers_beside(folder) if answers is None else path_of(answers, "answers"),
        paths=[str(path) for path in paths_in(documents)],
        decisions=decisions.put_on if decisions else None,
        **flags,
    )
