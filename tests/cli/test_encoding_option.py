"""``--encoding``, ``[documents.encodings]``, and what is told about files whose encoding is not certain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.config import Config, load_config
from goldbench.errors import ConfigError
from goldbench.formats.charsets import Judgement
from goldbench.formats.documents.encodings import Encodings, encoding_for
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.sources import SourceFile
from tests.conftest import Goldbench

RUSSIAN = "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.\n"
GERMAN = "Übermäßige Größe schützt vor Torheit nicht; Äpfel und Öl kosten 5 € – „schön“ ist das nicht.\n"
FILES = {
    "a.txt": RUSSIAN.encode() * 3 + RUSSIAN.encode("cp1251"),
    "b.md": b"# Titel\n\n" + GERMAN.encode() + GERMAN.encode("cp1252"),
    "c.html": f'<html><head><meta charset="utf-8"></head><p>{GERMAN * 3}</p></html>'.encode("cp1252"),
    "d.csv": b"text,n\n" + "Größe,1\nÄpfel,2\n".encode() + "Öl,3\n".encode("cp1252"),
    "e.rst": (GERMAN * 3).encode("cp1252"),
    "f.json": '[{"text":"Größe"}]'.encode("cp1252"),
    "g.txt": b"plain words\n",
}


def _put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@pytest.mark.slow
def test_a_build_names_files_in_doubt_and_its_manifest_says_how_sure_it_is(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    _put(tmp_path / "docs", FILES)
    done = goldbench("build", "docs", "--out", "gold", "--generator", "simulated", "--queries", 1, "--no-chunk")
    told = done.stderr.split("decoded with doubt")[0].splitlines()[-1]
    assert told == "5 files ", done.stderr
    assert "  docs/a.txt: utf-8+cp1251 (confidence 99 %; 1 line in cp1251)" in done.stderr
    assert "  docs/c.html: cp1252 (confidence 94 %; it declares utf-8)" in done.stderr
    assert "docs/e.rst" not in done.stderr
    load = json.loads((tmp_path / "gold" / "manifest.json").read_bytes())["stages"][0]
    assert load["encodings"] == {"cp1252": 3, "utf-8": 1, "utf-8+cp1251": 1, "utf-8+cp1252": 2}
    assert {one["item"]: one["confidence"] for one in load["uncertain"]}.keys() == {
        f"docs/{name}" for name in FILES if name != "g.txt"
    }
    texts = (tmp_path / "gold" / "0-documents.jsonl").read_text("utf-8")
    assert all(word in texts for word in ("совестью", "„schön“", "Öl", "Äpfel"))


@pytest.mark.parametrize("name", ["nope", "rot13", "hex", "", "undefined", "utf-8\0"])
def test_an_encoding_that_is_not_known_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="--encoding: not a known text encoding: '") as caught:
        load_config(None, {"documents": {"encoding": name}})
    assert "\n" not in str(caught.value)
    (tmp_path / "a.toml").write_text(f"[documents.encodings]\n'*.txt' = {json.dumps(name)}\n")
    with pytest.raises(ConfigError, match="encodings: not a known text encoding: '") as caught:
        load_config(tmp_path / "a.toml", {})
    assert "\n" not in str(caught.value)


def test_the_encoding_shapes_the_set_by_its_own_name_and_the_default_stays() -> None:
    def digest(**documents: object) -> str:
        return Config.model_validate({"documents": documents}).fingerprint({})

    assert "encoding" not in json.dumps(Config().shaping()["documents"])
    assert digest(encoding="UTF8") == digest(encoding="utf-8") != digest()
    assert digest(encodings={"*.txt": "cp1252"}) != digest(encodings={"*.txt": "cp1251"})


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ("old/a/b.txt", "docs/old/a/b.txt", "koi8-r"),
        ("old/a.csv", "docs/old/a.csv", "cp1251"),
        ("b.txt", "docs/b.txt", "cp1252"),
        ("new/b.txt", "docs/new/b.txt", "utf-8"),
        ("single.txt", "elsewhere/single.txt", "big5"),
    ],
)
def test_the_first_pattern_that_a_file_matches_counts(source: str, path: str, expected: str) -> None:
    patterns = {"old/**/*.txt": "koi8-r", "old": "cp1251", "*.md": "latin1", "elsewhere/*": "big5", "b.txt": "cp1252"}
    options = ReadOptions(encoding="utf-8", encodings=patterns)
    assert encoding_for(SourceFile(Path(path), source), options) == expected


def test_files_that_are_not_in_the_encoding_given_are_one_line_each(goldbench: Goldbench, tmp_path: Path) -> None:
    _put(tmp_path / "docs", {"a.txt": RUSSIAN.encode("koi8-r"), "b.csv": b"text\n" + GERMAN.encode("cp1252")})
    (tmp_path / "c.toml").write_text('[documents.encodings]\n"*.txt" = "koi8-r"\n')
    done = goldbench("chunk", "docs", "--encoding", "utf-8", "--config", "c.toml")
    assert json.loads(done.stdout)["text"] == RUSSIAN.strip()
    way = "save it as UTF-8, or name its encoding as documents.encoding or in [documents.encodings]"
    assert f"skipped docs/b.csv: is not valid utf-8 text in its first lines: {way}\n" in done.stderr


def test_many_files_in_doubt_are_counted_and_the_least_certain_are_listed() -> None:
    encodings = Encodings()
    for number in range(5000):
        encodings.add(Path(f"{number}.txt"), Judgement("cp1252", 0.99))
    for number in range(30):
        encodings.add(Path(f"doubt-{number:02}.txt"), Judgement("cp1252", 0.6))
    encodings.add(Path("sure.txt"), Judgement("utf-8"))
    listed = encodings.listed()
    assert (len(listed), encodings.counts) == (1000, {"cp1252": 5030, "utf-8": 1})
    assert [one.item for one in listed[:30]] == [f"doubt-{number:02}.txt" for number in range(30)]
    notes = encodings.notes()
    assert notes[0].startswith("5,000 files not in UTF-8, whose encoding was guessed by the bytes: cp1252 5,000;")
    assert notes[1].startswith("30 files decoded with doubt")
    assert (len(notes), notes[-1]) == (23, "  and 10 more; the manifest lists the first 1,000")


def test_a_pattern_that_no_file_matches_is_named(goldbench: Goldbench, tmp_path: Path) -> None:
    _put(tmp_path / "docs", {"a.txt": RUSSIAN.encode("koi8-r")})
    (tmp_path / "c.toml").write_text('[documents.encodings]\n"*.txt" = "koi8-r"\n"*.TXT" = "cp1251"\n')
    (told,) = [line for line in goldbench("chunk", "docs", "--config", "c.toml").stderr.splitlines() if "TXT" in line]
    assert told.startswith("documents.encodings: no file matches '*.TXT'; a pattern is compared")
