"""The scores of runs as tables, Markdown, CSV and JSON: of every query, by weight, and by kind of query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isnan
from typing import Any

from goldbench.measures.names import parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.floats import effective_size
from goldbench.measures.statistics.special_figures import Special
from goldbench.records.scorecard import Score
from goldbench.report.text_tables import Rows, csv_text, markdown_table
from goldbench.text.display import amount, printable, queries

MAIN = ("hit", "r", "mrr", "ndcg", "judged")
"""The families of measures that a terminal shows where none is named; the others are printed with ``--wide``."""

COUNTS = ("queries", "missing", "extra", "no_relevant", "tied", "holes")


def shown_rows(results: Mapping[str, Result], measures: Sequence[str], *, whole: bool) -> list[list[str]]:
    """Return the headings, then a row for each run as a terminal shows it: means, and the number of queries.

    Args:
        results: The results by the name of the run.
        measures: The measures to show.
        whole: Whether every measure and every count is shown.
    """
    if whole:
        return table_rows(results)
    rows = [["run", *measures, "queries"]]
    for name, result in results.items():
        rows.append([name, *(f"{result.mean(m):.4f}" for m in measures), f"{result.counts.queries:,}"])
    return rows


def main_measures(measures: Sequence[str]) -> list[str]:
    """Return the measures that a terminal shows of those that nobody named: of the few families that matter most."""
    return [name for name in measures if parse_measure(name).family in MAIN] or list(measures)


def markdown(results: Mapping[str, Result]) -> str:
    """Return the table in Markdown."""
    return markdown_table(table_rows(results)) + "\n"


def comma_separated(results: Mapping[str, Result]) -> str:
    """Return the table as CSV, with all digits of the means."""
    measures = _measures(results)
    rows: list[Sequence[object]] = [["run", *measures, *COUNTS]]
    for name, result in results.items():
        counts = asdict(result.counts)
        rows.append([name, *(repr(result.mean(m)) for m in measures), *(counts[count] for count in COUNTS)])
    return csv_text(rows)


def as_record(results: Mapping[str, Result], more: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return means and counts as members of a JSON object.

    Args:
        results: Results by the name of the run.
        more: Further members of a run, by its name.
    """
    runs = {
        name: {
            "means": {m: result.mean(m) for m in result.values},
            **({"over": over} if (over := _over(result)) else {}),
            "counts": asdict(result.counts),
            **more.get(name, {}),
        }
        for name, result in results.items()
    }
    return {"measures": _measures(results), "runs": runs}


def per_query(results: Mapping[str, Result], suffix: str) -> str:
    """Return the value of every measure for every query: JSON for ``.json``, JSON Lines for ``.jsonl``, else CSV."""
    if suffix == ".json":
        nested = {name: dict(_stated(result)) for name, result in results.items()}
        return json.dumps(nested, ensure_ascii=False, indent=1) + "\n"
    if suffix == ".jsonl":
        records = ({"run": n, "query_id": q, **v} for n, result in results.items() for q, v in _stated(result))
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    rows: list[Sequence[object]] = [["run", "query_id", *_measures(results)]]
    rows += [
        [n, q, *("" if value is None else repr(value) for value in v.values())]
        for n, result in results.items()
        for q, v in _stated(result)
    ]
    return csv_text(rows)


def remarks(name: str, result: Result) -> Iterator[str]:
    """Yield a sentence for each thing that a reader of a run's scores must know."""
    for _, _, sentence in _remarks(result):
        yield f"{printable(name)}: {sentence}"


def doubts(results: Mapping[str, Result]) -> Iterator[str]:
    """Yield one line for each thing that a reader of the scores must know, whatever the number of runs.

    It is about the run with the largest number of such queries, and gives the numbers of the others.
    """
    warnings: dict[str, list[tuple[int, str, str]]] = {}
    for name, result in results.items():
        for kind, count, sentence in _remarks(result):
            warnings.setdefault(kind, []).append((count, printable(name), sentence))
    for several in warnings.values():
        count, name, sentence = max(several, key=lambda doubt: doubt[0])
        others = ", ".join(f"{run} {number:,}" for number, run, _ in several if run != name)
        yield f"{name}: {sentence.removesuffix('.')}" + (f" (also {others})." if others else ".")


