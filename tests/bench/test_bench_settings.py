"""``bench.toml``: what it may say, and how it is told what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.bench.bench_file import Bench, Cut, load_bench, points_of
from goldbench.bench.experiment_files import file_name
from goldbench.bench.search import parts_of
from goldbench.errors import ConfigError

WRONG = """
cutofs = [1]
cutoffs = [0]
measures = ["ndgc"]
depth = 0
baseline = "nobody"
[model]
nam = "x"
[systems.a]
kind = "bm25"
k1 = -3
[systems.b]
kind = "bm52"
[systems.c]
kind = "rrf"
of = ["a", "zz"]
[sweep.a]
k1 = []
[sweep.q]
k1 = [3]
[sweep.bm25]
chunk_size = [100]
chunk_overlap = [100]
[published.bm25]
beside = ["bm25"]
hit_rate = ["x"]
nix = [3]
"""

SAID = (
    "cutofs",
    "cutoffs: 0",
    "ndgc",
    "depth",
    "baseline: nobody",
    "model.nam",
    "systems.a.k1",
    "bm52",
    "zz",
    "sweep.a.k1",
    "sweep.q",
    "chunk_overlap 100",
    "published.bm25.hit_rate.0",
    "published.bm25.nix",
)


def load(folder: Path, text: str, **given: object) -> Bench:
    path = folder / "bench.toml"
    path.write_text(text, encoding="utf-8")
    return load_bench(path, level=1, **given)  # type: ignore[arg-type]


def test_everything_wrong_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, WRONG)
    for words in SAID:
        assert any(words in problem for problem in raised.value.problems), (words, raised.value.problems)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[published]\ntop_k = [1, 5]\n[published.article]\nbeside = ["bm25"]\nmrr = [1]',
            "published: article.mrr: give one figure for each of the 2 cutoffs in top_k",
        ),
        ("depth = 5", "depth: 5 results are fewer than the cutoff 10"),
        ("[sweep.bm25]\nk1 = [1, 2]\nchunk_overlap = [10]", "chunk_overlap needs chunk_size"),
        (f"[sweep.bm25]\nk1 = {list(range(40))}\nb = {[n / 40 for n in range(40)]}", "1,600 combinations"),
        ("a = [", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert said in str(raised.value)


def test_a_file_without_systems_measures_the_usual_ones(tmp_path: Path) -> None:
    assert [p.name for p in load(tmp_path, "").points] == ["bm25", "ngrams", "lsi", "hybrid"]
    with_model = load(tmp_path, '[model]\nembedding = "m"\nbase_url = "http://127.0.0.1:9/v1"')
    assert [p.name for p in with_model.points][-1] == "embedding"


def test_a_swept_system_stands_there_as_its_points(tmp_path: Path) -> None:
    text = '[systems.two]\nkind = "rrf"\nof = ["bm25", "lsi"]\n[sweep.two]\nweights = [[0.5, 0.5], [0.9, 0.1]]\n'
    assert [p.name for p in load(tmp_path, text).points] == ["two[weights=0.5:0.5]", "two[weights=0.9:0.1]"]
    assert [p.name for p in load(tmp_path, text, systems=["two[weights=0.9:0.1]"]).points] == ["two[weights=0.9:0.1]"]
    assert next(p.name for p in load(tmp_path, text, systems=["bm25", "two"]).points) == "bm25"


def test_several_grids_of_one_system_are_joined(tmp_path: Path) -> None:
    text = "[[sweep.bm25]]\nk1 = [0.9]\n[[sweep.bm25]]\nb = [0.1, 0.2]\n[[sweep.bm25]]\nk1 = [0.9]\n"
    assert [p.name for p in load(tmp_path, text).points] == ["bm25[k1=0.9]", "bm25[b=0.1]", "bm25[b=0.2]"]


def test_two_combinations_never_go_by_one_name(tmp_path: Path) -> None:
    models = [f"/models/{owner}/{'deep/' * 10}model" for owner in ("one", "two")]
    text = f'[systems.own]\nkind = "fastembed"\nmodel = "x"\n[sweep.own]\nmodel = {models}\n'
    with pytest.raises(ConfigError, match="two combinations are called own"):
        load(tmp_path, text)


def test_what_is_compared_is_few_measures_at_one_cutoff(tmp_path: Path) -> None:
    assert [m.name for m in load(tmp_path, "").compared] == ["ndcg@10", "mrr@10", "r@10"]
    assert [m.name for m in load(tmp_path, "cutoffs = [1, 5]").compared] == ["ndcg@5", "mrr@5", "r@5"]
    assert [m.name for m in load(tmp_path, 'measures = ["map@7"]').compared] == ["map@7"]


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    found = load(tmp_path, "cutoffs = [1, 5]", measures=["hit", "map@200"], cutoffs=[2])
    assert [m.name for m in found.measures] == ["hit@2", "map@200"]
    assert found.depth == 200


def test_chunks_are_cut_by_size_and_a_tenth_overlap() -> None:
    points, wrong = points_of("s", {"kind": "bm25"}, [{"chunk_size": [500], "k1": [0.5, 2.0]}])
    assert not wrong
    assert [(p.name, p.system, p.cut) for p in points] == [
        ("s[chunk_size=500,k1=0.5]", "s[k1=0.5]", Cut(500, 50)),
        ("s[chunk_size=500,k1=2.0]", "s[k1=2.0]", Cut(500, 50)),
    ]


@given(st.lists(st.text(min_size=1, max_size=300), unique=True, min_size=1))
def test_every_system_has_a_file_of_its_own(names: list[str]) -> None:
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(names)
    for file in files:
        assert "/" not in file
        assert not file.startswith((".", "-"))
        assert len(file.encode()) <= 140


def test_what_a_model_took_stands_apart_from_searching() -> None:
    parts = parts_of([0.010, 0.030], [{"embed": 0.004}, {"embed": 0.020, "rerank": 0.002}])
    assert {part: one and one.p50_ms for part, one in parts.items()} == {
        "whole": 20,
        "search": 7,
        "embed": 12,
        "rerank": 1,
        "expand": None,
    }
