"""Langfuse: a trace per system, with a score per figure and the table as its output.

Where it goes is what its client reads from the environment: ``LANGFUSE_PUBLIC_KEY``, ``LANGFUSE_SECRET_KEY`` and
``LANGFUSE_BASE_URL``.
"""

from __future__ import annotations

import logging
import os

import langfuse
from langfuse.api.core.api_error import ApiError

from goldbench.pipeline.errors import Message, UsageError
from goldbench.pipeline.score.trackers.logged_scores import TABLE, Logged, logging_to, refusal

_KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_TABLE_MOST = 500_000
"""Characters of the table that are sent in a trace; a longer table is left out, and the trace says so."""


class Langfuse:
    """The project that the client's environment names."""

    def __init__(self) -> None:
        """Open the client.

        Raises:
            UsageError: The environment has no keys, or turns the client off.
        """
        missing = [name for name in _KEYS if not os.environ.get(name)]
        if missing:
            raise UsageError(
                Message("{to='langfuse'}: {} not set; set both keys of the project", " and ".join(missing))
            )
        if os.environ.get("LANGFUSE_TRACING_ENABLED", "true").lower() == "false":
            raise UsageError(
                Message("{to='langfuse'}: LANGFUSE_TRACING_ENABLED is false, so the client sends nothing; unset it")
            )
        self._client = langfuse.Langfuse(sample_rate=1.0)

    def log(self, one: Logged) -> str:
        """Keep the scores as a trace of Langfuse."""
        errors = _Errors()
        loggers = [logging.getLogger(name) for name in ("langfuse", "opentelemetry")]
        for logger in loggers:
            logger.addHandler(errors)
        with logging_to("langfuse", one.system):
            try:
                trace = self._send(one)
            except ApiError as error:
                errors.told.append(f"status {error.status_code}")
            finally:
                for logger in loggers:
                    logger.removeHandler(errors)
        if errors.told:
            raise refusal("langfuse", one.system, errors.told[0])
        return f"Langfuse trace {trace}"

    def _send(self, one: Logged) -> str:
        """Send the trace and its scores, wait until they are delivered, and return the trace's id."""
        fits = len(one.table) <= _TABLE_MOST
        table = one.table if fits else f"{len(one.table):,} characters, which are too many for a trace"
        with self._client.start_as_current_observation(
            name=f"goldbench score: {one.system}", as_type="evaluator", input=dict(one.facts), output={TABLE: table}
        ) as span:
            trace = span.trace_id
        for name, value in one.figures.items():
            self._client.create_score(name=name, value=value, trace_id=trace, data_type="NUMERIC")
        self._client.flush()
        return str(trace)


class _Errors(logging.Handler):
    """Keeps what the client's threads log: they raise nothing where nobody waits."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())
