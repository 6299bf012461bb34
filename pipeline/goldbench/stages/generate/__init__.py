"""Query generation by a chat model: what is asked about which passages, and how. Its parts know no service."""

from goldbench.stages.generate.companions import Companions
from goldbench.stages.generate.one_passage import (
    ModelGenerator,
    assign,
    describe_constraints,
    generation_prompt,
    locate,
)
from goldbench.stages.generate.several_passages import (
    CROSS_COMPARISON,
    GRADE_MANY,
    MULTI_HOP,
    ModelKindWriter,
    prompts_of_kinds,
)
from goldbench.stages.generate.short_prompt import ShortGenerator, first_short_prompt, notes_of
from goldbench.stages.generate.tiny_model import TinyGenerator, first_choice_prompt

__all__ = [
    "CROSS_COMPARISON",
    "GRADE_MANY",
    "MULTI_HOP",
    "Companions",
    "ModelGenerator",
    "ModelKindWriter",
    "ShortGenerator",
    "TinyGenerator",
    "assign",
    "describe_constraints",
    "first_choice_prompt",
    "first_short_prompt",
    "generation_prompt",
    "locate",
    "notes_of",
    "prompts_of_kinds",
]
