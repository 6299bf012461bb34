"""Answer schemas as servers with structured output take them."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from goldbench.pipeline.llm.reply_schema import answer_schema, field_names
from goldbench.schemas.replies import GeneratedQueries
from tests.model_server.dialect import _loose


class Grade(IntEnum):
    NO = 0
    YES = 1


class Inner(BaseModel):
    grade: Grade = Field(description="How good.")
    word: Literal["only"] = "only"


class Outer(BaseModel):
    note: str | None = Field(default=None, min_length=2, max_length=9, description="A note.")
    rows: list[Inner] = Field(min_length=1, max_length=3)
    share: float = Field(ge=0, le=1)


@pytest.mark.parametrize("answer", [Outer, GeneratedQueries])
def test_a_schema_is_strict(answer: type[BaseModel]):
    schema = answer_schema(answer)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert _loose(schema, "schema") is None
    assert "$ref" not in str(schema)


def test_limits_move_into_the_description():
    schema = answer_schema(Outer)
    assert schema["properties"]["share"]["description"] == "(at least 0, at most 1)"
    assert "maximum" not in schema["properties"]["share"]
    assert schema["properties"]["rows"]["description"] == "(at least 1 items, at most 3 items)"


def test_what_fits_the_model_fits_the_schema():
    value = Outer(rows=[Inner(grade=Grade.YES)], share=0.5).model_dump(mode="json")
    jsonschema.validate(value, answer_schema(Outer))


def test_every_field_name_is_known_at_any_depth():
    assert field_names(Outer) == {"note", "rows", "share", "grade", "word"}


class Tree(BaseModel):
    children: list[Tree]


class Free(BaseModel):
    counts: dict[str, int]


@pytest.mark.parametrize("answer", [Tree, Free])
def test_an_answer_that_no_strict_schema_can_say_is_refused(answer: type[BaseModel]):
    with pytest.raises(TypeError):
        answer_schema(answer)