def _remarks(result: Result) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, the number of queries and the sentence of each remark."""
    counts = result.counts
    if result.weighted_by is not None:
        yield "weights", counts.queries, said_of_weights(result)
    if result.strange:
        remark = "no retrieved document is judged, so every score is 0; use the same ids in run and judgments."
        yield "strange", counts.queries, remark
    if result.empty:
        yield "empty", result.empty, f"{queries(result.empty)} answered with no results; scored 0."
    if counts.missing:
        yield "missing", counts.missing, f"{queries(counts.missing)} judged but missing from the run."
    if counts.extra:
        yield "extra", counts.extra, f"{queries(counts.extra)} in the run but not judged; ignored."
    if counts.no_relevant:
        yield "no relevant", counts.no_relevant, f"{queries(counts.no_relevant)} without a relevant document; scored 0."
    for measure, count in _over(result).items():
        remark = f"{measure} is over {count:,} of {queries(counts.queries)}: those that need several passages."
        yield f"over {measure}", count, remark
    if counts.tied:
        remark = f"{queries(counts.tied)}: tied scores change the result (ties are broken by id, descending)."
        yield "tied", counts.tied, remark
    if counts.holes:
        have = "has" if counts.holes == 1 else "have"
        of = f"{counts.holes:,} of {queries(counts.queries)} {have} unjudged results{_top(result)}"
        yield "holes", counts.holes, f"{of}; they count as not relevant."


WEIGHTS = {
    "frequency": "by frequency, how often users asked each query",
    "traffic": "by traffic, the searches of the log that each query stands for",
}


def said_of_weights(result: Result) -> str:
    """Return what weighs the means of a result, and what does not."""
    by = WEIGHTS[result.weighted_by or ""]
    return f"means are weighted {by}; figures on kinds of queries and values by query are not."


def _over(result: Result) -> dict[str, int]:
    """Return the number of queries of each measure that is not defined for all of them."""
    defined = {measure: result.defined(measure) for measure in result.values}
    return {measure: count for measure, count in defined.items() if count < len(result.query_ids)}


def _stated(result: Result) -> Iterator[tuple[str, dict[str, float | None]]]:
    """Yield each query with its values, None where a measure is not defined."""
    for query_id, values in by_query(result):
        yield query_id, {measure: None if isnan(value) else value for measure, value in values.items()}


def _top(result: Result) -> str:
    cutoffs = [parse_measure(name).k for name in result.values]
    known = [k for k in cutoffs if k]
    return f" in the top {max(known)}" if known and len(known) == len(cutoffs) else ""


def table_rows(results: Mapping[str, Result]) -> list[list[str]]:
    """Return the headings, then a row for each run: its means and its counts of queries."""
    rows = [["run", *_measures(results), *(count.replace("_", " ") for count in COUNTS)]]
    for name, result in results.items():
        counts = asdict(result.counts)
        means = (f"{result.mean(m):.4f}" for m in result.values)
        rows.append([name, *means, *(f"{counts[count]:,}" for count in COUNTS)])
    return rows


def _measures(results: Mapping[str, Result]) -> list[str]:
    return list(next(iter(results.values())).values)


def by_query(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each query with its value of every measure."""
    columns = list(result.values.items())
    for row, query_id in enumerate(result.query_ids):
        yield query_id, {measure: values[row] for measure, values in columns}


def weighted_rows(results: Mapping[str, Result], means: Mapping[str, Mapping[str, Score]]) -> list[list[str]]:
    """Return the headings, then a row for each run and measure.

    Args:
        results: Weighted results by the name of the run.
        means: The weighted mean of each measure with its interval, by run.
    """
    rows = [["run", "measure", "weighted mean", "95 % interval", "mean of all queries alike"]]
    for name, result in results.items():
        alike = replace(result, weights=None)
        for measure, mean in means[name].items():
            ends = f"{mean.low:.4f} to {mean.high:.4f}" if mean.low is not None and mean.high is not None else ""
            rows.append([name, measure, f"{mean.mean:.4f}", ends, f"{alike.mean(measure):.4f}"])
    return rows


