"""The forecast of a run: by the pace of the answers, once it is known, and only where it is worth a line."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from goldbench.generate import progress
from goldbench.llm.limits import Speed


@dataclass
class Screen:
    """Takes what a person would see."""

    notes: list[str] = field(default_factory=list)

    def tell(self, line: str) -> None: ...

    def note(self, line: str) -> None:
        self.notes.append(line)


@dataclass
class Calls:
    """Calls of which one was answered in the time given."""

    answered: int
    patience_s: float = 60.0

    def traffic(self) -> Calls:
        return self

    def line(self) -> str:
        return ""

    def stall(self, after_s: float) -> str | None:
        return None

    @property
    def speed(self) -> Speed | None:
        return Speed(self.answered, 1.0, 10) if self.answered else None


@pytest.mark.parametrize(("answered", "calls", "told"), [(1, 2000, True), (1, 5, False), (0, 2000, False)])
def test_a_run_says_how_long_it_takes_once_its_pace_is_known(
    monkeypatch: pytest.MonkeyPatch, answered: int, calls: int, told: bool
) -> None:
    monkeypatch.setattr(progress, "PACE_KNOWN_S", 0.1)
    monkeypatch.setattr(progress, "LOOK_S", 0.1)
    screen = Screen()

    async def run() -> None:
        async with progress.calls_shown(Calls(answered), screen, screen, calls=calls, unit="queries"):  # type: ignore[arg-type]
            await asyncio.sleep(0.5)

    asyncio.run(run())
    assert len(screen.notes) == told
    assert all(": 2,000 queries take about " in note for note in screen.notes)
