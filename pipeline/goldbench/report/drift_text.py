"""The coverage of a query log by a gold set, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldbench.errors import Message
from goldbench.llm.rehearsal import PlannedStage
from goldbench.report.build_text import stopped
from goldbench.text.display import amount, queries


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as lines for a terminal."""
    log = report["log"]
    gold = report["gold"]
    counts = f"{amount(log['lines'], 'line')}, {_distinct(log['distinct'])}"
    yield f"log      {counts}; {amount(log['in_gold'], 'line')} with a query of the gold set"
    if log["passed_over"]:
        yield "         ignored: " + ", ".join(f"{why} {count:,}" for why, count in log["passed_over"].items())
    if log["compared"] < log["distinct"]:
        share = log["compared_lines"] / log["lines"]
        yield Message("         compared: {}, {:.1%} of the lines ({most=})", _distinct(log["compared"]), share)
    yield (
        f"gold set {queries(gold['queries'])}, {amount(gold['passages'], 'passage')}; similarity: {report['measure']}"
    )
    yield ""
    part = report["passages"]
    for name, what in (
        ("covered", "a passage answers"),
        ("not_covered", "no passage answers"),
        ("undecided", "undecided"),
    ):
        yield f"{what:<29} {_shares(part[name])}"
    yield f"{'who decided':<29} {_deciders(part['decided_by'])}"
    yield from _reading(report["reading"])
    yield f"thresholds {_limits(part['threshold'])}"
    log_queries = report["queries"]
    threshold = _from(log_queries["threshold"], report)
    yield f"{'near a query of the gold set':<29} {_shares(log_queries['covered'])}  ({threshold})"
    nearness = report["queries"]["nearness"]
    yield f"nearness to the gold set's queries {nearness:.2f} (0.5 = as near as they are to one another)"
    yield from _shapes(report["distributions"])
    for name, title in (
        ("not_in_gold", "Answered by a passage, far from every query of the gold set"),
        ("not_in_passages", "Answered by no passage"),
        ("undecided", "Undecided; nothing is advised, look at the passages"),
    ):
        yield from _clusters(title, report[name])
    yield ""
    yield from (f"- {line}" for line in report["advice"])


def _shares(part: Mapping[str, float]) -> str:
    return f"{part['lines']:6.1%} of lines  {part['distinct']:6.1%} of distinct queries"


def _deciders(decided: Mapping[str, Mapping[str, int]]) -> str:
    """Return how many distinct queries each way of deciding decided."""
    names = {"rules": "rules about words", "similarity": "similarity", "model": "a model that read the passages"}
    counts = [
        f"{names[name]}: {_distinct(decider['distinct'])}" for name, decider in decided.items() if decider["distinct"]
    ]
    return "; ".join(counts) or "no rule and no model: every query is undecided"


