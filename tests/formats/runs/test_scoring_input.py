"""Judgments and runs in every format give the same figures; what is malformed is refused with file, line and reason."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import polars as pl
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import InputError
from goldbench.formats.runs import trec_frames
from goldbench.measures.names import parse_measures
from goldbench.measures.result import Result
from goldbench.score import runs
from tests.conftest import posix

QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1, "d": 0}}
RUN = {"q1": {"x": 3.0, "b": 2.5, "a": 0.1}, "q2": {"d": 1e-3, "c": 1e-3}}
MEASURES = parse_measures(["ndcg@10 map@10 mrr p@2 judged@2"])


def trec_qrels(qrels=QRELS) -> str:
    return "".join(f"{q} 0 {d} {g}\n" for q, judged in qrels.items() for d, g in judged.items())


def trec_run(run=RUN, separator: str = " ", end: str = "\n") -> str:
    return "".join(
        separator.join([q, "Q0", d, str(rank), repr(s), "tag"]) + end
        for q, documents in run.items()
        for rank, (d, s) in enumerate(documents.items(), 1)
    )


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.qrels"
    path.write_text(trec_qrels())
    return path


@pytest.fixture(params=["small", "large"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of reading a TREC run: plain Python, and frames of a few lines each."""
    if request.param == "large":
        monkeypatch.setattr(runs, "_SMALL", -1)
        monkeypatch.setattr(trec_frames, "_BLOCK", 64)
    return request.param


def score(gold: Path, run: Path, **how) -> Result:
    return runs.score_run(runs.load_gold(gold), runs.load_run(run), MEASURES, **how)


def expected() -> Result:
    from goldbench.measures import evaluate

    return evaluate(QRELS, RUN, MEASURES)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


ROWS = [(q, d, s) for q, documents in RUN.items() for d, s in documents.items()]
JUDGED = [(q, d, g) for q, judged in QRELS.items() for d, g in judged.items()]
PLAIN = trec_run()


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        trec_run(separator="\t"),
        trec_run(separator="  "),
        trec_run(end="\r\n"),
        trec_run(end=" \n"),
        "\n" + PLAIN + "\n\n",
        "# a comment\n" + PLAIN.replace("\n", "\n# another\n"),
        "\ufeff" + PLAIN,
        PLAIN.rstrip("\n"),
        "".join(sorted(PLAIN.splitlines(keepends=True), key=lambda line: line.split()[2])),
        PLAIN.replace(" 1 ", " 99 ").replace("Q0", "0"),
    ],
    ids=["plain", "tabs", "two spaces", "crlf", "space at the end", "empty lines", "comments", "mark",
         "no last newline", "in no order", "ranks that lie"],
)  # fmt: skip
def test_a_trec_run_reads_alike_however_it_is_spaced(gold: Path, tmp_path: Path, reader: str, content: str) -> None:
    assert score(gold, write(tmp_path / "run.trec", content)) == expected()


@pytest.mark.parametrize("form", ["trec", "json", "csv"])
@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_packed_run_reads_alike(gold: Path, tmp_path: Path, reader: str, form: str, packing: str) -> None:
    content = {
        "trec": PLAIN,
        "json": json.dumps(RUN),
        "csv": pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score"], orient="row").write_csv(),
    }[form].encode()
    packed = gzip.compress(content) if packing == "gz" else pyarrow.compress(content, codec="zstd", asbytes=True)
    assert score(gold, write(tmp_path / f"run.{form}.{packing}", packed)) == expected()


