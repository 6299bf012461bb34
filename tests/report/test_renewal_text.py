"""What a refresh says a person should do next."""

from __future__ import annotations

from pathlib import Path

from goldbench.pipeline.report.renewal_text import renewal_warnings
from goldbench.schemas.manifest import Renewed


def test_dropped_labels_are_named_only_if_there_are_any() -> None:
    def said(unjudged: int) -> str:
        renewed = Renewed(kept=3, moved=1, asked=0, retired=0, unjudged=unjudged)
        return " ".join(renewal_warnings(renewed, True, 0, Path("run")))

    assert "dropped" not in said(0)
    assert "goldbench grade run judges what nobody judged" in said(0)
    assert "2 labels dropped" in said(2)
