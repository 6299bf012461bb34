"""Figures on the labels: how hard the queries are, what is left unjudged, and whether the judge can be believed."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from goldbench.card.baselines import Baselines
from goldbench.card.described_set import DEPTH, DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.guardrails import failed_guardrails, guardrails
from goldbench.records.guardrail import GuardrailVerdict
from goldbench.records.judgment import Canary
from goldbench.records.manifest import CanaryVerdict
from goldbench.records.set_card import Figure, FigureState, Value
from goldbench.report.agreement_text import guardrail_text
from goldbench.stages.canaries import (
    FAIL_ABOVE,
    FAIL_BELOW,
    TRAPS,
    WARN_ABOVE,
    WARN_BELOW,
    tally,
    verdict_on_answers,
    verdict_on_fakes,
)
from goldbench.text.display import amount, shell_command

LABELS = "labels"
JUDGE = "judge"
MOST_LISTED = 20
"""Queries that a figure names."""
_MOST_NAMED = 3
"""Files named that are no runs."""
_DO_NOT_USE = ": do not use this judge."
_STATES = {
    CanaryVerdict.PASSED: FigureState.OK,
    CanaryVerdict.WARNING: FigureState.WARN,
    CanaryVerdict.FAILED: FigureState.FAIL,
}


def label_figures(material: DescribedSet, baselines: Baselines) -> Iterator[Figure]:
    """Yield the figures on the labels."""
    yield from _solved(material, baselines)
    yield _positives(material)
    yield _holes(material, baselines)


def judge_figures(material: DescribedSet) -> Iterator[Figure]:
    """Yield the figures on the judge, and on the vendors of the models that wrote and judged."""
    if material.graded:
        yield from _judge_checks(material)
        yield _guardrails(material)
    else:
        refused = material.manifest.refused_grading if material.manifest else None
        reason = "no pool was judged" if refused is None else refused.reason
        for name in ("canaries", "evidence alone", "guardrails"):
            yield absent(JUDGE, name, f"the set was not graded: {reason}")
    yield _model_families(material)


def _solved(material: DescribedSet, baselines: Baselines) -> Iterator[Figure]:
    names = ("solved at rank 1 by all", "solved at rank 1 by none")
    if not baselines.names or not baselines.query_ids:
        reason = "no query has a relevant passage, or no baseline could be run"
        yield from (absent(LABELS, name, reason) for name in names)
        return
    solvers = Counter[str]()
    for ranked in baselines.ranked.values():
        solvers.update(query_id for query_id, ids in ranked.items() if ids and ids[0] in material.relevant(query_id))
    by_all = [query_id for query_id in baselines.query_ids if solvers[query_id] == len(baselines.names)]
    by_none = [query_id for query_id in baselines.query_ids if not solvers[query_id]]
    easy = "Queries that every baseline solves at rank 1 are too easy to tell systems apart."
    hard = "Queries that no baseline solves at rank 1 are hard, wrong, or have relevant passages without a label."
    for name, solved, most, meaning in ((names[0], by_all, 0.40, easy), (names[1], by_none, 0.20, hard)):
        share = len(solved) / len(baselines.query_ids)
        yield figure(
            LABELS,
            name,
            share,
            meaning,
            unit="share of queries",
            items=solved[:MOST_LISTED],
            limit=(f"<= {most:.2f} (judgement)", share <= most),
        )


def _positives(material: DescribedSet) -> Figure:
    counts = [len(material.relevant(query_id)) for query_id in material.queries]
    mean = float(np.mean(counts))
    only = sum([material.source(query_id)] == material.relevant(query_id) for query_id in material.queries)
    return figure(
        LABELS,
        "positives per query",
        mean,
        "Known relevant passages per query."
        + ("" if material.graded else " No pool was judged, so passages without a label may be relevant as well."),
        unit="on average",
        values={
            "share with one": counts.count(1) / len(counts),
            "share with only the source": only / len(counts),
            "share with none": counts.count(0) / len(counts),
            "most": max(counts),
        },
        limit=("> 1.3 once a pool is judged (judgement)", mean > 1.3) if material.graded else (None, FigureState.INFO),
    )


def _holes(material: DescribedSet, baselines: Baselines) -> Figure:
    """Return the share of unjudged results of the runs beside the set, or else of the baselines."""
    unreadable = _unreadable(material.unreadable)
    rates = dict(sorted(_rates(material, material.runs).items()))
    if not rates:
        rates = _rates(material, baselines.ranked)
        if not rates:
            return absent(LABELS, "hole@10", f"no run and no baseline has a result{unreadable}")
        meaning = (
            f"Share of unjudged results in the top {DEPTH} of the baseline with the most; no run stands in the folder "
            f"runs of the set{unreadable}."
        )
        return _hole_figure(rates, meaning, "<= 0.25 for systems outside the pool", max(rates.values()) <= 0.25)
    apart = max(rates.values()) - min(rates.values())
    meaning = f"Share of unjudged results in the top {DEPTH} of the run with the most{unreadable}."
    if apart > 0.10:
        meaning = (
            f"The share of unjudged results differs by {apart:.2f} between the runs, so comparing them is unsafe: "
            f"judge the missing results with {shell_command('topup')}{unreadable}."
        )
    return _hole_figure(rates, meaning, "<= 0.10 for systems that are compared", max(rates.values()) <= 0.10)


def _hole_figure(rates: Mapping[str, float], meaning: str, threshold: str, is_good: bool) -> Figure:
    unit = "share of the first 10 results, greatest of the systems"
    return figure(
        LABELS, "hole@10", max(rates.values()), meaning, unit=unit, values=dict(rates), limit=(threshold, is_good)
    )


def _rates(material: DescribedSet, ranked: Mapping[str, Mapping[str, list[str]]]) -> dict[str, float]:
    """Return each system's share of unjudged results; systems without results are left out."""
    judged = {query_id: grades.keys() for query_id, grades in material.qrels.items()}
    rates = {system: hole_rate(rankings, judged, depth=DEPTH) for system, rankings in ranked.items()}
    return {system: rate for system, rate in rates.items() if rate is not None}


