"""ragas loads an export with its own class, in its current version and in the one that lives beside goldbench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench import GoldSet
from tests.exports.conftest import Read
from tests.exports.sample_exports import ALONE, ANSWERS, CONTEXTS, CORPUS

SAMPLES = "found = [sample.model_dump(exclude_none=True) for sample in dataset.samples]"


def check(samples: list[dict[str, object]], *, ids: bool) -> None:
    keys = list(ALONE)
    assert [one["user_input"] for one in samples] == list(ALONE.values())
    assert {key: one["reference"] for key, one in zip(keys, samples, strict=True) if "reference" in one} == ANSWERS
    texts = [[CORPUS[doc_id] for doc_id in CONTEXTS[key]] for key in keys]
    assert [one["reference_contexts"] for one in samples] == texts
    if ids:
        assert [one["reference_context_ids"] for one in samples] == [CONTEXTS[key] for key in keys]


@pytest.mark.slow
def test_the_file_is_an_evaluation_dataset(sample: Path, tmp_path: Path, read: Read) -> None:
    file = GoldSet.load(sample).export("ragas", tmp_path / "x.jsonl")
    lines = f"from ragas import EvaluationDataset\ndataset = EvaluationDataset.from_jsonl(file)\n{SAMPLES}"
    check(read("ragas", lines, file), ids=True)


@pytest.mark.slow
def test_the_method_returns_an_evaluation_dataset(sample: Path, read: Read) -> None:
    lines = f"from goldbench import GoldSet\ndataset = GoldSet.load(file).to_ragas()\n{SAMPLES}"
    check(read("tools", lines, sample), ids=False)


def test_what_ragas_has_no_field_for_stands_beside(sample: Path, tmp_path: Path) -> None:
    file = GoldSet.load(sample).export("ragas", tmp_path / "x.jsonl")
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [row["goldbench"]["query_id"] for row in rows] == list(ALONE)
    assert rows[3]["goldbench"]["asked"] == "And how slow?"
    assert rows[1]["goldbench"]["grades"] == {"valve": 2, "tank#1": 3, "pump": 0}
