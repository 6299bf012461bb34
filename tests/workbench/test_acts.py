"""What people do in the workbench goes into the ledger of the review, and from there into the set."""

from __future__ import annotations

from typing import Any

import pytest

from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_qrels, write_run
from goldbench.goldset.folder import GoldFolder
from goldbench.review.apply import apply_review
from goldbench.review.queue import QueueSettings
from goldbench.review.server import opened as review_opened
from goldbench.review.state import fold
from tests.review.test_http import Client
from tests.workbench.conftest import Site, serving


def act(client: Client, number: int = 0, **more: Any) -> Any:
    body = {"client_id": f"client-{number:05}", "kind": "judge", "query": "q-de", **more}
    return client.post("/api/event", body)


def judged(client: Client, passage: str, grade: int, number: int = 0) -> dict[str, Any]:
    answer = act(client, number, passage=passage, grade=grade)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def list_of(found: dict[str, Any], system: str) -> dict[str, Any]:
    return next(one for one in found["systems"] if one["system"] == system)


def test_nothing_is_told_without_the_link_or_to_another_page(quiet_site: Site) -> None:
    anna = quiet_site.client()
    for path in ("/api/list", "/api/query?id=q-de", "/api/passage?query=q-de&passage=de1"):
        assert Client(anna.port).get(path).status == 401
        assert anna.get(path, Host="evil.example").status == 421
        assert anna.get(path, Origin="http://evil.example").status == 403
    body = {"client_id": "client-00000", "kind": "accept_query", "query": "q-de"}
    assert anna.post("/api/event", body, Origin=None).status == 403
    assert anna.post("/api/event", body, Content_Type="text/plain").status == 415
    assert quiet_site.events() == []
    answer = anna.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert b"<script>" not in answer.body


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"passage": "de3"}, "judge needs a passage and a grade"),
        ({"passage": "de3", "grade": 4}, "grade: "),
        ({"passage": "nowhere", "grade": 1}, "unknown passage"),
        ({"query": "q-none", "passage": "de3", "grade": 1}, "unknown query"),
        ({"kind": "bad_query"}, "bad_query needs a reason"),
        ({"kind": "edit_query", "text": "12 % ?!"}, "A query needs letters: write a wording"),
        ({"kind": "reject_query", "passage": "de1"}, "reject_query is not a decision on"),
        ({"kind": "undo", "passage": "de1"}, "There is nothing of yours to undo here"),
        ({"kind": "accept_query", "annotator": "ben"}, "body: "),
    ],
)
def test_an_act_that_says_too_little_or_too_much_is_refused(
    quiet_site: Site, body: dict[str, Any], problem: str
) -> None:
    answer = act(quiet_site.client(), **body)
    assert answer.status == 400
    assert problem in answer.json["error"]
    assert quiet_site.events() == []


def test_a_judgment_is_stored_once_and_counts_at_once(site: Site) -> None:
    anna = site.client()
    before = list_of(anna.get("/api/query?id=q-de").json, "vectors")
    assert (before["scores"][0], before["causes"]) == (0.0, ["just-below"])
    found = judged(anna, "de3", 3)
    after = list_of(found, "vectors")
    assert after["scores"][0] > 0
    assert after["causes"] == []
    assert (after["results"][0]["grade"], after["results"][0]["graded_by"]) == (3, {"anna": 3})
    assert judged(anna, "de3", 3)["seq"] == found["seq"]
    (event,) = site.events()
    assert (event.kind, event.grade, event.revealed, event.lane) == ("judge", 3, True, None)


def test_a_query_whose_only_answer_is_graded_down_has_no_figures(site: Site) -> None:
    found = judged(site.client(), "de1", 0)
    assert [one["scores"] for one in found["systems"]] == [[None, None]] * 2
    apply_review(site.folder, ledger=None)
    assert "q-de" not in {query.query_id for query in GoldFolder(site.folder).queries.read()}


def test_a_grade_is_taken_back_by_the_person_who_gave_it(site: Site) -> None:
    anna = site.client()
    judged(anna, "de3", 3)
    found = act(anna, 1, kind="undo", passage="de3").json
    assert list_of(found, "vectors")["results"][0]["grade"] is None
    assert act(anna, 1, kind="undo", passage="de3").status == 200  # sent twice
    assert act(anna, 2, kind="undo", passage="de3").status == 400


def test_a_judgment_of_a_passage_outside_the_pool_reaches_the_set(site: Site) -> None:
    judged(site.client(), "de3", 2)
    apply_review(site.folder, ledger=None)
    qrels = read_qrels(Source(GoldFolder(site.folder).labels))
    assert qrels["q-de"] == {"de1": 3, "de2": 0, "de3": 2}
    assert fold(site.events()).gold() == {"q-de": {"de3": 2}}


def test_a_judgment_here_counts_in_no_figure_of_agreement(site: Site) -> None:
    from goldbench.review.sample import sampled

    judged(site.client(), "de1", 0)
    state = fold(site.events())
    assert [review.blind for review in state.reviews()] == [False]
    assert sampled(state.reviews(), state) == []


