"""Bytes to text: what is recognised, what is kept, what is refused."""

from __future__ import annotations

import codecs
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.formats.charsets import decode, detect_file
from goldbench.formats.faults import Fault
from goldbench.formats.lines import MAX_LINE
from goldbench.formats.tables import open_table
from tests.formats.documents.reading import read

LEGACY = [
    ("arb", "cp1256"), ("arb", "iso8859-6"), ("cmn_hans", "gb18030"), ("cmn_hant", "big5"),
    ("ell_monotonic", "cp1253"), ("ell_monotonic", "iso8859-7"), ("heb", "cp1255"), ("heb", "iso8859-8"),
    ("jpn", "cp932"), ("jpn", "euc_jp"), ("jpn", "iso2022_jp"), ("kor", "cp949"), ("rus", "cp1251"),
    ("rus", "koi8-r"), ("rus", "cp866"), ("tha", "cp874"), ("jpn", "utf-16"), ("arb", "utf-32"),
    ("tha", "utf-16-le"), ("hin", "utf-16-be"), ("cmn_hans", "utf-16-le"), ("eng", "utf-16-be"), ("kor", "utf-32-le"),
]  # fmt: skip
LATIN = {
    "fr": (
        "cp1252",
        "Tous les êtres humains naissent libres et égaux en dignité et en droits, frères où qu'ils soient.",
    ),
    "de": ("cp1252", "Übermäßige Größe schützt vor Torheit nicht; Äpfel und Öl kosten 5 € – „schön“ ist das nicht."),
    "es": ("cp1252", "¿Qué niño comió la piña del señor? El año pasado no llovió en Málaga, según el periódico."),
    "pt": (
        "cp1252",
        "Todos os seres humanos nascem livres. Dotados de razão e de consciência, devem agir com coração.",
    ),
    "pl": ("cp1250", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw, są też bracią."),
    "pl-iso": ("iso8859-2", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw i są ś."),
    "cs": ("cp1250", "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv; mají spolu jednat v duchu."),
    "tr": (
        "cp1254",
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar ve kardeşlik ile hareket ederler.",
    ),
}
KEPT = "e\u0301 é \u200bzero\u200b \u202ertl\u202c \U0001f469\u200d\U0001f680 nul\0here \ufefffeff שלום हिन्दी ไทย"


@pytest.mark.parametrize(("language", "encoding"), LEGACY)
@pytest.mark.parametrize("length", [80, 400, 5000])
def test_a_declaration_of_human_rights_is_read_in_its_encoding(
    collections: Path, language: str, encoding: str, length: int
) -> None:
    text = (collections / f"formats/udhr/udhr_{language}.md").read_text("utf-8")[100:][:length]
    data = text.encode(encoding, "ignore")
    expected = codecs.decode(data, encoding)
    assert decode(data)[0] == expected


@pytest.mark.parametrize("name", LATIN)
@pytest.mark.parametrize("times", [1, 50])
def test_a_sentence_in_a_latin_alphabet_is_read_in_its_code_page(name: str, times: int) -> None:
    encoding, sentence = LATIN[name]
    text = (sentence + "\n") * times
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("language", "encoding"), [("rus", "cp1251"), ("jpn", "cp932"), ("heb", "cp1255"), ("tha", "cp874")]
)
def test_one_foreign_line_among_a_thousand_plain_ones_decides(collections: Path, language: str, encoding: str) -> None:
    line = (collections / f"formats/udhr/udhr_{language}.md").read_text("utf-8")[400:480].replace("\n", " ")
    text = "int main(void) { return 0; }\n" * 1000 + line + "\n" + "a plain line of code\n" * 1000
    data = text.encode(encoding, "ignore")
    assert decode(data)[0] == data.decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_is_removed_and_nothing_else(encoding: str) -> None:
    assert decode(("\ufeff" + KEPT).encode(encoding))[0] == KEPT


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t\r"), min_size=1))
def test_any_utf_8_text_is_read_as_python_reads_it(text: str) -> None:
    if text.startswith(("\ufeff", "%PDF-")):
        return
    assert decode(text.encode())[0] == text.replace("\r\n", "\n").replace("\r", "\n")


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_one_line(data: bytes) -> None:
    outcome = None
    try:
        decode(data)[0].encode()
    except Fault as refusal:
        outcome = str(refusal)
    assert outcome is None or "\n" not in outcome


@pytest.mark.parametrize(
    "data",
    [
        Path(sys.executable).resolve().read_bytes()[:200_000],
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + random.Random(1).randbytes(200),
        b"PK\x03\x04" + random.Random(2).randbytes(500),
        b"%PDF-1.4\n1 0 obj <<>> endobj",
        random.Random(3).randbytes(100),
        random.Random(4).randbytes(100_000),
        b"\0" * 4096,
        b"\xff\xfe\x00\xd8\x00\xd8",
        b"\xef\xbb\xbf\xff\xff",
    ],
    ids=["program", "png", "zip", "pdf", "100 random", "100,000 random", "nul", "half a pair", "mark of utf-8 only"],
)
def test_binary_data_named_as_text_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    outcome = read(tmp_path / "a.txt")
    assert outcome.documents == []
    assert len(outcome.failures) == 1


@pytest.mark.parametrize("data", [b"a\0b", b"log \x1b[31mred\x1b[0m line\n" * 50, b"page one\x0cpage two", b"beep\x07"])
def test_text_with_a_few_control_characters_is_text(data: bytes) -> None:
    assert decode(data)[0] == data.decode()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fake-text-utf-16-be.txt", "This is a test document to use for unit tests."),
        ("fake-text-utf-16-le.txt", "This is a test document to use for unit tests."),
        ("fake-text-utf-16.txt", "This is a test document to use for unit tests."),
        ("fake-text-utf-32.txt", "This is a test document to use for unit tests."),
        ("fake-html-cp1252.html", "Die schöne Frau"),
        ("example-steelJIS-datasheet-utf-16.html", "Chemical composition 成分"),
    ],
)
def test_real_files_in_odd_encodings_are_read(collections: Path, name: str, expected: str) -> None:
    (text,) = read(collections / "formats/unstructured" / name).texts
    assert expected in text


