"""Public benchmarks as gold sets: the same judgments, what is broken named by its line, the same bytes each time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import InputError, OutputError, UsageError
from goldbench.formats.benchmarks.collection import Chosen
from goldbench.formats.benchmarks.grades import choose_grading, parse_grades, suggestion
from goldbench.formats.benchmarks.kinds import open_collection
from goldbench.goldset.importer import ImportResult, Options, import_collection
from goldbench.goldset.integrity import validate
from goldbench.records.relevance import RELEVANT
from tests.conftest import ROOT, Goldbench


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def bring(kind: str, path: Path, out: Path, chosen: Chosen | None = None, **options: Any) -> ImportResult:
    chosen = chosen or Chosen()
    return import_collection(open_collection(kind, str(path), chosen), out, Options(chosen, **options))


def dataset(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "dataset.json").read_text(encoding="utf-8")))


def beir(folder: Path, qrels: str = "q1\td1\t1\nq2\td2\t1\n") -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = [("d1", "One", "first text"), ("d2", "", "second text"), ("d3", "Three", "third text")]
    lines = [json.dumps({"_id": i, "title": t, "text": x, "metadata": {}}) for i, t, x in rows]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "which first?"}\n{"_id": "q2", "text": "why?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)
    return folder


def files(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in {"manifest.json", ".lock"}
    }


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its own
@pytest.mark.parametrize(
    ("name", "options"), [("xquad_zh", {}), ("cranfield", {"grades": "0=0,1=1,2=2,3=3,4=3", "drop_broken": True})]
)
def test_beirs_own_loader_reads_the_same_judgments_and_texts_from_the_import(
    collections: Path, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    from beir.datasets.data_loader import GenericDataLoader

    place = collections / name
    given_corpus, given_queries, given = GenericDataLoader(
        corpus_file=str(place / "corpus.jsonl"),
        query_file=str(place / "queries.jsonl"),
        qrels_file=str(place / "qrels.tsv"),
    ).load_custom()
    imported = bring("beir", place, tmp_path / "out", **options)
    assert not validate(tmp_path / "out").problems
    corpus, queries, qrels = GenericDataLoader(str(tmp_path / "out" / "beir")).load(split="test")
    becomes = {int(old): int(new) for old, new in imported.grades.items()}
    expected = {
        query_id: {doc_id: becomes[grade] for doc_id, grade in judged.items() if doc_id in corpus}
        for query_id, judged in given.items()
    }
    pairs = Counter(tuple(row.split("\t")[:2]) for row in (place / "qrels.tsv").read_text().splitlines())
    for query_id, doc_id in (pair for pair, count in pairs.items() if count > 1):
        expected[query_id][doc_id] = qrels[query_id][doc_id]  # judged twice: BEIR's loader takes the last, we the first
    assert qrels == {q: judged for q, judged in expected.items() if max(judged.values()) >= RELEVANT}
    assert all(queries[query_id] == given_queries[query_id] for query_id in queries)
    indexed = {i: f"{row['title']} {row['text']}".strip() for i, row in given_corpus.items()}
    assert {i: row["text"] for i, row in corpus.items()} == {i: text for i, text in indexed.items() if text}


def test_the_published_llamaindex_set_is_brought_in_whole(collections: Path, tmp_path: Path) -> None:
    source = collections / "percent4" / "doc_qa_test.json"
    imported = bring("llamaindex", source, tmp_path / "out")
    given, found = json.loads(source.read_text(encoding="utf-8")), dataset(tmp_path / "out")
    assert {key: found[key] for key in ("queries", "corpus", "relevant_docs", "mode")} == given
    assert list(found["corpus"]) == list(given["corpus"])
    assert imported.manifest.evidence_level == "model"
    assert not validate(tmp_path / "out").problems


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    bring("beir", beir(tmp_path / "in"), tmp_path / "out")
    before = files(tmp_path / "out")
    other = beir(tmp_path / "other", "q1\td3\t1\n")
    with pytest.raises(OutputError, match="other settings"):
        bring("beir", other, tmp_path / "out")
    assert files(tmp_path / "out") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="not a goldbench run"):
        bring("beir", other, tmp_path / "mine")
    (tmp_path / "out" / "runs").mkdir()
    imported = bring("beir", other, tmp_path / "out", replace=True)
    assert dataset(tmp_path / "out")["relevant_docs"] == {"q1": ["d3"]}
    (runs,) = (tmp_path / "out").glob("runs*")
    assert runs.name != "runs", "results on the earlier queries are no results on these"
    assert [str(runs) in line for line in imported.set_aside] == [True]


BROKEN: list[tuple[str, str, str]] = [
    ("qrels/test.tsv", "q1\tnowhere\t1\n", "test.tsv, line 4: judges document 'nowhere'"),
    ("qrels/test.tsv", "q1\td1\t1\n", "test.tsv, line 4: query 'q1' has document 'd1' already at line 2"),
    ("corpus.jsonl", '{"_id": "d1", "text": "again"}\n', "corpus.jsonl, line 4: the id 'd1' is that of line 1 too"),
    ("corpus.jsonl", '{"_id": "d4", "text": "\\ud800"}\n', "corpus.jsonl, line 4: holds half a character"),
]


@pytest.mark.parametrize(("file", "line", "says"), BROKEN)
def test_what_is_broken_is_refused_with_its_line_or_left_out_and_listed(
    tmp_path: Path, file: str, line: str, says: str
) -> None:
    source = beir(tmp_path / "in")
    with (source / file).open("a") as opened:
        opened.write(line)
    with pytest.raises(InputError) as refused:
        bring("beir", source, tmp_path / "out")
    assert says in str(refused.value)
    assert not (tmp_path / "out").exists()
    imported = bring("beir", source, tmp_path / "out", drop_broken=True)
    assert len(imported.manifest.failures) == 1
    assert says in imported.manifest.failures[0].message
    assert sum(stage.rejected for stage in imported.manifest.stages) == 1
    assert dataset(tmp_path / "out")["relevant_docs"] == {"q1": ["d1"], "q2": ["d2"]}
    assert not validate(tmp_path / "out").problems


MALFORMED: list[tuple[str, bytes, str]] = [
    ("corpus.jsonl", b"not json\n", "corpus.jsonl, line 4: is not valid JSON"),
    ("corpus.jsonl", b'{"_id": "d4", "text": "\xff"}\n', "corpus.jsonl, line 4: is not UTF-8"),
    ("qrels/test.tsv", b"q1 d1\n", "test.tsv, line 4: 2 columns"),
    ("qrels/test.tsv", b"q1\td3\t7\n", "test.tsv, line 4: grade 7"),
]


@pytest.mark.parametrize(("file", "line", "says"), MALFORMED)
def test_what_is_malformed_is_refused_even_where_broken_things_may_be_dropped(
    tmp_path: Path, file: str, line: bytes, says: str
) -> None:
    source = beir(tmp_path / "in")
    with (source / file).open("ab") as opened:
        opened.write(line)
    with pytest.raises(InputError) as refused:
        bring("beir", source, tmp_path / "out", drop_broken=True)
    assert says in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_grades_up_to_3_are_kept_unless_the_lowest_relevant_one_is_said(tmp_path: Path) -> None:
    source = beir(tmp_path / "kept", "q1\td1\t1\nq1\td2\t2\nq2\td2\t3\nq2\td3\t0\n")
    bring("beir", source, tmp_path / "as-they-are")
    found = dataset(tmp_path / "as-they-are")
    assert found["relevance_scores"] == {"q1": {"d1": 1, "d2": 2}, "q2": {"d2": 3, "d3": 0}}
    assert found["relevant_docs"] == {"q1": ["d2"], "q2": ["d2"]}
    source = beir(tmp_path / "in", "q1\td1\t1\nq1\td2\t2\nq2\td2\t1\nq2\td3\t0\n")
    bring("beir", source, tmp_path / "out", relevant_from=1)
    assert dataset(tmp_path / "out")["relevance_scores"] == {"q1": {"d1": 2, "d2": 3}, "q2": {"d2": 2, "d3": 0}}
    assert dataset(tmp_path / "out")["metadata"]["grades"] == {"0": "0", "1": "2", "2": "3"}


def test_grades_of_other_scales_become_what_is_said(tmp_path: Path) -> None:
    source = beir(tmp_path / "in", "q1\td1\t4\nq1\td2\t-2\nq1\td3\t1\nq2\td2\t3\n")
    with pytest.raises(InputError, match=r"line 3: grade -2.*--grades -2=0,1=1,3=2,4=3"):
        bring("beir", source, tmp_path / "out")
    imported = bring("beir", source, tmp_path / "out", grades="-2=none,0..1=0,3=2,4=3")
    assert dataset(tmp_path / "out")["relevance_scores"] == {"q1": {"d1": 3, "d3": 0}, "q2": {"d2": 2}}
    assert imported.manifest.stages[-1].rules == {"unjudged-by-option": 1}


@pytest.mark.parametrize("text", ["", "1=4", "1=1,1=2", "1=3,2=1"])
def test_a_mapping_of_grades_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--grades"):
        parse_grades(text)


@given(grades=st.sets(st.integers(-5, 12), min_size=1), relevant_from=st.none() | st.integers(1, 8))
def test_no_two_grades_become_one_and_none_changes_places_without_being_told(
    grades: set[int], relevant_from: int | None
) -> None:
    grading, unknown = choose_grading(grades, stated=None, relevant_from=relevant_from)
    if unknown is not None:
        assert unknown in grades
        told, rest = choose_grading(grades, stated=parse_grades(suggestion(grades)), relevant_from=None)
        assert rest is None
        assert all(told[grade] == 0 for grade in grades if grade <= 0)
        return
    kept = [grading[grade] for grade in sorted(grades)]
    assert len(set(kept)) == len(kept)
    assert kept == sorted(kept, key=lambda grade: -1 if grade is None else int(grade))
    if relevant_from is not None:
        assert all((int(grading[grade] or 0) >= RELEVANT) == (grade >= relevant_from) for grade in grades)


def test_ids_that_cannot_stand_in_a_trec_file_are_changed_and_listed(tmp_path: Path) -> None:
    source = beir(tmp_path / "in")
    with (source / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "a b\u200b", "text": "odd"}) + "\n" + json.dumps({"_id": "#x", "text": "hash"}))
    with (source / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\ta b\u200b\t1\n")
    imported = bring("beir", source, tmp_path / "out")
    assert imported.renamed == 2
    listed = [json.loads(line) for line in (tmp_path / "out" / "0-renamed.jsonl").read_text().splitlines()]
    assert [row["original"] for row in listed] == ["a b\u200b", "#x"]
    assert dataset(tmp_path / "out")["relevant_docs"]["q1"] == ["d1", listed[0]["id"]]
    assert not validate(tmp_path / "out").problems


def test_queries_without_a_relevant_passage_are_left_out_and_counted(tmp_path: Path) -> None:
    source = beir(tmp_path / "in", "q1\td1\t1\nq2\td2\t0\n")
    with (source / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q3", "text": "unjudged"}\n')
    imported = bring("beir", source, tmp_path / "out")
    assert list(dataset(tmp_path / "out")["queries"]) == ["q1"]
    rules = {stage.stage: stage.rules for stage in imported.manifest.stages}
    assert rules == {
        "documents": {},
        "queries": {"none-relevant": 1, "unjudged": 1},
        "judgments": {"query-left-out": 1},
    }


def test_the_split_is_test_unless_named_and_never_guessed_among_others(tmp_path: Path) -> None:
    source = beir(tmp_path / "in")
    (source / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td3\t1\n")
    bring("beir", source, tmp_path / "test")
    bring("beir", source, tmp_path / "train", Chosen(split="train"))
    assert dataset(tmp_path / "test")["relevant_docs"]["q1"] == ["d1"]
    assert dataset(tmp_path / "train")["relevant_docs"] == {"q1": ["d3"]}
    (source / "qrels" / "test.tsv").rename(source / "qrels" / "other.tsv")
    with pytest.raises(UsageError, match=r"other\.tsv, train\.tsv"):
        bring("beir", source, tmp_path / "x")
    with pytest.raises(InputError, match="of the split 'dev'"):
        bring("beir", source, tmp_path / "x", Chosen(split="dev"))


def squad(context: str, start: int) -> dict[str, Any]:
    answers = [{"text": "Paris", "answer_start": start}, {"text": "Paris", "answer_start": start}]
    questions = [
        {"id": "s1", "question": "Where?", "answers": answers},
        {"id": "s2", "question": "Who?", "answers": [], "is_impossible": True},
    ]
    return {"version": "2", "data": [{"title": "City", "paragraphs": [{"context": context, "qas": questions}]}]}


def test_the_answers_of_squad_become_evidence_at_their_place(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(squad("It is 巴黎, Paris.", 10)))
    imported = bring("squad", tmp_path / "s.json", tmp_path / "out")
    (query,) = [json.loads(line) for line in (tmp_path / "out" / "3-queries.jsonl").read_text().splitlines()]
    assert query["answer"] == "Paris"
    assert [(e["start"], e["end"], e["quote"]) for e in query["evidence"]] == [(10, 15, "Paris")]
    assert imported.manifest.stages[1].rules == {"unjudged": 1}
    assert not validate(tmp_path / "out").problems


def test_an_answer_of_squad_that_is_not_where_it_is_said_to_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(squad("It is Paris.", 3), indent=1))
    with pytest.raises(InputError, match=r"s.json: question 's1': its answer does not stand at character 3"):
        bring("squad", tmp_path / "s.json", tmp_path / "out")


CONTEXT = "大熊猫主要栖息在四川、陕西和甘肃的山区。1961年，它成为世界自然基金会的标志。"
CMRC = [
    ("大熊猫栖息在哪里？", ["四川、陕西和甘肃的山区", "四川"]),
    ("它何时成为标志？", ["一九六一年", "1961年", "1961 年"]),
    ("谁选了它？", ["自然基金", "WWF"]),
    ("它吃什么？", ["竹子"]),
]


def test_answers_of_cmrc_that_stand_nowhere_are_left_out_and_listed_with_their_questions(
    tmp_path: Path, goldbench: Goldbench
) -> None:
    asked = [{"query_text": text, "query_id": f"D_{n}", "answers": answers} for n, (text, answers) in enumerate(CMRC)]
    data = [{"context_id": "D", "context_text": CONTEXT, "qas": asked, "title": "大熊猫"}]
    text = json.dumps(data, ensure_ascii=False, indent=2)
    (tmp_path / "cmrc2018.json").write_text(text, encoding="utf-8")
    done = goldbench("import", "squad", "cmrc2018.json", "--out", "out")
    assert done.returncode == 2
    assert "cmrc2018.json: question 'D_1': its answer does not stand in" in done.stderr
    assert not (tmp_path / "out").exists()
    done = goldbench("import", "squad", "cmrc2018.json", "--out", "out", "--drop-broken")
    assert done.returncode == 0, done.stderr
    assert "parts of those kept left out: misplaced-answers" in done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    stage = manifest["stages"][1]
    assert (stage["written"], stage["rules"], stage["left_out"]) == (3, {"malformed": 1}, {"misplaced-answers": 3})
    assert all("cmrc2018.json: question " in failure["message"] for failure in manifest["failures"])
    queries = [json.loads(line) for line in (tmp_path / "out" / "3-queries.jsonl").read_text("utf-8").splitlines()]
    quotes = [[(one["quote"], one["start"]) for one in query["evidence"]] for query in queries]
    assert quotes[:2] == [[("四川、陕西和甘肃的山区", 8), ("四川", 8)], [("1961年", 20)]]


@pytest.mark.parametrize("form", ["jsonl", "columns", "parquet"])
def test_selected_passages_of_ms_marco_are_relevant_and_the_others_unjudged(tmp_path: Path, form: str) -> None:
    passages = [{"is_selected": 0, "passage_text": "same"}, {"is_selected": 1, "passage_text": "the answer"}]
    more = [{"is_selected": 0, "passage_text": "same"}, {"is_selected": 0, "passage_text": "third"}]
    rows = [{"query_id": 7, "query": "what", "passages": passages}, {"query_id": 8, "query": "none", "passages": more}]
    path = tmp_path / f"m.{'json' if form == 'columns' else form}"
    if form == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif form == "columns":
        path.write_text(json.dumps({key: {str(n): row[key] for n, row in enumerate(rows)} for key in rows[0]}))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        flat = [
            {**row, "passages": {key: [p[key] for p in row["passages"]] for key in ("is_selected", "passage_text")}}
            for row in rows
        ]
        pq.write_table(pa.Table.from_pylist(flat), path)
    bring("msmarco", path, tmp_path / "out")
    found = dataset(tmp_path / "out")
    (relevant,) = found["relevant_docs"]["7"]
    assert found["corpus"][relevant] == "the answer"
    assert sorted(found["corpus"].values()) == ["same", "the answer", "third"]
    assert found["relevance_scores"] == {"7": {relevant: 3}}


def test_ms_marco_comes_as_a_folder_of_tables_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "collection.tsv").write_text("0\tzero\n1\tone\n")
    (tmp_path / "in" / "queries.dev.small.tsv").write_text("5\twhich\n6\tunjudged\n")
    (tmp_path / "in" / "qrels.dev.small.tsv").write_text("5\t0\t1\t1\n")
    bring("msmarco", tmp_path / "in", tmp_path / "out")
    assert dataset(tmp_path / "out")["relevant_docs"] == {"5": ["1"]}


SGML = (
    "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Rain &amp; wind</HEADLINE>\n<TEXT>\n<P>It rained.</P>\n</TEXT>\n</DOC>\n"
    "<DOC>\n<DOCNO>FT-2</DOCNO>\n<TEXT>\nDry.\n</TEXT>\n</DOC>\n"
)
TOPICS = "<top>\n<num> Number: 301\n<title> Topic: wet\nweather\n<desc> Description:\nAbout rain.\n</top>\n"


def test_trec_comes_with_its_own_marks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "docs.sgml").write_text(SGML)
    (tmp_path / "in" / "topics.301-450").write_text(TOPICS)
    (tmp_path / "in" / "qrels.trec8.txt").write_text("301 0 FT-1 1\n301 0 FT-2 0\n")
    bring("trec", tmp_path / "in", tmp_path / "out")
    found = dataset(tmp_path / "out")
    assert found["queries"] == {"301": "wet weather"}
    assert found["corpus"] == {"FT-1": "Rain & wind It rained.", "FT-2": "Dry."}
    assert found["relevance_scores"] == {"301": {"FT-1": 3, "FT-2": 0}}
    (tmp_path / "in" / "docs.sgml").write_text(SGML[:-7])
    with pytest.raises(InputError, match=r"docs\.sgml, line 8: <doc> does not end"):
        bring("trec", tmp_path / "in", tmp_path / "x")


@pytest.mark.slow
def test_collections_of_ir_datasets_come_by_their_id(tmp_path: Path) -> None:
    ir_datasets = pytest.importorskip("ir_datasets", reason="extra benchmarks is not installed")
    (tmp_path / "docs.tsv").write_text("d1\tone\nd2\ttwo\n")
    (tmp_path / "queries.tsv").write_text("q1\twhich\n")
    (tmp_path / "qrels").write_text("q1 0 d2 1\n")
    names = {"docs_tsv": "docs.tsv", "queries_tsv": "queries.tsv", "qrels_trec": "qrels"}
    made = ir_datasets.create_dataset(**{key: str(tmp_path / name) for key, name in names.items()})
    ir_datasets.registry.register("goldbench-test", made)
    bring("ir_datasets", Path("goldbench-test"), tmp_path / "out")
    assert dataset(tmp_path / "out")["relevant_docs"] == {"q1": ["d2"]}
    with pytest.raises(UsageError, match="knows no collection"):
        bring("ir_datasets", Path("no-such"), tmp_path / "x")


def test_a_simulated_set_stays_simulated(goldbench: Goldbench, tmp_path: Path) -> None:
    assert goldbench("build", ROOT / "data/example/documents/support", "--out", "run", "--queries", 5).returncode == 0
    assert goldbench("import", "beir", "run/beir", "--out", "imported").returncode == 0
    metadata = json.loads((tmp_path / "imported" / "dataset.json").read_text(encoding="utf-8"))["metadata"]
    assert metadata["evidence_level"] == "smoke"
    assert "simulated" in metadata["notice"]
