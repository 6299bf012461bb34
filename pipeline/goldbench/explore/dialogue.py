"""Ask one question at a time: the passages that a retriever finds, their measures if known, and a model's answer.

The question and the passages reach the model as data between markers that no text can close, and shown text has no
character that could control a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from goldbench.errors import AnswerRejected, GoldbenchError, ModelError
from goldbench.formats.query_logs import folded
from goldbench.measures.evaluation import evaluate
from goldbench.measures.names import parse_measures
from goldbench.ports import ChatRequest, Completion, Retriever
from goldbench.prompts.loader import Prompt, load
from goldbench.records.replies import Answer
from goldbench.score.runs import Gold
from goldbench.text.display import one_line
from goldbench.text.injection import delimiter

PROMPT = "answer.v1"
STAGE = "ask"
LONGEST = 10_000
"""Length of the longest question, in characters; the command refuses longer ones."""

MEASURES = ("hit", "p", "r", "f1")

_QUESTION = "question"


class GroundedAnswer(Answer):
    """An answer from passages; which were used is said before the answer is given."""

    used: list[int] = Field(description="The numbers of the passages that the answer rests on; empty where none helps.")
    answer: str = Field(description="The answer, in at most 120 words, from these passages alone.")


Chat = Callable[[Sequence[ChatRequest[GroundedAnswer]]], Sequence[Completion[GroundedAnswer] | ModelError]]
"""Sends requests to a model at once and returns an answer or an error for each."""


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A retrieved passage; ``grade`` is None if nobody judged it for this question.

    ``text`` is None if the retriever returned a text that is not a passage.
    """

    chunk_id: str
    score: float
    text: str | None
    grade: int | None


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The reply to a question.

    ``query_id`` is the gold set's query with the same words, and ``figures`` its measures at the cutoff, or None.
    ``answer`` is the model's, with the numbers of the passages it used; ``problem`` says in one line why there is no
    answer although a model was asked.
    """

    passages: tuple[RetrievedPassage, ...]
    query_id: str | None = None
    figures: Mapping[str, float] | None = None
    answer: str | None = None
    used: tuple[int, ...] = ()
    problem: str | None = None


class Dialogue:
    """A retriever over a gold set's passages, with or without a model that answers."""

    def __init__(
        self, gold: Gold, corpus: Mapping[str, str], *, retriever: Retriever, k: int, chat: Chat | None = None
    ) -> None:
        """Take the parts of the dialogue.

        Args:
            gold: The judgments.
            corpus: Text by id of the indexed passages.
            retriever: A retriever that has indexed them.
            k: Number of passages to retrieve, 1 or more.
            chat: Sends requests to a model, or None.
        """
        self._gold = gold
        self._corpus = corpus
        self._retriever = retriever
        self._k = k
        self._chat = chat
        self._known: dict[str, str] = {}
        for query_id, text in gold.queries().items():
            if query_id in gold.qrels and folded(text):
                self._known.setdefault(folded(text), query_id)
        self._prompt = load(PROMPT)

    def ask(self, question: str) -> QuestionReply:
        """Return the reply to one line of at most ``LONGEST`` characters; a failure is part of the reply."""
        try:
            scores = self._retriever.search({_QUESTION: question}, k=self._k)[_QUESTION]
        except GoldbenchError as error:
            return QuestionReply((), problem=str(error))
        query_id = self._known.get(folded(question))
        grades = self._gold.qrels[query_id] if query_id is not None else {}
        passages = tuple(
            RetrievedPassage(chunk_id, score, self._corpus.get(chunk_id), grades.get(chunk_id))
            for chunk_id, score in scores.items()
        )
        figures = self._figures(query_id, scores) if query_id is not None else None
        answer, used, problem = self._answer(question, passages)
        return QuestionReply(passages, query_id, figures, answer, used, problem)

    def _figures(self, query_id: str, scores: Mapping[str, float]) -> dict[str, float] | None:
        """Return the measures at the cutoff, or None for a query without a relevant passage."""
        grades = self._gold.qrels[query_id]
        if not any(grade >= self._gold.level for grade in grades.values()):
            return None
        measures = parse_measures(MEASURES, cutoffs=[self._k], rel=self._gold.level)
        result = evaluate({query_id: grades}, {query_id: dict(scores)}, measures)
        return {name: result.mean(measure.name) for name, measure in zip(MEASURES, measures, strict=True)}

    def _answer(
        self, question: str, passages: Sequence[RetrievedPassage]
    ) -> tuple[str | None, tuple[int, ...], str | None]:
        texts = {number: passage.text for number, passage in enumerate(passages, 1) if passage.text is not None}
        if self._chat is None or not texts:
            return None, (), None
        try:
            reply = self._chat([request_for(self._prompt, question, list(texts.values()))])[0]
        except ModelError as error:
            return None, (), str(error)
        if isinstance(reply, ModelError):
            return None, (), str(reply)
        numbers = list(texts)
        if (empty := rejection_of(reply.answer)) is not None:
            return None, (), str(empty)
        used = tuple(numbers[cited - 1] for cited in rests_on(reply.answer, len(numbers)))
        return reply.answer.answer, used, None


