"""Answer schemas as servers with structured output take them."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from goldbench.llm.reply_schema import answer_schema, schema_text, sent_schema
from goldbench.records import replies
from goldbench.records.replies import GeneratedQueries
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


def test_grades_are_sent_as_lists_of_values_and_the_reason_for_skipping_stands_last():
    grade = sent_schema(replies.Grade, limited=True)["properties"]
    assert grade["grade"]["enum"] == grade["topic"]["enum"] == [0, 1, 2, 3]
    assert grade["evidence"]["maxLength"] == 800
    queries = sent_schema(GeneratedQueries, limited=True, items=2)
    assert list(queries["properties"]) == queries["required"] == ["candidates", "skip_reason"]
    assert queries["properties"]["candidates"]["maxItems"] == 2
    assert queries["properties"]["skip_reason"]["anyOf"][0] == {"type": "string", "maxLength": 200}
    long = {"skip_reason": "x" * 999, "candidates": []}
    assert GeneratedQueries.model_validate(long).skip_reason == "x" * 999


def test_what_names_a_stored_answer_did_not_change_with_what_is_sent():
    known = {GeneratedQueries: "388673b0298e", replies.Grade: "ee4f9439e260", replies.Verdict: "b1441d7600d2"}
    for answer, digest in known.items():
        assert hashlib.sha256(schema_text(answer).encode()).hexdigest()[:12] == digest


class Tree(BaseModel):
    children: list[Tree]


class Free(BaseModel):
    counts: dict[str, int]


@pytest.mark.parametrize("answer", [Tree, Free])
def test_an_answer_that_no_strict_schema_can_say_is_refused(answer: type[BaseModel]):
    with pytest.raises(TypeError):
        answer_schema(answer)
