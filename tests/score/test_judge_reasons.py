"""The page of scores shows what judges said of a passage, and whether an unjudged one was in the pool."""

from __future__ import annotations

import json
from pathlib import Path

from lxml import html

from goldbench.records.judgment import Judgment, Pooled
from tests.conftest import Goldbench

GOLD = {"queries": {"q1": "Where is it?"}, "corpus": {"d1": "Here.", "d2": "There.", "d3": "Nowhere."}}


def judged(chunk_id: str, relevance: int, **more: object) -> str:
    fields = {"query_id": "q1", "chunk_id": chunk_id, "relevance": relevance, "assessor": "m/grade.v1", **more}
    return Judgment.model_validate(fields).model_dump_json() + "\n"


def test_reasons_pool_and_the_command_stand_beside_a_query(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps({**GOLD, "relevant_docs": {"q1": ["d1"]}, "mode": "text"}))
    (tmp_path / "4-judgments.jsonl").write_text(
        judged("d1", 3, rationale="It says where.") + judged("d2", 3, canary="own-answer", rationale="planted")
    )
    (tmp_path / "4-pool.jsonl").write_text(Pooled(query_id="q1", chunk_id="d2").model_dump_json() + "\n")
    (tmp_path / "run.json").write_text(json.dumps({"q1": {"d2": 3.0, "d1": 2.0, "d3": 1.0}}))
    done = goldbench_inside("score", ".", "--run", "a=run.json", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    data = json.loads(html.fromstring((tmp_path / "page.html").read_bytes()).xpath("//script[@id='data']")[0].text)
    query = data["queries"][0]
    assert query["reasons"] == {"d1": [[3, "m/grade.v1", "It says where."]]}
    assert (data["has_pool"], query["pooled"], data["home"]) == (True, ["d2"], ".")
    assert (query["ranks"], query["found"][0][0]) == ([2], ["d2", None, 3.0])