def rejection_of(answer: GroundedAnswer) -> AnswerRejected | None:
    """Return why an answer cannot be used, None if it can."""
    return None if one_line(answer.answer) else AnswerRejected("empty", f"{STAGE}: the model gave an empty answer")


def rests_on(answer: GroundedAnswer, passages: int) -> tuple[int, ...]:
    """Return the numbers of the passages that an answer rests on, each once; empty if it declines to answer.

    Args:
        answer: The model's answer.
        passages: The number of passages it was given; other numbers are left out.
    """
    return tuple(dict.fromkeys(number for number in answer.used if 1 <= number <= passages))


def request_for(prompt: Prompt, question: str, passages: Sequence[str]) -> ChatRequest[GroundedAnswer]:
    """Return the request to the model.

    Args:
        prompt: The prompt of the dialogue.
        question: The question, one line.
        passages: Texts of the passages, best first; the request numbers them from 1.
    """
    marker = delimiter(question, *passages)
    system, user = prompt.render(
        count=str(len(passages)),
        delimiter=marker,
        passages="\n\n".join(f"[{number} {marker}]\n{text}" for number, text in enumerate(passages, 1)),
        question=question,
    )
    return ChatRequest(
        stage=STAGE, prompt=prompt.id, system=system, user=user, answer=GroundedAnswer, temperature=0.0, max_tokens=1024
    )


def shown(reply: QuestionReply, *, k: int, width: int) -> Iterator[str]:
    """Yield a reply as lines that are safe to print.

    Args:
        reply: The reply.
        k: The cutoff.
        width: Number of characters of a passage to show.
    """
    if not reply.passages and reply.problem is None:
        yield "Nothing was found."
    for number, passage in enumerate(reply.passages, 1):
        judged = (
            "" if reply.query_id is None else f"  {'not judged' if passage.grade is None else f'grade {passage.grade}'}"
        )
        yield f"{number:>2}. {one_line(passage.chunk_id)}  {passage.score:.4f}{judged}"
        if passage.text is None:
            yield "    a text that is not a passage of the gold set"
            continue
        text = one_line(passage.text[: 4 * width])
        yield f"    {text[:width]}{'…' if len(text) > width or len(passage.text) > 4 * width else ''}"
    if reply.answer is not None:
        rests = ", ".join(str(number) for number in reply.used)
        answer_lines = [line for text in reply.answer.splitlines() if (line := one_line(text))]
        answer_lines[-1:] = [answer_lines[-1] + (f" [{rests}]" if rests else " [no passage]")]
        yield f"Answer: {answer_lines[0]}"
        yield from (f"    {line}" for line in answer_lines[1:])
    if reply.problem is not None:
        yield f"Problem: {one_line(reply.problem)}"
    if reply.figures is not None:
        names = {"hit": "hit", "p": "precision", "r": "recall", "f1": "F1"}
        figures = "  ".join(f"{names[name]}@{k} {value:.4f}" for name, value in reply.figures.items())
        yield f"In the gold set ({reply.query_id}): {figures}"
    elif reply.query_id is not None:
        yield f"In the gold set ({reply.query_id}), without a relevant passage."
