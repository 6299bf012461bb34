"""A query as a person must see it to judge it fairly: what was said before it, and what it was before errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from goldbench.records.query import Turn
from goldbench.records.testset import TestSet

SEVERAL = "The answer needs several passages. A passage that holds a part of it helps: grade 2, not less."
"""What people read beside a query that one passage does not answer; the rubric's grade 2 says the same."""

Conversation = Literal["last", "standalone", "joined"]
"""What a retriever searches with for the last question of a conversation: that question as it was asked, its
stand-alone form, or all turns and answers, a line each, the question last."""

_PERSON = "Person"
_ASSISTANT = "Assistant"


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query and what belongs to it.

    ``text`` is the query as it was asked, in a conversation the last turn; ``history`` holds the turns before it, the
    oldest first, and ``standalone`` the last turn put so that it needs none of them. ``original`` is the query before
    typing errors, None if it has none. ``several`` tells whether the answer needs several passages.
    """

    text: str
    history: tuple[Turn, ...] = ()
    standalone: str | None = None
    original: str | None = None
    several: bool = False

    @property
    def judged(self) -> str:
        """The text that passages are judged for."""
        return self.standalone or self.text

    @property
    def said(self) -> list[tuple[str, str]]:
        """The turns with who speaks, the query itself last; empty without a conversation."""
        if not self.history and self.standalone in (None, self.text):
            return []
        turns = [(who, text) for turn in self.history for who, text in _spoken(turn)]
        return [*turns, (_PERSON, self.text)]

    @property
    def conversation(self) -> str:
        """The conversation, a line per turn that begins with who speaks; empty without one."""
        return "\n".join(f"{who}: {' '.join(text.split())}" for who, text in self.said)

    def searched(self, conversation: Conversation) -> str | None:
        """Return what a retriever searches with; None for a conversation without the stand-alone form asked for."""
        if conversation == "standalone":
            return self.standalone or (None if self.history else self.text)
        if conversation == "joined":
            return "\n".join([*(words for turn in self.history for _, words in _spoken(turn)), self.text])
        return self.text

    def fields(self) -> dict[str, str]:
        """Return what a person needs beside the judged text, by the names of columns; only what there is."""
        fields = {"conversation": self.conversation, "original": self.original, "hint": SEVERAL if self.several else ""}
        return {name: text for name, text in fields.items() if text}

    def metadata(self) -> dict[str, object]:
        """Return what stands in the metadata of a query in a BEIR folder; only what there is."""
        turns = [turn.model_dump(mode="json", exclude_none=True) for turn in self.history]
        metadata = {"history": turns, "standalone": self.standalone, "original_text": self.original}
        return {name: value for name, value in metadata.items() if value}


FIELDS = ("conversation", "original", "hint")
"""The names that `AskedQuery.fields` gives."""


def _spoken(turn: Turn) -> Iterable[tuple[str, str]]:
    yield _PERSON, turn.question
    if turn.answer:
        yield _ASSISTANT, turn.answer


def asked_queries(test_set: TestSet) -> dict[str, AskedQuery]:
    """Return every query of a test set, also those that nothing in the corpus answers."""
    texts = {**test_set.queries, **test_set.unanswerable}
    return {
        query_id: AskedQuery(
            text=text,
            history=tuple(test_set.history.get(query_id, ())),
            standalone=test_set.standalone.get(query_id),
            original=_original(query_id, texts, test_set.originals),
            several=query_id in test_set.needs,
        )
        for query_id, text in texts.items()
    }


def _original(query_id: str, texts: Mapping[str, str], originals: Mapping[str, str]) -> str | None:
    return texts.get(originals[query_id]) if query_id in originals else None