def _reading(reading: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what a model read, and why its word does not count or something is missing."""
    if reading is None:
        return
    model = reading["model"]
    findings = reading["findings"]
    if reading["judge_check"] == "failed":
        yield f"model {model} decides nothing: it failed the judge checks: {findings[0]}; give another model"
        return
    yield f"model {model}: judge checks {reading['judge_check']}, {amount(reading['pairs'], 'pair')} graded"
    yield from (f"Warning: {finding}." for finding in findings)
    if reading["limit"] is not None:
        yield stopped(reading["limit"])
    if reading["problem"] is not None:
        yield f"The model's server failed; run the same command again to continue: {reading['problem']}"
    if reading["failed_calls"]:
        yield f"{amount(reading['failed_calls'], 'call')} failed; what depends on them stays undecided."


def plan_notes(stages: Sequence[PlannedStage], *, queries: int, model: str) -> Iterator[str]:
    """Yield what reading would take at most.

    Args:
        stages: The planned accounts.
        queries: Undecided queries.
        model: The model that reads.
    """
    requests = sum(row.requests for row in stages if not row.stage.endswith("(about)"))
    yield (
        f"At most {amount(requests, 'request')} for {amount(queries, 'undecided query', 'undecided queries')}, judge "
        "checks included: where one of the first passages answers a query, the others are not read."
    )
    if any(row.usd is None for row in stages):
        yield f"The price of {model} is not known: set usd_per_million_input and usd_per_million_output."
    yield "Nothing was sent or written."


def _limits(limits: Mapping[str, Any]) -> str:
    if limits["covered_from"] is None:
        return (
            f"unknown: {queries(limits['written'])} of the gold set by people or a model, {limits['needed']} needed; "
            "decided by rules about words"
        )
    return (
        f"from {queries(limits['written'])} by people or a model: similarity above {limits['covered_from']:.3f} is "
        f"answered, below {limits['not_covered_below']:.3f} is not; rules about words come first"
    )


def _from(threshold: float | None, report: Mapping[str, Any]) -> str:
    if threshold is None:
        return "asked about the same passage"
    reached = f"reached by {1 - report['quantile']:.0%} of the gold set's queries"
    return f"similarity {threshold:.3f} or more, {reached}" if threshold > 0 else f"any similarity above 0, {reached}"


def _distinct(count: int) -> str:
    return amount(count, "distinct query", "distinct queries")


def _shapes(shapes: Mapping[str, Any]) -> Iterator[str]:
    for name, shape in shapes.items():
        yield ""
        verdict = "more than" if shape["divergence"] > shape["by_chance"] else "no more than"
        yield (
            f"{name}: divergence {shape['divergence']:.3f} bit, {verdict} by chance "
            f"(at most {shape['by_chance']:.3f} in 95 % of draws)"
        )
        totals = {side: sum(shape[side].values()) for side in ("log", "gold")}
        for key in dict.fromkeys((*shape["log"], *shape["gold"])):
            shares = [shape[side].get(key, 0) / totals[side] for side in ("log", "gold")]
            yield f"  {key:<12} log {shares[0]:6.1%}   gold set {shares[1]:6.1%}"


def _clusters(title: str, clusters: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    lines = amount(clusters["lines"], "line")
    number = amount(clusters["clusters"], "cluster")
    counts = f"{lines}, {_distinct(clusters['distinct'])}, {number}"
    yield f"{title}: {counts}"
    for cluster in clusters["shown"]:
        about = " ".join(cluster["about"]) or "(no word)"
        yield f"  {about}: {amount(cluster['lines'], 'line')}, {_distinct(cluster['distinct'])}"
        for example in cluster["examples"]:
            by = "" if example["by"] in (None, "rules") else f"by {example['by']}, "
            why = f"line {example['line']}: {by}{example['reason']}"
            yield f"    {example['lines']:>5,}  {example['text'][:160]}  ({why})"
            yield from (
                f"             {example_passage['id']}: {example_passage['text']}"
                for example_passage in example["look_at"]
            )
    if clusters["clusters"] > len(clusters["shown"]):
        yield Message("  and {} ({clusters=})", amount(clusters["clusters"] - len(clusters["shown"]), "more cluster"))


def advice(report: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each thing to do, the largest clusters first."""
    lines = report["log"]["compared_lines"]
    advice_lines = [
        f"Add queries about {' '.join(cluster['about'])} ({_of(cluster['lines'], lines)}), for example "
        f"«{cluster['examples'][0]['text'][:120]}»: a passage answers them, but no query of the gold set is near."
        for cluster in report["not_in_gold"]["shown"][:5]
    ]
    advice_lines += [
        f"No passage answers queries about {' '.join(cluster['about'])} ({_of(cluster['lines'], lines)}), for "
        f"example «{cluster['examples'][0]['text'][:120]}»: add documents, or expect no answer to them."
        for cluster in report["not_in_passages"]["shown"][:5]
    ]
    for name, shape in report["distributions"].items():
        if shape["divergence"] > shape["by_chance"]:
            advice_lines += _uneven(name, shape)
    return advice_lines or [_nothing(report)]


def _nothing(report: Mapping[str, Any]) -> str:
    if report["undecided"]["lines"]:
        return "Nothing to add as far as the log could be decided."
    return "Nothing to add: the gold set covers the log."


def _of(lines: int, total: int) -> str:
    return f"{amount(lines, 'line')}, {lines / total:.1%}"


def _uneven(name: str, shape: Mapping[str, Any]) -> list[str]:
    """Return a sentence about the class of queries that the gold set lacks most."""
    in_log, known = (sum(shape[side].values()) for side in ("log", "gold"))
    gaps = {key: count / in_log - shape["gold"].get(key, 0) / known for key, count in shape["log"].items()}
    key = max(gaps, key=lambda gap: (gaps[gap], gap))
    what = {"length": f"queries of {key} words", "script": f"queries in {key} script", "form": f"queries put as {key}"}
    shares = f"{shape['log'][key] / in_log:.0%} of the log, {shape['gold'].get(key, 0) / known:.0%} of the gold set"
    return [f"Add {what[name]}: {shares}."]
