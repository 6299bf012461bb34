"""The gold set in this folder as a data set of ir_datasets.

Importing this module registers it under the id in ``DATASET_ID``, so that ``ir_datasets.load`` finds it; ``dataset()``
returns it without.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseQrels, JsonlDocs, JsonlQueries
from ir_datasets.util import LocalDownload

FOLDER = Path(__file__).resolve().parent


class GoldDoc(NamedTuple):
    """A passage."""

    doc_id: str
    text: str

    def default_text(self) -> str:
        """Return what is indexed."""
        return self.text


class GoldQuery(NamedTuple):
    """A query; ``answer`` is its reference answer, empty if nobody wrote one."""

    query_id: str
    text: str
    answer: str

    def default_text(self) -> str:
        """Return what is searched for."""
        return self.text


class GoldQrel(NamedTuple):
    """The grade of a passage for a query."""

    query_id: str
    doc_id: str
    relevance: int


class GoldQrels(BaseQrels):  # type: ignore[misc, unused-ignore]  # of a package without types
    """The judgments, in the columns of BEIR."""

    def __init__(self, path: Path, meanings: dict[int, str]) -> None:
        """Take the file.

        Args:
            path: The table.
            meanings: What each grade says of a passage.
        """
        self._path = path
        self._meanings = meanings

    def qrels_path(self) -> str:
        """Return the path of the file."""
        return str(self._path)

    def qrels_iter(self) -> Iterator[GoldQrel]:
        """Yield the judgments."""
        with self._path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                yield GoldQrel(row["query-id"], row["corpus-id"], int(row["score"]))

    def qrels_defs(self) -> dict[int, str]:
        """Return what each grade says of a passage."""
        return self._meanings

    def qrels_cls(self) -> type[GoldQrel]:
        """Return the type of a judgment."""
        return GoldQrel


def dataset(folder: str | Path = FOLDER) -> Dataset:
    """Return the data set.

    Args:
        folder: The folder of the set.
    """
    about = json.loads((Path(folder) / "goldbench.json").read_text(encoding="utf-8"))
    files = {part: Path(folder) / name for part, name in about["files"].items()}
    languages = about["languages"]
    lang = languages[0] if len(languages) == 1 else None
    meanings = {int(grade): text for grade, text in about["grades"].items()}
    docs, queries = (LocalDownload(files[part], mkdir=False) for part in ("corpus", "queries"))
    return Dataset(
        JsonlDocs(docs, GoldDoc, {"doc_id": "_id", "text": "text"}, lang=lang),
        JsonlQueries(queries, GoldQuery, {"query_id": "_id", "text": "text", "answer": "answer"}, lang=lang),
        GoldQrels(files["qrels"], meanings),
    )


def register(folder: str | Path = FOLDER) -> str:
    """Register the data set once, and return its id.

    Args:
        folder: As in ``dataset``.
    """
    about = json.loads((Path(folder) / "goldbench.json").read_text(encoding="utf-8"))
    name = f"goldbench/{about['name']}"
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, dataset(folder))
    return name


if (FOLDER / "goldbench.json").is_file():
    DATASET_ID = register()
