"""Runs compared pair by pair, as ``goldbench compare`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from goldbench.api.frames import ByMeasure, Kind, frame_of, relevance, short_names
from goldbench.records.scorecard import Comparison, Score, Scorecard
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.scorecard_text import best, leaderboard_rows, method_line, pair_rows, verdict_lines
from goldbench.report.text_tables import aligned, html_lines, html_table
from goldbench.text.display import printable

if TYPE_CHECKING:
    import pandas as pd


class RunComparison(Mapping[str, "list[Comparison]"]):
    """Two systems or more with intervals, and a test for each pair, by measure, in any spelling of its name.

    ``card`` is the record that the command writes, with the full names of the measures.

    >>> from goldbench import compare
    >>> qrels = {f"q{n}": {f"d{n}": 1} for n in range(20)}
    >>> good = {query: list(judged) for query, judged in qrels.items()}
    >>> found = compare(qrels, {"good": good, "bad": {query: ["d0"] for query in qrels}}, "mrr@10", permutations=1000)
    >>> found.mean("good", "mrr@10").mean, found["mrr@10"][0].verdict.value
    (1.0, 'first')
    >>> list(found), "recall@10" in found, found.systems
    (['mrr@10'], False, ['good', 'bad'])
    >>> found.to_pandas()[["first", "second", "difference", "p_holm"]].round(3)
      first second  difference  p_holm
    0  good    bad        0.95   0.001
    """

    def __init__(
        self, card: Scorecard, *, level: int = 1, notice: str | None = None, notes: Sequence[str] = ()
    ) -> None:
        """Take the comparison.

        Args:
            card: The systems, best first, and the comparisons.
            level: The smallest relevant grade of the judgments.
            notice: The gold set's warning, or None.
            notes: What to know about the answers of retrievers, a line each.
        """
        self.card = card
        self._level = level
        self._notice = notice
        self._notes = notes
        self._shown = _with_short_names(card, level)
        pairs = {
            name: [comparison for comparison in self._shown.comparisons if comparison.measure == name]
            for name in self._shown.measures
        }
        self._pairs = ByMeasure(pairs, level=level)

    @property
    def systems(self) -> list[str]:
        """The systems, best first by the first measure."""
        return [system.system for system in self.card.systems]

    @property
    def verdict(self) -> SetVerdict | None:
        """What the set is good for with these systems.

        It has ``level``, ``sentence``, ``number``, ``improvements``.
        """
        return self.card.verdict

    def __getitem__(self, measure: str) -> list[Comparison]:
        """Return the comparisons of every pair by a measure, in any spelling of its name.

        Raises:
            KeyError: The systems were not compared by it.
        """
        return self._pairs[measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def mean(self, system: str, measure: str) -> Score:
        """Return the mean of a system with its interval.

        Raises:
            KeyError: The system or the measure is not known.
        """
        known = {system_figures.system: system_figures.scores for system_figures in self._shown.systems}
        if system not in known:
            raise KeyError(f"{system!r}: not compared; compared are {', '.join(known)}")
        return ByMeasure(known[system], level=self._level)[measure]

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each pair and measure, with the fields of a comparison as columns.

        ``measure``, ``first``, ``second`` and ``verdict`` are strings; ``queries``, ``wins``, ``ties`` and ``losses``
        whole numbers; the others float64, NaN where there is no value.
        """
        kinds: dict[str, Kind] = dict.fromkeys(("measure", "first", "second", "verdict"), "text")
        kinds |= dict.fromkeys(("queries", "wins", "ties", "losses"), "whole")
        rows = [comparison.model_dump(mode="json") for comparison in self._shown.comparisons]
        columns = {name: [row[name] for row in rows] for name in Comparison.model_fields}
        return frame_of({name: (kinds.get(name, "number"), values) for name, values in columns.items()})

    def leaderboard(self) -> pd.DataFrame:
        """Return a row for each system and measure: ``system``, ``measure`` (strings), ``mean``, ``low``, ``high``."""
        rows = [
            (system_figures.system, name, score)
            for system_figures in self._shown.systems
            for name, score in system_figures.scores.items()
        ]
        return frame_of({
            "system": ("text", [system for system, _, _ in rows]),
            "measure": ("text", [name for _, name, _ in rows]),
            "mean": ("number", [score.mean for _, _, score in rows]),
            "low": ("number", [score.low for _, _, score in rows]),
            "high": ("number", [score.high for _, _, score in rows]),
        })  # fmt: skip

    def __repr__(self) -> str:
        tables = [list(aligned(rows, words=words)) for rows, words in zip(self._tables(), (1, 3), strict=False)]
        return "\n\n".join("\n".join(lines) for lines in [*tables, self._lines()])

    def _repr_html_(self) -> str:
        tables = [html_table(rows, words=words) for rows, words in zip(self._tables(), (1, 3), strict=False)]
        return "\n".join([*tables, html_lines(self._lines())])

    def _tables(self) -> list[list[tuple[str, ...]]]:
        comparisons = self._shown.comparisons
        return [list(leaderboard_rows(self._shown)), *([pair_rows(comparisons)] if comparisons else [])]

    def _lines(self) -> list[str]:
        warnings = [*self.card.warnings, *([self._notice] if self._notice else [])]
        lines = [
            *verdict_lines(self.verdict),
            *filter(None, [best(self._shown)]),
            *relevance(self._level),
            *self._notes,
            *(f"Warning: {line}" for line in warnings),
        ]
        return [printable(line) for line in (*lines, method_line(self.card))]


def _with_short_names(card: Scorecard, level: int) -> Scorecard:
    names = short_names(card.measures, level)
    systems = [
        system.model_copy(update={"scores": {names[measure]: score for measure, score in system.scores.items()}})
        for system in card.systems
    ]
    comparisons = [
        comparison.model_copy(update={"measure": names[comparison.measure]}) for comparison in card.comparisons
    ]
    return card.model_copy(update={"measures": list(names.values()), "systems": systems, "comparisons": comparisons})
