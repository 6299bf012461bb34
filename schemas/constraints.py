"""The user's rules for a query: one set, rendered into the prompt and enforced by the filter."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from schemas.record import Record


class Constraints(Record):
    """What a query may look like.

    ``language`` is an ISO 639-1 code; None asks for the language of the chunk. Words are counted as a reader of the
    language would: every character of Chinese or Japanese counts as one, every five of Thai, Lao, Khmer and Burmese.
    ``banned`` words or strings may not occur, whatever their case. ``punctuation=False`` allows no punctuation mark at
    all, not even a final question mark. ``option_lists`` allows «A) … B) …», ``numbering`` a leading «1.» or «Q1:».
    """

    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}(-[A-Za-z]{2,4})?$")
    per_chunk: int = Field(default=1, ge=1, le=3)
    min_words: int = Field(default=2, ge=1)
    max_words: int = Field(default=40, ge=1)
    max_characters: int | None = Field(default=None, ge=1)
    banned: tuple[str, ...] = ()
    punctuation: bool = True
    option_lists: bool = False
    numbering: bool = False

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}")
        if any(not word.strip() for word in self.banned):
            raise ValueError("banned holds an empty word")
        return self
