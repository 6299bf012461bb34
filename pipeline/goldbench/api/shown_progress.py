"""The progress of a call, on standard error or silent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goldbench.ports import Progress, Step


def progress_for(*, shown: bool) -> Progress:
    """Return the progress of a call on standard error, or a silent one.

    Args:
        shown: Whether it is shown.
    """
    if not shown:
        return SILENCE
    from goldbench.report.terminal import on_standard_error

    return on_standard_error()


class Silence:
    """Shows nothing."""

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Step]:  # noqa: ARG002
        """Show nothing of a stage."""
        yield self

    def note(self, line: str) -> None:
        """Show nothing."""

    def advance(self, count: int) -> None:
        """Show nothing."""

    def tell(self, line: str) -> None:
        """Show nothing."""


SILENCE = Silence()
