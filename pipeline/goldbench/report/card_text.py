"""The card of a gold set in Markdown, as plain text and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from goldbench.records.set_card import Card, Figure, FigureState, Value, title
from goldbench.report.named_queries import NAMED, line_of
from goldbench.report.scorecard_text import SMOKE, verdict_lines, verdict_markdown
from goldbench.report.text_tables import described
from goldbench.text.display import amount, printable, queries
from goldbench.text.markdown import escaped, markdown_row


def heading(card: Card) -> str:
    """Return one line about the gold set: its size, who wrote the queries, whether a pool was judged."""
    kind = written_by(card.evidence_level)
    labels = "pooled and graded" if card.graded else "no pool was judged"
    return f"{card.name}: {queries(card.queries)}, {amount(card.passages, 'passage')}; {kind}; {labels}"


def written_by(evidence_level: str | None) -> str:
    """Return in words who wrote the queries of a set."""
    known = {
        SMOKE: "queries simulated or of a tiny model (smoke)",
        "model": "queries written by a model",
        "users": "queries that users asked",
        "human": "queries written by people",
    }
    return known.get(evidence_level or "", f"evidence level {evidence_level or 'not named'}")


def verdict(card: Card) -> str:
    """Return the number of figures in each state, one line."""
    counts = {state: card.count(state) for state in FigureState}
    failed = f", {counts[FigureState.FAIL]} failed" if counts[FigureState.FAIL] else ""
    return (
        f"{amount(len(card.figures), 'figure')}: {counts[FigureState.OK]} ok, "
        f"{amount(counts[FigureState.WARN], 'warning')}{failed}, "
        f"{counts[FigureState.INFO]} without a threshold, {counts[FigureState.ABSENT]} absent."
    )


def remarks(card: Card) -> Iterator[str]:
    """Yield the warnings that go with the card: about simulated queries, and about figures on rankings."""
    if card.notice:
        yield card.notice
    if card.evidence_level == SMOKE:
        yield "This set names no winner: do not use it to choose a retriever."
    if card.baselines:
        yield (f"Figures on rankings compare goldbench's baselines ({', '.join(card.baselines)}), not your systems.")


def doubtful(card: Card) -> list[Figure]:
    """Return the figures that limit what the set is good for, the failed ones first."""
    return [
        figure for state in (FigureState.FAIL, FigureState.WARN) for figure in card.figures if figure.state is state
    ]


def named_queries(card: Card, folder: str) -> list[str]:
    """Return a line with the queries behind the first doubtful figure that names some, or no line.

    Args:
        card: The card.
        folder: The folder of the set as a shell takes it.
    """
    for figure in doubtful(card):
        if figure.items and figure.name != "model families":
            return line_of(f"Behind {title(figure.name)}", figure.items[:NAMED], folder)
    return []


def figure_rows(figures: Sequence[Figure], *, meanings: bool = True) -> list[tuple[str, str, str]]:
    """Return a row for each figure: its state, its name with its value, and what it means.

    Args:
        figures: The figures.
        meanings: Whether the last cell says what the figure means; if not, it is empty.
    """
    rows = []
    for figure in figures:
        state = "" if figure.state is FigureState.INFO else figure.state.value
        value = said(figure)
        named = title(figure.name) + (f": {value}" if value else "")
        rows.append((state, named, figure.meaning if meanings or figure.state is FigureState.ABSENT else ""))
    return rows


def plain(card: Card) -> str:
    """Return the card as plain text, for a pipe: one line for each figure."""
    figures = described(figure_rows(card.figures), None)
    return "\n".join([*verdict_lines(card.verdict), printable(heading(card)), *figures, printable(verdict(card)), ""])


def markdown(card: Card) -> str:
    """Return the card in Markdown: a table for each section, with the numbers behind its figures below."""
    parts = [f"# Card of {escaped(card.name)}", ""]
    if card.verdict is not None:
        parts += [verdict_markdown(card.verdict), ""]
    parts += [escaped(heading(card)), "", escaped(verdict(card)), ""]
    for remark in remarks(card):
        parts += [f"> {escaped(remark)}", ""]
    for section, figures in groupby(card.figures, key=lambda figure: figure.section):
        rows = list(figures)
        parts += [f"## {escaped(title(section).capitalize())}", "", "| figure | value | good | state | meaning |"]
        parts.append("| --- | ---: | --- | --- | --- |")
        for row in rows:
            cells = (title(row.name), said(row), row.threshold or "", row.state.value, row.meaning)
            parts.append(markdown_row(cells))
        parts.append("")
        for row in rows:
            parts += list(_details(row))
    parts += [f"goldbench {escaped(card.goldbench)}, seed {card.seed}.", ""]
    return "\n".join(parts)


def _details(figure: Figure) -> Iterator[str]:
    if figure.values:
        details = "; ".join(f"{escaped(title(key))} {escaped(shown(value))}" for key, value in figure.values.items())
        yield f"*{escaped(title(figure.name))}*: {details}."
        yield ""
    if figure.items:
        yield f"*{escaped(title(figure.name))}*, listed: {', '.join(map(escaped, figure.items))}."
        yield ""


def said(figure: Figure) -> str:
    """Return a figure's value with its unit; a share in percent, as ``90.0% of the first 10``."""
    if figure.value is None:
        return ""
    if figure.unit.startswith("share ") and isinstance(figure.value, int | float):
        return f"{figure.value:.1%} {figure.unit.removeprefix('share ')}"
    return f"{shown(figure.value)} {figure.unit}".rstrip()


def shown(value: Value) -> str:
    """Return a value as text: whole numbers with separators, others with up to three decimals."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else value