def test_a_page_is_read_in_the_charset_it_declares(tmp_path: Path) -> None:
    page = '<html><head><meta charset="windows-1251"></head><body><p>Москва</p></body></html>'
    (tmp_path / "a.html").write_bytes(page.encode("cp1251"))
    assert read(tmp_path).texts == ["Москва"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932", "utf-16-le"])
def test_a_tables_encoding_is_that_of_the_whole_file(tmp_path: Path, encoding: str) -> None:
    text = "text\n" + ("only ascii here " * 100 + "\n") * 1000 + "住所は東京です\n" * 3
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    assert read(tmp_path).texts[-1] == "住所は東京です"


def test_a_character_cut_by_the_end_of_a_piece_is_still_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("x" * (2**20 - 1) + "é\n" + "é\n" * 2**19, encoding="utf-8")
    assert detect_file(path).encoding == "utf-8"


@pytest.mark.timeout(40)
def test_a_line_of_two_gigabytes_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("a.txt", "a.csv", "a.jsonl"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2 * 2**30)
    assert len(read(tmp_path).failures) == 3


def test_a_line_longer_than_the_limit_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "' + b"x" * (MAX_LINE + 10) + b'"}\n')
    assert read(tmp_path).failures == [f"{tmp_path}/a.jsonl, line 1: is longer than 16,777,216 characters"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.timeout(100)
def test_a_pipe_put_in_a_files_place_does_not_block(tmp_path: Path) -> None:
    from goldbench.formats.regular_files import open_regular

    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(Fault, match="not a regular file"):
        open_regular(tmp_path / "pipe.txt")


RUSSIAN = "Все люди рождаются свободными и равными в своём достоинстве и правах."
GERMAN = LATIN["de"][1]
CHINESE = "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。"
JAPANESE = "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。"


@pytest.mark.parametrize("data", [b"plain", GERMAN.encode(), RUSSIAN.encode("utf-8-sig"), RUSSIAN.encode("utf-16")])
def test_ascii_utf_8_and_a_mark_are_certain_and_a_guess_is_not(data: bytes) -> None:
    assert decode(data)[1].confidence == 1
    assert decode(GERMAN.encode("cp1252"))[1].confidence < 1


@pytest.mark.parametrize(
    ("main", "stray", "encoding"),
    [
        (GERMAN, "Der Käse fließt über die Brücke", "cp1252"),
        (RUSSIAN, "Съешь ещё этих мягких французских булок", "cp1251"),
        (GERMAN, "Съешь ещё этих мягких французских булок", "cp1251"),
        (RUSSIAN, "Der Käse fließt", "cp1252"),
        (CHINESE, "naïve", "cp1252"),
        ("Ein Bär", "Ein Dübel", "cp1252"),
        (GERMAN, CHINESE, "gb18030"),
        (GERMAN, JAPANESE, "cp932"),
    ],
)
def test_lines_in_another_encoding_than_utf_8_are_refused_with_their_line(main: str, stray: str, encoding: str) -> None:
    for before in (1, 3):
        data = f"{main}\n".encode() * before + f"{stray}\n".encode(encoding) + f"{main}\n".encode()
        with pytest.raises(Fault, match=r"^is not valid utf-8, the encoding that most of it seems to be in") as caught:
            decode(data)
        assert caught.value.line == before + 1


@pytest.mark.parametrize("text", [RUSSIAN, CHINESE])
def test_utf_8_that_is_damaged_or_cut_is_never_read_as_something_else(text: str) -> None:
    for data in (text.encode()[:-2], text.encode() + b"\xd0 " + text.encode()):
        with pytest.raises(Fault, match="is not valid utf-8"):
            decode(data)


@pytest.mark.parametrize("encoding", ["gb18030", "cp932", "big5"])
def test_short_cells_that_happen_to_be_valid_utf_8_make_no_mixture(encoding: str) -> None:
    cells = ["女", "男", "東", "山", "川", "田", "上", "人", "大", "天", "水", "火", "木", "金", "土", "日", "月", "年"]
    text = "".join(f"{number},{cell}\n" for number, cell in enumerate(cells * 20))
    assert decode(text.encode(encoding))[1].encoding != "utf-8"


@pytest.mark.parametrize(("mark", "text"), [
    (codecs.BOM_UTF16_LE, b"plain words, an odd number."), (codecs.BOM_UTF8, RUSSIAN.encode("cp1251")),
    (codecs.BOM_UTF32_LE, GERMAN.encode()),
])  # fmt: skip
def test_a_mark_that_the_bytes_contradict_is_refused(mark: bytes, text: bytes) -> None:
    with pytest.raises(Fault, match="the encoding that most of it seems to be in"):
        decode(mark + text)


def test_a_second_mark_and_those_of_joined_files_are_left_out() -> None:
    assert decode(b"\xef\xbb\xbf" * 2 + b"one\n\xef\xbb\xbftwo \xef\xbb\xbfthree")[0] == "one\ntwo \ufeffthree"


@pytest.mark.parametrize(
    ("declared", "actual", "text"),
    [
        ("utf-8", "cp1252", GERMAN),
        ("iso-8859-1", "utf-8", GERMAN),
        ("windows-1251", "cp1251", RUSSIAN),
        ("iso-8859-1", "cp1252", GERMAN),
        ("utf-8", "utf-8", GERMAN),
    ],
)
@pytest.mark.parametrize("start", ['<html><head><meta charset="{}">', '<?xml version="1.0" encoding="{}"?>'])
def test_a_declaration_counts_unless_the_bytes_contradict_it(declared: str, actual: str, text: str, start: str) -> None:
    page = f"{start.format(declared)}\n<p>{text}</p>"
    assert decode(page.encode(actual))[0] == page


def test_the_encoding_given_is_taken_and_one_that_does_not_fit_is_one_line() -> None:
    text, charset = decode(RUSSIAN.encode("koi8-r"), "koi8-r")
    assert (text, charset.confidence) == (RUSSIAN, 1)
    with pytest.raises(
        Fault, match=r"^is not valid utf-8, the encoding that is set for it: save it as UTF-8, or name its enc"
    ) as caught:
        decode(RUSSIAN.encode("koi8-r"), "utf-8")
    assert caught.value.line == 1


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_number_too_large_for_a_computer_stays_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    row = '{"text": 1e400, "n": -1E999, "m": 1.5e3}'
    path.write_text(f"[{row}]" if suffix == "json" else row + "\n")
    (first,) = open_table(path, megabytes=1).rows()
    assert first.values == {"text": "1e400", "n": "-1E999", "m": 1500.0}
