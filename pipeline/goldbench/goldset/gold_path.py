"""What belongs to a path that a person gives as GOLD: judgments, texts, notes of queries, the set's own metadata.

The path is the folder of a build, its ``dataset.json``, a BEIR folder, or a file of judgments.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from goldbench.errors import InputError, OutputError, plain_file
from goldbench.formats.interchange_names import (
    BEIR_CARD,
    BEIR_CORPUS,
    BEIR_LOOSE_QRELS,
    BEIR_QRELS,
    BEIR_QUERIES,
    BEIR_TEST_QRELS,
)
from goldbench.formats.json_maps import read_json
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import STDIN, Source
from goldbench.formats.runs.judgments import Grades, level_of, read_judgments
from goldbench.formats.runs.trec import read_qrels
from goldbench.goldset.file_names import BEIR, CHUNKS, DATASET, MANIFEST, MEMBERS, QRELS, QUERIES, TREC, UNLABELLED
from goldbench.text.display import cut, shell_command, shown

METADATA = '"metadata": '
"""How the line of the metadata in a ``dataset.json`` begins, the last but one."""
_TAIL = 1 << 16
"""Bytes at the end of the file that are searched for the metadata; if the metadata are longer, the file is parsed."""

_LONGEST = 2_000
"""Most characters of a text in the metadata of a set, such as its notice; of a foreign file the rest is cut off."""

_DEPTH = 3
"""How many folders above a path are searched for its set: ``beir/qrels/test.tsv`` lies two below."""


def read_gold(path: Path | str) -> tuple[Grades, int]:
    """Return the grade of each judged document by query, and the smallest grade that counts as relevant.

    That is 1, as everywhere in the field, but 2 in a gold set of goldbench with documents of grade 1: these are of the
    same topic and no help, and its ``relevant_docs`` leaves them out. Its copies for BEIR and TREC hold every grade and
    are read with the same level: in the run folder, and elsewhere if the dataset card of the BEIR folder is there.

    Args:
        path: A file of judgments, a ``dataset.json``, a folder with one, or a BEIR folder; ``-`` is standard input.

    Raises:
        InputError: There is nothing that can be read as judgments, or something in it is wrong.
    """
    if os.path.isdir(path):  # noqa: PTH112  Path's own raises on a name too long
        return _read_folder(Path(path))
    if _is_missing_folder(path):
        raise InputError(shown(path), "not found; give the folder of a gold set or a file of judgments")
    return _read_file(path)


def _is_missing_folder(path: Path | str) -> bool:
    """Return whether a path does not exist and has the name of a folder."""
    return str(path) != STDIN and not Path(path).suffix and not os.path.lexists(path)


def _read_file(path: Path | str) -> tuple[Grades, int]:
    grades, level = read_judgments(path)
    return grades, level_of(grades) if _is_copy(Path(path)) else level


def _is_copy(judgments: Path) -> bool:
    """Whether a file of judgments is one of the copies written with a gold set, by the set's manifest or its card."""
    folders = judgments.resolve().parents[:_DEPTH]
    of_a_run = any((folder / MANIFEST).is_file() and _belongs(judgments, folder) for folder in folders)
    cards = [card for card in (folder / BEIR_CARD for folder in folders[:2]) if card.is_file()]
    if of_a_run or not cards:
        return of_a_run
    from goldbench.formats.dataset_card import declares_level

    return any(map(declares_level, cards))


def _read_folder(folder: Path) -> tuple[Grades, int]:
    dataset = folder / DATASET
    qrels = folder / QRELS
    if dataset.is_file():
        if not qrels.is_file():
            return read_judgments(dataset)
        grades = read_qrels(Source(qrels))
        return grades, level_of(grades)
    chosen = _judgments_in(folder)
    if len(chosen) > 1:
        listed = ", ".join(file.name for file in chosen)
        raise InputError(shown(chosen[0].parent), f"holds several sets of judgments ({listed}); name the file of one")
    if chosen:
        return _read_file(chosen[0])
    raise InputError(
        shown(folder),
        f"holds no {DATASET} and no {BEIR_QRELS}/*.tsv; give the folder of a gold set or a file of judgments"
        f"; of documents a set is built first: {shell_command('build', shlex.quote(shown(folder)), out='runs/mine')}",
    )


def _judgments_in(folder: Path) -> list[Path]:
    """Return the file of judgments of a BEIR folder; several if it is not clear which one is meant."""
    loose = folder / BEIR_LOOSE_QRELS
    places = (folder / BEIR_QRELS, folder / BEIR / BEIR_QRELS)
    several = (*(sorted(parent.glob("*.tsv")) for parent in places), [loose] if loose.is_file() else [])
    files = next(filter(None, several), [])
    return [file for file in files if file.name == Path(BEIR_TEST_QRELS).name] or files


def passages_up_to(path: Path, most: int) -> int | None:
    """Return the number of passages of a set; None if it is above ``most``, or no set lies at the path.

    Args:
        path: The set, as a person gave it.
        most: How many passages are counted.
    """
    folder = folder_of(path)
    if folder is None or not (folder / CHUNKS).is_file():
        return None
    with Source(folder / CHUNKS).open() as file:
        count = sum(1 for _ in islice(file, most + 1))
    return count if count <= most else None


