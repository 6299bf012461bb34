"""Benchmarks in a folder of three files: the choice of the files, and BEIR's layout.

BEIR has ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` (or ``qrels.tsv`` beside them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from goldbench.errors import InputError, Message, Parameter, UsageError
from goldbench.formats.benchmarks.collection import Chosen, Collection, Entry, Topic, entries, qrels, topics
from goldbench.formats.interchange_names import BEIR_CORPUS, BEIR_LOOSE_QRELS, BEIR_QRELS, BEIR_QUERIES, BEIR_TEST_QRELS
from goldbench.text.display import shown


def folder_collection(
    kind: str,
    files: tuple[Path, Path, Path],
    *,
    documents: Callable[[Path], Iterator[Entry]] = entries,
    queries: Callable[[Path], Iterator[Topic]] = topics,
) -> Collection:
    """Return the collection in three files.

    Args:
        kind: The kind of benchmark.
        files: The files of passages, queries and judgments.
        documents: Reads the first.
        queries: Reads the second.
    """
    return Collection(
        kind=kind,
        documents=lambda: documents(files[0]),
        queries=lambda: queries(files[1]),
        judgments=lambda: qrels(files[2]),
        names=(shown(files[0]), shown(files[1]), shown(files[2])),
        files=files,
        joins_titles=True,
    )


def choose(folder: Path, named: Path | None, patterns: Sequence[str], *, what: str, split: str | None = None) -> Path:
    """Return the file that the user named, or else the file of a folder that has a usual name.

    Args:
        folder: The folder to search.
        named: The file that the user named, if any.
        patterns: Globs below the folder; the first that finds a file counts.
        what: The option that names the file, for messages.
        split: Keeps only files whose name holds this word; None prefers ``test``, then ``dev``, if there are several.

    Raises:
        InputError: The file does not exist.
        UsageError: There are several.
    """
    if named is not None:
        return named
    for pattern in patterns:
        matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        if split is not None:
            matches = [
                path for path in matches if split in re.split(r"[._-]", path.name) or path.name.startswith(split)
            ]
        elif len(matches) > 1:
            preferred = [[p for p in matches if s in re.split(r"[._-]", p.name)] for s in ("test", "dev")]
            matches = next((group for group in preferred if len(group) == 1), matches)
        if len(matches) > 1:
            listed = ", ".join(shown(path.name) for path in matches[:6])
            several = f"{shown(folder)}: holds several files ({listed})"
            raise UsageError(Message("{}; name one with {}, or give {split=}", several, Parameter(what)))
        if matches:
            return matches[0]
    missing = f" of the split {shown(split)!r}" if split is not None else ""
    problem = f"holds no {' or '.join(patterns)}{missing}"
    raise InputError(shown(folder), Message("{}; name the file with {}", problem, Parameter(what)))


def no_folder(path: Path, content: str) -> str:
    """Return what is wrong with a path that should be the folder of a benchmark.

    Args:
        path: The path, which is not a folder.
        content: What the folder of the benchmark holds.
    """
    return f"{'not a folder' if path.exists() else 'folder not found'}; give a folder with {content}"


def read_beir(folder: Path, chosen: Chosen) -> Collection:
    """Return the collection in a BEIR folder; the split is ``test`` unless named.

    Raises:
        InputError: A file is missing.
        UsageError: There are several to choose from.
    """
    if not folder.is_dir():
        raise InputError(shown(folder), no_folder(folder, f"{BEIR_CORPUS}, {BEIR_QUERIES} and {BEIR_QRELS}"))
    corpus = choose(folder, chosen.corpus, (BEIR_CORPUS, f"{BEIR_CORPUS}.gz"), what="corpus")
    queries = choose(folder, chosen.queries, (BEIR_QUERIES, f"{BEIR_QUERIES}.gz"), what="queries")
    split = f"{BEIR_QRELS}/*.tsv"
    patterns: tuple[str, ...] = (split, f"{split}.gz", BEIR_LOOSE_QRELS, f"{BEIR_LOOSE_QRELS}.gz")
    if chosen.split is None and (folder / BEIR_TEST_QRELS).is_file():
        patterns = (BEIR_TEST_QRELS,)
    judged = choose(folder, chosen.qrels, patterns, what="qrels", split=chosen.split)
    return folder_collection("beir", (corpus, queries, judged))