def weighted_member(result: Result, means: Mapping[str, Score]) -> dict[str, Any]:
    """Return what JSON says of the weights: what they are, their effective number of queries, intervals, plain means.

    Args:
        result: A weighted result.
        means: The weighted mean of each measure with its interval.
    """
    assert result.weights is not None
    alike = replace(result, weights=None)
    return {
        "by": result.weighted_by,
        "effective_queries": round(effective_size(result.weights), 1),
        "intervals": {name: [mean.low, mean.high] for name, mean in means.items() if mean.low is not None},
        "unweighted": {measure: alike.mean(measure) for measure in result.values},
    }


def special_tables(special: Mapping[str, Special], measures: Sequence[str]) -> list[tuple[str, Rows]]:
    """Return the tables on kinds and noise of queries that are not empty, each with its title.

    Args:
        special: The figures by run.
        measures: The measures to show.
    """
    candidates = (
        ("By kind of query", _kind_rows(special, measures)),
        ("Noisy queries minus their originals, by pairs", _noise_rows(special, measures)),
    )
    return [(title, rows) for title, rows in candidates if rows]


def _kind_rows(special: Mapping[str, Special], measures: Sequence[str]) -> Rows:
    rows = [
        [name, kind, f"{part.queries:,}", *(f"{part.means[m]:.4f}" if m in part.means else "-" for m in measures)]
        for name, figures in special.items()
        for kind, part in figures.kinds.items()
    ]
    return [["run", "kind", "queries", *measures], *rows] if rows else []


def _noise_rows(special: Mapping[str, Special], measures: Sequence[str]) -> Rows:
    """Return the headings, then a row for each run and noise; empty if no query is a noisy form of another."""
    rows = [
        [
            name,
            noise,
            f"{loss.pairs:,}",
            *(_signed(loss.differences[m], loss.over.get(m)) if m in loss.differences else "-" for m in measures),
        ]
        for name, figures in special.items()
        for noise, loss in figures.noise.items()
    ]
    return [["run", "noise", "pairs", *measures], *rows] if rows else []


def unanswerable_lines(special: Mapping[str, Special], queries_without: int) -> Iterator[str]:
    """Yield a line for each run on the queries that nothing in the corpus answers.

    Args:
        special: The figures by run.
        queries_without: The number of such queries in the set.
    """
    if not queries_without:
        return
    for run, figures in special.items():
        name = printable(run)
        separation = figures.separation
        if not figures.unanswerable:
            yield f"{name}: holds none of the {amount(queries_without, 'query', 'queries')} without an answer."
            continue
        if separation is None:
            yield (
                f"{name}: every first result has the same score, which tells no query from another; "
                f"{figures.empty:,} of {figures.unanswerable:,} unanswerable queries are without results."
            )
            continue
        empty = f"; {figures.empty:,} of these without results" if figures.empty else ""
        yield (
            f"{name}: the first result's score tells {separation.answerable:,} answerable from "
            f"{separation.unanswerable:,} unanswerable queries with AUROC {separation.auroc:.4f} "
            f"[{separation.low:.4f}, {separation.high:.4f}] "
            f"(1 tells all, 0.5 none){empty}."
        )


def special_members(special: Special) -> dict[str, Any]:
    """Return the figures of a run as members of a JSON object."""
    noise = {
        name: {
            "pairs": loss.pairs,
            "differences": {m: score.model_dump(mode="json") for m, score in loss.differences.items()},
            **({"over": dict(loss.over)} if loss.over else {}),
        }
        for name, loss in special.noise.items()
    }
    unanswerable = asdict(special.separation) if special.separation else {"unanswerable": special.unanswerable}
    figures_of_run = {**unanswerable, "empty": special.empty} if special.unanswerable else {}
    members = {
        "kinds": {name: {"queries": kind.queries, "means": dict(kind.means)} for name, kind in special.kinds.items()},
        "noise": noise,
        "unanswerable": figures_of_run,
    }
    return {name: value for name, value in members.items() if value}


def _signed(score: Score, pairs: int | None) -> str:
    ends = "" if score.low is None or score.high is None else f" [{score.low:+.4f}, {score.high:+.4f}]"
    return f"{score.mean:+.4f}{ends}" + (f" ({amount(pairs, 'pair')})" if pairs else "")
