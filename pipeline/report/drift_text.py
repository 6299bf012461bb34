"""How a log is covered by a gold set, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SMOKE = "smoke"


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as lines for a terminal."""
    log, gold = report["log"], report["gold"]
    counts = f"{log['lines']:,} lines, {log['distinct']:,} distinct queries"
    yield f"log      {counts}; {log['in_gold']:,} lines ask what the gold set asks"
    if log["passed_over"]:
        yield "         passed over: " + ", ".join(f"{why} {count:,}" for why, count in log["passed_over"].items())
    if log["compared"] < log["distinct"]:
        share = log["compared_lines"] / log["lines"]
        yield f"         compared are {log['compared']:,} distinct queries, {share:.1%} of the lines (--most)"
    yield f"gold set {gold['queries']:,} queries, {gold['passages']:,} passages; likeness: {report['measure']}"
    yield ""
    out = report["quantile"]
    for name, what in (("passages", "near a passage"), ("queries", "near a query of the gold set")):
        part = report[name]
        covered = part["covered"]
        yield (
            f"{what:<29} {covered['lines']:6.1%} of lines  {covered['distinct']:6.1%} of distinct queries  "
            f"({_from(part['threshold'])}, reached by {1 - out:.0%} of the gold set's own)"
        )
    nearness = report["queries"]["nearness"]
    yield f"nearness to the gold set's queries {nearness:.2f} (0.5: as near as they are to one another)"
    yield from _shapes(report["distributions"])
    for name, title in (
        ("not_in_gold", "Near a passage, far from every query of the gold set"),
        ("not_in_passages", "Far from every passage"),
    ):
        yield from _clusters(title, report[name])
    yield ""
    yield from (f"- {line}" for line in report["advice"])


def _from(threshold: float) -> str:
    return f"likeness from {threshold:.3f}" if threshold > 0 else "any likeness at all"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what[:-1] + 'ie' if what.endswith('y') else what}s"


def _shapes(shapes: Mapping[str, Any]) -> Iterator[str]:
    for name, shape in shapes.items():
        yield ""
        verdict = "more than" if shape["divergence"] > shape["by_chance"] else "no more than"
        yield (
            f"{name}: divergence {shape['divergence']:.3f} bit, {verdict} chance gives "
            f"(at most {shape['by_chance']:.3f} in 95 % of draws)"
        )
        totals = {side: sum(shape[side].values()) for side in ("log", "gold")}
        for key in dict.fromkeys((*shape["log"], *shape["gold"])):
            shares = [shape[side].get(key, 0) / totals[side] for side in ("log", "gold")]
            yield f"  {key:<12} log {shares[0]:6.1%}   gold set {shares[1]:6.1%}"


def _clusters(title: str, found: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    counts = (
        _count(found[key], what) for key, what in (("lines", "line"), ("distinct", "query"), ("clusters", "cluster"))
    )
    yield f"{title}: {', '.join(counts)}"
    for cluster in found["shown"]:
        about = " ".join(cluster["about"]) or "(no word)"
        yield f"  {about}: {_count(cluster['lines'], 'line')}, {_count(cluster['distinct'], 'query')}"
        for example in cluster["examples"]:
            yield f"    {example['lines']:>5,}  {example['text'][:160]}  (line {example['line']})"
    if found["clusters"] > len(found["shown"]):
        yield f"  and {found['clusters'] - len(found['shown']):,} more clusters (--clusters)"


def advice(report: Mapping[str, Any]) -> list[str]:
    """Return what to do about it, a sentence each, the most lines first."""
    lines = report["log"]["compared_lines"]
    found = [
        f"Add queries about {' '.join(cluster['about'])} ({_of(cluster['lines'], lines)}), as "
        f"«{cluster['examples'][0]['text'][:120]}»: passages are there, no query of the gold set is near."
        for cluster in report["not_in_gold"]["shown"][:5]
    ]
    found += [
        f"No passage is near to queries about {' '.join(cluster['about'])} ({_of(cluster['lines'], lines)}), as "
        f"«{cluster['examples'][0]['text'][:120]}»: add documents, or expect that they stay without an answer."
        for cluster in report["not_in_passages"]["shown"][:5]
    ]
    for name, shape in report["distributions"].items():
        if shape["divergence"] > shape["by_chance"]:
            found += _uneven(name, shape)
    return found or ["Nothing to add: the log is covered as well as the gold set covers itself."]


def _of(lines: int, total: int) -> str:
    return f"{lines:,} {'line' if lines == 1 else 'lines'}, {lines / total:.1%}"


def _uneven(name: str, shape: Mapping[str, Any]) -> list[str]:
    """Return a sentence about the class that the gold set has too little of, where there is one."""
    asked, known = (sum(shape[side].values()) for side in ("log", "gold"))
    gaps = {key: count / asked - shape["gold"].get(key, 0) / known for key, count in shape["log"].items()}
    key = max(gaps, key=lambda one: (gaps[one], one))
    what = {"length": f"queries of {key} words", "script": f"queries in {key} script", "form": f"queries put as {key}"}
    shares = f"{shape['log'][key] / asked:.0%} of the log, {shape['gold'].get(key, 0) / known:.0%} of the gold set"
    return [f"Add {what[name]}: {shares}."]
