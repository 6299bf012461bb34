"""Public sets of questions that need several paragraphs, in their own formats, imported and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet
from goldbench.errors import InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.goldset.projection import write_rechunked
from tests.conftest import Goldbench
from tests.goldset.test_importing import bring, dataset

HOTPOT = [
    {
        "_id": "5a8b57f2",
        "question": "Were Scott Derrickson and Ed Wood of the same nationality?",
        "answer": "yes",
        "type": "comparison",
        "level": "hard",
        "supporting_facts": [["Scott Derrickson", 0], ["Ed Wood", 0]],
        "context": [
            ["Ed Wood (film)", ["Ed Wood is a 1994 film.", " It is about a director."]],
            ["Scott Derrickson", ["Scott Derrickson is an American director.", " He lives in Los Angeles."]],
            ["Ed Wood", [" Edward Davis Wood Jr. was an American filmmaker.", " He wrote too."]],
        ],
    },
    {
        "_id": "5a8c7595",
        "question": "What government position was held by the woman who portrayed Corliss Archer?",
        "answer": "Chief of Protocol",
        "type": "bridge",
        "level": "medium",
        "supporting_facts": [["Kiss and Tell", 0], ["Shirley Temple", 1]],
        "context": [
            ["Shirley Temple", ["Shirley Temple was an actress.", " She was Chief of Protocol of the United States."]],
            ["Kiss and Tell", ["Kiss and Tell is a film with Shirley Temple as Corliss Archer."]],
            ["Scott Derrickson", ["Scott Derrickson is an American director.", " He lives in Los Angeles."]],
        ],
    },
]


def musique(name: str, question: str, answerable: bool, *, support: bool = True) -> dict[str, Any]:
    texts = [
        ("Green", "Green is an album by Steve Hillage. It came out in 1978."),
        ("Steve Hillage", "Steve Hillage is married to Miquette Giraudy. He plays the guitar."),
        ("Grant Green", f"Grant Green was a jazz guitarist, not {name}."),
    ]
    return {
        "id": name,
        "paragraphs": [
            {"idx": at, "title": title, "paragraph_text": text, "is_supporting": support and at < 2}
            for at, (title, text) in enumerate(texts if answerable else texts[1:])
        ],
        "question": question,
        "question_decomposition": [
            {"id": 1, "question": "Green >> performer", "answer": "Steve Hillage", "paragraph_support_idx": 0},
            {"id": 2, "question": "#1 >> spouse", "answer": "Miquette Giraudy", "paragraph_support_idx": 1},
        ],
        "answer": "Miquette Giraudy",
        "answer_aliases": [],
        "answerable": answerable,
    }


MUSIQUE = [
    musique("2hop__1", "Who is the spouse of the Green performer?", answerable=True),
    musique("2hop__1", "Who is the spouse of the Green performer?", answerable=False, support=False),
    musique("2hop__2", "Who taught the drummer of Green?", answerable=False, support=False),
]


def ids(out: Path) -> dict[str, str]:
    return {chunk.title: chunk.chunk_id for chunk in GoldFolder(out).chunks.read()}


def test_hotpotqa_brings_its_groups_kinds_and_answers(tmp_path: Path) -> None:
    (tmp_path / "hotpot.json").write_text(json.dumps(HOTPOT), encoding="utf-8")
    bring("hotpotqa", tmp_path / "hotpot.json", tmp_path / "out")
    data, chunk = dataset(tmp_path / "out"), ids(tmp_path / "out")
    assert len(data["corpus"]) == 5  # a paragraph of two questions is one passage
    assert data["corpus"][chunk["Kiss and Tell"]].startswith("Kiss and Tell Kiss and Tell is a film")
    needs = {query_id: {chunk[title] for title in titles} for query_id, titles in (
        ("5a8b57f2", ("Scott Derrickson", "Ed Wood")), ("5a8c7595", ("Shirley Temple", "Kiss and Tell")),
    )}  # fmt: skip
    assert {query_id: set(needed) for query_id, needed in data["needs"].items()} == needs
    assert {query_id: set(found) for query_id, found in data["relevant_docs"].items()} == needs
    queries = {query.query_id: query for query in GoldFolder(tmp_path / "out").queries.read()}
    assert {query_id: query.kind for query_id, query in queries.items()} == {
        "5a8b57f2": "cross_comparison",
        "5a8c7595": "multi_hop",
    }
    assert all(query.needs[0] == query.chunk_id for query in queries.values())
    answer = data["answers"]["5a8c7595"]
    assert answer["text"] == "Chief of Protocol"
    assert {(cited["quote"], cited["chunk_id"]) for cited in answer["evidence"]} == {
        ("She was Chief of Protocol of the United States.", chunk["Shirley Temple"]),
        ("Kiss and Tell is a film with Shirley Temple as Corliss Archer.", chunk["Kiss and Tell"]),
    }
    quotes = {cited["quote"] for cited in data["answers"]["5a8b57f2"]["evidence"]}
    assert "Edward Davis Wood Jr. was an American filmmaker." in quotes
    assert validate(tmp_path / "out").problems == ()


def test_musique_brings_questions_without_an_answer_apart(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in MUSIQUE), encoding="utf-8")
    imported = bring("musique", tmp_path / "m.jsonl", tmp_path / "out")
    data, chunk = dataset(tmp_path / "out"), ids(tmp_path / "out")
    assert set(data["needs"]["2hop__1"]) == {chunk["Green"], chunk["Steve Hillage"]}
    assert list(data["queries"]) == ["2hop__1"]
    assert data["unanswerable"] == {"2hop__2": "Who taught the drummer of Green?"}
    assert {cited["quote"] for cited in data["answers"]["2hop__1"]["evidence"]} == {
        "Green is an album by Steve Hillage.",
        "Steve Hillage is married to Miquette Giraudy.",
    }
    (report,) = [stage for stage in imported.manifest.stages if stage.stage == "queries"]
    assert (report.read, report.written, report.rules) == (3, 2, {"answered-elsewhere": 1})
    (apart,) = GoldFolder(tmp_path / "out").unanswerable.read()
    assert (apart.kind, apart.chunk_id in data["corpus"]) == ("unanswerable", True)
    assert validate(tmp_path / "out").problems == ()
    bring("beir", tmp_path / "out" / "beir", tmp_path / "again")
    assert dataset(tmp_path / "again")["answers"]["2hop__1"]["text"] == "Miquette Giraudy"


def test_an_imported_set_is_searched_scored_and_cut_again(tmp_path: Path, goldbench_inside: Goldbench) -> None:
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in MUSIQUE), encoding="utf-8")
    done = goldbench_inside("import", "musique", "m.jsonl", "--out", "set")
    assert done.returncode == 0, done.stderr
    assert goldbench_inside("retrieve", "set", "--system", "bm25", "-o", "run.trec").returncode == 0
    command = ("score", "set", "--run", "run.trec", "--measure", "all@1,all@3,ndcg@10", "--format", "json")
    found = json.loads(goldbench_inside(*command).stdout)["runs"]["run"]
    assert (found["means"]["all@1"], found["means"]["all@3"]) == (0.0, 1.0)
    assert found["unanswerable"]["unanswerable"] == 1
    gold = GoldSet.load(tmp_path / "set")
    assert gold.evaluate(lambda query, k: list(gold.corpus)[:k], "all@3", progress=False)["all@3"] == 1.0
    write_rechunked(tmp_path / "set", tmp_path / "again", size=60, overlap=0)
    again = dataset(tmp_path / "again")
    assert len(again["needs"]["2hop__1"]) == 2
    assert again["unanswerable"] == dataset(tmp_path / "set")["unanswerable"]
    assert validate(tmp_path / "again").problems == ()


def test_conversations_come_back_from_a_beir_folder_and_other_metadata_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    turns = [{"question": "Which pump feeds the tank?", "answer": "Pump 4."}, {"question": "Is it loud?"}]
    metadata = [{"history": turns, "standalone": "Who serviced pump 4?"}, {"history": "long", "standalone": 7}]
    rows = [{"_id": f"q{n}", "text": "And who serviced it?", "metadata": more} for n, more in enumerate(metadata)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "Ann serviced pump 4."}) + "\n")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\ta\t1\nq1\ta\t1\n")
    bring("beir", tmp_path, tmp_path / "set")
    found = dataset(tmp_path / "set")
    assert found["history"] == {"q0": turns}
    assert found["standalone"] == {"q0": "Who serviced pump 4?"}
    lines = (tmp_path / "set" / "beir" / "queries.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["metadata"]["history"] == turns


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("hotpotqa", {"supporting_facts": [["Nowhere", 0]]}, "names the supporting paragraph 'Nowhere'"),
        ("hotpotqa", {"supporting_facts": [["Ed Wood", 9]]}, "names sentence 9 of 'Ed Wood', which has 2"),
        ("hotpotqa", {"supporting_facts": [["Ed Wood", True]]}, "not pairs of a title and a number"),
        ("hotpotqa", {"_id": None}, "no _id or no question"),
        ("musique", {"paragraphs": []}, "names no supporting paragraph"),
        ("musique", {"paragraphs": [{"paragraph_text": "A", "is_supporting": "yes"}]}, "is_supporting of the right"),
        ("musique", 7, "is not a JSON object"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_broken_question_is_refused_with_its_place_or_left_out_and_listed(
    tmp_path: Path, kind: str, change: object, says: str, suffix: str
) -> None:
    first, whole = (HOTPOT[0], HOTPOT[1]) if kind == "hotpotqa" else (MUSIQUE[0], musique("2hop__3", "Who?", True))
    rows = [whole, {**first, **change} if isinstance(change, dict) else change]
    file = tmp_path / f"file.{suffix}"
    text = json.dumps(rows) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        bring(kind, file, tmp_path / "out")
    place = "file.jsonl, line 2: " if suffix == "jsonl" else "file.json: question 2: "
    assert place in str(refused.value)
    assert says in str(refused.value)
    manifest = bring(kind, file, tmp_path / "out", drop_broken=True).manifest
    (failure,) = manifest.failures
    assert says in failure.message
    assert list(dataset(tmp_path / "out")["queries"]) == [whole.get("_id", whole.get("id"))]
