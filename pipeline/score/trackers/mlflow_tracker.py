"""MLflow: a run per system, with metrics, parameters and the table as an artifact.

Where it goes is what MLflow reads from the environment: ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME``.
"""

from __future__ import annotations

import re

import mlflow

from goldbench.pipeline.score.trackers.logged_scores import TABLE, Logged, logging_to

_LONGEST = 6000
"""Characters of a parameter that MLflow takes."""


class MLflow:
    """The store that MLflow's environment names."""

    def log(self, one: Logged) -> str:
        """Keep the scores as a run of MLflow."""
        with logging_to("mlflow", one.system), mlflow.start_run(run_name=one.system, nested=True) as run:
            mlflow.log_params({"system": one.system[:_LONGEST], **one.facts})
            mlflow.log_metrics({metric_name(name): value for name, value in one.figures.items()})
            mlflow.log_text(one.table, TABLE)
        return f"MLflow run {run.info.run_id}"


def metric_name(name: str) -> str:
    """Return the name of a measure as MLflow takes it: ``ndcg_at_10``."""
    return re.sub(r"[^\w. -]", "_", name.replace("@", "_at_"))
