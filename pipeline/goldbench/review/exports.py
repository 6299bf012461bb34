"""People's decisions for other tools: as files on disk, or as the page's downloads."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from goldbench.errors import OutputError, explained
from goldbench.formats.annotations import argilla, judgment_table, label_studio, ledger_lines, settled_qrels
from goldbench.formats.annotations.exchange import Exchange
from goldbench.formats.interchange_names import BEIR_TEST_QRELS, TREC_QRELS
from goldbench.formats.runs.scorecard_files import write_whole
from goldbench.review.ledger import ledger_url, open_ledger
from goldbench.review.people import Book, Reviewed, current_ids, lineage, people_of
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair, State

Format = Literal["native", "trec", "beir", "csv", "argilla", "label-studio"]

DOWNLOADS = ("qrels", "beir", "csv", "argilla", "labelstudio", "json")
"""The names of the page's downloads."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file as the page sends it."""

    filename: str
    media_type: str
    body: bytes


def download(
    name: str, material: ReviewableSet, state: State, *, hidden: Collection[Pair] = (), drawn: bool = True
) -> Download:
    """Return a download of the page, which never holds a model's grade.

    Args:
        name: One of ``DOWNLOADS``.
        material: The data set.
        state: People's decisions.
        hidden: Pairs that are left out.
        drawn: Whether to include the probabilities of the random sample, which reveal the stratum of the model's grade.

    Raises:
        KeyError: The name is not one of ``DOWNLOADS``.
    """
    exchange = _veiled(exchange_of(material, state), current_ids(material), hidden=hidden, drawn=drawn)
    if name == "qrels":
        return Download(TREC_QRELS, "text/plain; charset=utf-8", _bytes(settled_qrels.write_trec(exchange)))
    if name == "csv":
        return Download("judgments.csv", "text/csv; charset=utf-8", _bytes(judgment_table.write(exchange)))
    if name == "json":
        return Download("judgments.json", "application/json", _bytes(_as_json(exchange, state)))
    if name == "beir":
        files = {**settled_qrels.write_beir(exchange), "about.json": settled_qrels.about(exchange)}
        return Download(f"{name}.zip", "application/zip", _zipped(files))
    write = {"argilla": argilla.write, "labelstudio": label_studio.write}[name]
    return Download(f"{name}.zip", "application/zip", _zipped(write(exchange)))


def _veiled(exchange: Exchange, now: Mapping[str, str], *, hidden: Collection[Pair], drawn: bool) -> Exchange:
    reviews = [one for one in exchange.reviews if (now[one.query_id], one.chunk_id) not in hidden]
    gold = {
        query_id: told
        for query_id, grades in exchange.gold.items()
        if (told := {chunk_id: grade for chunk_id, grade in grades.items() if (query_id, chunk_id) not in hidden})
    }
    decided = {pair: said for pair, said in exchange.adjudicated.items() if (now[pair[0]], pair[1]) not in hidden}
    if not drawn:
        reviews = [one.model_copy(update={"inclusion": None}) for one in reviews]
    return replace(exchange, reviews=reviews, gold=gold, adjudicated=decided)


def exchange_of(material: ReviewableSet, state: State, *, with_model_labels: bool = False, wanted: int = 1) -> Exchange:
    """Return what can be exported of the queries and chunks that are in the set now.

    Args:
        material: The data set.
        state: People's decisions.
        with_model_labels: As in `export`.
        wanted: As in `export`.
    """
    now = current_ids(material)
    return Exchange(
        queries=material.queries,
        passages=material.corpus,
        pairs=sorted({(one.query_id, one.chunk_id) for one in material.pool if one.shared_from is None}),
        reviews=[r for r in state.reviews() if r.query_id in now and r.chunk_id in material.corpus],
        adjudicated={
            pair: (event.annotator, event.grade)
            for pair in state.adjudicated()
            if pair[0] in now and (event := state.adjudication(pair)) is not None and event.grade is not None
        },
        gold=people_of(state, material.queries, corpus=material.corpus, pool=(), earlier=lineage(material.metadata)),
        rubric=material.rubric,
        data_sha=material.data_sha,
        model={pair: (_assessors(material, pair), grade) for pair, grade in material.grades().items()}
        if with_model_labels
        else {},
        wanted=wanted,
        metadata=material.metadata,
        answers=material.answers,
        asked=material.asked,
    )