def holds_no_query(path: Path | str) -> str:
    """Return what is wrong with a set without queries, and what to do if queries wait for a label.

    Args:
        path: The set, as a person gave it.
    """
    if not (Path(path) / UNLABELLED).is_file():
        return "holds 0 queries"
    commands = f"{shell_command('review', str(path))}, or {shell_command('grade', str(path))}"
    return f"holds 0 queries with a label; judge those that wait: {commands}"


def texts_of_queries(path: Path) -> dict[str, str]:
    """Return the text of each query; empty if ``path`` has none."""
    queries_file = _beside(path, BEIR_QUERIES)
    if queries_file is not None:
        return {query_id: text for query_id, text, _ in _texts(queries_file)}
    return _strings(_dataset(path), "queries")


def answers_of_queries(path: Path) -> dict[str, dict[str, Any]]:
    """Return the reference answer of each query that has one, with its evidence; empty if ``path`` has none."""
    answers = _dataset(path).get("answers", {})
    return {key: answer for key, answer in answers.items() if isinstance(answer, dict) and answer.get("text")}


def members_of(path: Path, *, search: bool = False) -> dict[str, dict[str, Any]]:
    """Return the members of ``dataset.json`` that only some sets have, by name; empty if the set has none.

    Args:
        path: The folder of a set, or a file in it.
        search: Whether to read the whole file although its metadata do not say that it has such members.
    """
    file = _data_set_at(path)
    if file is None:
        return {}
    names = MEMBERS if search else read_metadata(file).get("members")
    if not isinstance(names, list | tuple):
        return {}
    dataset = _dataset(file)
    return {name: dataset[name] for name in names if name in MEMBERS and isinstance(dataset.get(name), dict)}


def _data_set_at(path: Path) -> Path | None:
    """Return the ``dataset.json`` of a path: in the folder, beside the file, or above it; a copy has any name."""
    folder = path if path.is_dir() else path.parent
    beside = path if _holds_a_set(path) else folder / DATASET
    file = beside if beside.is_file() else _first_above(path, MANIFEST, DATASET)
    return file if file is not None and file.is_file() else None


def _holds_a_set(path: Path) -> bool:
    """Whether a file is a ``dataset.json``, by its name or, under another name, by what it holds."""
    return path.name == DATASET or (not path.is_dir() and bool(_dataset(path)))


def built_with_shares(path: Path) -> bool:
    """Whether a set was built with shares of kinds, which its manifest counts.

    Raises:
        InputError: The manifest is not JSON.
    """
    manifest = (path if path.is_dir() else path.parent) / MANIFEST
    record = read_json(Source(manifest)) if manifest.is_file() else None
    return isinstance(record, Mapping) and bool(record.get("kinds"))


def texts_of_documents(path: Path, doc_ids: Collection[str] | None = None) -> dict[str, str]:
    """Return the text of each document, or of those asked for; empty if ``path`` has none."""
    wanted = None if doc_ids is None else set(doc_ids)
    return {doc_id: text for doc_id, text in each_document(path) if wanted is None or doc_id in wanted}


def document_ids(path: Path) -> Iterator[str]:
    """Yield the id of each document, one by one if ``path`` has a BEIR corpus; nothing if it has none."""
    corpus = _beside(path, BEIR_CORPUS)
    if corpus is None:
        yield from _strings(_dataset(path), "corpus")
    else:
        yield from (doc_id for doc_id, _, _ in _texts(corpus))


