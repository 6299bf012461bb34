"""Sweeps over how the documents are cut, on a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.goldset.projection import write_rechunked
from goldbench.records.experiment import Experiment
from tests.conftest import Goldbench
from tests.generate.test_build import corpus

SWEEP = """
cutoffs = [1, 5]
run = ["bm25", "words"]
[systems.words]
kind = "bm25"
[sweep.bm25]
chunk_size = [300, 600]
chunk_overlap = [0, 100]
"""


def scores(folder: Path) -> dict[str, dict[str, float]]:
    experiment = Experiment.model_validate_json((folder / "experiment.json").read_bytes())
    return {s.system: {name: score.mean for name, score in s.scores.items()} for s in experiment.card.systems}


@pytest.mark.slow
def test_another_cut_is_measured_as_a_rechunked_set_is(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench("build", "docs", "--out", "gold", "--queries", 8).returncode == 0
    (tmp_path / "bench.toml").write_text(SWEEP, encoding="utf-8")
    done = goldbench("bench", "gold", "-c", "bench.toml", "--out", "swept")
    assert done.returncode == 0, done.stderr
    swept = scores(tmp_path / "swept")
    assert set(swept) == {"words", *(f"bm25[chunk_size={n},chunk_overlap={o}]" for n in (300, 600) for o in (0, 100))}
    write_rechunked(tmp_path / "gold", tmp_path / "recut", size=300, overlap=100)
    done = goldbench("bench", "recut", "--system", "bm25", "--k", "1,5", "--out", "direct")
    assert done.returncode == 0, done.stderr
    assert scores(tmp_path / "direct")["bm25"] == swept["bm25[chunk_size=300,chunk_overlap=100]"]
    text = (tmp_path / "swept" / "figures.md").read_text(encoding="utf-8")
    assert "labels projected from evidence spans" in text
    assert goldbench("validate", "gold").returncode == 0