def test_a_query_that_was_rejected_leaves_the_set_and_one_that_was_edited_is_renamed(site: Site) -> None:
    anna = site.client()
    told = act(anna, kind="reject_query", reason="unclear", query="q-x").json["verdict"]
    assert (told["verdict"], told["who"], told["reasons"]) == ("rejected", "anna", ["unclear"])
    act(anna, 1, kind="edit_query", text="Welcher Wasserdruck gilt am Ventil?")
    rows = {row["id"]: row for row in anna.get("/api/list").json["rows"]}
    assert (rows["q-x"]["verdict"], rows["q-de"]["verdict"], rows["q-ar"]["verdict"]) == (
        "rejected",
        "edited",
        "undecided",
    )
    apply_review(site.folder, ledger=None)
    queries = {one.query_id: one.text for one in GoldFolder(site.folder).queries.read()}
    assert queries["q-de.v2"] == "Welcher Wasserdruck gilt am Ventil?"
    assert "q-x" not in queries


def test_a_changed_set_is_read_again(site: Site) -> None:
    anna = site.client()
    judged(anna, "de3", 3)
    act(anna, 1, kind="edit_query", text="Welcher Wasserdruck gilt am Ventil?")
    assert [anna.get("/api/look").json["read"] for _ in range(2)] == [0, 0]  # the ledger alone is no change of the set
    apply_review(site.folder, ledger=None)
    assert [anna.get("/api/look").json["read"] for _ in range(2)] == [1, 1]
    listed = anna.get("/api/list").json
    assert (listed["read"], listed["problem"], listed["pending"]) == (1, "", False)
    assert "q-de.v2" in {row["id"] for row in listed["rows"]}
    assert act(anna, 2, query="q-de.v2", passage="en2", grade=1).status == 200
    assert {one["passage"] for one in anna.get("/api/query?id=q-de.v2").json["people"]} == {"de3", "en2"}


def test_a_set_that_cannot_be_read_again_stays_as_it_was_and_a_new_run_appears(site: Site) -> None:
    anna = site.client()
    dataset = site.folder / "dataset.json"
    whole = dataset.read_bytes()
    dataset.write_bytes(b"{")
    assert anna.get("/api/look").json["read"] == 1
    told = anna.get("/api/look").json["problem"]
    assert told.startswith("The set was changed and cannot be read (")
    assert len(anna.get("/api/list").json["rows"]) == 6
    dataset.write_bytes(whole)
    write_run(site.folder / "runs" / "third.trec", {"q-de": {"de1": 1.0}}, tag="third")
    assert anna.get("/api/look").json == {"read": 2, "problem": ""}
    assert anna.get("/api/list").json["systems"] == ["third", "vectors", "words"]


def test_a_query_sent_to_review_waits_there_for_a_decision(site: Site) -> None:
    told = act(site.client(), kind="bad_query", reason="too_broad").json["verdict"]
    assert (told["verdict"], told["reasons"]) == ("reported", ["too_broad"])
    with review_opened(site.folder, None, QueueSettings()) as review:
        assert fold(review.ledger.events()).bad_queries() == {"q-de": {"anna": "too_broad"}}


def test_a_disagreement_is_shown_and_settled_by_a_third_person_only(site: Site) -> None:
    judged(site.client(), "de3", 3)
    assert act(site.client(), 1, kind="adjudicate", passage="de3", grade=2).status == 409  # nobody disagrees
    with serving(site.folder, "anna", "ben", "carla") as again:
        anna, ben, carla = map(again.client, ("anna", "ben", "carla"))
        row = list_of(judged(ben, "de3", 0, number=7), "vectors")["results"][0]
        assert (row["graded_by"], row["disputed"], row["grade"]) == ({"anna": 3, "ben": 0}, True, 0)
        refused = act(anna, 8, kind="adjudicate", passage="de3", grade=3)
        assert "nobody settles a disagreement on a passage that they judged" in refused.json["error"]
        row = list_of(act(carla, 9, kind="adjudicate", passage="de3", grade=2).json, "vectors")["results"][0]
        assert (row["disputed"], row["grade"]) == (False, 2)
    apply_review(site.folder, ledger=None)
    assert read_qrels(Source(GoldFolder(site.folder).labels))["q-de"]["de3"] == 2


def test_further_results_and_whole_passages_are_given_on_demand(quiet_site: Site) -> None:
    anna = quiet_site.client()
    systems = anna.get("/api/list").json["systems"]
    found = anna.get(f"/api/results?query=q-de&system={systems.index('vectors')}&first=4").json
    assert [(one["rank"], one["id"]) for one in found["results"]] == [(4, "de2"), (5, "de1")]
    assert anna.get("/api/results?query=q-de&system=9&first=1").status == 400
    assert anna.get("/api/results?query=q-de&system=0&first=x").status == 400
    passage = anna.get("/api/passage?query=q-de&passage=de1").json
    assert not passage["cut"]
    assert "<table" in passage["html"]
    assert anna.get("/api/passage?query=q-de&passage=../../etc").status == 400
    assert anna.get("/api/matches?words=%D8%B5%D9%85%D8%A7%D9%85").json == {"ids": ["q-ar"]}
