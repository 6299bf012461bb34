"""Documents to a gold set, as ``goldbench build`` does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

from goldbench.api.gold_set import GoldSet
from goldbench.api.keywords import BuildOptions, ConfigGiven, config_from, keywords_named, path_of
from goldbench.errors import UsageError

if TYPE_CHECKING:
    from goldbench.api.cost_plan import CostPlan
    from goldbench.api.temporary_folder import Place
    from goldbench.grade.build_order import BuildOrder

_TABLES = ("documents", "chunk", "generate", "critics", "model", "machines")
_PAID = (
    "out: a model's answers are stored beside the set, so that none is paid for twice: give out=, or answers= for the "
    "store, or generator='simulated' for simulated queries"
)


@overload
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
    dry_run: Literal[False] = False,
    progress: bool = True,
    **options: Unpack[BuildOptions],
) -> GoldSet: ...


@overload
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
    dry_run: Literal[True],
    progress: bool = True,
    **options: Unpack[BuildOptions],
) -> CostPlan: ...


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
        options: Settings of the tables ``[documents]``, ``[chunk]``, ``[generate]``, ``[critics]``, ``[model]`` and
            ``[machines]``, as ``queries=100`` and ``model="qwen3"``; see `BuildOptions`.

    Raises:
        UsageError: A parameter is wrong, a path does not exist, or no model is named.
        InputError: Nothing could be read.
        OutputError: ``out`` holds something else, or cannot be written.
        ModelError: The model's server cannot be used; the answers so far are in the store.
    """
    asked = _Asked(documents, texts, out, config, answers, replace, replay, batch, grade, dry_run)
    with _ordered(asked, options) as (order, place):
        if dry_run:
            from goldbench.api.build_results import planned

            return planned(order, progress=progress)
        return _built(order, place, progress=progress)


class _Asked(NamedTuple):
    """The parameters of `build` that are no settings."""

    documents: object
    texts: object
    out: str | PathLike[str] | None
    config: ConfigGiven | None
    answers: str | PathLike[str] | None
    replace: bool
    replay: bool
    batch: bool
    grade: bool
    dry_run: bool


@contextlib.contextmanager
def _ordered(asked: _Asked, options: Mapping[str, Any]) -> Iterator[tuple[BuildOrder, Place]]:
    """Yield what is to be built, every parameter checked, and its folder, which may be a temporary one."""
    from goldbench.api.given_documents import documents_of, id_field_of, paths_in
    from goldbench.api.gold_grade import decisions_of
    from goldbench.api.temporary_folder import temporary_folder
    from goldbench.generate.writers import check_replay
    from goldbench.goldset.file_names import answers_beside
    from goldbench.grade.build_order import BuildOrder

    check_replay(replay=asked.replay, batch=asked.batch, dry_run=asked.dry_run)
    settings = config_from(asked.config, options, *_TABLES)
    id_field = id_field_of(asked.texts, settings)
    if id_field is not None:
        settings = config_from(asked.config, {**options, "id_field": id_field}, *_TABLES)
    found = documents_of(asked.documents, asked.texts, settings)
    unpaid = asked.dry_run or not (asked.replay or settings.uses_model())
    if asked.out is None and asked.answers is None and not unpaid:
        raise UsageError(_PAID)
    with temporary_folder(asked.out) as place:
        store = answers_beside(place.folder) if asked.answers is None else path_of(asked.answers, "answers")
        kept = None if asked.replace else decisions_of(place.folder)
        order = BuildOrder(
            config=settings,
            found=found,
            out=place.folder,
            answers=store,
            replace=asked.replace,
            replay=asked.replay,
            batch=asked.batch,
            grade=asked.grade,
            paths=[str(one) for one in paths_in(asked.documents)],
            decisions=kept.put_on if kept else None,
        )
        yield order, place


def _built(order: BuildOrder, place: Place, *, progress: bool) -> GoldSet:
    from goldbench.api.build_results import made
    from goldbench.score.runs import load_gold

    remarks, built = made(order, progress=progress)
    return GoldSet(load_gold(order.out), remarks=remarks, complete=built.complete, temporary=place.temporary)
