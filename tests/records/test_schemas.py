"""The published JSON Schemas are those of the records, and real files fit them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from goldbench.records.published import PUBLISHED, schema_text
from tests.conftest import ROOT, Goldbench
from tests.generate.test_build import corpus

FILES = {
    "0-documents.jsonl": "document",
    "1-chunks.jsonl": "chunk",
    "2-candidates.jsonl": "candidate",
    "3-queries.jsonl": "query",
    "3-rejections.jsonl": "rejection",
    "dataset.json": "dataset",
    "manifest.json": "manifest",
}


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_schema_is_that_of_its_record(name: str) -> None:
    assert (ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name), (
        "run: make generated"
    )


def test_nothing_else_is_published() -> None:
    assert {path.name for path in (ROOT / "schemas").iterdir()} == {f"{name}.schema.json" for name in PUBLISHED}


def test_every_file_of_a_run_fits_its_schema(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench("build", "docs", "--out", "run", "--queries", 20).returncode == 3
    for file, name in FILES.items():
        validator = jsonschema.Draft202012Validator(json.loads(schema_text(name)))
        text = (tmp_path / "run" / file).read_text(encoding="utf-8")
        rows = text.splitlines() if file.endswith("l") else [text]
        assert rows or file == "3-rejections.jsonl", file
        for row in rows:
            validator.validate(json.loads(row))
