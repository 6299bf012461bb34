"""What a build or a grading would send, as a caller holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from goldbench.api.frames import frame_of
from goldbench.llm.rehearsal import PlannedStage
from goldbench.report.build_text import plan_rows
from goldbench.report.text_tables import aligned, html_lines, html_table
from goldbench.text.display import printable
from goldbench.text.stage_names import stage_name

if TYPE_CHECKING:
    import pandas as pd


class CostPlan:
    """Requests, tokens and cost of each stage, nothing of which was sent; ``notes`` say what they rest on.

    >>> import goldbench
    >>> text = "The circulation pump starts when the tank falls below forty litres and stops when it is full."
    >>> server = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
    >>> plan = goldbench.build(texts=[text], no_chunk=True, dry_run=True, progress=False, **server)
    >>> plan.requests, plan.usd is None, plan.to_pandas().stage.tolist()
    (1, True, ['generate'])
    """

    def __init__(self, stages: Sequence[PlannedStage], notes: Sequence[str]) -> None:
        self.stages = tuple(replace(stage, stage=stage_name(stage.stage)) for stage in stages)
        self.notes = tuple(notes)

    @property
    def requests(self) -> int:
        """Requests to send, of all stages."""
        return sum(stage.requests for stage in self.stages)

    @property
    def usd(self) -> float | None:
        """US dollars of all stages; None if a price is not known."""
        known = [stage.usd for stage in self.stages if stage.usd is not None]
        return sum(known) if len(known) == len(self.stages) else None

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each stage.

        ``stage`` (string), ``requests``, ``stored``, ``input_tokens``, ``output_tokens`` (int64), ``usd`` (float64).
        """
        return frame_of({
            "stage": ("text", [stage.stage for stage in self.stages]),
            "requests": ("whole", [stage.requests for stage in self.stages]),
            "stored": ("whole", [stage.replayed for stage in self.stages]),
            "input_tokens": ("whole", [stage.input_tokens for stage in self.stages]),
            "output_tokens": ("whole", [stage.output_tokens for stage in self.stages]),
            "usd": ("number", [stage.usd for stage in self.stages]),
        })  # fmt: skip

    def __repr__(self) -> str:
        table = aligned(plan_rows(self.stages)) if self.stages else ()
        return "\n".join([*table, *map(printable, self.notes)])

    def _repr_html_(self) -> str:
        table = html_table(plan_rows(self.stages)) if self.stages else ""
        return f"{table}\n{html_lines(self.notes)}"
