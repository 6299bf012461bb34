"""Questions that need several paragraphs: HotpotQA (and 2WikiMultihopQA) and MuSiQue, each with its paragraphs.

A paragraph is a passage, titled as it is; the same words under the same title are one passage, whatever question has
it. The supporting paragraphs of a question are relevant and belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.formats.benchmarks.collection import Collection, Entry, MalformedItem, Qrel, Topic, distinct, listed_rows
from goldbench.formats.documents.identity import document_id
from goldbench.formats.faults import Fault, Location, in_file, location_in_words
from goldbench.formats.packed_files import Source
from goldbench.records.query import QueryKind
from goldbench.records.relevance import Relevance
from goldbench.text.display import shown

_NONE = QueryKind.UNANSWERABLE


class Paragraph(NamedTuple):
    """A paragraph of a question. ``proof`` are the stretches of its text that support the answer."""

    title: str
    text: str
    supports: bool = False
    proof: tuple[tuple[int, int], ...] = ()

    @property
    def doc_id(self) -> str:
        """The id of the paragraph."""
        return document_id(self.title.replace("/", "-") or "paragraph", self.text)


class MultiHopQuestion(NamedTuple):
    """A question with all its paragraphs."""

    query_id: str
    question: str
    kind: QueryKind
    answer: str | None
    paragraphs: tuple[Paragraph, ...]
    location: Location
    answerable: bool = True

    def needed(self) -> dict[str, Paragraph]:
        """Return the supporting paragraphs by id."""
        return {paragraph.doc_id: paragraph for paragraph in self.paragraphs if paragraph.supports and self.answerable}


def read_hotpotqa(path: Path) -> Collection:
    """Return the collection in a file of HotpotQA's form: a JSON list, or an object per line.

    Raises:
        InputError: The file is not a JSON list or JSON lines.
    """
    return _collection("hotpotqa", path, _of_hotpotqa)


def read_musique(path: Path) -> Collection:
    """Return the collection in a file of MuSiQue's form: an object per line, or a JSON list.

    A question that is not answerable from its own paragraphs is one without an answer, unless the file holds the same
    question with paragraphs that answer it: all paragraphs are searched together.

    Raises:
        InputError: The file is not a JSON list or JSON lines.
    """
    return _collection("musique", path, _of_musique)


def _collection(kind: str, path: Path, read: Callable[[Location, Mapping[str, Any]], MultiHopQuestion]) -> Collection:
    source = Source(path)
    name = shown(path)

    def rows() -> Iterator[MultiHopQuestion | MalformedItem]:
        with in_file(name):
            yield from (_read(location, row, read) for location, row in listed_rows(source))

    def asked() -> Iterator[MultiHopQuestion]:
        return (question for question in rows() if isinstance(question, MultiHopQuestion))

    def topics() -> Iterator[Topic]:
        answered = {
            text for question in asked() if question.answerable for text in (question.query_id, question.question)
        }
        for question in asked():
            twin = not question.answerable and not answered.isdisjoint((question.query_id, question.question))
            yield (
                Topic(f"{question.query_id}-unanswerable", question.question, question.location, kind=_NONE)
                if twin
                else _topic(question)
            )

    return Collection(
        kind=kind,
        documents=lambda: distinct(
            Entry(paragraph.doc_id, paragraph.title, paragraph.text, question.location)
            for question in asked()
            for paragraph in question.paragraphs
        ),
        queries=topics,
        judgments=lambda: (qrel for question in rows() for qrel in _judged(question)),
        names=(name, name, name),
        files=(path,),
        joins_titles=True,
    )


def _read(
    location: Location, row: object, read: Callable[[Location, Mapping[str, Any]], MultiHopQuestion]
) -> MultiHopQuestion | MalformedItem:
    if not isinstance(row, Mapping):
        return MalformedItem(location_in_words(location), location, "is not a JSON object")
    try:
        question = read(location, row)
    except Fault as fault:
        query_id = row.get("_id", row.get("id"))
        return MalformedItem(
            query_id if isinstance(query_id, str) else location_in_words(location), location, fault.problem
        )
    unsupported = question.answerable and not question.needed()
    return MalformedItem(question.query_id, location, "names no supporting paragraph") if unsupported else question


def _judged(question: MultiHopQuestion | MalformedItem) -> Iterator[Qrel | MalformedItem]:
    if isinstance(question, MalformedItem):
        yield question
    else:
        yield from (
            Qrel(question.query_id, doc_id, int(Relevance.HELPS), question.location) for doc_id in question.needed()
        )


def _topic(question: MultiHopQuestion) -> Topic:
    needed = question.needed()
    proofs = []
    for doc_id, paragraph in needed.items():
        shift = len(f"{paragraph.title} {paragraph.text}".strip()) - len(paragraph.text.rstrip())
        proofs += [
            (doc_id, start + shift, end + shift, paragraph.text[start:end]) for start, end in sorted(paragraph.proof)
        ]
    return Topic(
        query_id=question.query_id,
        text=question.question,
        location=question.location,
        answers=tuple(proofs),
        answer=question.answer,
        kind=question.kind if question.answerable else _NONE,
        needs=tuple(needed) if len(needed) > 1 else (),
        near=None if question.answerable else next((paragraph.doc_id for paragraph in question.paragraphs), None),
    )


def _of_hotpotqa(location: Location, row: Mapping[str, Any]) -> MultiHopQuestion:
    facts: dict[str, list[int]] = {}
    for title, number in _pairs(row, "supporting_facts", "title", "sent_id"):
        if not isinstance(title, str) or not isinstance(number, int) or isinstance(number, bool):
            raise Fault("has supporting_facts that are not pairs of a title and a number")
        facts.setdefault(title, []).append(number)
    context = _pairs(row, "context", "title", "sentences")
    paragraphs = [_of_sentences(title, sentences, facts) for title, sentences in context]
    for title, numbers in facts.items():
        lengths = [len(sentences) for name, sentences in context if name == title]
        if not lengths:
            raise Fault(f"names the supporting paragraph {shown(title)[:80]!r}, which is not in its context")
        missing = [number for number in numbers if not 0 <= number < max(lengths)]
        if missing:
            raise Fault(
                f"names sentence {missing[0]} of {shown(title)[:80]!r}, which has {max(lengths)}, counted from 0"
            )
    compares = str(row.get("type")) in {"comparison", "bridge_comparison"}
    kind = QueryKind.CROSS_COMPARISON if compares else QueryKind.MULTI_HOP
    return MultiHopQuestion(*_words(row, "_id"), kind, _answer(row), tuple(paragraphs), location)


def _pairs(row: Mapping[str, Any], name: str, first: str, second: str) -> list[tuple[Any, Any]]:
    """Return a member that is a list of pairs, or two lists under their names, as tables hold it."""
    pairs = row.get(name)
    try:
        if isinstance(pairs, Mapping):
            return list(zip(pairs[first], pairs[second], strict=True))
        return [(left, right) for left, right in pairs or ()]
    except (KeyError, TypeError, ValueError):
        raise Fault(f"has no {name} that is a list of pairs") from None


def _of_sentences(title: object, sentences: object, facts: Mapping[str, Sequence[int]]) -> Paragraph:
    if (
        not isinstance(title, str)
        or not isinstance(sentences, list)
        or not all(isinstance(line_of_text, str) for line_of_text in sentences)
    ):
        raise Fault("has a context that is not a title with a list of sentences")
    text = ""
    proof = []
    for number, sentence in enumerate(sentences):
        start = len(text) + len(sentence) - len(sentence.lstrip())
        text += sentence
        if number in facts.get(title, ()) and sentence.strip():
            proof.append((start, start + len(sentence.strip())))
    shift = len(text) - len(text.lstrip())
    return Paragraph(title, text.strip(), title in facts, tuple((start - shift, end - shift) for start, end in proof))


def _of_musique(location: Location, row: Mapping[str, Any]) -> MultiHopQuestion:
    paragraphs_given = row.get("paragraphs")
    steps = row.get("question_decomposition")
    if not isinstance(paragraphs_given, list) or not all(
        isinstance(paragraph, Mapping) for paragraph in paragraphs_given
    ):
        raise Fault("has no paragraphs that are a list of objects")
    words = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
    paragraphs = [_of_object(paragraph, words) for paragraph in paragraphs_given]
    answerable = row.get("answerable", True)
    if not isinstance(answerable, bool):
        raise Fault("has an answerable that is neither true nor false")
    answer = _answer(row) if answerable else None
    return MultiHopQuestion(*_words(row, "id"), QueryKind.MULTI_HOP, answer, tuple(paragraphs), location, answerable)


def _of_object(row: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> Paragraph:
    title = row.get("title")
    text = row.get("paragraph_text")
    supports = row.get("is_supporting", False)
    if not isinstance(text, str) or not isinstance(title, str | None) or not isinstance(supports, bool):
        raise Fault("has a paragraph without title, paragraph_text or is_supporting of the right type")
    text = text.strip()
    answers = [step.get("answer") for step in steps if step.get("paragraph_support_idx") == row.get("idx")]
    spans = [
        _sentence(text, text.find(words)) for words in answers if isinstance(words, str) and words and words in text
    ]
    return Paragraph(title or "", text, supports, tuple(dict.fromkeys(spans)) or ((0, len(text)),))


def _sentence(text: str, at: int) -> tuple[int, int]:
    """Return the stretch around a place up to the nearest full stops with a space."""
    start = max(text.rfind(". ", 0, at) + 2, 0) if text.rfind(". ", 0, at) >= 0 else 0
    end = text.find(". ", at)
    return start, end + 1 if end >= 0 else len(text)


def _words(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    query_id = row.get(name, row.get("id"))
    question = row.get("question")
    if not isinstance(query_id, str) or not isinstance(question, str):
        raise Fault(f"has no {name} or no question that is a string")
    return query_id, question


def _answer(row: Mapping[str, Any]) -> str | None:
    answer = row.get("answer")
    return answer if isinstance(answer, str) and answer.strip() else None
