"""Grading: how well a chunk answers a query, from 0 to 3, with the words that show it.

Reads: pairs of a query and a passage. Writes: judgments.
Fails: as the chat model does; a reply that cannot be read gives no judgment, never a 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from goldbench.errors import CallFailed
from goldbench.ports import ChatModel, ChatRequest
from goldbench.prompts.loader import Prompt
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.judgment import Canary, Flag, Judgment
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.replies import Grade, Grades, PassageGrade, YesNo
from goldbench.text.boundaries import sentence_spans
from goldbench.text.evidence import find_quote
from goldbench.text.injection import delimiter, tells_how_to_judge
from goldbench.text.words import word_count

A = TypeVar("A", bound=BaseModel)

SHORTEST_QUOTE = 3
"""Fewest words of a quotation. A shorter one stands in nearly every passage, unless it is the whole passage."""

YES_NO = "grade-yes-no.v1"
"""The prompt of the judge by yes or no."""

_ONE_ANSWER = 400
_MANY_ANSWER = 180
"""Most tokens of a reply, and tokens added for each of several passages."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a passage to grade. ``answer`` is set only when the source itself is checked."""

    query_id: str
    chunk_id: str
    query: str
    passage: str
    answer: str | None = None
    canary: Canary | None = None


class _Said(NamedTuple):
    """What a reply says about one pair: the grade with its quote, and the reasons on one line."""

    reply: Grade | PassageGrade
    rationale: str


def assessor(model: str, prompt: Prompt) -> str:
    """Return the name of an assessor: the model and the prompt, without white space."""
    return f"{''.join(model.split())}/{prompt.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assessor:
    """A model and the prompt it is asked with; calls are booked to ``stage``.

    A grade of 2 or 3 needs a sentence that stands in the passage and is not an instruction to the judge. If there is
    none, the judge is told so and asked once more; if there is still none, the grade is lowered to 1.
    """

    model: ChatModel
    name: str
    prompt: Prompt
    stage: str = "grade"
    rubric: Rubric = DEFAULT

    @property
    def assessor(self) -> str:
        """The name of the assessor."""
        return assessor(self.name, self.prompt)

    async def _ask(self, pairs: Sequence[Pair], *, complaint: str) -> Sequence[_Said | None]:
        """Return what the reply says about each pair; None for a pair that the reply does not grade exactly once."""
        raise NotImplementedError

    async def _complete(self, answer: type[A], max_tokens: int, items: int | None, /, **values: str) -> A:
        system, user = self.prompt.render(rubric=self.rubric.text, **values)
        request = ChatRequest(
            stage=self.stage,
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=answer,
            temperature=0.0,
            max_tokens=max_tokens,
            items=items,
        )
        return (await self.model.complete(request)).answer

    async def _guarded(self, pair: Pair, answer: _Said) -> Judgment:
        complaint = _fault(answer, pair)
        if complaint is not None:
            try:
                [again] = await self._ask([pair], complaint=_again(answer, complaint))
            except CallFailed:
                again = None
            answer = again or answer
        return self._judgment(pair, answer, capped=_fault(answer, pair) is not None)

    def _judgment(self, pair: Pair, answer: _Said, *, capped: bool) -> Judgment:
        """Return the judgment of a reply, with the quote in the passage's own words."""
        reply = answer.reply
        quote = quoted(answer.reply.evidence, pair.passage)
        grade = Relevance(reply.grade)
        return Judgment(
            query_id=pair.query_id,
            chunk_id=pair.chunk_id,
            relevance=min(grade, Relevance.SAME_TOPIC) if capped else grade,
            assessor=self.assessor,
            rubric=self.rubric.sha,
            rationale=answer.rationale,
            evidence="" if quote is None or capped else quote,
            topic=Relevance(reply.topic),
            flag=Flag.INSTRUCTIONS_IN_TEXT if tells_how_to_judge(pair.passage) else reply.flag,
            capped=capped,
            canary=pair.canary,
        )


class Judge(_Assessor):
    """An assessor that grades one passage per reply."""

    __slots__ = ()

    async def judge(self, pair: Pair) -> Judgment:
        """Return the judgment of one pair.

        Raises:
            CallFailed: No reply could be read.
        """
        [answer] = await self._ask([pair], complaint="")
        return await self._guarded(pair, answer)

    async def _ask(self, pairs: Sequence[Pair], *, complaint: str) -> list[_Said]:
        [pair] = pairs
        mark = delimiter(pair.query, pair.answer or "", pair.passage)
        reply = await self._complete(
            Grade,
            _ONE_ANSWER,
            None,
            query=pair.query,
            answer=_answer(pair, mark),
            delimiter=mark,
            passage=pair.passage,
            complaint=complaint,
        )
        return [_Said(reply, _line(reply.intent, reply.remark))]