def _assessors(material: ReviewableSet, pair: tuple[str, str]) -> str:
    return "+".join(sorted({one.assessor for one in material.judged[pair]}))


def export(
    reviewed: Reviewed, form: Format, out: Path, *, with_model_labels: bool = False, wanted: int = 1
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
    exchange = exchange_of(reviewed.material, reviewed.state, with_model_labels=with_model_labels, wanted=wanted)
    if form == "native":
        return _to_file(out, _lines(reviewed.book, exchange.data_sha), reviewed)
    if form == "csv":
        return _to_file(out, judgment_table.write(exchange), reviewed)
    if form == "trec":
        beside = out.with_name(out.name + settled_qrels.ABOUT)
        written = _to_file(out, settled_qrels.write_trec(exchange), reviewed)
        return written + _to_file(beside, settled_qrels.about(exchange), reviewed)
    if form == "beir":
        about = {BEIR_TEST_QRELS + settled_qrels.ABOUT: settled_qrels.about(exchange)}
        return _to_folder(out, {**settled_qrels.write_beir(exchange), **about}, reviewed)
    write = argilla.write if form == "argilla" else label_studio.write
    return _to_folder(out, write(exchange), reviewed)


def export_ledger(folder: Path, ledger: str | None, out: Path) -> list[Path]:
    """Write all that a ledger holds in the native format, whatever became of its set, and return the files.

    Args:
        folder: The folder of the set, which need not hold one.
        ledger: The address of the ledger; None for the file in the folder.
        out: The file to write.

    Raises:
        InputError: There is no ledger.
        OutputError: The target cannot be written.
    """
    with open_ledger(ledger_url(folder, ledger), data_sha="", create=False) as opened:
        book = Book(tuple(opened.events()), opened.meanings())
    if out.is_dir():
        raise OutputError(f"{out}: is a folder; give the name of a file")
    _check_outside(out, folder)
    with explained(out):
        write_whole(out, _lines(book, book.events[-1].data_sha if book.events else "").encode("utf-8", "replace"))
    return [out]


def _lines(book: Book, data_sha: str) -> str:
    return ledger_lines.write(book.events, texts=book.meanings.as_rows(), data_sha=data_sha)


def _to_file(out: Path, text: str, reviewed: Reviewed) -> list[Path]:
    if out.is_dir():
        raise OutputError(f"{out}: is a folder; give the name of a file")
    _check_outside(out, reviewed.material.folder)
    with explained(out):
        write_whole(out, text.encode("utf-8", "replace"))
    return [out]


def _to_folder(out: Path, files: Mapping[str, str] | Mapping[str, str | bytes], reviewed: Reviewed) -> list[Path]:
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is a file; give the name of a folder")
    _check_outside(out, reviewed.material.folder)
    known = {name.split("/")[0] for name in files}
    if out.is_dir() and {entry.name for entry in out.iterdir()} - known:
        raise OutputError(f"{out}: holds files of something else; give a folder that does not exist yet")
    with explained(out):
        for name, text in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(out / name, _bytes(text))
    return [out / name for name in files]


def _check_outside(out: Path, folder: Path) -> None:
    if folder.resolve() in (out.resolve(), *out.resolve().parents):
        raise OutputError(f"{out}: lies in the data set itself; give a path outside of it")


def _as_json(exchange: Exchange, state: State) -> str:
    verdicts = {
        query_id: {"verdict": said.kind.value, "annotator": said.annotator, "text": said.text, "reason": said.reason}
        for query_id, said in state.query_verdicts().items()
    }
    found = {
        "data_sha": exchange.data_sha,
        "rubric_sha": exchange.rubric.sha,
        "judgments": [review.model_dump(mode="json") for review in exchange.reviews],
        "adjudicated": [
            {"query_id": query_id, "chunk_id": chunk_id, "annotator": annotator, "grade": int(grade)}
            for (query_id, chunk_id), (annotator, grade) in sorted(exchange.adjudicated.items())
        ],
        "queries": verdicts,
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _zipped(files: Mapping[str, str] | Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive; equal files give equal bytes."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), _bytes(text), zipfile.ZIP_DEFLATED)
    return body.getvalue()


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")
