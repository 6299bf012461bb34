"""People's decisions for other tools, as files on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from goldbench.errors import OutputError, explained
from goldbench.formats.annotations import argilla, judgment_table, label_studio, ledger_lines, settled_qrels
from goldbench.formats.annotations.exchange import Exchange
from goldbench.formats.runs.scorecard_files import write_whole
from goldbench.review.ledger import ledger_path, open_ledger
from goldbench.review.people import LedgerRecord, ReviewedSet, current_ids, lineage, people_of
from goldbench.review.reviewable_set import ReviewableSet

Format = Literal["native", "trec", "csv", "argilla", "label-studio"]


def export(
    reviewed: ReviewedSet, form: Format, out: Path, *, with_model_labels: bool = False, wanted: int = 1
) -> list[Path]:
    """Write people's decisions, and return the files.

    Args:
        reviewed: The data set and its ledger.
        form: The format.
        out: A file for native, trec and csv; a folder for the others.
        with_model_labels: Whether to include the model's grades; argilla and label-studio show them to annotators.
        wanted: Number of people who are to judge a pair, for formats that hold it.

    Raises:
        OutputError: The target cannot be written, is part of the data set, or holds something else.
    """
    exchange = _exchange(reviewed, with_model_labels=with_model_labels, wanted=wanted)
    folder = reviewed.material.folder
    if form == "native":
        return _write_file(out, _native(reviewed.record, exchange.data_sha), folder)
    if form == "csv":
        return _write_file(out, judgment_table.write(exchange), folder)
    if form == "trec":
        about = out.with_name(out.name + settled_qrels.ABOUT)
        written = _write_file(out, settled_qrels.write_trec(exchange), folder)
        return written + _write_file(about, settled_qrels.about(exchange), folder)
    write = argilla.write if form == "argilla" else label_studio.write
    return _write_folder(out, write(exchange), folder)


def export_ledger(folder: Path, ledger: str | None, out: Path) -> list[Path]:
    """Write all that a ledger holds in the native format, whatever became of its set, and return the files.

    Args:
        folder: The folder of the set, which need not hold one.
        ledger: The file of the ledger; None for the file in the folder.
        out: The file to write.

    Raises:
        InputError: There is no ledger.
        OutputError: The target cannot be written.
    """
    with open_ledger(ledger_path(folder, ledger), data_sha="", create=False) as book:
        record = LedgerRecord(tuple(book.events()), book.meanings())
    return _write_file(out, _native(record, record.events[-1].data_sha if record.events else ""), folder)


def _exchange(reviewed: ReviewedSet, *, with_model_labels: bool, wanted: int) -> Exchange:
    """Return what can be exported of the queries and chunks that are in the set now; see `export`."""
    material = reviewed.material
    state = reviewed.state
    now = current_ids(material)
    adjudications = {pair: state.adjudication(pair) for pair in state.adjudicated() if pair[0] in now}
    grades = material.grades() if with_model_labels else {}
    return Exchange(
        queries=material.queries,
        passages=material.corpus,
        pairs=sorted({(pair.query_id, pair.chunk_id) for pair in material.pool if pair.shared_from is None}),
        reviews=[each for each in state.reviews() if each.query_id in now and each.chunk_id in material.corpus],
        adjudicated={
            pair: (event.annotator, event.grade)
            for pair, event in adjudications.items()
            if event is not None and event.grade is not None
        },
        gold=people_of(state, material.queries, corpus=material.corpus, pool=(), earlier=lineage(material.metadata)),
        rubric=material.rubric,
        data_sha=material.data_sha,
        model={pair: (_assessors(material, pair), grade) for pair, grade in grades.items()},
        wanted=wanted,
        answers=material.answers,
        asked=material.asked,
    )


def _assessors(material: ReviewableSet, pair: tuple[str, str]) -> str:
    return "+".join(sorted({judgment.assessor for judgment in material.judged[pair]}))


def _native(record: LedgerRecord, data_sha: str) -> str:
    return ledger_lines.write(record.events, texts=record.meanings.as_rows(), data_sha=data_sha)


def _write_file(out: Path, text: str, folder: Path) -> list[Path]:
    if out.is_dir():
        raise OutputError(f"{out}: is a folder; give the name of a file")
    _check_outside(out, folder)
    with explained(out):
        write_whole(out, text.encode("utf-8", "replace"))
    return [out]


def _write_folder(out: Path, files: Mapping[str, str], folder: Path) -> list[Path]:
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is a file; give the name of a folder")
    _check_outside(out, folder)
    known = {name.split("/")[0] for name in files}
    if out.is_dir() and {entry.name for entry in out.iterdir()} - known:
        raise OutputError(f"{out}: holds files of something else; give a folder that does not exist yet")
    with explained(out):
        for name, content in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(out / name, content.encode("utf-8", "replace"))
    return [out / name for name in files]


def _check_outside(out: Path, folder: Path) -> None:
    if folder.resolve() in (out.resolve(), *out.resolve().parents):
        raise OutputError(f"{out}: lies in the data set itself; give a path outside of it")