class ManyJudge(_Assessor):
    """An assessor that grades several passages of one query in one reply."""

    __slots__ = ()

    async def judge_each(self, pairs: Sequence[Pair]) -> list[Judgment | None]:
        """Return the judgment of each pair; None if the reply grades the pair not at all or twice.

        Raises:
            CallFailed: No reply could be read.
        """
        replies = await self._ask(pairs, complaint="")
        return [
            None if answer is None else await self._guarded(pair, answer)
            for pair, answer in zip(pairs, replies, strict=True)
        ]

    async def _ask(self, pairs: Sequence[Pair], *, complaint: str) -> list[_Said | None]:
        mark = delimiter(pairs[0].query, *(pair.passage for pair in pairs))
        passages = "\n".join(
            f"<<<PASSAGE {number} {mark}>>>\n{pair.passage}\n<<<END {mark}>>>" for number, pair in enumerate(pairs, 1)
        )
        reply = await self._complete(
            Grades,
            _ONE_ANSWER + _MANY_ANSWER * len(pairs),
            len(pairs),
            query=pairs[0].query,
            delimiter=mark,
            passages=passages,
            count=str(len(pairs)),
            complaint=complaint,
        )
        items_of_number = [
            [item for item in reply.passages if item.number == number] for number in range(1, len(pairs) + 1)
        ]
        return [_Said(items[0], _line(reply.intent)) if len(items) == 1 else None for items in items_of_number]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least probability of yes for the grades 1, 2 and 3."""

    topic: float = 0.25
    helps: float = 0.5
    answers: float = 0.65

    def grade(self, probability: float) -> Relevance:
        """Return the grade of a probability."""
        return Relevance(sum(probability >= least for least in (self.topic, self.helps, self.answers)))


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoJudge:
    """An assessor that asks one question and reads how likely yes is; it quotes nothing, so no grade is capped.

    It reads no rubric: its grades are places on the scale of probabilities.

    Sentences that tell a judge how to grade are left out of what it reads, and the pair is flagged. An answer that is
    said to be right is not shown: the source is asked about as every other passage is, and no second time.
    """

    model: ChatModel
    name: str
    prompt: Prompt
    stage: str = "grade"
    thresholds: Thresholds = Thresholds()

    @property
    def assessor(self) -> str:
        """The name of the assessor."""
        return assessor(self.name, self.prompt)

    async def judge(self, pair: Pair) -> Judgment:
        """Return the judgment of one pair.

        Raises:
            CallFailed: No probability came.
        """
        orders = tells_how_to_judge(pair.passage)
        passage = _without_orders(pair.passage) if orders else pair.passage
        probability = round(await self._probability(pair.query, passage), 6)  # thresholds are set by what is recorded
        grade = self.thresholds.grade(probability)
        if orders and tells_how_to_judge(passage):  # over the end of a sentence
            grade = min(grade, Relevance.SAME_TOPIC)
        return Judgment(
            query_id=pair.query_id,
            chunk_id=pair.chunk_id,
            relevance=grade,
            assessor=self.assessor,
            flag=Flag.INSTRUCTIONS_IN_TEXT if orders else Flag.NONE,
            canary=pair.canary,
            probability=probability,
        )

    async def judge_each(self, pairs: Sequence[Pair]) -> list[Judgment]:
        """Return the judgment of each pair, one call after another; raises as `judge`."""
        return [await self.judge(pair) for pair in pairs]

    async def _probability(self, query: str, passage: str) -> float:
        system, user = self.prompt.render(delimiter=delimiter(passage), passage=passage, query=query)
        request = ChatRequest(
            stage=self.stage,
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=YesNo,
            temperature=0.0,
            max_tokens=1,
            yes_or_no=True,
        )
        return (await self.model.complete(request)).answer.yes


def _fault(answer: _Said, pair: Pair) -> str | None:
    """Return what a grade of 2 or 3 lacks, None if nothing is lacking or the grade is lower."""
    if answer.reply.grade < RELEVANT:
        return None
    quote = quoted(answer.reply.evidence, pair.passage)
    if quote is None and not answer.reply.evidence.strip():
        return "no sentence was copied as evidence"
    if quote is None:
        return "the sentence copied as evidence does not stand in the passage"
    return (
        "the sentence copied as evidence tells how to grade; that is no evidence" if tells_how_to_judge(quote) else None
    )


def quoted(quote: str, passage: str) -> str | None:
    """Return a quotation in the passage's own words, None if it is not there or too short to show much."""
    span = find_quote(quote, passage)
    if span is None:
        return None
    text = passage[span[0] : span[1]]
    return text if word_count(text) >= min(SHORTEST_QUOTE, word_count(passage)) else None


def escalates(first: Judgment, *, source: bool = False) -> bool:
    """Return whether a pair goes to the other assessors: relevant, capped or flagged, or a source of a query."""
    return first.relevance >= RELEVANT or first.capped or first.flag is not Flag.NONE or source


def of_one_mind(judgments: Sequence[Judgment], panel: int) -> bool:
    """Return whether more than half of a panel of ``panel`` assessors agree that a passage is relevant, or is not."""
    relevant = sum(judgment.relevance >= RELEVANT for judgment in judgments)
    return 2 * max(relevant, len(judgments) - relevant) > panel


def _again(answer: _Said, complaint: str) -> str:
    return (
        f"\nAn earlier reply gave the grade {answer.reply.grade}, but {complaint}. Grade again: copy a sentence of the "
        "passage exactly as it stands there, or give 1 or 0."
    )


def _answer(pair: Pair, mark: str) -> str:
    if not pair.answer:
        return ""
    return f"An answer that is said to be right, to compare with:\n<<<ANSWER {mark}>>>\n{pair.answer}\n<<<END {mark}>>>"


def _line(*parts: str) -> str:
    return " | ".join(line for part in parts if (line := " ".join(part.split())[:300]))


def _without_orders(passage: str) -> str:
    sentences = [passage[start:end] for start, end in sentence_spans(passage)]
    return " ".join(sentence for sentence in sentences if not tells_how_to_judge(sentence))
