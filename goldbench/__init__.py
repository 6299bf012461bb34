"""Documents in, a retrieval test set out, retrievers scored.

>>> import goldbench
>>> sorted(set(dir(goldbench)) & {"GoldSet", "build", "compare", "evaluate"})
['GoldSet', 'build', 'compare', 'evaluate']

Everything is imported when it is first used: ``import goldbench`` alone takes next to no time.
"""

from __future__ import annotations

from goldbench.pipeline import __version__

TYPE_CHECKING = False  # type checkers take it for that of typing, whose import takes longer than this module
if TYPE_CHECKING:
    from typing import Any

    from goldbench.pipeline.api.cost_plan import CostPlan
    from goldbench.pipeline.api.evaluations import Evaluation, Evaluations
    from goldbench.pipeline.api.gold_build import build
    from goldbench.pipeline.api.gold_card import GoldCard
    from goldbench.pipeline.api.gold_records import Frames
    from goldbench.pipeline.api.gold_set import GoldSet
    from goldbench.pipeline.api.run_comparison import RunComparison
    from goldbench.pipeline.api.scores import compare, evaluate
    from goldbench.pipeline.errors import (
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
"""Where each public name is defined, below ``goldbench.pipeline``."""

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

    found = getattr(import_module(f"goldbench.pipeline.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
