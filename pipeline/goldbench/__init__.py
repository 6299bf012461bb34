"""Documents in, a retrieval test set out, retrievers scored.

>>> import goldbench
>>> sorted(set(dir(goldbench)) & {"GoldSet", "build", "compare", "evaluate"})
['GoldSet', 'build', 'compare', 'evaluate']

Everything is imported when it is first used: ``import goldbench`` alone takes next to no time.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for that of typing, whose import takes longer than this module
if TYPE_CHECKING:
    from typing import Any

    from goldbench.api.cost_plan import CostPlan
    from goldbench.api.evaluations import Evaluation, Evaluations
    from goldbench.api.gold_build import build
    from goldbench.api.gold_card import GoldCard
    from goldbench.api.gold_records import Frames
    from goldbench.api.gold_set import GoldSet
    from goldbench.api.run_comparison import RunComparison
    from goldbench.api.scores import compare, evaluate
    from goldbench.errors import (
        AnswerRejected,
        CallFailed,
        ConfigError,
        GoldbenchError,
        InputError,
        JudgeFailed,
        LimitReached,
        MissingExtra,
        MissingPackage,
        ModelError,
        ModelUnavailable,
        ModelUnfit,
        NotAsked,
        NothingKept,
        OutputError,
        RetrieverFailed,
        UnknownMeasure,
        UnreadableDocument,
        UsageError,
    )

_PLACES = {
    "CostPlan": "api.cost_plan",
    "Evaluation": "api.evaluations",
    "Evaluations": "api.evaluations",
    "Frames": "api.gold_records",
    "GoldCard": "api.gold_card",
    "GoldSet": "api.gold_set",
    "RunComparison": "api.run_comparison",
    "build": "api.gold_build",
    "compare": "api.scores",
    "evaluate": "api.scores",
    **dict.fromkeys(
        (
            "AnswerRejected", "CallFailed", "ConfigError", "GoldbenchError", "InputError", "JudgeFailed",
            "LimitReached", "MissingExtra", "MissingPackage", "ModelError", "ModelUnavailable", "ModelUnfit",
            "NotAsked", "NothingKept", "OutputError", "RetrieverFailed", "UnknownMeasure", "UnreadableDocument",
            "UsageError",
        ),
        "errors",
    ),
}  # fmt: skip
"""Where each public name is defined."""

__all__ = [  # noqa: RUF022  in the order of the places
    "CostPlan",
    "Evaluation",
    "Evaluations",
    "Frames",
    "GoldCard",
    "GoldSet",
    "RunComparison",
    "build",
    "compare",
    "evaluate",
    "AnswerRejected",
    "CallFailed",
    "ConfigError",
    "GoldbenchError",
    "InputError",
    "JudgeFailed",
    "LimitReached",
    "MissingExtra",
    "MissingPackage",
    "ModelError",
    "ModelUnavailable",
    "ModelUnfit",
    "NotAsked",
    "NothingKept",
    "OutputError",
    "RetrieverFailed",
    "UnknownMeasure",
    "UnreadableDocument",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  a module's attribute can be anything
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    attribute = getattr(import_module(f"goldbench.{_PLACES[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
