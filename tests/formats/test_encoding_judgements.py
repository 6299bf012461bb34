"""What is said about a file's encoding: how sure it is, lines in other encodings, wrong marks, cut ends."""

from __future__ import annotations

import codecs
import time
from pathlib import Path

import pytest

from goldbench.formats.charsets import decoded, judged_file
from goldbench.formats.encoding_guess import reads_oddly
from goldbench.formats.faults import Fault
from goldbench.formats.mixed_lines import Mixture
from goldbench.formats.tables import open_table
from tests.formats.test_encodings import LATIN

RUSSIAN = "Все люди рождаются свободными и равными в своём достоинстве и правах."
GERMAN = LATIN["de"][1]
CHINESE = "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。"
JAPANESE = "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。"
TEXTS = {
    "cp1252": GERMAN,
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp932": JAPANESE,
    "gb18030": CHINESE,
    "big5": "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心。",
    "iso8859-2": LATIN["pl-iso"][1] + " Zażółć gęślą jaźń.",
    "utf-16-le": RUSSIAN,
}


@pytest.mark.parametrize("data", [b"plain", GERMAN.encode(), RUSSIAN.encode("utf-8-sig"), RUSSIAN.encode("utf-16")])
def test_ascii_utf_8_and_a_mark_that_fits_are_certain(data: bytes) -> None:
    judgement = decoded(data).judgement
    assert (judgement.confidence, judgement.remark, judgement.is_doubtful) == (1.0, "", False)


def test_a_wrong_guess_is_told_however_many_plain_lines_come_first() -> None:
    german = "Der Wächter und das Mädchen im Gästehaus am Königsplatz, Schlösser öffnen früh. L'été "
    for plain in (10, 25_000):
        judgement = decoded(("a plain line of words\n" * plain + f"{german}\n" * 30).encode("mac_roman")).judgement
        assert judgement.confidence == 0.5
        assert "stand within words" in judgement.remark


@pytest.mark.parametrize(
    "line", ["老师问：“谁”和“何时”才是重点？", "他说“是”。她说“不”。", "Höhe×Breite×Länge", "Übergang A→B→C"]
)
def test_quotation_marks_between_chinese_words_and_signs_between_terms_are_not_odd(line: str) -> None:
    assert not reads_oddly(line)


@pytest.mark.parametrize("text", [GERMAN, "L'été dernier, l'élève a dû être arrêté à côté de la forêt. "])
def test_text_in_an_encoding_that_is_never_guessed_is_in_doubt(text: str) -> None:
    found = decoded((text * 9).encode("mac_roman"))
    assert found.text != text * 9
    assert "capital letters, signs or letters of another script stand within words" in found.judgement.remark


@pytest.mark.parametrize(
    "text",
    ["L'été où naquit Éloïse à l'ÉCOLE, cœur déçu.", "ВКонтакте, АвтоВАЗ и КамАЗ.", "O‘zbekiston: o‘qituvchi.", GERMAN],
)
def test_capitals_in_names_and_apostrophes_are_no_reason_for_doubt(text: str) -> None:
    assert not reads_oddly(text * 5)


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_sentence_is_guessed_with_confidence_and_a_word_with_doubt(encoding: str) -> None:
    text = TEXTS[encoding]
    long = decoded((text + "\n").encode(encoding))
    assert long.text == text + "\n"
    assert 0.9 <= long.judgement.confidence < 1
    assert not long.judgement.is_doubtful


def test_one_accent_is_a_doubtful_guess_and_repeating_it_makes_it_no_surer() -> None:
    assert decoded("Straße".encode("cp1252")).judgement.is_doubtful
    assert decoded("Straße\n".encode("cp1252") * 1000).judgement.is_doubtful


