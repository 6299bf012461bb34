"""``goldbench build --queries-from``: users' queries, judged by a model in the same run or left for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.records.review_event import EventKind
from goldbench.review.apply import apply_review
from tests.conftest import Goldbench
from tests.grade.graded_sets import GRADES, SUBJECTS, TEXTS
from tests.model_server.fixture import ServerHandle
from tests.review.made_set import event, ledger_of

GREASED, REACTOR = "how often is the valve greased", "which cook repairs the reactor"


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, str]:
    """Write documents of one passage each, and a log; return the passages as they are indexed, by document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    texts = {
        f"{it}-{grade}": text.format(it=it, n=number + 31)
        for number, it in enumerate(SUBJECTS[:4])
        for grade, text in zip(GRADES, TEXTS, strict=True)
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    rows = [GREASED] * 3 + [REACTOR, "write to anna@example.org about the pump"]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps({"query": row}) + "\n" for row in rows), encoding="utf-8")
    return {name: f"{name}\n\n{text}" for name, text in texts.items()}


BUILD = ("build", "docs", "--out", "gold", "--queries-from", "log.jsonl", "--queries", "5")


def test_users_queries_wait_for_people_and_join_with_what_they_decided(
    documents: dict[str, str], goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    planned = goldbench_inside(*BUILD, "--dry-run")
    assert "0 requests, no cost." in planned.stdout
    assert not (tmp_path / "gold").exists()
    done = goldbench_inside(*BUILD)
    assert done.returncode == 0, done.stderr
    assert "anna" not in done.stdout + done.stderr
    assert "personal data: 1 query left out" in done.stdout
    assert "2 waiting in 3-unlabelled.jsonl" in done.stdout
    home = GoldFolder(tmp_path / "gold")
    assert home.metadata()["evidence_level"] == "users"
    assert home.dataset().queries == {}
    assert {one.text: one.frequency for one in home.waiting()} == {GREASED: 3, REACTOR: 1}
    assert validate(home.path).problems == ()
    (tmp_path / "run.trec").write_text("q Q0 d 1 1.0 x\n", encoding="utf-8")
    for command in (("score", "gold", "--run", "run.trec"), ("card", "gold"), ("validate", "gold")):
        said = goldbench_inside(*command)
        words = " ".join((said.stdout + said.stderr).split())
        assert "judge those that wait: goldbench review gold, or goldbench grade gold" in words
    material, ledger = ledger_of(home.path)
    query_id = next(one for one, text in material.queries.items() if text == GREASED)
    chunk_id = next(one for one, text in material.corpus.items() if text == documents["valve-3"])
    with ledger:
        ledger.append_all([event(material, EventKind.JUDGE, query_id, grade=3, chunk_id=chunk_id)])
    apply_review(home.path, ledger=None)
    assert home.dataset().relevance_scores == {query_id: {chunk_id: 3}}
    assert home.dataset().frequency == {query_id: 3}
    assert [one.text for one in home.waiting()] == [REACTOR]
    assert validate(home.path).problems == ()


def test_a_model_judges_users_queries_in_the_same_run_and_is_paid_once(
    documents: dict[str, str], goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    model_server.script(judge={"truth": {GREASED: {documents["valve-3"]: 3, documents["valve-2"]: 2}, REACTOR: {}}})
    command = (*BUILD, "--grade", "--model", "m", "--base-url", model_server.base_url)
    assert goldbench_inside(*command).returncode == 0
    home = GoldFolder(tmp_path / "gold")
    data = home.dataset()
    texts = {data.corpus[one] for relevant_doc in data.relevant_docs.values() for one in relevant_doc}
    assert texts == {documents["valve-3"], documents["valve-2"]}
    assert [one.text for one in home.waiting()] == [REACTOR]
    assert data.metadata["evidence_level"] == "users"
    assert data.metadata["grading"]["canaries"] == "passed"
    said = {(judgment.query_id, judgment.chunk_id) for judgment in home.judgments.read() if judgment.canary is None}
    assert {(query, one) for query, found in (data.relevance_scores or {}).items() for one in found} <= said
    assert validate(home.path).problems == ()
    requests = model_server.stats()["requests"]
    assert goldbench_inside(*command).returncode == 0
    assert model_server.stats()["requests"] == requests
    assert home.dataset() == data


def test_options_about_a_log_need_the_log_and_another_log_does_not_replace_a_set(
    documents: dict[str, str], goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    alone = goldbench_inside("build", "docs", "--out", "gold", "--names", "people.txt")
    assert "--names: is about a log; give the log with --queries-from" in alone.stderr
    assert goldbench_inside(*BUILD).returncode == 0
    before = (tmp_path / "gold" / "manifest.json").read_bytes()
    (tmp_path / "log.jsonl").write_text('{"query": "another"}\n', encoding="utf-8")
    assert "a run with other settings (log.queries)" in goldbench_inside(*BUILD).stderr
    assert (tmp_path / "gold" / "manifest.json").read_bytes() == before
    refreshed = goldbench_inside("refresh", "gold")
    assert "with goldbench build --queries-from" in refreshed.stderr
