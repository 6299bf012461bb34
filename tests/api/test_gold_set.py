"""A gold set in Python: what is read from where, its frames, its printed form, its grading and its card."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import goldbench
from goldbench import GoldSet
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.grade.graded_sets import artifacts, write_set
from tests.model_server.fixture import ServerHandle
from tests.report.hostile import IMAGE, SCRIPT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gold")
    return goldbench.build(corpus(folder / "docs"), out=folder / "run", queries=6, progress=False).path


def contents(gold: GoldSet) -> tuple[Any, ...]:
    return gold.queries, gold.corpus, gold.qrels


def test_a_set_is_read_from_every_place_that_score_takes(built: Path, tmp_path: Path) -> None:
    whole = GoldSet.load(built)
    data = json.loads((built / "dataset.json").read_text(encoding="utf-8"))
    assert contents(whole) == (data["queries"], data["corpus"], data["relevance_scores"])
    for place in (str(built), built / "dataset.json", built / "beir"):
        gold_set = GoldSet.load(place)
        assert contents(gold_set) == contents(whole)
        assert gold_set.metadata["evidence_level"] == "smoke"
    shutil.copytree(built / "beir", tmp_path / "elsewhere")
    assert contents(GoldSet.load(tmp_path / "elsewhere")) == contents(whole)
    qrels = GoldSet.load(built / "trec" / "qrels.txt")
    assert qrels.qrels == whole.qrels
    shutil.copy(built / "trec" / "qrels.txt", tmp_path / "only.txt")
    only = GoldSet.load(tmp_path / "only.txt")
    assert (only.queries, only.corpus, only.metadata, only.qrels) == ({}, {}, {}, whole.qrels)


def test_changing_what_is_read_changes_no_score(built: Path) -> None:
    gold = GoldSet.load(built)
    run = {query: list(judged) for query, judged in gold.qrels.items()}
    for judged in gold.qrels.values():
        judged.clear()
    gold.queries.clear()
    assert gold.evaluate(run, "recall@10")["recall@10"] == 1.0


def test_a_set_is_read_from_where_it_was_when_it_was_loaded(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built.parent)
    whole, gold = contents(GoldSet.load(built)), GoldSet.load(built.name)
    monkeypatch.chdir(tmp_path)
    assert contents(gold) == whole
    assert gold.metadata["evidence_level"] == "smoke"
    assert gold.evaluate({query: list(judged) for query, judged in gold.qrels.items()}, "r@9")["r@9"] == 1.0


def folder_gone(folder: Path) -> None:
    shutil.rmtree(folder)


def texts_gone(folder: Path) -> None:
    shutil.rmtree(folder / "beir")


def set_replaced(folder: Path) -> None:
    write_set(folder.parent / "other", subjects=3)
    shutil.rmtree(folder)
    (folder.parent / "other").rename(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (folder_gone, "is gone since the set was loaded; load a set that is there"),
        (texts_gone, "was changed since the set was loaded; load it again"),
        (set_replaced, "was changed since the set was loaded; load it again"),
    ],
    ids=["gone", "texts gone", "replaced"],
)
def test_a_set_that_is_no_longer_there_is_never_empty(
    built: Path, tmp_path: Path, change: Callable[[Path], None], says: str
) -> None:
    shutil.copytree(built, tmp_path / "run")
    gold = GoldSet.load(tmp_path / "run")
    run = {query: list(judged) for query, judged in gold.qrels.items()}
    change(tmp_path / "run")
    calls: list[Callable[[], object]] = [
        lambda: gold.queries,
        lambda: gold.corpus,
        lambda: gold.metadata,
        gold.to_pandas,
        gold.card,
        lambda: gold.evaluate(run),
        lambda: gold.compare({"a": run, "b": run}),
        lambda: gold.save(tmp_path / "copy"),
        lambda: gold.grade(model="m", base_url="http://127.0.0.1:9/v1", dry_run=True, progress=False),
    ]
    for call in calls:
        with pytest.raises(goldbench.InputError, match=says):
            call()
    assert says in repr(gold)
    assert says in gold._repr_html_()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("place", ["", "beir", "beir/qrels/test.tsv"])
@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")])
def test_judgments_that_were_changed_are_noticed(
    built: Path, tmp_path: Path, place: str, change: Callable[[Path], object]
) -> None:
    shutil.copytree(built / "beir", tmp_path / "set" / "beir")
    gold = GoldSet.load(tmp_path / "set" / place)
    assert gold.evaluate({query: list(judged) for query, judged in gold.qrels.items()}, "r@9")["r@9"] == 1.0
    change(tmp_path / "set" / "beir" / "qrels" / "test.tsv")
    with pytest.raises(goldbench.InputError, match="since the set was loaded"):
        gold.evaluate({"q": ["d"]})


def test_judgments_that_declare_no_level_count_from_1_and_say_so(tmp_path: Path) -> None:
    write_set(tmp_path / "set", subjects=3)
    (tmp_path / "set" / "beir" / "README.md").unlink()
    shutil.copytree(tmp_path / "set" / "beir", tmp_path / "foreign")
    rows = (tmp_path / "foreign" / "qrels" / "test.tsv").read_text().splitlines()
    graded = [f"{row.rpartition(chr(9))[0]}\t{number % 3 + 1}" for number, row in enumerate(rows[1:])]
    (tmp_path / "foreign" / "qrels" / "test.tsv").write_text("\n".join([rows[0], *graded]) + "\n")
    gold_set = GoldSet.load(tmp_path / "foreign")
    assert gold_set.relevant_from == 1
    (remark,) = gold_set.remarks
    assert remark.startswith("Grades go up to 3, and nothing says which are relevant: grade 1 counts as relevant")
    assert "relevant_from=2" in remark
    told = GoldSet.load(tmp_path / "foreign", relevant_from=2)
    assert (told.relevant_from, told.remarks, told.save(tmp_path / "copy").relevant_from) == (2, (), 2)


def test_saving_touches_nothing_but_the_new_folder(built: Path, tmp_path: Path) -> None:
    gold, before = GoldSet.load(built), artifacts(built)
    mine = tmp_path / ".copy.unfinished" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("kept")
    assert artifacts(gold.save(tmp_path / "copy").path) == before
    assert mine.read_text() == "kept"
    assert {entry.name for entry in tmp_path.iterdir()} == {"copy", ".copy.unfinished"}
    (tmp_path / "link").symlink_to(built)
    for inside in (built / "copy", built / "beir" / "copy", tmp_path / "link" / "copy"):
        with pytest.raises(goldbench.OutputError, match="lies inside the set; give a folder outside of it"):
            gold.save(inside)
    assert artifacts(built) == before


def test_a_saved_set_leaves_out_the_indexes_of_ask(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "run")
    copy = GoldSet.load(tmp_path / "run").save(tmp_path / "copy").path
    assert artifacts(copy) == artifacts(built)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_file_that_cannot_be_copied_is_named_and_leaves_nothing(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "run")
    os.mkfifo(tmp_path / "run" / "pipe")
    with pytest.raises(goldbench.OutputError, match=r"pipe: cannot be copied to .*copy \("):
        GoldSet.load(tmp_path / "run").save(tmp_path / "copy")
    assert {entry.name for entry in tmp_path.iterdir()} == {"run"}


def test_a_benchmark_is_imported_as_the_command_imports_it(
    goldbench_inside: Goldbench, built: Path, tmp_path: Path
) -> None:
    squad = {
        "version": "1.1",
        "data": [
            {
                "title": "Pumps",
                "paragraphs": [
                    {
                        "context": "The circulation pump starts when the tank falls below forty litres.",
                        "qas": [
                            {
                                "id": "q1",
                                "question": "When does the pump start?",
                                "answers": [{"text": "when the tank falls", "answer_start": 28}],
                            }
                        ],
                    }
                ],
            }
        ],
    }
    (tmp_path / "squad.json").write_text(json.dumps(squad))
    mine = GoldSet.load(tmp_path / "squad.json", kind="squad", out=tmp_path / "mine")
    assert mine.queries == {"q1": "When does the pump start?"}
    done = goldbench_inside("import", "squad", "squad.json", "--out", "theirs")
    assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "mine") == artifacts(tmp_path / "theirs")
    exported = GoldSet.load(built / "beir", kind="beir")
    assert exported.metadata["evidence_level"] == "smoke"
    assert exported.qrels == GoldSet.load(built).qrels


@pytest.mark.parametrize(
    ("path", "options", "says"),
    [
        ("nowhere", {}, "nowhere: not found; give the folder of a gold set"),
        ("", {}, "path: not a valid path: it is empty"),
        (7, {}, "path: not a valid path: int"),
        ("empty", {}, "empty: holds no dataset.json"),
        ("bad.json", {}, "bad.json"),
        ("nowhere", {"kind": "beir"}, "nowhere"),
        ("empty", {"kind": "bair"}, "kind: not a valid value: 'bair'; give one of beir, trec, msmarco"),
        ("empty", {"split": "dev"}, "split: needs kind=, the format of the benchmark"),
        ("empty", {"kind": "beir"}, "name the file with corpus="),
    ],
)
def test_what_is_no_set_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any, options: dict[str, Any], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text('{"queries": ')
    with pytest.raises(goldbench.GoldbenchError) as caught:
        GoldSet.load(path, **options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert " --" not in re.sub("goldbench build .*", "", str(caught.value))


def test_three_frames_have_the_columns_and_types_that_are_documented(built: Path) -> None:
    gold = GoldSet.load(built)
    queries, passages, qrels = gold.to_pandas()
    assert dict(zip(queries["query_id"], queries["text"], strict=True)) == gold.queries
    assert dict(zip(passages["doc_id"], passages["text"], strict=True)) == gold.corpus
    rebuilt: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in qrels.itertuples(index=False):
        rebuilt.setdefault(query_id, {})[doc_id] = grade
    assert rebuilt == gold.qrels
    types = [dict(frame.dtypes.astype(str)) for frame in (queries, passages, qrels)]
    assert types == [
        {"query_id": "string", "text": "string", "answer": "string"},
        {"doc_id": "string", "text": "string"},
        {"query_id": "string", "doc_id": "string", "grade": "int64"},
    ]
    judged = qrels.merge(queries, on="query_id").merge(passages, on="doc_id", suffixes=("_query", "_passage"))
    assert len(judged) == len(qrels)
    assert goldbench.evaluate(qrels, {query: list(qrel) for query, qrel in gold.qrels.items()}, "r@9")["r@9"] == 1.0


def test_frames_of_judgments_without_texts_are_empty_and_typed(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("007 0 1 2\n")
    queries, passages, qrels = GoldSet.load(tmp_path / "gold.qrels").to_pandas()
    assert (len(queries), len(passages), qrels["query_id"][0], qrels["doc_id"][0]) == (0, 0, "007", "1")
    assert queries["text"].dtype == "string"


def test_hostile_texts_are_shown_as_text(tmp_path: Path) -> None:
    texts = {
        f"d{n}": f"{SCRIPT} {IMAGE} \x1b[31m pump {n} starts when the tank falls below {n} litres" for n in range(9)
    }
    gold = goldbench.build(texts=texts, queries=3, no_chunk=True, progress=False)
    gold.remarks = (SCRIPT,)
    dataset = gold.path / "dataset.json"
    data = json.loads(dataset.read_text())
    data["queries"] = dict.fromkeys(data["queries"], f"{SCRIPT}\x1b[31m\nnext")
    dataset.write_text(json.dumps(data))
    shutil.rmtree(gold.path / "beir")
    hostile = GoldSet.load(dataset)
    for thing in (gold, hostile, GoldSet.load(gold.path).card()):
        page = thing._repr_html_()
        assert "<script" not in page
        assert "<img" not in page
        assert "\x1b" not in page + repr(thing)
    assert "&lt;script&gt;" in hostile._repr_html_()


def test_notebooks_take_no_text_for_a_formula(tmp_path: Path) -> None:
    texts = [
        f"The pump costs ${n}0 in spring and ${n}5 in autumn, when the tank falls below {n} litres." for n in range(9)
    ]
    gold = goldbench.build(texts=texts, queries=3, no_chunk=True, progress=False)
    gold.remarks = ("It costs $5 or $6.",)
    for thing in (gold, gold.card(), gold.evaluate({query: [] for query in gold.queries})):
        page = thing._repr_html_()
        outside = re.sub(r'<(table|div) class="tex2jax_ignore mathjax_ignore">.*?</\1>', "", page, flags=re.DOTALL)
        assert outside.strip() == "", outside


def test_a_set_prints_as_a_short_table(built: Path) -> None:
    shown = repr(GoldSet.load(built)).splitlines()
    assert shown[0].endswith("6 queries, 12 passages, 6 judgments; queries simulated or of a tiny model (smoke)")
    assert shown[1].split() == ["query_id", "text"]
    assert shown[-1].startswith("Warning: the queries are simulated or written by a tiny model: ")


@pytest.mark.slow
def test_the_card_has_the_figures_of_the_command(goldbench_inside: Goldbench, built: Path) -> None:
    card = GoldSet.load(built).card()
    done = goldbench_inside("card", built, "--no-write", "--format", "json")
    assert json.loads(card.card.model_dump_json()) == json.loads(done.stdout)
    assert card["number of queries"].value == 6
    assert "number of queries" in card
    assert "nothing" not in card
    frame = card.to_pandas()
    assert frame.set_index("name").loc["number of queries", "value"] == 6
    assert repr(card).startswith("Verdict: good for smoke tests of one system only: its queries are simulated")
    assert f"\n{built.name}: 6 queries" in repr(card)
    assert not (built / "card.json").exists()


def test_a_card_is_written_when_asked_for(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    paths = GoldSet.load(tmp_path / "set").card().write()
    assert [path.name for path in paths] == ["card.json", "card.md"]
    assert all(path.exists() for path in paths)
    with pytest.raises(goldbench.InputError, match="is a file"):
        GoldSet.load(tmp_path / "set" / "dataset.json").card()


@pytest.mark.slow
def test_a_judge_that_fails_its_checks_is_an_error_and_the_set_stays_usable(
    tmp_path: Path, model_server: ServerHandle
) -> None:
    known = write_set(tmp_path / "set", subjects=4)
    model_server.script(judge={"truth": known.truth, "up": 0.9})
    gold = GoldSet.load(tmp_path / "set")
    before = gold.qrels
    options: dict[str, Any] = {"model": "m", "base_url": model_server.base_url, "depth": 3, "progress": False}
    with pytest.raises(goldbench.JudgeFailed, match="another model=, or with force=True to use these grades"):
        gold.grade(**options)
    assert gold.qrels == before
    assert len(gold.corpus) == len(known.texts)
    reason = gold.card()["canaries"].meaning
    assert "the judge m/grade.v1 failed the judge checks" in reason
    gold.grade(force=True, **options)
    assert not gold.complete
    assert gold.qrels != before


def test_a_model_grades_as_the_command_does(
    goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    known = write_set(tmp_path / "mine", subjects=4)
    shutil.copytree(tmp_path / "mine", tmp_path / "theirs")
    model_server.script(judge={"truth": known.truth})
    gold = GoldSet.load(tmp_path / "mine")
    before = gold.qrels
    run = {query: dict.fromkeys(list(gold.corpus)[-2:], 1.0) for query in gold.queries}
    options: dict[str, Any] = {"model": "m", "base_url": model_server.base_url, "depth": 5}
    plan = gold.grade(runs={"mine": run}, dry_run=True, progress=False, **options)
    assert plan.requests > 0
    assert model_server.stats()["requests"] == 0

    async def inside() -> GoldSet:
        return gold.grade(runs={"mine": run}, answers=tmp_path / "mine.sqlite", progress=False, **options)

    graded = asyncio.run(inside())
    assert graded is gold
    assert gold.qrels != before
    assert gold.remarks[0].startswith("pool: ")
    told = [(known.ids[query].get(doc), grade) for query, judged in gold.qrels.items() for doc, grade in judged.items()]
    assert len(told) > len(gold.queries)
    assert all(truth == grade for truth, grade in told if truth is not None)
    (tmp_path / "run.json").write_text(json.dumps(run))
    command = ("grade", "theirs", "--run", "mine=run.json", "--model", "m", "--base-url", model_server.base_url)
    done = goldbench_inside(*command, "--depth", 5)
    assert done.returncode == (0 if gold.complete else 3), done.stderr
    assert artifacts(tmp_path / "mine") == artifacts(tmp_path / "theirs")
    check_every_copy(gold, tmp_path / "beir-elsewhere")


def check_every_copy(gold: GoldSet, elsewhere: Path) -> None:
    """Check that a graded set gives the same scores wherever it is read from, and what its card tells other tools."""
    shutil.copytree(gold.path / "beir", elsewhere)
    run = {query: sorted(gold.corpus) for query in gold.queries}
    measures = ["recall@5", "p@5", "map@5", "mrr@5", "ndcg@5"]
    scores = dict(gold.evaluate(run, measures))
    copies = ("dataset.json", "beir", "beir/qrels/test.tsv", "beir/qrels/test.jsonl", "trec/qrels.txt")
    for place in (*(gold.path / name for name in copies), elsewhere, elsewhere / "qrels" / "test.tsv"):
        copy = GoldSet.load(place)
        assert (copy.relevant_from, copy.qrels) == (2, gold.qrels), place
        assert dict(goldbench.evaluate(place, run, measures)) == scores, place
    (elsewhere / "README.md").unlink()
    foreign = GoldSet.load(elsewhere)
    assert foreign.relevant_from == 1
    assert {*dict(foreign.evaluate(run, measures)).values()} != {*scores.values()}
    without = {query: {doc: g for doc, g in judged.items() if g != 1} for query, judged in gold.qrels.items()}
    binary, graded = goldbench.evaluate(without, run, measures), foreign.evaluate(run, measures)
    assert [binary[name] for name in measures[:-1]] == [gold.evaluate(run, measures)[name] for name in measures[:-1]]
    assert graded["ndcg@5"] == gold.evaluate(run, measures)["ndcg@5"]
    assert binary["ndcg@5"] != graded["ndcg@5"]


def test_a_grading_that_cannot_be_is_refused_and_changes_nothing(tmp_path: Path, built: Path) -> None:
    write_set(tmp_path / "set", subjects=3)
    before = artifacts(tmp_path / "set")
    gold = GoldSet.load(tmp_path / "set")
    server: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
    for options, says in (
        ({}, "grading needs a model: give model= and base_url="),
        ({**server, "deepth": 3}, "unknown keyword 'deepth'; did you mean depth?"),
        ({**server, "depth": 0}, "depth: not a valid value: 0"),
        ({**server, "runs": ["run.trec"]}, "runs: not a mapping: list"),
        ({**server, "runs": {"a=b": "run.trec"}}, "runs: not a valid name: 'a=b'"),
        ({**server, "runs": {"a": 7}}, "runs: not a valid run: int"),
        ({**server, "runs": {"a": "absent.trec"}}, "absent.trec: file not found"),
        ({**server, "replay": True}, "no store of answers to replay"),
    ):
        with pytest.raises(goldbench.GoldbenchError) as caught:
            gold.grade(progress=False, **options)
        assert says in str(caught.value)
        assert artifacts(tmp_path / "set") == before
    temporary = goldbench.build(
        texts=["The circulation pump starts when the tank falls below forty litres."],
        no_chunk=True,
        queries=1,
        progress=False,
    )
    with pytest.raises(goldbench.UsageError, match=r"answers: this set lies in a temporary folder; save\(\) it first"):
        temporary.grade(model="m", base_url="http://127.0.0.1:9/v1", progress=False)
    with pytest.raises(goldbench.InputError):
        GoldSet.load(built / "trec" / "qrels.txt").grade(model="m", base_url="http://127.0.0.1:9/v1", progress=False)
