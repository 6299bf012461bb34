"""Reads what a test has put into a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.reader import read_documents
from goldbench.formats.documents.sources import SourceFile, find_files
from goldbench.formats.documents.worker import answers
from goldbench.formats.documents.worker_pool import DocumentLimits, Workers
from goldbench.records.corpus import Document


@dataclass(frozen=True)
class Read:
    documents: list[Document]
    failures: list[str]

    @property
    def texts(self) -> list[str]:
        return [document.text for document in self.documents]

    @property
    def ids(self) -> list[str]:
        return [document.doc_id for document in self.documents]


def documents_of(
    files: Sequence[SourceFile],
    options: ReadOptions | None = None,
    *,
    budget: DocumentLimits | None = None,
    jobs: int | None = None,
    **calls: Any,
) -> Iterator[Document]:
    """Yield the documents of files, read by processes that end with the reading."""
    with Workers(budget or DocumentLimits(), jobs) as workers:
        yield from read_documents(files, options or ReadOptions(), workers, **calls)


def read(*paths: Path | str, budget: DocumentLimits | None = None, jobs: int | None = None, **options: Any) -> Read:
    failures: list[str] = []
    found = find_files([str(path) for path in paths])
    documents = documents_of(
        found.files,
        ReadOptions(**options),
        budget=budget,
        jobs=jobs,
        on_failure=lambda failure: failures.append(str(failure)),
    )
    outcome = Read(list(documents), failures)
    assert all("\n" not in failure for failure in failures)
    return outcome


def answer_of(path: Path, *, megabytes: int = 64) -> dict[str, Any]:
    """Return what a worker says about a file, found in this process: starting one takes a while."""
    file = SourceFile(path, path.name)
    item = {"path": os.fsencode(path).hex(), "kind": file.kind, "suffix": path.suffix, "encoding": None}
    (answer,) = answers({**item, "memory_megabytes": 2048, "megabytes": megabytes})
    found: dict[str, Any] = json.loads(answer)
    return found