@pytest.mark.parametrize(
    ("main", "stray", "encoding"),
    [
        (GERMAN, "Der Käse fließt über die Brücke", "cp1252"),
        (RUSSIAN, "Съешь ещё этих мягких французских булок", "cp1251"),
        (GERMAN, "Съешь ещё этих мягких французских булок", "cp1251"),
        (RUSSIAN, "Der Käse fließt", "cp1252"),
        (CHINESE, "naïve", "cp1252"),
        ("Ein Bär", "Ein Dübel", "cp1252"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_in_another_encoding_are_read_as_what_they_are_and_told(
    main: str, stray: str, encoding: str, ends: str
) -> None:
    data = (main + ends).encode() * 3 + (stray + ends).encode(encoding) + (main + ends).encode()
    found = decoded(data)
    assert found.text == f"{main}\n" * 3 + f"{stray}\n{main}\n"
    assert found.judgement.encoding == f"utf-8+{encoding}"
    assert found.judgement.remark == f"1 line in {encoding}"
    assert found.judgement.is_doubtful


def test_lines_of_three_encodings_are_told_apart() -> None:
    lines = [(GERMAN, "utf-8"), (RUSSIAN, "cp1251"), (RUSSIAN, "utf-8"), (GERMAN, "cp1252"), ("plain", "ascii")]
    found = decoded(b"".join((text + "\n").encode(encoding) for text, encoding in lines * 5))
    assert found.text == "".join(text + "\n" for text, _ in lines * 5)
    assert found.judgement.remark == "5 lines in cp1251, 5 lines in cp1252"


@pytest.mark.parametrize("encoding", ["gb18030", "cp932", "big5"])
def test_short_cells_that_happen_to_be_valid_utf_8_make_no_mixture(encoding: str) -> None:
    cells = ["女", "男", "東", "山", "川", "田", "上", "人", "大", "天", "水", "火", "木", "金", "土", "日", "月", "年"]
    text = "".join(f"{number},{cell}\n" for number, cell in enumerate(cells * 20))
    assert decoded(text.encode(encoding)).judgement.lines is None


def test_a_character_broken_in_the_middle_of_a_line_stays_visible_and_is_told() -> None:
    data = (RUSSIAN + "\n").encode() + RUSSIAN.encode()[:21] + b"\xd0 " + RUSSIAN.encode()[22:] + b"\n"
    found = decoded(data)
    assert found.text.startswith(RUSSIAN)
    assert "\ufffd" in found.text
    assert found.judgement.remark == "1 line with damaged characters, shown as U+FFFD"


@pytest.mark.parametrize(("text", "encoding", "cut"), [
    (RUSSIAN, "utf-8", 1), (CHINESE, "utf-8", 1), (CHINESE, "utf-8", 2), (CHINESE, "gb18030", 1),
    (JAPANESE, "cp932", 1), (RUSSIAN, "utf-16-le", 1), (RUSSIAN, "utf-16", 1),
])  # fmt: skip
def test_a_character_cut_by_the_end_is_left_out_and_told(text: str, encoding: str, cut: int) -> None:
    last = "р" if text is RUSSIAN else "良"
    found = decoded((text + last).encode(encoding)[:-cut])
    assert found.text == text
    assert found.judgement.remark == "its last character is cut off"


def test_an_accented_letter_at_the_end_is_not_a_cut_character() -> None:
    assert decoded("Ein Café, ein Gelée, ein Résumé".encode("cp1252")).text.endswith("Résumé")
    assert decoded("plain words and caf\xe9".encode("cp1252")).text == "plain words and café"


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("text", [GERMAN, CHINESE, "plain words, an odd number."])
def test_a_mark_of_utf_16_before_utf_8_is_found(mark: bytes, text: str) -> None:
    found = decoded(mark + text.encode())
    assert found.text == text
    assert (found.judgement.encoding, found.judgement.remark) == ("utf-8", "its byte order mark says utf-16")


def test_a_mark_of_the_other_byte_order_and_a_mark_of_utf_8_before_cp1251_are_found() -> None:
    assert decoded(codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-le")).text == GERMAN
    found = decoded(codecs.BOM_UTF8 + RUSSIAN.encode("cp1251"))
    assert (found.text, found.judgement.remark) == (RUSSIAN, "its byte order mark says utf-8")


def test_a_second_mark_and_those_of_joined_files_are_left_out() -> None:
    assert decoded(b"\xef\xbb\xbf" * 2 + b"one\n\xef\xbb\xbftwo \xef\xbb\xbfthree").text == "one\ntwo \ufeffthree"
    assert decoded(("\ufeff" + GERMAN).encode("utf-16")).text == GERMAN


@pytest.mark.parametrize(
    ("declared", "actual", "text", "remark"),
    [
        ("utf-8", "cp1252", GERMAN, "it declares utf-8"),
        ("windows-1251", "koi8-r", RUSSIAN, "it declares cp1251"),
        ("iso-8859-1", "utf-8", GERMAN, "it declares cp1252"),
        ("windows-1251", "cp1251", RUSSIAN, ""),
        ("iso-8859-1", "cp1252", GERMAN, ""),
        ("utf-8", "utf-8", GERMAN, ""),
    ],
)
@pytest.mark.parametrize("start", ['<html><head><meta charset="{}">', '<?xml version="1.0" encoding="{}"?>'])
def test_a_declaration_that_the_bytes_contradict_is_found(
    declared: str, actual: str, text: str, remark: str, start: str
) -> None:
    page = f"{start.format(declared)}<p>{text}</p>"
    found = decoded(page.encode(actual))
    assert (found.text, found.judgement.remark) == (page, remark)


def test_the_encoding_given_is_taken_and_one_that_does_not_fit_is_one_line() -> None:
    assert decoded(RUSSIAN.encode("koi8-r"), "koi8-r").text == RUSSIAN
    assert decoded("Straße".encode("cp1252"), "cp1252").judgement.confidence == 1
    with pytest.raises(
        Fault,
        match=r"^is not valid utf-8 at byte 1, the encoding that is set for it: save it as UTF-8, or name its enc",
    ):
        decoded(RUSSIAN.encode("koi8-r"), "utf-8")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_with_stray_lines_gives_the_same_as_a_text(tmp_path: Path, suffix: str) -> None:
    rows = [("utf-8", RUSSIAN), ("cp1251", RUSSIAN), ("cp1252", GERMAN), ("utf-8", GERMAN)] * 2
    lines = ['{"text": "%s"}' % text if suffix == "jsonl" else f'"{text}",2' for _, text in rows]  # noqa: UP031
    path = tmp_path / f"a.{suffix}"
    head = b"" if suffix == "jsonl" else b"text,n\n"
    path.write_bytes(head + b"".join((line + "\n").encode(enc) for line, (enc, _) in zip(lines, rows, strict=True)))
    table = open_table(path, megabytes=1)
    assert [row.values["text"] for row in table.rows()] == [text for _, text in rows]
    assert table.judgement is not None
    assert table.judgement.remark == "2 lines in cp1251, 2 lines in cp1252"


def test_a_wrong_mark_of_a_table_is_found_and_no_column_begins_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(codecs.BOM_UTF16_LE + f"text,n\n{GERMAN},1\n".encode())
    assert open_table(path, megabytes=1).columns == ("text", "n")
    assert judged_file(path).remark == "its byte order mark says utf-16"
    path.write_bytes(codecs.BOM_UTF8 * 2 + f"text,n\n{GERMAN},1\n".encode())
    assert open_table(path, megabytes=1).columns == ("text", "n")


def test_a_table_cut_within_a_character_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(('{"text": "é"}\n' * 3).encode() + '{"text": "é'.encode()[:-1])
    with pytest.raises(Fault, match="ends within a character: it was cut off"):
        open_table(path, megabytes=1)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_number_too_large_for_a_computer_stays_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    row = '{"text": 1e400, "n": -1E999, "m": 1.5e3}'
    path.write_text(f"[{row}]" if suffix == "json" else row + "\n")
    (found,) = open_table(path, megabytes=1).rows()
    assert found.values == {"text": "1e400", "n": "-1E999", "m": 1500.0}


@pytest.mark.parametrize("stray", [RUSSIAN, "Перелік відомих помилок і можливостей програми", CHINESE, JAPANESE])
@pytest.mark.parametrize(
    "main", [GERMAN, "Les élèves naïfs sont à côté de la forêt.", "Zażółć gęślą jaźń, mój przyjacielu."]
)
def test_utf_8_lines_with_a_few_accents_are_seen_beside_lines_in_another_script(main: str, stray: str) -> None:
    encoding = {CHINESE: "gb18030", JAPANESE: "cp932"}.get(stray, "cp1251")
    for lines in ([main, stray], [stray, main, stray, stray], [main, main, stray]):
        parts = [(line + "\n").encode(encoding if line == stray else "utf-8") for line in lines]
        found = decoded(b"".join(parts))
        assert found.text == "".join(line + "\n" for line in lines)
        assert found.judgement.encoding == f"utf-8+{encoding}"
        assert found.judgement.is_doubtful


def test_lines_of_two_code_pages_are_in_doubt() -> None:
    found = decoded((GERMAN + "\n").encode("cp1252") + (RUSSIAN + "\n").encode("cp1251"))
    assert "capital letters, signs or letters of another script stand within words" in found.judgement.remark


def test_a_mark_of_utf_32_before_utf_8_is_found() -> None:
    found = decoded(codecs.BOM_UTF32_LE + GERMAN.encode())
    assert (found.text, found.judgement.remark) == (GERMAN, "its byte order mark says utf-32")


def test_a_single_accent_in_utf_8_that_decides_nothing_is_told() -> None:
    found = decoded(("qualità della vita\n").encode() + f"{RUSSIAN}\n".encode("koi8-r"))
    assert found.judgement.is_doubtful
    assert found.judgement.remark in {"1 line of it may be UTF-8", "1 line in koi8-r"}


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("encoding", ["cp1251", "cp1252", "cp932", "gb18030", "iso8859-2"])
def test_a_mark_of_utf_16_before_an_even_number_of_bytes_of_a_code_page_is_found(mark: bytes, encoding: str) -> None:
    data = (TEXTS[encoding] + "\n").encode(encoding)
    found = decoded(mark + data + b" " * (len(data) % 2))
    assert found.text.strip() == TEXTS[encoding].strip()
    assert found.judgement.remark == "its byte order mark says utf-16"


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, "ทุกคนเกิดมามีอิสระและเสมอภาคกัน", "人" * 9, "漢字かな交じり文。"])
def test_marked_utf_16_without_any_character_of_ascii_is_read(text: str) -> None:
    text = "".join(char for char in text if not char.isascii())
    found = decoded(text.encode("utf-16"))
    assert (found.text, found.judgement.told) == (text, ("utf-16-le", 1.0, ""))


@pytest.mark.parametrize("text", ["Перелік відомих помилок і можливостей програми, якщо її не зупинено.", RUSSIAN])
def test_text_in_cp1251_is_not_taken_for_kazakh(text: str) -> None:
    found = decoded(text.encode("cp1251"))
    assert (found.text, found.judgement.encoding) == (text, "cp1251")


def test_a_long_line_without_ascii_takes_time_in_proportion_to_its_length() -> None:
    line = (CHINESE.replace(",", "") * 4000).encode("gb18030")
    started = time.process_time()
    Mixture().add(line)
    assert time.process_time() - started < 1  # a quadratic search took minutes


@pytest.mark.parametrize("late", ["utf-8", "cp1251"])
@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_a_line_whose_only_accents_stand_beyond_its_first_200_kb_is_read(
    tmp_path: Path, suffix: str, late: str
) -> None:
    early = "cp1251" if late == "utf-8" else "utf-8"
    texts = [(RUSSIAN, early)] * 3 + [("plain words " * 20_000 + RUSSIAN, late)]
    lines = [('{"text": "%s"}' % text if suffix == "jsonl" else text, name) for text, name in texts]  # noqa: UP031
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"".join((line + "\n").encode(name) for line, name in lines))
    if suffix == "txt":
        found = decoded(path.read_bytes())
        assert found.text.splitlines() == [text for text, _ in texts]
        judgement = found.judgement
    else:
        assert [row.values["text"] for row in open_table(path, megabytes=1).rows()] == [text for text, _ in texts]
        judgement = judged_file(path)
    assert judgement.encoding == "utf-8+cp1251"
