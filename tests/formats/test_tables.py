"""Rows to documents: fields, ids, and everything a table can have wrong with it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.documents.reading import Read, read

ROWS = [{"text": "first text", "title": "One", "key": "k1"}, {"text": "second text", "title": "Two", "key": "k2"}]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    suffix = path.suffix
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix in {".csv", ".tsv"}:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == ".json":
        path.write_text(json.dumps(rows), "utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read_text(tmp_path: Path, name: str, content: str | bytes, **options: object) -> Read:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read(tmp_path / name, **options)


def only_failure(outcome: Read) -> str:
    assert outcome.documents == []
    (failure,) = outcome.failures
    return failure.rsplit("/", 1)[-1]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "ndjson", "json", "parquet"])
def test_rows_become_documents_with_their_ids_and_titles(tmp_path: Path, suffix: str) -> None:
    outcome = read(write(tmp_path / f"rows.{suffix}", ROWS), id_field="key", ready_chunks=True)
    assert [
        (document.doc_id, document.title, document.text, document.source, document.ready)
        for document in outcome.documents
    ] == [("k1", "One", "first text", f"rows.{suffix}#1", True), ("k2", "Two", "second text", f"rows.{suffix}#2", True)]


def test_the_fields_can_be_named(tmp_path: Path) -> None:
    rows = [{"text": "not this", "passage": "this", "caption": "Caption"}]
    (one,) = read(write(tmp_path / "a.csv", rows), text_field="passage", title_field="caption").documents
    assert (one.text, one.title) == ("this", "Caption")


def test_fields_of_objects_are_named_with_dots(tmp_path: Path) -> None:
    row = {"page_content": "this", "metadata": {"title": "Caption", "key": "k1"}}
    outcome = read(write(tmp_path / "a.jsonl", [row]), title_field="metadata.title", id_field="metadata.key")
    assert [(document.doc_id, document.title, document.text) for document in outcome.documents] == [
        ("k1", "Caption", "this")
    ]
    assert read(tmp_path / "a.jsonl", text_field="metadata.title").texts == ["Caption"]


def test_a_faq_has_its_question_as_title(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path / "faq.csv", [{"Question": "Why?", "Answer": "Because."}])).documents
    assert (one.text, one.title) == ("Because.", "Why?")


def test_a_row_of_a_table_without_a_text_column_is_its_cells_by_name(tmp_path: Path) -> None:
    table = "code,meaning,cause,remedy\nE1,Open circuit,Broken wire,Mend it\nE2,Short,,Replace it\n"
    assert read_text(tmp_path, "errors.csv", table).texts == [
        "code: E1\nmeaning: Open circuit\ncause: Broken wire\nremedy: Mend it",
        "code: E2\nmeaning: Short\nremedy: Replace it",
    ]


@pytest.mark.parametrize("option", ["text_field", "id_field", "title_field"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_field_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, option: str, suffix: str) -> None:
    failure = only_failure(read(write(tmp_path / f"a.{suffix}", ROWS), **{option: "body"}))
    assert failure == f"a.{suffix}: has no field body (documents.{option}); it has text, title, key"


def test_json_lines_without_a_text_field_ask_for_its_name(tmp_path: Path) -> None:
    assert "(documents.text_field); it has utterance, speaker" in only_failure(
        read(write(tmp_path / "a.jsonl", [{"utterance": "hello", "speaker": 1}]))
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_a_row_without_text_costs_itself_alone(tmp_path: Path, suffix: str) -> None:
    rows = [{"text": "one", "n": "1"}, {"text": "  ", "n": "2"}, {"text": "three", "n": "3"}]
    outcome = read(write(tmp_path / f"a.{suffix}", rows))
    assert outcome.texts == ["one", "three"]
    where = "row 2: has" if suffix in {"json", "parquet"} else f"line {2 if suffix == 'jsonl' else 3}: has"
    assert outcome.failures == [f"{tmp_path}/a.{suffix}{': ' if 'row' in where else ', '}{where} no text"]


@pytest.mark.parametrize("options", [{}, {"id_field": "id"}])
@pytest.mark.parametrize(("value", "texts"), [(None, []), (5, ["5"]), (2.5, ["2.5"]), (["a"], []), ({"a": 1}, [])])
def test_a_json_text_that_is_no_string_is_no_surprise(
    tmp_path: Path, value: object, texts: list[str], options: dict[str, str]
) -> None:
    outcome = read_text(tmp_path, "a.jsonl", json.dumps({"text": value, "id": "x"}), **options)
    assert outcome.texts == texts
    assert len(outcome.texts) + len(outcome.failures) == 1


def test_the_same_rows_in_another_file_have_other_ids(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ROWS)
    write(tmp_path / "b.csv", ROWS)
    assert len(set(read(tmp_path).ids)) == 4


def test_a_row_added_changes_no_other_id(tmp_path: Path) -> None:
    before = read(write(tmp_path / "a.csv", ROWS)).ids
    assert read(write(tmp_path / "a.csv", [{"text": "new", "title": "", "key": ""}, *ROWS])).ids[1:] == before


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("a b", "the id a b contains white space or a control character"),
        ("a\u3000b", "contains white space or a control character"),
        ("a\u0001b", r"the id a\x01b contains white space or a control character"),
        ("", "the id is empty"),
        ("#1", "the id #1 begins with #"),
        ("x" * 201, "has 201 characters, more than 200"),
    ],
)
def test_an_id_that_would_break_a_format_is_refused_with_its_line(tmp_path: Path, key: str, problem: str) -> None:
    rows = [*ROWS, {"text": "third", "title": "", "key": key}]
    outcome = read(write(tmp_path / "a.jsonl", rows), id_field="key")
    assert outcome.ids == ["k1", "k2"]
    assert outcome.failures[0].startswith(f"{tmp_path}/a.jsonl, line 3: the id")
    assert problem in outcome.failures[0]


@pytest.mark.parametrize("key", [None, 1.5, True, ["a"]])
def test_an_id_that_is_no_id_is_refused(tmp_path: Path, key: object) -> None:
    rows = [{"text": "first", "key": key}]
    assert "line 1: " in only_failure(read(write(tmp_path / "a.jsonl", rows), id_field="key"))


def test_a_whole_number_is_an_id(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", [{"text": "first", "key": 7}]), id_field="key").ids == ["7"]


def test_an_id_given_twice_counts_once_and_is_named_with_both_lines(tmp_path: Path) -> None:
    rows = [*ROWS, {"text": "third", "title": "", "key": "k1"}, {"text": "fourth", "title": "", "key": "k4"}]
    outcome = read(write(tmp_path / "a.csv", rows), id_field="key")
    assert outcome.texts == ["first text", "second text", "fourth"]
    problem = "line 4: the id k1 was given before, in line 2: make ids differ, or name no id field"
    assert outcome.failures == [f"{tmp_path}/a.csv, {problem}"]


def test_an_id_given_in_two_files_is_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ROWS)
    write(tmp_path / "b.jsonl", ROWS[::-1])
    outcome = read(tmp_path, id_field="key")
    assert outcome.ids == ["k1", "k2"]
    assert f"b.jsonl, line 1: the id k2 was given before, in {tmp_path}/a.csv" in outcome.failures[0]


def test_an_id_a_document_has_is_refused_for_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a document")
    (doc_id,) = read(tmp_path).ids
    write(tmp_path / "b.csv", [{"text": "a row", "key": doc_id}])
    outcome = read(tmp_path, id_field="key")
    assert len(outcome.documents) == 1
    assert f"the id {doc_id} was given before, in {tmp_path}/a.txt" in outcome.failures[0]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ('text,n\ngood,1\n"never closed,1\nmore,2\n', 3),
        ('text,n\n"two\nlines",1\n"a"b,2\n', 4),
        ("text,text\na,b\n", 1),
    ],
)
def test_a_malformed_csv_gives_nothing_and_names_the_line(tmp_path: Path, table: str, line: int) -> None:
    assert only_failure(read_text(tmp_path, "a.csv", table)).startswith(f"a.csv, line {line}: ")


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ('{"text": "x"', "is not valid JSON"),
        ("[1, 2]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('"text"', "is not a JSON object"),
        ("{text: 1}", "is not valid JSON"),
        ('{"text": "half \\ud800 a pair"}', "half a surrogate pair"),
        ("[" * 200_000, "is nested too deeply"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "holds a number of too many digits"),
        ("\0", "is not valid JSON"),
    ],
)
def test_a_malformed_line_of_json_costs_itself_alone_and_is_named(tmp_path: Path, bad: str, problem: str) -> None:
    outcome = read_text(tmp_path, "a.jsonl", '{"text": "good"}\n\n' + bad + '\n{"text": "also good"}\n')
    assert outcome.texts == ["good", "also good"]
    (failure,) = outcome.failures
    assert failure.startswith(f"{tmp_path}/a.jsonl, line 3: ")
    assert problem in failure


@pytest.mark.parametrize("bad", [b"bad", b"bad,1,2", b"nul\0,2", "M\u00fcll,2".encode("cp1252")])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_malformed_row_costs_itself_alone_and_is_named(tmp_path: Path, bad: bytes, suffix: str) -> None:
    table = b"text,n\ngood,1\n" + bad + "\nWärme und Öl für größere Räume,3\ngood too,4\n".encode()
    table = table if suffix == "csv" else table.replace(b",", b"\t")
    outcome = read_text(tmp_path, f"a.{suffix}", table, text_field="text")
    assert outcome.texts == ["good", "Wärme und Öl für größere Räume", "good too"]
    (failure,) = outcome.failures
    assert failure.startswith(f"{tmp_path}/a.{suffix}, line 3: ")


def test_messages_hold_nothing_of_the_text(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv"):
        (tmp_path / name).write_text('text,n\n{"text": "SECRET\n"SECRET,', "utf-8")
    failures = read(tmp_path).failures
    assert len(failures) == 2
    assert not any("SECRET" in failure for failure in failures)


def test_escaped_nul_and_odd_spaces_in_json_survive(tmp_path: Path) -> None:
    text = "a\0b \u2028 c \x85 d \u202e e\u0301"
    assert read_text(tmp_path, "a.jsonl", json.dumps({"text": text})).texts == [text]


ROWLESS = {
    "csv": ("", "\n\n", "text,n\n"),
    "tsv": ("", "\n\n", "text,n\n"),
    "jsonl": ("", "\n \n"),
    "json": ("", "{}", '{"a": 1}', "[1]", "[[", "[" * 100_000, "[]"),
}


@pytest.mark.parametrize("suffix", ROWLESS)
def test_a_file_without_rows_is_a_failure(tmp_path: Path, suffix: str) -> None:
    for content in ROWLESS[suffix]:
        assert f"a.{suffix}" in only_failure(read_text(tmp_path, f"a.{suffix}", content))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_found(tmp_path: Path, delimiter: str) -> None:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=delimiter)
    writer.writerows([["text", "n"], ["One, two; three|four\tfive", "1"], ["six", "2"]])
    assert read_text(tmp_path, "a.csv", table.getvalue()).texts == ["One, two; three|four\tfive", "six"]


def test_a_table_of_one_column_is_a_table(tmp_path: Path) -> None:
    assert read_text(tmp_path, "a.csv", 'text\nplain\n"quoted, with comma"\n').texts == ["plain", "quoted, with comma"]


def test_a_tsv_with_loose_quotes_is_read_without_quoting(tmp_path: Path) -> None:
    assert read_text(tmp_path, "a.tsv", 'text\tn\n"Hello, he said\t1\nan inch is 1"\t2\n').texts == [
        '"Hello, he said',
        'an inch is 1"',
    ]


def test_line_ends_in_cells_are_read_as_lf(tmp_path: Path) -> None:
    assert read_text(tmp_path, "a.csv", b'text,n\r\n"one\r\ntwo\rthree",1\r\n').texts == ["one\ntwo\nthree"]


def test_an_open_quote_in_a_large_file_is_refused_in_little_memory(tmp_path: Path) -> None:
    failure = only_failure(read_text(tmp_path, "a.csv", 'text,n\n"open,1\n' + "line of text,2\n" * 2_000_000))
    assert failure.startswith("a.csv, line 2: ")


def test_a_table_of_a_million_columns_is_refused(tmp_path: Path) -> None:
    assert "columns" in only_failure(read_text(tmp_path, "a.csv", "," * 10**6 + "\n" + "," * 10**6 + "\n"))


def test_parquet_that_is_none_is_refused(tmp_path: Path) -> None:
    assert "not a Parquet file" in only_failure(read_text(tmp_path, "a.parquet", b"PAR1 nothing of the kind PAR1"))


def test_parquet_numbers_and_nulls_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "text": ["one", None]}), tmp_path / "a.parquet")
    outcome = read(tmp_path / "a.parquet", id_field="id")
    assert outcome.ids == ["1"]
    assert outcome.failures == [f"{tmp_path}/a.parquet: row 2: has no text"]


def test_parquet_cut_short_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [{"text": "x" * 1000}] * 5000)
    data = (tmp_path / "a.parquet").read_bytes()
    assert "damaged" in only_failure(read_text(tmp_path, "b.parquet", data[: len(data) // 2]))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")), min_size=1))
def test_csv_as_the_standard_library_writes_it_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    outcome = read(write(path, [{"text": text, "n": "1"} for text in texts]))
    assert outcome.texts == [text for text in texts if text.strip()]


def test_the_published_chunks_are_read(collections: Path) -> None:
    outcome = read(collections / "percent4/doc_qa_dataset.csv", text_field="content", ready_chunks=True)
    assert len(outcome.documents) == 433
    assert (min(map(len, outcome.texts)), max(map(len, outcome.texts))) == (3, 249)
    assert outcome.failures == []


def test_of_published_chunk_numbers_that_start_again_in_each_source_the_first_count(collections: Path) -> None:
    outcome = read(collections / "percent4/doc_qa_dataset.csv", text_field="content", id_field="cont_id")
    assert len(outcome.documents) + len(outcome.failures) == 433
    assert "doc_qa_dataset.csv, line 22: the id 1 was given before, in line 2" in outcome.failures[0]


@pytest.mark.parametrize("language", ["en", "zh", "ar", "hi", "th"])
def test_a_corpus_in_beirs_format_is_read(collections: Path, language: str) -> None:
    path = collections / f"xquad_{language}/corpus.jsonl"
    expected = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    outcome = read(path, id_field="_id")
    assert [(document.doc_id, document.text) for document in outcome.documents] == [
        (row["_id"], row["text"]) for row in expected
    ]
