"""The difference of two gold sets: counts first, then examples, as lines for a terminal, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from goldbench.goldset.difference import PASSAGES, Difference, DifferenceItem, DifferenceSection
from goldbench.report.text_tables import aligned, markdown_table
from goldbench.text.display import cut, one_line
from goldbench.text.markdown import code_span, escaped

WIDTH = 80
"""Columns of a terminal that the lines fit."""
_SHOWN = 100
"""Most characters of a text in Markdown."""
_KINDS = ("removed", "added", "changed")
_SIGNS = dict(zip(_KINDS, "-+~", strict=True))
_SAME = "No difference."


def terminal_lines(difference: Difference, *, examples: int) -> Iterator[str]:
    """Yield the counts of every section, the remarks, and examples; no line is wider than 80 columns.

    Args:
        difference: The difference.
        examples: Most examples of each kind of difference, 0 or more.
    """
    yield from aligned(_rows(difference))
    yield from difference.notes
    if not difference.differs:
        yield _SAME
    for section, kind, items in _lists(difference):
        if examples:
            yield ""
            yield f"{section.name} {kind}: {len(items):,}"
        for item in items[:examples]:
            yield _cut(f"  {_SIGNS[kind]} {' '.join(one_line(part) for part in _parts(section, item))}")
        if 0 < examples < len(items):
            yield f"  and {len(items) - examples:,} more"


def markdown(difference: Difference, names: tuple[str, str], *, examples: int) -> str:
    """Return the difference for a pull request; texts and ids stand in code spans, so that nothing in them works.

    Args:
        difference: The difference.
        names: What the sets are called.
        examples: Most examples of each kind of difference, 0 or more.
    """
    parts = [
        f"**Gold set** from {code_span(names[0])} (A) to {code_span(names[1])} (B)",
        markdown_table(_rows(difference)),
    ]
    if difference.notes or not difference.differs:
        notes = [*difference.notes, *(() if difference.differs else (_SAME,))]
        parts.append("\n".join(f"- {escaped(note)}" for note in notes))
    for section, kind, items in _lists(difference) if examples else ():
        lines = [f"{section.name.capitalize()} {kind}: {len(items):,}", ""]
        shown = (" ".join(code_span(cut(part, _SHOWN)) for part in _parts(section, item)) for item in items[:examples])
        lines.extend(f"- {line}" for line in shown)
        if len(items) > examples:
            lines.append(f"- and {len(items) - examples:,} more")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_record(difference: Difference, names: tuple[str, str]) -> dict[str, Any]:
    """Return the difference for programs, with every item.

    Args:
        difference: The difference.
        names: What the sets are called.
    """
    return {
        "a": names[0],
        "b": names[1],
        "differs": difference.differs,
        "notes": list(difference.notes),
        "sections": {section.name: _section_record(section) for section in difference.sections},
    }


def _section_record(section: DifferenceSection) -> dict[str, Any]:
    counts = {name: getattr(section, name) for name in ("before", "after", "same", "renamed")}
    return counts | {kind: [_item_record(item) for item in getattr(section, kind)] for kind in _KINDS}


def _item_record(item: DifferenceItem) -> dict[str, Any]:
    record = {"a": list(item.before), "b": list(item.after), "change": item.change, "text": item.text}
    return {name: value for name, value in record.items() if value}


def _rows(difference: Difference) -> list[list[str]]:
    rows = [["", "A", "B", "same", *_KINDS]]
    for section in difference.sections:
        counts = (section.before, section.after, section.same, *(len(getattr(section, kind)) for kind in _KINDS))
        rows.append([section.name, *(f"{count:,}" for count in counts)])
    return rows


def _lists(difference: Difference) -> Iterator[tuple[DifferenceSection, str, Sequence[DifferenceItem]]]:
    for section in difference.sections:
        for kind in _KINDS:
            items: tuple[DifferenceItem, ...] = getattr(section, kind)
            if items:
                yield section, kind, items


def _parts(section: DifferenceSection, item: DifferenceItem) -> list[str]:
    """Return what is shown of an item: its ids, what changed unless the heading says it, its text."""
    ids = item.before or item.after
    parts = [part for part in (item.change, item.text) if part]
    if len(ids) > 1:
        return [item.change, *ids, *parts[1:]]
    return [*ids, *(parts[1:] if section.name in {"documents", PASSAGES} and item.change else parts)]


def _cut(line: str) -> str:
    return line if cell_len(line) <= WIDTH else set_cell_size(line, WIDTH - 1).rstrip() + "…"


def heading(names: tuple[str, str]) -> Iterator[str]:
    """Yield what the two sets are called, a line each."""
    yield from (_cut(f"{letter}: {one_line(name)}") for letter, name in zip("AB", names, strict=True))