def each_document(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document, one by one if ``path`` has a BEIR corpus; nothing if it has none."""
    corpus_file = _beside(path, BEIR_CORPUS)
    if corpus_file is None:
        yield from _strings(_dataset(path), "corpus").items()
    else:
        from goldbench.text.title_path import titled

        yield from ((doc_id, titled(title, text)) for doc_id, text, title in _texts(corpus_file))


def notes_of_queries(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a build noted of each query (style, kind, language …); empty if ``path`` is not that of a build."""
    lines = (path if path.is_dir() else path.parent) / QUERIES
    if not lines.is_file():
        return {}
    notes = {}
    for _, record in json_objects(Source(lines)):
        query_id = record.pop("query_id", None)
        if isinstance(query_id, str):
            notes[query_id] = record
    return notes


def metadata_of(path: Path) -> dict[str, Any]:
    """Return the metadata of the gold set that a file of judgments or a folder belongs to; empty if it has none.

    Raises:
        InputError: There is a ``dataset.json`` that is not JSON.
    """
    own = path if _holds_a_set(path) else path / DATASET
    file = own if own.is_file() else _first_above(path, MANIFEST, DATASET)
    return {} if file is None else read_metadata(file)


def notice_of(path: Path) -> str | None:
    """Return how far a gold set's simulated queries can be trusted, or None; raises as ``metadata_of``."""
    notice = metadata_of(path).get("notice")
    return cut(notice, _LONGEST) if isinstance(notice, str) and notice else None


def state_of(path: Path) -> dict[Path, tuple[int, int] | None]:
    """Return when each file that the judgments, texts and metadata at a path are read from was changed, and its size.

    A file that is not there has None, so that two states differ if a file was deleted, made or written in between.
    """
    texts = (_beside(path, name) for name in (BEIR_QUERIES, BEIR_CORPUS))
    of_a_build = (path / DATASET, path / QRELS, _first_above(path, MANIFEST, DATASET))
    files = (path, *of_a_build, *_judgments_in(path), *texts)
    return {file: _state(file) for file in files if file is not None and (file == path or file.is_file())}


def _state(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return (0, 0) if file.is_dir() else (status.st_mtime_ns, status.st_size)


def folder_of(path: Path) -> Path | None:
    """Return the folder of the gold set that a path belongs to, or None."""
    file = _first_above(path, DATASET, DATASET)
    return None if file is None else file.parent


def _first_above(path: Path, marked_by: str, name: str) -> Path | None:
    """Return the file of this name in the nearest folder, from the path upwards, that holds the file ``marked_by``."""
    folders = [path, *([path.parent] if path.is_file() else ()), *path.resolve().parents[:_DEPTH]]
    return next((folder / name for folder in folders if (folder / marked_by).is_file()), None)


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path | str]) -> None:
    """Refuse to write over what is read, and to write two things to one place.

    Args:
        outputs: Where a command writes, by the option that names it; None if it does not write.
        inputs: The files and folders it reads.

    Raises:
        OutputError: An output is an input, or a file of a build that is read; or two outputs are the same file.
    """
    read = [Path(source) for source in inputs if os.path.exists(source)]  # noqa: PTH110  Path's own raises on a name too long
    places: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        earlier_option = places.setdefault(os.path.realpath(path), option)
        if earlier_option != option:
            raise OutputError(
                f"{shown(path)}: {option} and {earlier_option} cannot both be written to it; give another {option}"
            )
        if not os.path.exists(path):  # noqa: PTH110
            continue
        if any(path.samefile(source) or (source.is_dir() and _belongs(path, source)) for source in read):
            raise OutputError(f"{shown(path)}: is one of the inputs; give another {option}")


def _belongs(path: Path, folder: Path) -> bool:
    """Return whether a file is part of a gold set in a folder, not something that was put beside it."""
    inside = path.resolve()
    if not inside.is_relative_to(folder.resolve()):
        return False
    name = inside.relative_to(folder.resolve()).as_posix()
    try:
        files = json.loads(plain_file(folder / MANIFEST).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        files = ()
    return name in files or name in {MANIFEST, DATASET} or name.startswith((f"{BEIR}/", f"{TREC}/", BEIR_QRELS))


def _beside(path: Path, name: str) -> Path | None:
    """Return the file of texts that belongs to judgments at ``path``."""
    if path.is_dir():
        places = [path / BEIR, path]
    elif path.name == DATASET:
        places = [path.parent / BEIR]
    else:
        places = [path.parent, path.parent.parent]
    return next((folder / name for folder in places if (folder / name).is_file()), None)


def _dataset(path: Path) -> Mapping[str, Any]:
    file = path / DATASET if path.is_dir() else path
    if ".json" not in file.suffixes[-2:] or not file.is_file():
        return {}
    dataset = read_json(Source(file))
    return dataset if isinstance(dataset, Mapping) and "relevant_docs" in dataset else {}


def _strings(dataset: Mapping[str, Any], member: str) -> dict[str, str]:
    strings = dataset.get(member)
    return {key: text for key, text in strings.items() if isinstance(text, str)} if isinstance(strings, Mapping) else {}


def _texts(path: Path) -> Iterator[tuple[str, str, str]]:
    for line, record in json_objects(Source(path)):
        identity = record.get("_id")
        text = record.get("text")
        title = record.get("title", "")
        if not isinstance(identity, str) or not isinstance(text, str):
            raise InputError(shown(path), "has no _id or no text that is a string", line=line)
        yield identity, text, title if isinstance(title, str) else ""


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a ``dataset.json``, long texts cut; empty if the file is missing or has none.

    Raises:
        InputError: The file is not JSON.
    """
    if not path.is_file():
        return {}
    metadata = _last_member(path)
    if metadata is None:
        content = read_json(Source(path))
        metadata = content.get("metadata") if isinstance(content, Mapping) else None
    if not isinstance(metadata, Mapping):
        return {}
    return {key: cut(value, _LONGEST) if isinstance(value, str) else value for key, value in metadata.items()}


def _last_member(path: Path) -> object:
    """Return the metadata if they stand as this project writes them: on a line of their own at the end of the file.

    The corpus before them may be large, and need not be read.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().split(b"\n")
    if len(lines) < 3 or lines[-2:] != [b"}", b""] or not lines[-3].startswith(METADATA.encode()):
        return None
    try:
        return json.loads(lines[-3][len(METADATA) :])
    except ValueError:
        return None
