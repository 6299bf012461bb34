"""Weights & Biases: a run per system, with a summary, a configuration and the table as an artifact.

Where it goes is what its client reads from the environment: ``WANDB_PROJECT``, ``WANDB_ENTITY``, ``WANDB_MODE``.
Nothing of this machine is sent: neither code nor git, neither its packages nor its load.
"""

from __future__ import annotations

import os

import wandb

from goldbench.pipeline.score.trackers.logged_scores import TABLE, Logged, logging_to

_PROJECT = "goldbench"
"""The project where the environment names none."""


class WeightsAndBiases:
    """The project that the client's environment names."""

    def log(self, one: Logged) -> str:
        """Keep the scores as a run of Weights & Biases."""
        settings = wandb.Settings(
            silent=True, console="off", disable_code=True, disable_git=True, save_code=False,
            x_disable_meta=True, x_disable_stats=True, x_save_requirements=False,
        )  # fmt: skip
        with logging_to("wandb", one.system):
            run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", _PROJECT),
                name=one.system,
                job_type="goldbench score",
                config={"system": one.system, **one.facts},
                settings=settings,
                reinit="create_new",
            )
            with run:
                run.summary.update(dict(one.figures))
                artifact = wandb.Artifact(f"{run.id}-per-query", type="scores")
                with artifact.new_file(TABLE, mode="w", encoding="utf-8") as file:
                    file.write(one.table)
                run.log_artifact(artifact)
        return f"Weights & Biases run {run.id}" + (f", kept in {run.dir}" if run.offline else "")
