"""``--encoding``, ``[documents.encodings]``, and what is told about files whose encoding was guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.config import Config, load_config
from goldbench.errors import ConfigError
from goldbench.formats.charsets import Charset
from goldbench.formats.documents.encodings import Encodings, encoding_for
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.sources import SourceFile
from tests.conftest import Goldbench

RUSSIAN = "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.\n"
GERMAN = "Übermäßige Größe schützt vor Torheit nicht; Äpfel und Öl kosten 5 € – „schön“ ist das nicht.\n"
FILES = {
    "a.txt": RUSSIAN.encode() * 3 + RUSSIAN.encode("cp1251"),
    "c.html": f'<html><head><meta charset="utf-8"></head><p>{GERMAN * 3}</p></html>'.encode("cp1252"),
    "e.rst": (GERMAN * 3).encode("cp1252"),
    "f.txt": RUSSIAN.encode("cp1251"),
    "g.txt": b"plain words\n",
}


def _put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@pytest.mark.slow
def test_a_build_names_files_of_guessed_encodings_and_its_manifest_lists_them(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    _put(tmp_path / "docs", FILES)
    done = goldbench("build", "docs", "--out", "gold", "--generator", "simulated", "--queries", 1, "--no-chunk")
    assert "skipped docs/a.txt, line 4: is not valid utf-8" in done.stderr
    assert "3 files not in UTF-8, whose encoding was guessed (cp1252 2, cp1251 1)" in done.stderr
    assert "  docs/f.txt: cp1251 (confidence " in done.stderr
    load = json.loads((tmp_path / "gold" / "manifest.json").read_bytes())["stages"][0]
    assert load["encodings"] == {"cp1251": 1, "cp1252": 2, "utf-8": 1}
    assert {file["item"] for file in load["uncertain"]} == {"docs/c.html", "docs/e.rst", "docs/f.txt"}
    texts = (tmp_path / "gold" / "0-documents.jsonl").read_text("utf-8")
    assert all(word in texts for word in ("совестью", "„schön“"))


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
    assert (
        f"skipped docs/b.csv, line 2: holds bytes that are not UTF-8, or half a surrogate pair: {way}\n" in done.stderr
    )


def test_many_guesses_are_counted_and_the_least_certain_are_listed() -> None:
    encodings = Encodings()
    for number in range(5000):
        encodings.add(Path(f"{number}.txt"), Charset("cp1252", 0.99))
    for number in range(30):
        encodings.add(Path(f"weak-{number:02}.txt"), Charset("cp1252", 0.6))
    encodings.add(Path("sure.txt"), Charset("utf-8"))
    listed = encodings.listed()
    assert (len(listed), encodings.counts) == (1000, {"cp1252": 5030, "utf-8": 1})
    assert [file.item for file in listed[:30]] == [f"weak-{number:02}.txt" for number in range(30)]
    notes = encodings.notes()
    assert notes[0].startswith("5,030 files not in UTF-8, whose encoding was guessed (cp1252 5,030); to correct one,")
    assert (len(notes), notes[-1]) == (22, "  and 5,010 more; the manifest lists 1,000")


def test_a_pattern_that_no_file_matches_is_named(goldbench: Goldbench, tmp_path: Path) -> None:
    _put(tmp_path / "docs", {"a.txt": RUSSIAN.encode("koi8-r")})
    (tmp_path / "c.toml").write_text('[documents.encodings]\n"*.txt" = "koi8-r"\n"*.TXT" = "cp1251"\n')
    (told,) = [line for line in goldbench("chunk", "docs", "--config", "c.toml").stderr.splitlines() if "TXT" in line]
    assert told.startswith("documents.encodings: no file matches '*.TXT'; a pattern is compared")
