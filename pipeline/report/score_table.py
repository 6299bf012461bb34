"""The figures of runs as a table for a terminal, as JSON, CSV, Markdown or LaTeX, and the value of every query."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipeline.measures.result import Result
from pipeline.text.display import printable, queries

if TYPE_CHECKING:
    from rich.table import Table

COUNTS = ("queries", "missing", "extra", "no_relevant", "tied", "holes")


def terminal_table(results: Mapping[str, Result]) -> Table:
    """Return a table with a row per run: means to four decimals, and how the run met the judgments."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("run")
    for head in _heads(results):
        table.add_column(head, justify="right")
    for name, result in results.items():
        table.add_row(Text(printable(name)), *_cells(result))
    return table


def plain_table(results: Mapping[str, Result]) -> str:
    """Return the same table as plain text, for a pipe: rich takes longer to load than a small run to be scored."""
    rows = [["run", *_heads(results)], *([printable(name), *_cells(result)] for name, result in results.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "   ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def markdown(results: Mapping[str, Result]) -> str:
    """Return the same table in Markdown."""
    heads = ["run", *_heads(results)]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [[printable(name).replace("|", "\\|"), *_cells(result)] for name, result in results.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex(results: Mapping[str, Result]) -> str:
    """Return the means in LaTeX, for the package booktabs."""
    measures = _measures(results)
    rows = [" & ".join(["run", *map(_escaped, measures)]) + " \\\\", "\\midrule"]
    for name, result in results.items():
        rows.append(" & ".join([_escaped(printable(name)), *(f"{result.mean(m):.4f}" for m in measures)]) + " \\\\")
    body = "\n".join(["\\toprule", *rows, "\\bottomrule"])
    return f"\\begin{{tabular}}{{l{'r' * len(measures)}}}\n{body}\n\\end{{tabular}}\n"


def comma_separated(results: Mapping[str, Result]) -> str:
    """Return a line per run with means and counts in full."""
    measures = _measures(results)
    rows: list[Sequence[object]] = [["run", *measures, *COUNTS]]
    for name, result in results.items():
        counts = asdict(result.counts)
        rows.append([name, *(repr(result.mean(m)) for m in measures), *(counts[count] for count in COUNTS)])
    return _csv(rows)


def as_json(results: Mapping[str, Result], **method: str) -> str:
    """Return means and counts as JSON, with how they were made."""
    runs = {
        name: {"means": {m: result.mean(m) for m in result.values}, "counts": asdict(result.counts)}
        for name, result in results.items()
    }
    return json.dumps({**method, "measures": _measures(results), "runs": runs}, ensure_ascii=False, indent=2) + "\n"


def per_query(results: Mapping[str, Result], suffix: str) -> str:
    """Return the value of every measure for every query: JSON for ``.json``, JSON Lines for ``.jsonl``, else CSV."""
    if suffix == ".json":
        nested = {name: dict(_by_query(result)) for name, result in results.items()}
        return json.dumps(nested, ensure_ascii=False, indent=1) + "\n"
    if suffix == ".jsonl":
        records = ({"run": n, "query_id": q, **v} for n, result in results.items() for q, v in _by_query(result))
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    rows: list[Sequence[object]] = [["run", "query_id", *_measures(results)]]
    rows += [[n, q, *map(repr, v.values())] for n, result in results.items() for q, v in _by_query(result)]
    return _csv(rows)


def remarks(name: str, result: Result) -> Iterator[str]:
    """Yield what a reader must know about a run beside its figures, a line each."""
    counts, name = result.counts, printable(name)
    if result.strange:
        yield f"{name}: no document of the run is judged, so every figure is 0: do the document ids agree?"
    if counts.missing:
        yield f"{name}: judged and not in the run: {queries(counts.missing)}"
    if counts.extra:
        yield f"{name}: in the run and not judged, so passed over: {queries(counts.extra)}"
    if counts.no_relevant:
        yield f"{name}: without a relevant document, counted 0: {queries(counts.no_relevant)}"
    if counts.tied:
        yield f"{name}: dependent on the order of equal scores (by id, the greater first): {queries(counts.tied)}"
    if counts.holes:
        yield f"{name}: with unjudged documents above the deepest cutoff, which count 0: {queries(counts.holes)}"


def _heads(results: Mapping[str, Result]) -> list[str]:
    return [*_measures(results), *(count.replace("_", " ") for count in COUNTS)]


def _cells(result: Result) -> list[str]:
    counts = asdict(result.counts)
    return [*(f"{result.mean(m):.4f}" for m in result.values), *(f"{counts[count]:,}" for count in COUNTS)]


def _measures(results: Mapping[str, Result]) -> list[str]:
    return list(next(iter(results.values())).values)


def _by_query(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    columns = list(result.values.items())
    for row, query_id in enumerate(result.query_ids):
        yield query_id, {measure: values[row] for measure, values in columns}


def _csv(rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _escaped(text: str) -> str:
    marks = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(marks.get(c, f"\\{c}" if c in "#$%&_{}" else c) for c in text)
