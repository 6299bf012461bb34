"""Decisions about an earlier set, said about a later one: never about other words, and undone ones stay undone."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

from goldbench.formats.jsonl import RecordFile
from goldbench.prompts.rubric import DEFAULT
from goldbench.records.corpus import Document, Span
from goldbench.records.review_event import Event
from goldbench.review.ledger import Ledger, open_ledger
from goldbench.review.meanings import PassageMeaning, QueryMeaning, SetMeanings
from goldbench.review.reviewable_set import Position, ReviewableSet
from goldbench.review.state import fold
from goldbench.review.translation import EvidenceFinder, Translation
from goldbench.text.asked_query import AskedQuery

Docs = dict[str, list[str]]
_numbers = itertools.count()


@dataclass
class Corpus:
    """Files of paragraphs, each a passage; queries by id, with the words of the paragraph that answers them."""

    folder: Path
    docs: Docs
    queries: dict[str, tuple[str, str]] = field(default_factory=dict)

    def opened(self) -> SetMeanings:
        """Return the set; ids of passages are their numbers, so that equal ids tell nothing."""
        name = f"set{next(_numbers)}"
        self.folder.joinpath(name).mkdir()
        texts = {source: "\n".join(parts) for source, parts in self.docs.items()}
        RecordFile.write(
            self.folder / name / "0-documents.jsonl",
            Document,
            [Document(doc_id=f"{name}-{s}", title=s, text=text, source=s) for s, text in texts.items()],
        )
        places, corpus = {}, {}
        for source, parts in self.docs.items():
            start = 0
            for part in parts:
                chunk_id = f"c{len(corpus)}"
                corpus[chunk_id] = f"{source}\n\n{part}"
                span = Span(doc_id=f"{name}-{source}", start=start, end=start + len(part))
                places[chunk_id] = Position(title=source, text=part, span=span, own=part)
                start += len(part) + 1
        notes = {
            query_id: {"evidence": list(self._evidence(name, q[1], texts))} for query_id, q in self.queries.items()
        }
        asked = {query_id: AskedQuery(text) for query_id, (text, _) in self.queries.items()}
        material = ReviewableSet(
            folder=self.folder / name,
            queries={query_id: text for query_id, (text, _) in self.queries.items()},
            corpus=corpus,
            notes=notes,
            pool=(),
            judgments=(),
            positions=places,
            data_sha=sha256(f"{self.docs} {self.queries}".encode()).hexdigest(),
            asked=asked,
        )
        return SetMeanings(material)

    def _evidence(self, name: str, quote: str, texts: dict[str, str]) -> Iterator[dict[str, object]]:
        for source, text in texts.items():
            if quote and quote in text:
                start = text.index(quote)
                yield {"doc_id": f"{name}-{source}", "start": start, "end": start + len(quote), "quote": quote}
                return


def said(own: SetMeanings, kind: str, query: str, chunk: str | None, **more: object) -> Event:
    values = {"client_id": f"client-{next(_numbers):06}", "at": "2026-01-31", "annotator": "anna", **more}
    return Event.model_validate(
        {"kind": kind, "query_id": query, "chunk_id": chunk, "rubric_sha": DEFAULT.sha, "data_sha": own.data_sha}
        | values
    )


def judged(place: str | Path, own: SetMeanings, *events: Event) -> None:
    with open_ledger(place, data_sha=own.data_sha, meanings=own) as ledger:
        ledger.append_all(events)


def translated(place: str | Path, own: SetMeanings) -> Translation:
    with open_ledger(place, data_sha=own.data_sha, meanings=own) as ledger:
        return ledger.translated(ledger.events())


def grades(translation: Translation, own: SetMeanings) -> dict[tuple[str, str], int]:
    """Return the settled grades by the texts of query and passage."""
    gold = fold(translation.events).gold()
    meaning = {chunk_id: passage.text for chunk_id, passage in own.passages().items()}
    return {(own.wordings[q], meaning[c]): int(grade) for q, by in gold.items() for c, grade in by.items()}


FIRST = "Belts drive the wheel. The belt of the mill is nine metres long. It was replaced in spring."
OTHER = "Water fills the pond. The pond is two metres deep."


@pytest.fixture
def mill(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path, {"mill.txt": [FIRST, OTHER]}, {"q1": ("How long is the belt?", "nine metres long")})


def test_a_passage_with_the_same_text_keeps_its_grade_whatever_its_id_and_file(mill: Corpus, tmp_path: Path) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    judged(place, before, said(before, "judge", "q1", "c0", grade=3), said(before, "judge", "q1", "c1", grade=0))
    mill.docs = {"new.txt": ["Words."], "moved/mill.txt": [OTHER, FIRST]}
    mill.queries = {"q9": ("How long  is the belt?", "")}
    now = mill.opened()
    found = translated(place, now)
    assert grades(found, now) == {("How long  is the belt?", FIRST): 3, ("How long  is the belt?", OTHER): 0}
    assert (found.strays, found.carried) == ((), 2)


def test_a_relevant_grade_follows_its_evidence_and_another_one_is_listed(mill: Corpus, tmp_path: Path) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    judged(place, before, said(before, "judge", "q1", "c0", grade=3), said(before, "judge", "q1", "c1", grade=1))
    mill.docs = {"mill.txt": [f"New at the front. {FIRST}", f"{OTHER} It is cold."]}
    now = mill.opened()
    found = translated(place, now)
    assert grades(found, now) == {("How long is the belt?", mill.docs["mill.txt"][0]): 3}
    (stray,) = found.strays
    assert (stray.query, stray.event.grade, stray.reason) == ("How long is the belt?", 1, "no passage has this text")
    assert stray.passage is not None
    assert stray.passage.text == OTHER


@pytest.mark.parametrize("quote", ["nine metres long", ""])
def test_evidence_that_stands_nowhere_or_in_several_passages_carries_nothing(
    mill: Corpus, tmp_path: Path, quote: str
) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    judged(place, before, said(before, "judge", "q1", "c0", grade=3, evidence=quote))
    for parts in (["The belt is ten metres long."], ["nine metres long, said one", "nine metres long, said two"]):
        mill.docs = {"mill.txt": parts}
        found = translated(place, mill.opened())
        assert found.events == ()
        assert [stray.reason[:26] for stray in found.strays] == ["no passage has this text, "]


def test_a_grade_that_was_taken_back_or_replaced_does_not_come_back_with_the_evidence(
    mill: Corpus, tmp_path: Path
) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    first = said(before, "judge", "q1", "c0", grade=3)
    judged(place, before, first, said(before, "judge", "q1", "c0", grade=0))
    mill.docs = {"mill.txt": [f"{FIRST} More."]}
    assert translated(place, mill.opened()).events == ()
    other = tmp_path / "other.sqlite"
    undo = said(before, "undo", "q1", "c0", undoes=first.client_id)
    judged(other, before, first, undo)
    now = mill.opened()
    assert grades(translated(other, now), now) == {}
    judged(other, before, said(before, "redo", "q1", "c0", undoes=first.client_id))
    assert list(grades(translated(other, now), now).values()) == [3]


def test_a_judgment_settled_as_not_relevant_is_not_carried_by_the_evidence_of_one_person(
    mill: Corpus, tmp_path: Path
) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    judged(
        place,
        before,
        said(before, "judge", "q1", "c0", grade=3),
        said(before, "judge", "q1", "c0", grade=0, annotator="bob"),
        said(before, "adjudicate", "q1", "c0", grade=0, annotator="carl"),
    )
    mill.docs = {"mill.txt": [f"{FIRST} More."]}
    assert translated(place, mill.opened()).events == ()


def test_judgments_on_an_edited_wording_follow_the_edit(mill: Corpus, tmp_path: Path) -> None:
    before, place = mill.opened(), tmp_path / "review.sqlite"
    judged(place, before, said(before, "edit_query", "q1", None, text="What is its length?"))
    mill.queries = {"q1.v2": ("What is its length?", "nine metres long")}
    edited = mill.opened()
    judged(place, edited, said(edited, "judge", "q1.v2", "c0", grade=2))
    mill.queries = {"q7": ("How long is the belt?", "nine metres long")}
    now = mill.opened()
    assert [event.query_id for event in translated(place, now).events] == ["q7", "q7.v2"]


WORDS = "belt wheel pond mill water stone gear shaft nine two metre long deep spring rope cart".split()  # noqa: SIM905


def _edited(docs: Docs, rng: random.Random) -> Docs:
    """Return files with paragraphs inserted, moved and changed, and files renamed and joined."""
    edited = {source: list(parts) for source, parts in docs.items()}
    for _ in range(rng.randint(1, 5)):
        source = rng.choice(sorted(edited))
        parts = edited[source]
        act = rng.choice(["insert", "move", "front", "change", "rename", "join"])
        if act == "insert":
            parts.insert(rng.randint(0, len(parts)), _paragraph(rng))
        elif act == "move" and len(parts) > 1:
            edited[rng.choice(sorted(edited))].append(parts.pop(0))
        elif act == "front":
            parts[0] = f"{_paragraph(rng)} {parts[0]}"
        elif act == "change":
            place = rng.randrange(len(parts))
            parts[place] = parts[place].replace(rng.choice(WORDS), rng.choice(WORDS), 1)
        elif act == "rename":
            edited[f"n{rng.randint(0, 99)}.txt"] = edited.pop(source)
        elif act == "join" and len(edited) > 1:
            edited[rng.choice(sorted(set(edited) - {source}))] += edited.pop(source)
    return edited


def _paragraph(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12))).capitalize() + "."


def _acts(own: SetMeanings, corpus: Corpus, rng: random.Random) -> list[Event]:
    events: list[Event] = []
    for _ in range(12):
        name, query = rng.choice(["anna", "bob"]), rng.choice(sorted(corpus.queries))
        chunk = rng.choice(sorted(own.material.corpus))
        kind = rng.choice(["judge"] * 5 + ["adjudicate", "undo", "redo", "reopen", "cannot"])
        mine = [event for event in events if event.annotator == name and event.undoes is None]
        if kind in {"undo", "redo"}:
            if mine:
                events.append(said(own, kind, query, chunk, annotator=name, undoes=rng.choice(mine).client_id))
            continue
        passage = own.passage(chunk)
        assert passage is not None
        words = passage.text.split()
        evidence = " ".join(words[: rng.randint(2, 5)]) if rng.random() < 0.5 else None
        grade = rng.randint(0, 3) if kind in {"judge", "adjudicate"} else None
        events.append(said(own, kind, query, chunk, annotator=name, grade=grade, evidence=evidence))
    return events


def _check(ledger: Ledger, now: SetMeanings) -> int:
    """Return how many events about other sets apply; each is about the same query, and the same words or evidence."""
    events, known = ledger.events(), ledger.meanings()
    raw = {event.client_id: event for event in events}
    found = ledger.translated(events)
    for one in found.events:
        was = raw[one.client_id]
        if one.undoes is not None or was.data_sha == now.data_sha:
            continue
        asked, judged_as = known.queries[was.data_sha, was.query_id], known.passages[was.data_sha, was.chunk_id or ""]
        assert now.wordings[one.query_id] == asked.text
        passage = now.passage(one.chunk_id or "")
        assert passage is not None
        if passage.text != judged_as.text:
            about = {asked.text, judged_as.text}
            given = [each.evidence for each in events if each.evidence and _texts(each, ledger) == about]
            quotes = [each.quote for each in asked.evidence if each.quote in judged_as.text]
            assert any(quote in passage.text for quote in [*given, *quotes])
    return found.carried


def _texts(event: Event, ledger: Ledger) -> set[str]:
    known = ledger.meanings()
    passage = known.passages.get((event.data_sha, event.chunk_id or ""))
    return {known.queries[event.data_sha, event.query_id].text, passage.text if passage else ""}


@pytest.mark.parametrize("seed", range(2))
def test_no_judgment_is_attached_to_other_words_after_random_edits(tmp_path: Path, seed: int) -> None:
    rng, carried, rows = random.Random(seed), 0, 0
    docs = {f"d{number}.txt": [_paragraph(rng) for _ in range(4)] for number in range(3)}
    quotes = [parts[0][:-1].split(" ", 1)[-1] for parts in docs.values()]
    corpus = Corpus(tmp_path, docs, {f"q{n}": (f"What of {quote}?", quote) for n, quote in enumerate(quotes)})
    place, first = tmp_path / "review.sqlite", corpus.opened()
    states = []
    for _ in range(6):
        own = corpus.opened()
        with open_ledger(place, data_sha=own.data_sha, meanings=own) as ledger:
            carried += _check(ledger, own)
            ledger.append_all(_acts(own, corpus, rng))
            states.append((own, [one for one in ledger.events() if one.data_sha == own.data_sha]))
            assert len(ledger.events()) >= rows
            rows = len(ledger.events())
        corpus.docs = _edited(corpus.docs, rng)
        corpus.queries = dict(
            zip(rng.sample(sorted(corpus.queries), len(corpus.queries)), corpus.queries.values(), strict=True)
        )
    assert carried > 5
    own, about = states[0]
    assert own.data_sha == first.data_sha
    found = {event.client_id: event for event in translated(place, own).events}
    assert [found[one.client_id] for one in about if one.undoes is None] == [one for one in about if one.undoes is None]


@pytest.mark.parametrize(
    ("quoted", "holds"), [("ten seconds", False), ("runs dry for ten seconds at the most before it stops", True)]
)
def test_a_few_words_do_not_take_a_judgment_to_another_passage(quoted: str, holds: bool) -> None:
    judged = PassageMeaning(text=f"Wait: the mixer {quoted}, then lift the lid.", source="safety.md")
    passage_meaning = PassageMeaning(text=f"Nobody knew that it {quoted}!", source="pump.md")
    query_meaning = QueryMeaning("How long does it run dry?")
    evidence_finder = EvidenceFinder(
        {"p": passage_meaning, "q": PassageMeaning(text="Nothing else.", source="safety.md")}
    )
    assert evidence_finder.of(judged, query_meaning, [quoted]) == ("p" if holds else None)
