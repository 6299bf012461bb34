"""A tracker by its name; its client is imported only if it is asked for."""

from __future__ import annotations

from typing import Literal

from goldbench.pipeline.errors import require
from goldbench.pipeline.score.trackers.logged_scores import Tracker

Name = Literal["mlflow", "wandb", "langfuse"]


def tracker_of(name: Name) -> Tracker:
    """Return a tracker.

    Raises:
        MissingExtra: Its client is not installed.
        UsageError: Its environment lacks what the client needs.
    """
    require(name, name)
    if name == "mlflow":
        from goldbench.pipeline.score.trackers.mlflow_tracker import MLflow

        return MLflow()
    if name == "wandb":
        from goldbench.pipeline.score.trackers.wandb_tracker import WeightsAndBiases

        return WeightsAndBiases()
    from goldbench.pipeline.score.trackers.langfuse_tracker import Langfuse

    return Langfuse()
