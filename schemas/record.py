"""What every record of goldset has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

ID_PATTERN = r"^[^\s#\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*$"
"""No white space or control character, and no leading ``#``: such an id survives a TREC file and trec_eval 10."""

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=200)]


class Record(BaseModel):
    """An immutable value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
