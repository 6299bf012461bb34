"""The tables of the language detector, held against py3langid's own way of reading them."""

import lzma
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from py3langid import langid

from goldbench.text import language_tables

TABLES = ("nb_ptc", "nb_pc", "nb_classes", "tk_nextmove", "tk_row", "tk_output", "_rowbase", "_alias_pairs")
TEXTS = ("How long does it take?", "Wie lange dauert es?", "Сколько это длится?", "", "12 34", "ä" * 400)


def theirs() -> langid.LanguageIdentifier:
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def assert_same(one: langid.LanguageIdentifier, other: langid.LanguageIdentifier) -> None:
    for name in TABLES:
        first, second = getattr(one, name), getattr(other, name)
        assert type(first) is type(second), name
        assert np.asarray(first).dtype == np.asarray(second).dtype, name
        assert np.array_equal(first, second), name
    for text in TEXTS:
        assert one.rank(text) == other.rank(text)


def test_the_tables_are_those_that_py3langid_reads(monkeypatch: pytest.MonkeyPatch):
    expected = theirs()
    monkeypatch.delattr(langid.LanguageIdentifier, "from_model_file")  # nothing is left to it
    assert_same(language_tables.loaded(), expected)


def in_another_form(kind: str) -> bytes:
    held = BytesIO()
    arrays = {name: np.zeros((2, 2), np.uint16) for name in ("ptc", "pc", "classes", "nextmove", "nextmove_row")}
    if kind == "compressed":
        np.savez_compressed(held, **arrays)
    elif kind == "fewer":
        np.savez(held, **arrays)
    elif kind == "by column":
        np.savez(held, **{name: np.asfortranarray(value + 1) for name, value in arrays.items()})
    return held.getvalue() or b"no archive"


@pytest.mark.parametrize("kind", ["compressed", "fewer", "by column", "no archive"])
def test_a_file_in_another_form_is_left_to_py3langid(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other, read = tmp_path / "model.xz", language_tables._tables
    other.write_bytes(lzma.compress(in_another_form(kind)))
    monkeypatch.setattr(language_tables, "_tables", lambda _: read(other))
    left: list[str] = []
    monkeypatch.setattr(langid.LanguageIdentifier, "from_model_file", lambda name, **_: left.append(name))
    language_tables.loaded()
    assert left == [langid.MODEL_FILE]
