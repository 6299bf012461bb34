"""The card of a gold set, as a caller holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.api.frames import Kind, frame_of
from goldbench.api.keywords import keywords_named
from goldbench.card import write_card
from goldbench.records.set_card import Card, Figure, title
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.card_text import heading, plain, remarks, said, verdict
from goldbench.report.scorecard_text import verdict_lines
from goldbench.report.text_tables import html_lines, html_table
from goldbench.text.display import printable

if TYPE_CHECKING:
    import pandas as pd


class GoldCard(Mapping[str, "Figure"]):
    """How far a gold set can be trusted: its figures by name, each with value, threshold, state and meaning.

    ``card`` is the record that ``goldbench card`` writes.

    >>> import goldbench
    >>> text = "The circulation pump starts when the tank falls below {} litres and stops when it is full."
    >>> texts = [text.format(number) for number in ("forty", "fifty", "sixty")]
    >>> gold = goldbench.build(texts=texts, queries=1, no_chunk=True, progress=False)
    >>> card = gold.card()
    >>> card["number of queries"].value, card["number of queries"].state.value
    (1, 'warn')
    >>> list(card.to_pandas().columns)
    ['section', 'name', 'value', 'unit', 'threshold', 'state', 'meaning']
    """

    def __init__(self, card: Card, *, folder: Path) -> None:
        """Take the card.

        Args:
            card: The figures.
            folder: The folder of the set.
        """
        self.card = card
        self._folder = folder

    @property
    def verdict(self) -> SetVerdict | None:
        """What the set is good for: ``level``, ``sentence``, ``number``, ``improvements``."""
        return self.card.verdict

    def __getitem__(self, name: str) -> Figure:
        return self.card.figure(name)

    def __iter__(self) -> Iterator[str]:
        return (figure.name for figure in self.card.figures)

    def __len__(self) -> int:
        return len(self.card.figures)

    def write(self) -> tuple[Path, Path]:
        """Write ``card.json`` and ``card.md`` into the folder of the set and return their paths.

        Raises:
            OutputError: The folder cannot be written, or holds a file of that name that is not a card.
        """
        with keywords_named():
            return write_card(self._folder, self.card)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each figure.

        ``section``, ``name``, ``unit``, ``threshold``, ``state`` and ``meaning`` are strings; ``value`` is an object
        column of numbers and texts, None if the figure is absent.
        """
        kinds: dict[str, Kind] = dict.fromkeys(("section", "name", "unit", "threshold", "state", "meaning"), "text")
        rows = [figure.model_dump(mode="json") for figure in self.card.figures]
        order = ("section", "name", "value", "unit", "threshold", "state", "meaning")
        return frame_of({name: (kinds.get(name, "any"), [row[name] for row in rows]) for name in order})

    def __repr__(self) -> str:
        return plain(self.card) + "\n".join(map(printable, remarks(self.card)))

    def _repr_html_(self) -> str:
        rows = [["", "figure", "value", "meaning"]]
        rows += [[figure.state.value, title(figure.name), said(figure), figure.meaning] for figure in self.card.figures]
        lines = [verdict(self.card), *remarks(self.card)]
        first = html_lines([*verdict_lines(self.verdict), heading(self.card)])
        return f"{first}\n{html_table(rows, words=2)}\n{html_lines(lines)}"
