"""The base class of all records, and their ids."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from goldbench.schemas.earlier_name import with_present_name

_HIDDEN = r"\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
ID_PATTERN = rf"^[^#{_HIDDEN}][^{_HIDDEN}]*$"
"""No white space, control or invisible character, no leading ``#``: fit for a TREC file and trec_eval 10."""

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=200)]


class Record(BaseModel):
    """An immutable value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class VersionedRecord(Record):
    """A record that names the version which wrote it as ``goldbench``; the earlier name is read, too."""

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, found: Any) -> Any:  # noqa: ANN401  before validation
        return with_present_name(found) if isinstance(found, dict) else found
