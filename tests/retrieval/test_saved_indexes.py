"""Indexes kept for the next command: used again for the same corpus alone, and never needed."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from goldbench.retrieval import saved_indexes
from goldbench.retrieval.analyzer_names import Analyzer
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.lsi import LSI, Space
from goldbench.retrieval.saved_indexes import FOLDER, SavedIndexes
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import BM25Settings, LSISettings
from goldbench.retrieval.tokens import Tokenizer, tokenizer
from tests.conftest import Goldbench

WORDS = [f"w{number}" for number in range(300)]
QUERIES = {"q": "w1 w2 w3", "r": "w40 w50", "s": "nothing", "t": ""}


def corpus(seed: int = 1, size: int = 6_000) -> dict[str, str]:
    chance = random.Random(seed)
    return {f"d{number}": " ".join(chance.choices(WORDS, k=8)) for number in range(size)}


class Counting(Tokenizer):
    """Counts the texts that it cuts."""

    def __init__(self) -> None:
        self.texts = 0
        inner = tokenizer(Analyzer.UNICODE)

        def words(text: str) -> list[str]:
            self.texts += 1
            return inner.words(text)

        super().__init__(words)


def bm25(folder: Path | None, tokens: Tokenizer) -> BM25:
    return BM25(BM25Settings(), tokens=tokens, saved=SavedIndexes(folder))


def lsi(folder: Path | None, tokens: Tokenizer) -> LSI:
    settings = LSISettings(dimensions=8)
    return LSI(settings, Space(settings, tokens=tokens, stopwatch=Stopwatch(), saved=SavedIndexes(folder)))


Made = Callable[[Path | None, Tokenizer], BM25 | LSI]


@pytest.mark.parametrize("made", [bm25, lsi])
def test_an_index_is_used_again_for_the_same_corpus_alone(tmp_path: Path, made: Made) -> None:
    expected = []
    for passages in (corpus(), corpus(seed=2)):
        plain = made(None, tokenizer(Analyzer.UNICODE))
        plain.index(passages)
        expected.append(plain.search(QUERIES, k=20))
    for passages, found, cut in ((corpus(), 0, 6_000), (corpus(), 0, 0), (corpus(seed=2), 1, 6_000)):
        tokens = Counting()
        kept = made(tmp_path / FOLDER, tokens)
        kept.index(passages)
        assert tokens.texts == cut
        assert kept.search(QUERIES, k=20) == expected[found]
    assert len(list((tmp_path / FOLDER).iterdir())) == 1


def test_another_text_id_or_setting_is_another_index(tmp_path: Path) -> None:
    passages = corpus()
    first = next(iter(passages))
    others = [passages, {**passages, first: "w1"}, {f"x{doc_id}": text for doc_id, text in passages.items()}]
    for one in others:
        for settings in (BM25Settings(), BM25Settings(k1=0.4)):
            tokens = Counting()
            BM25(settings, tokens=tokens, saved=SavedIndexes(tmp_path / FOLDER)).index(one)
            assert tokens.texts == len(one)


def saved(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def text(content: str) -> bytes:
    return saved(np.frombuffer(content.encode(), np.uint8))


DAMAGES = {
    "missing": None,
    "empty": b"",
    "junk": b"junk",
    "cut": saved(np.arange(9))[:-1],
    "a header that does not end": saved(0).replace(b"}", b"{"),
    "an archive": b"PK\x03\x04" + bytes(40),
    "a number": saved(5),
    "too short": saved(np.arange(3)),
    "of another type": saved(np.zeros(3, complex)),
    **{
        content[:20]: text(content)
        for content in ("", "{}", "[]", "null", "5", '["w1"]', "[1, 2]", "[[]]", "[" * 100_000)
    },
    "a word twice": text(json.dumps(["w1"] * 300)),
}


@pytest.mark.parametrize("made", [bm25, lsi])
def test_a_damaged_index_is_made_anew(tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_indexes, "_WORTH_SAVING", 1)
    passages = corpus(size=60)
    first = made(tmp_path / FOLDER, tokenizer(Analyzer.UNICODE))
    first.index(passages)
    files = sorted((tmp_path / FOLDER).glob("*/*"))
    assert len(files) == 4
    for file, (name, damage) in itertools.product(files, DAMAGES.items()):
        file.unlink() if damage is None else file.write_bytes(damage)
        tokens = Counting()
        again = made(tmp_path / FOLDER, tokens)
        again.index(passages)
        assert tokens.texts == 60, f"{file.name}: {name}"
        assert again.search(QUERIES, k=20) == first.search(QUERIES, k=20)


@pytest.mark.parametrize("place", [-1, 60])
def test_an_index_of_passages_that_do_not_exist_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(saved_indexes, "_WORTH_SAVING", 1)
    passages, tokens = corpus(size=60), Counting()
    bm25(tmp_path / FOLDER, tokens).index(passages)
    (file,) = (tmp_path / FOLDER).glob("*/places*")
    places = np.load(file)
    places[len(places) // 2] = place
    np.save(file, places)
    bm25(tmp_path / FOLDER, tokens).index(passages)
    assert tokens.texts == 120


@pytest.mark.parametrize(("name", "value"), [("REVISIONS", {}), ("unicodedata", SimpleNamespace(unidata_version="0"))])
def test_an_index_of_other_terms_or_scores_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(saved_indexes, "_WORTH_SAVING", 1)
    passages, tokens = corpus(size=30), Counting()
    bm25(tmp_path / FOLDER, tokens).index(passages)
    monkeypatch.setattr(saved_indexes, name, value)
    bm25(tmp_path / FOLDER, tokens).index(passages)
    assert tokens.texts == 60


def test_of_many_indexes_those_that_were_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_indexes, "_WORTH_SAVING", 1)
    passages, folder = corpus(size=30), tmp_path / FOLDER
    folder.mkdir()
    (folder / "notes").mkdir()
    cut = []
    for moment, k1 in enumerate((0.1, 0.2, 0.3, 0.4, 0.1, 0.5, 0.1, 0.2)):
        for one in folder.iterdir():
            os.utime(one, (one.stat().st_atime, min(one.stat().st_mtime, moment)))
        tokens = Counting()
        BM25(BM25Settings(k1=k1), tokens=tokens, saved=SavedIndexes(folder)).index(passages)
        cut.append(tokens.texts)
    assert cut == [30, 30, 30, 30, 0, 30, 0, 30], "0.5 took the place of 0.2, and 0.1 had been used since"
    assert len(list(folder.iterdir())) == 1 + saved_indexes._KEPT
    assert (folder / "notes").is_dir()


def test_the_indexes_of_one_command_do_not_push_each_other_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_indexes, "_WORTH_SAVING", 1)
    passages, tokens = corpus(size=30), Counting()
    for _ in range(2):
        saved = SavedIndexes(tmp_path / FOLDER)
        for k1 in range(saved_indexes._KEPT + 2):
            BM25(BM25Settings(k1=k1), tokens=tokens, saved=saved).index(passages)
    assert tokens.texts == 30 * (saved_indexes._KEPT + 2)


def test_a_small_corpus_leaves_no_file(tmp_path: Path) -> None:
    bm25(tmp_path / FOLDER, tokenizer(Analyzer.UNICODE)).index(corpus(size=100))
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="needs a user whose rights can be taken")
def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    index = bm25(tmp_path / FOLDER, tokenizer(Analyzer.UNICODE))
    index.index(corpus())
    assert index.search(QUERIES, k=5)["q"]


def test_a_file_in_the_place_of_the_folder_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("mine", encoding="utf-8")
    index = bm25(tmp_path / FOLDER, tokenizer(Analyzer.UNICODE))
    index.index(corpus())
    assert index.search(QUERIES, k=5)["q"]
    assert (tmp_path / FOLDER).read_text(encoding="utf-8") == "mine"


def test_what_a_killed_process_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    left, new = tmp_path / FOLDER / "begun-old", tmp_path / FOLDER / "begun-new"
    for folder in (left, new):
        folder.mkdir(parents=True)
    os.utime(left, (time.time() - 2 * saved_indexes._LEFT_S,) * 2)
    bm25(tmp_path / FOLDER, tokenizer(Analyzer.UNICODE)).index(corpus())
    assert not left.exists()
    assert new.exists()


def large_set(folder: Path) -> None:
    dataset = {"queries": {"q": "w1 w2"}, "corpus": corpus(), "relevant_docs": {"q": ["d0"]}, "mode": "text"}
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")


def test_asking_a_set_twice_gives_the_same(goldbench: Goldbench, tmp_path: Path) -> None:
    large_set(tmp_path / "set")
    command = ("ask", "set", "--no-model", "--question", "w1 w2 w3")
    first, second = goldbench(*command), goldbench(*command)
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout) == (0, first.stdout)
    assert len(list((tmp_path / "set" / FOLDER).iterdir())) == 2


def test_a_dry_run_leaves_no_index(goldbench: Goldbench, tmp_path: Path) -> None:
    large_set(tmp_path / "set")
    done = goldbench("ask", "set", "--system", "bm25", "--decline-rate", "--dry-run", "--model", "m")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "set" / FOLDER).exists()
