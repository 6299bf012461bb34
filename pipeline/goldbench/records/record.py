"""The base class of all records, and their ids."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

_HIDDEN = r"\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
ID_PATTERN = rf"^[^#{_HIDDEN}][^{_HIDDEN}]*$"
"""No white space, control or invisible character, no leading ``#``: fit for a TREC file and trec_eval 10."""

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=200)]


class Record(BaseModel):
    """An immutable value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
