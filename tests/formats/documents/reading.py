"""Reads what a test has put into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.formats.documents.fields import ReadOptions
from goldbench.pipeline.formats.documents.reader import read_documents
from goldbench.pipeline.formats.documents.sources import find_files
from goldbench.schemas.corpus import Document


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


def read(*paths: Path | str, **options: object) -> Read:
    failures: list[str] = []
    found = find_files([str(path) for path in paths])
    documents = list(
        read_documents(found.files, ReadOptions(**options), on_failure=lambda failure: failures.append(str(failure)))
    )
    assert all("\n" not in failure for failure in failures)
    return Read(documents, failures)
