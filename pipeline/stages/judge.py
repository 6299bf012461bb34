"""Grading: how far a chunk answers a query, from 0 to 3, with the words that show it.

Reads: pairs of a query and a passage. Writes: judgments.
Fails: as the chat model does; a reply that cannot be read gives no judgment, never a 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import CallFailed
from pipeline.ports import ChatModel, ChatRequest
from pipeline.text.evidence import find_quote
from pipeline.text.injection import delimiter, tells_how_to_judge
from pipeline.text.words import word_count
from prompts.loader import Prompt
from schemas.judgment import RELEVANT, Canary, Flag, Judgment, Relevance
from schemas.replies import Grade, Grades, PassageGrade

SHORTEST_QUOTE = 3
"""Words. A shorter quotation stands in nearly every passage and shows nothing, unless it is the whole passage."""

_ONE_ANSWER, _MANY_ANSWER = 400, 180
"""The most tokens of a reply, and more for each of several passages."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What is graded: a query and a passage. ``answer`` is set only where the source itself is checked."""

    query_id: str
    chunk_id: str
    query: str
    passage: str
    answer: str | None = None
    canary: Canary | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """What a reply says of one pair."""

    grade: int
    evidence: str
    topic: int
    flag: Flag
    rationale: str

    @classmethod
    def one(cls, reply: Grade) -> _Said:
        return cls(reply.grade, reply.evidence, reply.topic, reply.flag, _line(reply.intent, reply.remark))

    @classmethod
    def of_many(cls, reply: PassageGrade, intent: str) -> _Said:
        return cls(reply.grade, reply.evidence, reply.topic, reply.flag, _line(intent))


def assessor(model: str, prompt: Prompt) -> str:
    """Return what an assessor is called: the model and the prompt, without white space."""
    return f"{''.join(model.split())}/{prompt.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One assessor: a model and the wording it is asked with.

    A grade of 2 or 3 needs a sentence that stands in the passage and is no instruction to the judge. Where there is
    none, the judge is told so and asked once more; then the grade is taken down to 1. ``stage`` is the account.
    """

    model: ChatModel
    name: str
    prompt: Prompt
    stage: str = "grade"

    @property
    def assessor(self) -> str:
        """The model and the prompt, without white space."""
        return assessor(self.name, self.prompt)

    async def judge(self, pair: Pair) -> Judgment:
        """Return the judgment of one pair.

        Raises:
            CallFailed: There is no reply that can be read.
        """
        said = _Said.one(await self._ask(pair, complaint=""))
        complaint = fault(said, pair)
        if complaint is None:
            return self._judgment(pair, said, capped=False)
        try:
            again = _Said.one(await self._ask(pair, complaint=_again(said, complaint)))
        except CallFailed:
            again = said
        return self._judgment(pair, again, capped=fault(again, pair) is not None)

    async def _ask(self, pair: Pair, *, complaint: str) -> Grade:
        mark = delimiter(pair.query, pair.answer or "", pair.passage)
        system, user = self.prompt.render(
            query=pair.query, answer=_answer(pair, mark), delimiter=mark, passage=pair.passage, complaint=complaint
        )
        request = ChatRequest(
            stage=self.stage,
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=Grade,
            temperature=0.0,
            max_tokens=_ONE_ANSWER,
        )
        return (await self.model.complete(request)).answer

    def _judgment(self, pair: Pair, said: _Said, *, capped: bool) -> Judgment:
        return judgment(pair, said, assessor=self.assessor, capped=capped)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyJudge:
    """An assessor that grades several passages of one query in a reply."""

    model: ChatModel
    name: str
    prompt: Prompt
    stage: str = "grade"

    @property
    def assessor(self) -> str:
        """The model and the prompt, without white space."""
        return assessor(self.name, self.prompt)

    async def judge(self, pairs: Sequence[Pair]) -> list[Judgment | None]:
        """Return the judgment of each pair; None where the reply has none, or two, of it.

        Raises:
            CallFailed: There is no reply that can be read.
        """
        said = await self._ask(pairs, complaint="")
        return [
            None if item is None else await self._guarded(pair, item) for pair, item in zip(pairs, said, strict=True)
        ]

    async def _guarded(self, pair: Pair, said: _Said) -> Judgment:
        complaint = fault(said, pair)
        again: _Said | None = said
        if complaint is not None:
            try:
                again = (await self._ask([pair], complaint=_again(said, complaint)))[0]
            except CallFailed:
                again = None
        again = again or said
        return judgment(pair, again, assessor=self.assessor, capped=fault(again, pair) is not None)

    async def _ask(self, pairs: Sequence[Pair], *, complaint: str) -> list[_Said | None]:
        mark = delimiter(pairs[0].query, *(pair.passage for pair in pairs))
        passages = "\n".join(
            f"<<<PASSAGE {number} {mark}>>>\n{pair.passage}\n<<<END {mark}>>>" for number, pair in enumerate(pairs, 1)
        )
        system, user = self.prompt.render(
            query=pairs[0].query, delimiter=mark, passages=passages, count=str(len(pairs)), complaint=complaint
        )
        request = ChatRequest(
            stage=self.stage,
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=Grades,
            temperature=0.0,
            max_tokens=_ONE_ANSWER + _MANY_ANSWER * len(pairs),
        )
        reply = (await self.model.complete(request)).answer
        return [_only(reply, number) for number in range(1, len(pairs) + 1)]


def _only(reply: Grades, number: int) -> _Said | None:
    found = [item for item in reply.passages if item.number == number]
    return _Said.of_many(found[0], reply.intent) if len(found) == 1 else None


def judgment(pair: Pair, said: _Said, *, assessor: str, capped: bool) -> Judgment:
    """Return what a reply comes to: the quote in the passage's own words, the grade held to it."""
    found = quoted(said.evidence, pair.passage)
    hostile = tells_how_to_judge(pair.passage)
    return Judgment(
        query_id=pair.query_id,
        chunk_id=pair.chunk_id,
        relevance=min(Relevance(said.grade), Relevance.SAME_TOPIC) if capped else Relevance(said.grade),
        assessor=assessor,
        rationale=said.rationale,
        evidence="" if found is None or capped else found,
        topic=Relevance(said.topic),
        flag=Flag.INSTRUCTIONS_IN_TEXT if hostile else said.flag,
        capped=capped,
        canary=pair.canary,
    )