def json_lines() -> str:
    records = [
        {"query_id": q, "results": [{"doc_id": d, "score": s} for d, s in docs.items()]} for q, docs in RUN.items()
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", json.dumps(RUN)),
        ("run.json", json.dumps({q: list(d.items()) for q, d in RUN.items()})),
        ("run.jsonl", json_lines()),
        ("run.jsonl", "".join(json.dumps({"qid": q, "doc_id": d, "score": s}) + "\n" for q, d, s in ROWS)),
        ("run", json.dumps(RUN)),
        ("run.tsv", "qid\tdocno\tscore\n" + "".join(f"{q}\t{d}\t{s!r}\n" for q, d, s in ROWS)),
        ("run.csv", "score;doc_id;query_id\n" + "".join(f"{s!r};{d};{q}\n" for q, d, s in ROWS)),
    ],
    ids=["object", "pairs", "lines by query", "lines by document", "by content", "tsv", "semicolons"],
)
def test_runs_of_other_formats_give_the_same(gold: Path, tmp_path: Path, name: str, content: str) -> None:
    assert score(gold, write(tmp_path / name, content)) == expected()


def test_a_parquet_run_gives_the_same(gold: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score"], orient="row").write_parquet(path)
    assert score(gold, path) == expected()


def test_a_list_of_documents_is_in_the_order_of_the_list(gold: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.json", json.dumps({"q1": ["a", "x"], "q2": ["x", "c"]}))
    assert list(score(gold, run).values["mrr"]) == [1.0, 0.5]


DOUBLED = {q: {d: g * 2 for d, g in judged.items()} for q, judged in QRELS.items()}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gold.qrels", trec_qrels().replace(" ", "\t")),
        ("gold.tsv", "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in JUDGED)),
        ("gold.csv", "query_id,doc_id,relevance\n" + "".join(f"{q},{d},{g}\n" for q, d, g in JUDGED)),
        ("gold.json", json.dumps(QRELS)),
        ("dataset.json", json.dumps({"queries": {}, "corpus": {}, "relevant_docs": {}, "relevance_scores": DOUBLED})),
    ],
    ids=["trec", "beir", "csv", "json", "dataset"],
)  # fmt: skip
def test_judgments_of_other_formats_read_alike(tmp_path: Path, name: str, content: str) -> None:
    gold = runs.load_gold(write(tmp_path / name, content))
    factor = 2 if name == "dataset.json" else 1
    assert {q: {d: g // factor for d, g in judged.items()} for q, judged in gold.qrels.items()} == QRELS
    assert gold.level == 1


def test_a_gold_set_with_documents_of_grade_1_takes_2_as_relevant(tmp_path: Path) -> None:
    content = {"queries": {}, "corpus": {}, "relevant_docs": {"q": ["a"]}, "relevance_scores": {"q": {"a": 3, "b": 1}}}
    assert runs.load_gold(write(tmp_path / "dataset.json", json.dumps(content))).level == 2


def test_lists_of_relevant_documents_are_judgments(tmp_path: Path) -> None:
    content = {"queries": {}, "corpus": {}, "relevant_docs": {"q": ["a", "b"]}, "mode": "text"}
    assert runs.load_gold(write(tmp_path / "x.json", json.dumps(content))).qrels == {"q": {"a": 1, "b": 1}}


def test_a_beir_folder_brings_its_texts(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    write(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")
    write(tmp_path / "queries.jsonl", '{"_id": "q", "text": "why?"}\n')
    write(tmp_path / "corpus.jsonl", '{"_id": "a", "title": "T", "text": "because"}\n{"_id": "b", "text": "no"}\n')
    gold = runs.load_gold(tmp_path)
    assert (gold.qrels, gold.queries(), gold.corpus(["a"])) == ({"q": {"a": 1}}, {"q": "why?"}, {"a": "T\n\nbecause"})


BAD_RUNS = {
    "five columns": ("q1 Q0 a 1 0.5\n", 1, "5 columns"),
    "seven columns": ("q1 Q0 a 1 0.5 t\nq1 Q0 b c 1 0.5 t\n", 2, "7 columns"),
    "a missing tag and two spaces": ("q1  Q0 a 1 0.5\n", 1, "5 columns"),
    "a missing document and two spaces": ("q1 Q0  1 0.5 t\n", 1, "5 columns"),
    "five columns and seven": ("q1 Q0 a 1 0.5\nq1 Q0 b 1 0.5 t x\n", 1, "5 columns"),
    "text in a score": ("q1 Q0 a 1 0.5 t\nq1 Q0 b 2 high t\n", 2, "the score"),
    "no score": ("q1 Q0 a 1 - t\n", 1, "the score"),
    "a score with underscores": ("q1 Q0 a 1 1_0 t\n", 1, "the score"),
    "a score in hexadecimal": ("q1 Q0 a 1 0x10 t\n", 1, "the score"),
    "a decimal comma": ("q1 Q0 a 1 0,5 t\n", 1, "the score"),
    "nan": ("q1 Q0 a 1 nan t\n", 1, "the score"),
    "infinity": ("q1 Q0 a 1 -inf t\n", 1, "the score"),
    "a score beyond float64": ("q1 Q0 a 1 1e999 t\n", 1, "the score"),
    "a duplicate": ("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n\nq1 Q0 a 3 0.5 t\n", 4, "already in line 1"),
    "a duplicate far away": ("q1 Q0 a 1 2 t\nq2 Q0 b 2 1 t\nq1 Q0 a 3 0.5 t\n", 3, "already in line 1"),
    "a duplicate of a query that is not judged": (
        "x Q0 a 1 2 t\nx Q0 a 2 1 t\nq1 Q0 a 1 1 t\n",
        2,
        "already in line 1",
    ),
    "latin-1": ("q1 Q0 a 1 2 t\nq1 Q0 é 2 1 t\n".encode("latin-1"), 2, "UTF-8"),
    "mixed encodings": ("q1 Q0 é 1 2 t\n".encode() + "q1 Q0 è 2 1 t\n".encode("latin-1"), 2, "UTF-8"),
    "utf-16": ("q1 Q0 a 1 2 t\n".encode("utf-16"), None, "UTF-16"),
    "no query of the qrels": ("x1 Q0 a 1 2 t\n", None, "has none of the query ids of the judgments"),
    "nothing": ("", None, "holds no results"),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_a_bad_trec_run_is_refused_with_file_line_and_reason(
    gold: Path, tmp_path: Path, reader: str, case: str
) -> None:
    content, line, reason = BAD_RUNS[case]
    path = write(tmp_path / "run.trec", content)
    with pytest.raises(InputError, match=reason) as caught:
        score(gold, path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_truncated_archive_is_refused(gold: Path, tmp_path: Path, reader: str, packing: str, kept: float) -> None:
    content = PLAIN.encode() * 1
    packed = gzip.compress(content) if packing == "gz" else pyarrow.compress(content, codec="zstd", asbytes=True)
    path = write(tmp_path / f"run.trec.{packing}", packed[: int(len(packed) * kept)])
    with pytest.raises(InputError, match="cut short"):
        score(gold, path)


def test_a_packed_run_may_have_several_members_and_be_filled_up_with_zeros(gold: Path, tmp_path: Path) -> None:
    lines = PLAIN.encode().splitlines(keepends=True)
    packed = b"".join(map(gzip.compress, [*lines[:2], b"", *lines[2:]])) + bytes(100_000)
    assert score(gold, write(tmp_path / "run.trec.gz", packed)) == expected()


@pytest.mark.parametrize("damage", ["follows", "checksum", "length"])
def test_a_damaged_archive_is_refused(gold: Path, tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(PLAIN.encode()))
    if damage == "follows":
        packed += b"something else"
    else:
        packed[-8 if damage == "checksum" else -1] ^= 1
    with pytest.raises(InputError, match="damaged"):
        score(gold, write(tmp_path / "run.trec.gz", bytes(packed)))


BAD_JSON = {
    "no json": ('{"q1": {"a": 1.0}', 1, "is not valid JSON"),
    "nan": ('{"q1": {"a": NaN}}', None, "not a finite number"),
    "infinity": ('{"q1": {"a": 1e999}}', None, "not a finite number"),
    "text": ('{"q1": {"a": "1"}}', None, "not a number"),
    "true": ('{"q1": {"a": true}}', None, "not a number"),
    "a document twice": ('{"q1": {"a": 1, "a": 2}}', None, "twice"),
    "a query twice": ('{"q1": {"a": 1}, "q1": {"b": 2}}', None, "twice"),
    "a document twice in a list": ('{"q1": ["a", "b", "a"]}', None, "results 1 and 3"),
    "numbers as documents": ('{"q1": [1, 2]}', None, "not a string"),
    "a number": ("3", None, "not an object"),
    "a string": ('{"q1": "a"}', None, "neither"),
    "some with a score": ('{"q1": [{"doc_id": "a", "score": 1}, {"doc_id": "b"}]}', None, "some"),
    "nesting": ("[" * 100_000, None, "JSON"),
    "pairs beside documents": ('{"q1": [["a", -5], "b"]}', None, "some"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_a_bad_json_run_is_refused(gold: Path, tmp_path: Path, case: str) -> None:
    content, line, reason = BAD_JSON[case]
    with pytest.raises(InputError, match=reason) as caught:
        score(gold, write(tmp_path / "run.json", content))
    assert caught.value.line == line


BAD_JSON_LINES = {
    "a document twice": ('{"query_id": "q1", "results": {"a": 1, "a": 2}}\n', "names 'a' twice"),
    "a surrogate in the bytes": (b'{"query_id": "q1", "results": ["a\xed\xa0\x80"]}\n', "not UTF-8"),
    "utf-16": ('{"query_id": "q1", "results": ["a"]}'.encode("utf-16"), "UTF-16"),
    "results, then a row": (
        '{"query_id": "q1", "results": {"a": 1}}\n{"query_id": "q1", "doc_id": "b", "score": 1}\n',
        "in two records",
    ),
    "a row, then results": (
        '{"query_id": "q1", "doc_id": "b", "score": 1}\n{"query_id": "q1", "results": ["a"]}\n',
        "in two records",
    ),
}


@pytest.mark.parametrize("case", BAD_JSON_LINES)
def test_bad_json_lines_are_refused(gold: Path, tmp_path: Path, case: str) -> None:
    content, reason = BAD_JSON_LINES[case]
    with pytest.raises(InputError, match=reason):
        score(gold, write(tmp_path / "run.jsonl", content))


def test_json_lines_may_begin_with_a_byte_order_mark(gold: Path, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"query_id": q, "results": found}) + "\n" for q, found in RUN.items())
    assert score(gold, write(tmp_path / "run.jsonl", b"\xef\xbb\xbf" + lines.encode())) == expected()


BAD_TABLES = {
    "a column twice": ("query_id,doc_id,score,score\nq1,a,1,5\n", None, "two columns score"),
    "a column in two spellings": ("query_id,doc_id,doc-id,score\nq1,a,b,5\n", None, "two columns doc_id"),
    "no column": ("query_id,text,score\nq1,a,1\n", None, "has no column doc_id"),
    "text in a score": ("query_id,doc_id,score\nq1,a,1\nq1,b,x\n", 3, "the score is not a finite number"),
    "nan": ("query_id,doc_id,score\nq1,a,nan\n", 2, "the score is not a finite number"),
    "an empty cell": ("query_id,doc_id,score\nq1,,1\n", 2, "empty"),
    "a short row": ("query_id,doc_id,score\nq1,a\n", 2, "empty"),
    "a long row": ("query_id,doc_id,score\nq1,a,1,5\n", None, "not a table"),
    "a duplicate": ("query_id,doc_id,score\nq1,a,1\nq1,b,1\nq1,a,0\n", 4, "already in line 2"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_refused(gold: Path, tmp_path: Path, case: str) -> None:
    content, line, reason = BAD_TABLES[case]
    with pytest.raises(InputError, match=reason) as caught:
        score(gold, write(tmp_path / "run.csv", content))
    assert caught.value.line == line


def test_what_is_no_parquet_is_refused(gold: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a Parquet"):
        score(gold, write(tmp_path / "run.parquet", b"PAR1 and nothing more"))


BAD_QRELS = {
    "three columns": ("q1 0 a\n", 1, "3 columns"),
    "five columns": ("q1 0 a 1\nq1 0 b 1 x\n", 2, "5 columns"),
    "half a grade": ("q1 0 a 2.7\n", 1, "not a whole number"),
    "text for a grade": ("q1 0 a yes\n", 1, "not a whole number"),
    "a huge grade": ("q1 0 a 99999999999999999999\n", 1, "not a whole number"),
    "a duplicate": ("q1 0 a 1\nq1 0 b 1\nq1 0 a 0\n", 3, "already in line 1"),
    "latin-1": ("q1 0 é 1\n".encode("latin-1"), 1, "UTF-8"),
    "nothing": ("", None, "holds no judgment"),
    "two columns of beir": ("query-id\tcorpus-id\tscore\nq1\ta\n", 2, "2 columns"),
    "a duplicate of beir": ("query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\ta\t0\n", 3, "already in line 2"),
}


@pytest.mark.parametrize("case", BAD_QRELS)
def test_bad_judgments_are_refused(tmp_path: Path, case: str) -> None:
    content, line, reason = BAD_QRELS[case]
    with pytest.raises(InputError, match=reason) as caught:
        runs.load_gold(write(tmp_path / "gold.qrels", content))
    assert caught.value.line == line


def test_judgments_without_a_positive_grade_are_refused(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.qrels", "q1 0 a 0\nq1 0 b -1\n")
    with pytest.raises(InputError, match="no judgment of grade 1 or more"):
        score(gold, write(tmp_path / "run", "q1 Q0 a 1 1 t\n"))


def test_the_share_of_judged_results_does_not_hide_that_no_grade_is_high_enough(tmp_path: Path) -> None:
    gold = runs.load_gold(write(tmp_path / "gold.qrels", "q1 0 a 1\n"))
    run = runs.load_run(write(tmp_path / "run", "q1 Q0 a 1 1 t\n"))
    with pytest.raises(InputError, match="no judgment of grade 3 or more"):
        runs.score_run(gold, run, parse_measures(["ap(rel=3) judged@10"]))
    assert runs.score_run(gold, run, parse_measures(["ap(rel=3) hit@1"])).mean("map(rel=3)") == 0


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_a_path_without_a_run_is_refused(gold: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        runs.load_run(tmp_path / name)
    with pytest.raises(InputError):
        runs.load_gold(tmp_path / name)


def test_texts_are_matched_where_there_are_no_ids(tmp_path: Path) -> None:
    dataset = {
        "queries": {"q": "who?"},
        "corpus": {"a": "Anna  Pávlovna was\nMaria's confidante.", "b": "Something else entirely."},
        "relevant_docs": {"q": ["a", "b"]},
    }
    gold = write(tmp_path / "dataset.json", json.dumps(dataset))
    retrieved = {
        "q": ["unrelated", "ANNA PÁVLOVNA was", "anna pávlovna", "", "It began. Something else entirely. It ended."]
    }
    run = write(tmp_path / "run.json", json.dumps(retrieved))
    result = runs.score_run(runs.load_gold(gold), runs.load_run(run), parse_measures(["mrr r@5 p@5"]), match="text")
    assert [result.values[m][0] for m in ("mrr", "r@5", "p@5")] == [0.5, 1.0, 0.4]


def test_passages_with_scores_are_ranked_by_them(tmp_path: Path) -> None:
    gold = write(
        tmp_path / "d.json", json.dumps({"corpus": {"a": "yes"}, "queries": {}, "relevant_docs": {"q": ["a"]}})
    )
    run = write(tmp_path / "r.json", json.dumps({"q": [{"text": "no", "score": 1}, {"text": "yes", "score": 2}]}))
    loaded = runs.load_gold(gold), runs.load_run(run)
    assert runs.score_run(*loaded, parse_measures(["mrr"]), match="text").mean("mrr") == 1.0
    assert [r.text for r in runs.top_documents(*loaded, depth=2, match="text")["q"]] == ["yes", "no"]


def test_top_documents_stand_in_the_order_in_which_they_are_measured(gold: Path, tmp_path: Path, reader: str) -> None:
    run = runs.load_run(write(tmp_path / "run.trec", PLAIN))
    top = runs.top_documents(runs.load_gold(gold), run, depth=2)
    assert [(r.doc_id, r.grade) for r in top["q1"]] == [("x", None), ("b", 2)]
    assert [(r.doc_id, r.grade) for r in top["q2"]] == [("d", 0), ("c", 1)]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_polars_reads_a_score_as_python_does(scores: list[float]) -> None:
    block = "".join(f"q Q0 d{i} 1 {s!r} t\n" for i, s in enumerate(scores)).encode()
    frame = trec_frames._plain(block)
    assert frame is not None
    assert frame["score"].to_list() == scores


@posix
@pytest.mark.parametrize("reader", ["small", "large"], indirect=True)
def test_a_pipe_is_read_as_a_file_is(gold: Path, tmp_path: Path, reader: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(trec_run(),))
    writer.start()
    assert score(gold, pipe) == expected()
    writer.join()


@posix
def test_judgments_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(trec_qrels(),))
    writer.start()
    assert runs.load_gold(pipe).qrels == QRELS
    writer.join()


@pytest.mark.parametrize("reader", ["small", "large"], indirect=True)
def test_a_frame_that_readers_skip_may_stand_before_a_zstd_frame(gold: Path, tmp_path: Path, reader: str) -> None:
    packed = pyarrow.compress(trec_run().encode(), codec="zstd", asbytes=True)
    path = write(tmp_path / "run.trec.zst", b"\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04" + packed)
    assert score(gold, path) == expected()


def test_a_grade_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a whole number from"):
        runs.load_gold(write(tmp_path / "gold.json", '{"q1": {"a": 1e400}}'))


@pytest.mark.parametrize("reader", ["small", "large"], indirect=True)
@pytest.mark.parametrize("order", [1, -1])
def test_judgments_with_half_a_surrogate_pair_meet_runs_that_cannot_have_one(
    tmp_path: Path, reader: str, order: int
) -> None:
    gold = write(tmp_path / "gold.json", json.dumps({"\ud800": {"a": 1}, **QRELS, "q1": {"\udfff": 1, **QRELS["q1"]}}))
    rows = trec_run().splitlines(keepends=True)[::order]
    run = write(tmp_path / "run.trec", rows[0] + "".join(sorted(rows[1:], key=lambda row: row[6:])))
    result = score(gold, run)
    assert (list(result.query_ids), result.counts.missing) == (["q1", "q2", "\ud800"], 1)
    assert result.values["ndcg@10"][1] == expected().values["ndcg@10"][1]
    found = runs.top_documents(runs.load_gold(gold), runs.load_run(run), depth=1)
    assert {query: top[0].doc_id for query, top in found.items()} == {"q1": "x", "q2": "d"}


@pytest.mark.parametrize("member", ["queries", "corpus"])
def test_texts_of_another_shape_are_no_texts(tmp_path: Path, member: str) -> None:
    path = write(tmp_path / "dataset.json", json.dumps({"relevant_docs": {"q1": ["a"]}, member: ["no", "object"]}))
    gold = runs.load_gold(path)
    assert (gold.queries(), gold.corpus()) == ({}, {})


def test_a_name_that_is_too_long_is_bad_input(tmp_path: Path) -> None:
    for read in (runs.load_gold, runs.load_run, lambda name: runs.named_runs([name])):
        with pytest.raises(InputError, match=r"too long|not found"):
            read("x" * 5000)
