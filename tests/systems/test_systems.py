"""Systems by name: everything wrong at once; parts built and indexed once, their time counted each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldbench.config import load_config
from goldbench.errors import ConfigError, RetrieverFailed
from goldbench.retrieval.system_settings import KINDS, BM25Settings, MMRSettings, RRFSettings, SearchServerSettings
from goldbench.systems import open_systems, references, resolve
from tests.model_server.fixture import ServerHandle

CORPUS = {"a": "the pump hums", "b": "the valve leaks", "c": "a tank of water"}


def test_presets_and_what_is_written_out_are_known() -> None:
    assert resolve(["bm25"]) == {"bm25": BM25Settings()}
    assert list(resolve(["hybrid"])) == ["hybrid", "bm25", "lsi"]
    found = resolve(["elasticsearch://h:1", "opensearch+https://h", "python:a.b:c", "https://h/x", "run:r.trec"])
    assert [settings.kind for settings in found.values()] == ["elasticsearch", "opensearch", "python", "http", "run"]
    server = found["opensearch+https://h"]
    assert isinstance(server, SearchServerSettings)
    assert server.url == "opensearchs://h"


def test_a_table_goes_over_the_preset_of_its_name() -> None:
    assert resolve(["bm25"], {"bm25": {"k1": 0.5}})["bm25"] == BM25Settings(k1=0.5)


def test_changes_are_typed_by_the_record_and_reach_parts() -> None:
    found = resolve(
        ["hybrid"], {"m": {"kind": "mmr", "of": "bm25"}}, overrides=["of=bm25, ngrams", "bm25.k1=0.5", "m.lambda=1"]
    )
    assert found["hybrid"] == RRFSettings(of=("bm25", "ngrams"))
    assert found["bm25"] == BM25Settings(k1=0.5)
    assert isinstance(found["m"], MMRSettings)
    assert found["m"].lambda_ == 1.0
    assert resolve(["bm25"], {"bm25": {"language": "en"}}, overrides=["language="])["bm25"] == BM25Settings()


def test_everything_that_is_wrong_is_named_at_once() -> None:
    tables: dict[str, object] = {
        "x": {"kind": "bm25", "K1": 3, "b": "wide"},
        "loop": {"kind": "mmr", "of": "pool"},
        "pool": {"kind": "rrf", "of": ["loop", "nowhere"], "weights": [1]},
        "y": {"kind": "bm52"},
        "z": {"k1": 1},
        "f": {"kind": "bm25", "analyzer": "file"},
    }
    with pytest.raises(ConfigError) as caught:
        resolve(["bm52", "x", "elasticsearch://me:hunter2@h"], tables, overrides=["k1", "q.k=3"], where="bench.toml")
    problems = "\n".join(caught.value.problems)
    for expected in (
        "k1: not a parameter with its value; give it as bm25.k1=0.9",
        "q.k=3: no such system: q",
        "no such system: bm52; did you mean bm25? (known: bm25, embedding, ",
        "systems.x: unknown parameter K1; did you mean k1?",
        "systems.x.b: Input should be a valid number",
        "systems.pool: 1 weights for 2 systems",
        "no such system: nowhere",
        "in a circle: loop -> pool -> loop",
        "systems.y: there is no kind 'bm52'; did you mean bm25",
        "systems.z: kind is missing",
        "systems.f: analyzer 'file' needs tokens",
        "the address holds a user or a password",
    ):
        assert expected in problems
    assert "hunter2" not in problems
    assert str(caught.value).startswith("bench.toml: ")


@pytest.mark.parametrize("language", ["english", "EN", "en-US", "xx", ""])
def test_a_language_that_changes_nothing_is_refused(language: str) -> None:
    with pytest.raises(ConfigError, match=r"systems\.bm25\.language: not a known language"):
        resolve(["bm25"], {"bm25": {"language": language}})
    assert resolve(["bm25"], {"bm25": {"language": "en"}, "lsi": {"language": "zh"}})


def test_paths_begin_where_they_are_described(tmp_path: Path) -> None:
    table = {"kind": "bm25", "analyzer": "file", "tokens": ["t.tsv", "/abs.tsv"]}
    found = resolve(["x"], {"x": table}, folder=tmp_path)["x"]
    assert isinstance(found, BM25Settings)
    assert found.tokens == (tmp_path / "t.tsv", Path("/abs.tsv"))


def test_references_are_the_parts() -> None:
    assert references(MMRSettings(of="a", by="b")) == ("a", "b")
    assert references({"of": ["a", 3], "by": None}) == ("a",)


def test_a_part_of_several_is_indexed_once_and_its_time_counts_each_time() -> None:
    both: dict[str, Any] = {"one": {"kind": "rrf", "of": ["bm25"]}, "two": {"kind": "rrf", "of": ["bm25"]}}
    with open_systems(["bm25", "one", "two"], both) as systems:
        for name in systems.names:
            before = systems.stopwatch.seconds["remembered"]
            retriever = systems.retriever(name)
            retriever.index(CORPUS)
            assert retriever.search({"q": "pump", "r": "valve"}, k=100)["q"]
            remembered = systems.stopwatch.seconds["remembered"] - before
            assert remembered == 0 if name == "bm25" else remembered > 0


def test_another_corpus_is_indexed_anew() -> None:
    with open_systems(["bm25", "hybrid"], {"hybrid": {"kind": "rrf", "of": ["bm25"]}}) as systems:
        for corpus in (CORPUS, {"z": "the pump"}):
            for name in systems.names:
                systems.retriever(name).index(corpus)
                assert set(systems.retriever(name).search({"q": "pump"}, k=2)["q"]) <= corpus.keys()


def test_one_that_fails_fails_alone(tmp_path: Path) -> None:
    tables: dict[str, object] = {
        "gone": {"kind": "run", "file": "gone.trec"},
        "over": {"kind": "rrf", "of": ["gone", "bm25"]},
        "bad": {"kind": "mmr", "of": "bm25", "by": "ngrams"},
    }
    with open_systems(["gone", "over", "bad", "bm25"], tables, folder=tmp_path) as systems:
        for name, message in (
            ("gone", "system gone: .*gone.trec: file not found"),
            ("over", "system over: gone: .*file not found"),
            ("bad", "system bad: by: system ngrams has no vectors"),
        ):
            for _ in range(2):
                with pytest.raises(RetrieverFailed, match=message):
                    systems.retriever(name)
        systems.retriever("bm25").index(CORPUS)
        assert list(systems.retriever("bm25").search({"q": "pump"}, k=1)["q"]) == ["a"]


def test_texts_that_are_no_passage_are_not_fused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def texts(query, k):\n    return ['unheard of', 'the valve leaks']\n")
    texts = {"kind": "python", "function": "mine:texts", "returns": "texts"}
    tables: dict[str, object] = {"texts": texts, "both": {"kind": "rrf", "of": ["texts", "bm25"]}}
    with open_systems(["texts", "both"], tables, folder=tmp_path) as systems:
        for name, expected in (("texts", ["no-passage-of-texts-1", "b"]), ("both", ["b", "a"])):
            systems.retriever(name).index(CORPUS)
            assert list(systems.retriever(name).search({"q": "pump"}, k=5)["q"]) == expected


@pytest.mark.parametrize("name", ["r.trec", "r.json", pytest.param("r.csv", marks=pytest.mark.slow)])
def test_a_finished_run_is_searched(tmp_path: Path, name: str) -> None:
    lines = {
        "r.trec": "q Q0 a 1 2.5 x\nq Q0 b 2 3.5 x\n",
        "r.json": '{"q": {"a": 2.5, "b": 3.5}}',
        "r.csv": "query_id,doc_id,score\nq,a,2.5\nq,b,3.5\n",
    }
    (tmp_path / name).write_text(lines[name])
    with open_systems([f"run:{tmp_path / name}"]) as systems:
        retriever = systems.retriever(f"run:{tmp_path / name}")
        retriever.index(CORPUS)
        assert retriever.search({"q": "", "r": ""}, k=5) == {"q": {"b": 3.5, "a": 2.5}, "r": {}}
        assert list(retriever.search({"q": ""}, k=1)["q"]) == ["b"]


def test_embeddings_are_paid_for_once_and_shared(model_server: ServerHandle, tmp_path: Path) -> None:
    config = load_config(None, {"model": {"base_url": model_server.base_url, "embedding": "e5"}})
    tables: dict[str, object] = {"two": {"kind": "embedding"}, "both": {"kind": "rrf", "of": ["embedding", "bm25"]}}
    runs = []
    for _ in range(2):
        with open_systems(
            ["embedding", "two", "both"], tables, config=config, answers=tmp_path / "answers.sqlite"
        ) as systems:
            for name in systems.names:
                systems.retriever(name).index(CORPUS)
                runs.append(systems.retriever(name).search({"q": "pump"}, k=3))
            assert systems.stopwatch.seconds["embed"] > 0
            usage = systems.usage()["embed"]
    assert runs[:3] == runs[3:]
    assert runs[0] == runs[1]
    assert (usage.requests, usage.replayed > 0) == (0, True)
    with open_systems(["embedding"], config=config, answers=tmp_path / "answers.sqlite", replay=True) as systems:
        model_server.down()
        systems.retriever("embedding").index(CORPUS)
        with pytest.raises(RetrieverFailed, match="run without --replay"):
            systems.retriever("embedding").search({"q": "never asked"}, k=3)


def test_a_server_of_embeddings_that_is_down_is_one_line(
    model_server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(None, {"model": {"base_url": model_server.base_url, "deadline_minutes": 0.01}})
    table = {"kind": "embedding", "model": "e5"}
    with open_systems(["e", "hyde"], {"e": table, "hyde": {"kind": "hyde", "of": "bm25"}}, config=config) as systems:
        model_server.down()
        with pytest.raises(RetrieverFailed, match=r"^system e: ") as caught:
            systems.retriever("e").index(CORPUS)
        assert "\n" not in str(caught.value)
        with pytest.raises(RetrieverFailed, match="system hyde: no chat model is named"):
            systems.retriever("hyde")


def test_a_system_that_needs_a_model_says_so_where_there_is_none() -> None:
    with (
        open_systems(["e"], {"e": {"kind": "embedding", "model": "m"}}) as systems,
        pytest.raises(RetrieverFailed, match="needs a server"),
    ):
        systems.retriever("e")


@pytest.mark.slow
def test_every_kind_that_is_made_of_others_or_of_a_model_is_built_and_searched(
    model_server: ServerHandle, tmp_path: Path
) -> None:
    (tmp_path / "rewrites.json").write_text('{"q": ["valve"]}')
    tables: dict[str, object] = {
        "weighted": {"kind": "weighted", "of": ["bm25", "ngrams"]},
        "mmr": {"kind": "mmr", "of": "bm25", "lambda": 0.7},
        "mmr-by": {"kind": "mmr", "of": "embedding", "by": "embedding"},
        "listwise": {"kind": "listwise", "of": "bm25"},
        "rewrite": {"kind": "rewrite", "of": "bm25"},
        "rewrite-file": {"kind": "rewrite", "of": "bm25", "file": "rewrites.json"},
        "hyde": {"kind": "hyde", "of": "bm25"},
        "rerank": {"kind": "rerank", "of": "bm25", "url": f"{model_server.base_url}/rerank", "model": "r"},
    }
    config = load_config(None, {"model": {"base_url": model_server.base_url, "name": "m", "embedding": "e5"}})
    with open_systems(
        list(tables), tables, config=config, answers=tmp_path / "answers.sqlite", folder=tmp_path
    ) as systems:
        for name in tables:
            retriever = systems.retriever(name)
            retriever.index(CORPUS)
            found = retriever.search({"q": "pump"}, k=2)["q"]
            assert 1 <= len(found) <= 2
            assert list(found) == sorted(found, key=lambda doc_id: (found[doc_id], doc_id), reverse=True)
        assert {"b"} <= systems.retriever("rewrite-file").search({"q": "pump"}, k=2)["q"].keys()
        assert systems.usage().keys() == {"embed", "rerank", "expand"}


def test_every_parameter_has_a_description_that_help_can_show() -> None:
    for kind, record in KINDS.items():
        for name, field in record.model_fields.items():
            assert name == "kind" or field.description, f"{kind}.{name}"


def test_a_failure_of_a_shared_encoder_names_the_system_that_asked(tmp_path: Path) -> None:
    (tmp_path / "p.npy").write_bytes(b"junk")
    table = {"kind": "vectors", "passages": "p.npy", "queries": "p.npy"}
    with open_systems(["one", "two"], {"one": table, "two": table}, folder=tmp_path) as systems:
        for name in systems.names:
            with pytest.raises(RetrieverFailed, match=rf"^system {name}: .*p\.npy"):
                systems.retriever(name)


@pytest.mark.parametrize("kind", ["sentence-transformers", "fastembed", "rerank"])
def test_a_kind_that_needs_a_description_is_known(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"the system {kind} needs a description: put .* into a bench.toml"):
        resolve([kind])


@pytest.mark.parametrize(
    "address", ["elasticsearch://{host}", "opensearch+https://{host}:9200", "http://{host}/search"]
)
def test_an_address_whose_host_is_a_placeholder_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        resolve([address])


def test_an_unknown_parameter_lists_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"unknown parameter index \(parameters: analyzer, language, tokens, k1, b\)"):
        resolve(["bm25"], overrides=["index=hnsw"])