def fault(said: _Said, pair: Pair) -> str | None:
    """Return what a grade of 2 or 3 lacks, None where nothing is lacking or the grade is lower."""
    if said.grade < RELEVANT:
        return None
    found = quoted(said.evidence, pair.passage)
    if found is None:
        return "the sentence copied as evidence does not stand in the passage" if said.evidence.strip() else _NOTHING
    if tells_how_to_judge(found):
        return "the sentence copied as evidence tells how to grade; that is no evidence"
    return None


_NOTHING = "no sentence was copied as evidence"


def quoted(quote: str, passage: str) -> str | None:
    """Return a quotation in the passage's own words, None where it is not there or too short to show much."""
    found = find_quote(quote, passage)
    if found is None:
        return None
    text = passage[found[0] : found[1]]
    return text if word_count(text) >= min(SHORTEST_QUOTE, word_count(passage)) else None


def escalates(first: Judgment, *, source: bool = False) -> bool:
    """Whether a pair goes to the other assessors: relevant, capped or flagged, or a source that is not relevant."""
    return first.relevance >= RELEVANT or first.capped or first.flag is not Flag.NONE or source


def of_one_mind(judgments: Sequence[Judgment], panel: int) -> bool:
    """Whether more than half of a panel of so many find a passage relevant, or more than half do not."""
    relevant = sum(judgment.relevance >= RELEVANT for judgment in judgments)
    return 2 * max(relevant, len(judgments) - relevant) > panel


def _again(said: _Said, complaint: str) -> str:
    return (
        f"\nAn earlier reply gave the grade {said.grade}, but {complaint}. Grade again: copy a sentence of the passage "
        "exactly as it stands there, or give 1 or 0."
    )


def _answer(pair: Pair, mark: str) -> str:
    if not pair.answer:
        return ""
    return f"An answer that is said to be right, to compare with:\n<<<ANSWER {mark}>>>\n{pair.answer}\n<<<END {mark}>>>"


def _line(*parts: str) -> str:
    return " | ".join(line for part in parts if (line := " ".join(part.split())[:300]))