def hole_rate(
    ranked: Mapping[str, Sequence[str]], known: Mapping[str, Collection[str]], *, depth: int = 10
) -> float | None:
    """Return the share of the first ``depth`` results that nobody judged, mean over queries; None without a result.

    A query with fewer results counts by the share of these; a query without results does not count.

    Args:
        ranked: Document ids by query, best first.
        known: Judged document ids by query.
        depth: How many results count, 1 or more.
    """
    tops = {query_id: doc_ids[:depth] for query_id, doc_ids in ranked.items() if query_id in known}
    shares = [sum(doc_id not in known[query_id] for doc_id in top) / len(top) for query_id, top in tops.items() if top]
    return sum(shares) / len(shares) if shares else None


def _unreadable(files: list[str]) -> str:
    if not files:
        return ""
    named = ", ".join([*files[:_MOST_NAMED], *(["…"] if len(files) > _MOST_NAMED else [])])
    return f" ({amount(len(files), 'file')} there cannot be read as runs: {named})"


def _judge_checks(material: DescribedSet) -> Iterator[Figure]:
    counts = tally(material.judgments)
    grading = material.manifest.grading if material.manifest else None
    if not counts and grading is not None:
        counts = {Canary(kind): (count.graded, count.relevant) for kind, count in sorted(grading.canaries.items())}
    unanswered = sum(count.unanswered for count in grading.canaries.values()) if grading else 0
    planted = sum(counts[kind][0] for kind in TRAPS if kind in counts)
    accepted = sum(counts[kind][1] for kind in TRAPS if kind in counts)
    if planted:
        state = _STATES[verdict_on_fakes(accepted / planted)]
        values: dict[str, Value] = {}
        for kind in TRAPS:
            if kind in counts:
                values[f"{kind.value}, put"], values[f"{kind.value}, graded 2 or 3"] = counts[kind]
        yield figure(
            JUDGE,
            "canaries",
            accepted / planted,
            f"Judge check: accepted {accepted:,} of {planted:,} planted fakes (graded them 2 or 3)"
            + (_DO_NOT_USE if state is FigureState.FAIL else "."),
            unit="share of fakes graded 2 or 3",
            values=values,
            limit=(f"<= {WARN_ABOVE:g}, fails above {FAIL_ABOVE:g}", state),
        )
    else:
        reason = "the judge gave no usable reply to them" if unanswered else "the judge was given no planted fakes"
        yield absent(JUDGE, "canaries", reason)
    shown, recognised = counts.get(Canary.EVIDENCE_ALONE, (0, 0))
    if not shown:
        reason = "the judge gave no usable reply to them" if unanswered else "the judge was given no planted answers"
        yield absent(JUDGE, "evidence alone", reason)
        return
    state = _STATES[verdict_on_answers(recognised, shown)]
    yield figure(
        JUDGE,
        "evidence alone",
        recognised / shown,
        f"Judge check: recognised {recognised:,} of {shown:,} planted answers (sentences that answer their query)"
        + (_DO_NOT_USE if state is FigureState.FAIL else "."),
        unit="share graded 2 or 3",
        limit=(f">= {WARN_BELOW:g}, fails below {FAIL_BELOW:g}", state),
    )


def _guardrails(material: DescribedSet) -> Figure:
    """Return how many guardrails the judge failed, and each of them in words."""
    grading = material.manifest.grading if material.manifest else None
    known = (grading.guardrails if grading else []) or guardrails(material.judgments)
    tested = [guardrail for guardrail in known if guardrail.verdict is not GuardrailVerdict.ABSENT]
    if not tested:
        return absent(JUDGE, "guardrails", "the judge was shown no pair made up to test it")
    failed = failed_guardrails(tested)
    passed = sum(guardrail.verdict is GuardrailVerdict.PASSED for guardrail in tested)
    state = FigureState.FAIL if failed else FigureState.OK if passed == len(tested) else FigureState.INFO
    return figure(
        JUDGE,
        "guardrails",
        len(failed),
        f"Known ways to fool a judge: {passed} of {len(tested)} passed, {len(failed)} failed, the others are not "
        "decided by so few pairs. "
        + "; ".join(f"{guardrail.probe}: {guardrail_text(guardrail)}" for guardrail in known)
        + ".",
        unit="guardrails failed",
        values={guardrail.probe: guardrail.rate for guardrail in tested},
        limit=("0 failed, and all decided", state),
    )


def _model_families(material: DescribedSet) -> Figure:
    named = parties(material)
    if not any(named[role] for role in ("generator", "judge", "embedder")):
        return absent(JUDGE, "model families", "the files of the set name no model that took part")
    clashes = overlapping(named)
    unknown = len({name for models in named.values() for name, vendor in models if vendor is None})
    meaning = "No vendor's model both wrote and judged the queries, or helped to make the set and is being measured"
    if clashes:
        meaning = f"Models of one vendor play two parts: {'; '.join(clashes)}. A model favours its own vendor's models"
    return figure(
        JUDGE,
        "model families",
        len(clashes),
        meaning + (f" ({amount(unknown, 'model')} of unknown vendor)." if unknown else "."),
        unit="overlaps",
        values={
            role: " | ".join(f"{name}: {vendor or 'unknown'}" for name, vendor in models) or "none"
            for role, models in named.items()
        },
        items=clashes,
        limit=("none", not clashes),
    )


Parties = dict[str, list[tuple[str, str | None]]]
"""The models and systems in each role, by name, each with its vendor or None if it is not known."""


def vendor_of(name: str) -> str | None:
    """Return the vendor of a model, None if no pattern matches its name."""
    return next((vendor for vendor, pattern in _vendors().items() if re.search(pattern, name, re.IGNORECASE)), None)


@cache
def _vendors() -> dict[str, str]:
    return tomllib.loads(files("goldbench.card").joinpath("vendors.toml").read_text(encoding="utf-8"))


def parties(material: DescribedSet) -> Parties:
    """Return the models that wrote, judged and embedded, and the systems being measured, from the files."""
    manifest = material.manifest
    model = manifest.model if manifest and manifest.model else None
    judges = sorted({judgment.assessor for judgment in material.judgments})
    if not judges and manifest is not None and manifest.grading is not None:
        judges = sorted(manifest.grading.assessors)
    model_settings = material.settings.get("model", {})
    embedding = model_settings.get("embedding") if isinstance(model_settings, Mapping) else None
    roles = {
        "generator": [model] if model else [],
        "judge": _models(judges),
        "embedder": [embedding] if isinstance(embedding, str) else [],
        "evaluated": sorted(material.runs),
    }
    return {role: [(name, vendor_of(name)) for name in names] for role, names in roles.items()}


def _models(assessors: Sequence[str]) -> list[str]:
    """Return the distinct models of assessors named ``model/prompt``."""
    return sorted({assessor.rpartition("/")[0] or assessor for assessor in assessors})


def overlapping(models: Parties) -> list[str]:
    """Return one line per vendor in two conflicting roles: generator and judge, or maker of the set and system."""
    lines = []
    for first, second in (
        ("generator", "judge"),
        ("generator", "evaluated"),
        ("judge", "evaluated"),
        ("embedder", "evaluated"),
    ):
        shared = {label for _, label in models[first] if label} & {label for _, label in models[second] if label}
        lines += [f"{first} and {second} are {label}" for label in sorted(shared)]
    same = {name for name, label in models["generator"] if label is None} & {name for name, _ in models["judge"]}
    return lines + [f"generator and judge are {name}" for name in sorted(same)]
