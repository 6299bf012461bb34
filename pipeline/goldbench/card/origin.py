"""Figures on the making of the set: the funnel, the part of the corpus it covers, who made it and with what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import NO_SOURCE, absent, figure
from goldbench.card.vendors import overlapping, parties
from goldbench.goldset.file_names import DATASET
from goldbench.measures.statistics.shares import gini
from goldbench.records.manifest import StageReport
from goldbench.records.set_card import Figure, Value
from goldbench.score.card_beside import CONTENT, JUDGMENTS, PROVENANCE
from goldbench.text.display import amount

FUNNEL, COVERAGE, CIRCULARITY = "funnel", "coverage", "circularity"


def making_figures(material: DescribedSet) -> Iterator[Figure]:
    """Yield the figures on how the queries were made and which part of the corpus they cover."""
    reports = {report.stage: report for report in material.manifest.stages} if material.manifest else {}
    yield _funnel(material, reports)
    yield from _coverage(material, reports)


def origin_figures(material: DescribedSet) -> Iterator[Figure]:
    """Yield the figures on who made the set, with what, and whether that favours a system."""
    yield _circularity(material)
    yield from _provenance(material)


def _funnel(material: DescribedSet, reports: dict[str, StageReport]) -> Figure:
    if not {"select", "generate", "check"} <= reports.keys():
        return absent(FUNNEL, "funnel", "no manifest counts the queries that were generated and rejected")
    select, generate, check = reports["select"], reports["generate"], reports["check"]
    values: dict[str, Value] = {
        "chunks": select.read,
        "eligible": select.written,
        "drawn": generate.read - generate.unused,
        "candidates": check.read,
        "kept": check.written,
        "in the set": len(material.queries),
    }
    for name in ("select", "generate", "check", "judge-check"):
        values |= _rejected(reports[name]) if name in reports else {}
    if not check.read:
        return absent(FUNNEL, "funnel", "no candidate was proposed")
    kept, unit = len(material.queries) / check.read, "share of candidates"
    if material.simulated:
        meaning = "The checks rarely reject such queries, so the share kept says nothing about their quality."
        return figure(FUNNEL, "funnel", kept, meaning, unit=unit, values=values)
    return figure(
        FUNNEL,
        "funnel",
        kept,
        f"{kept:.0%} of the candidates are in the set. A very low share points to a poor generator, a share near "
        "100% to checks that reject nothing.",
        unit=unit,
        values=values,
        limit=("30 % to 70 % (judgement)", 0.3 <= kept <= 0.7),
    )


def _rejected(report: StageReport) -> dict[str, Value]:
    found: dict[str, Value] = {f"{report.stage}: {rule}": count for rule, count in sorted(report.rules.items())}
    return found | ({f"{report.stage}: failed": report.failed} if report.failed else {})


def _coverage(material: DescribedSet, reports: dict[str, StageReport]) -> Iterator[Figure]:
    queries = sum(material.source(query_id) is not None for query_id in material.queries)
    if not queries:
        names = ("sources covered", "eligible chunks used", "Gini of queries per source")
        yield from (absent(COVERAGE, name, NO_SOURCE) for name in names)
        return
    asked = Counter(_document(material, query_id) for query_id in material.queries)
    del asked[""]
    documents = sorted(set(material.document_of.values()) or set(material.corpus))
    covered, reachable = len(asked), min(len(documents), queries)
    yield figure(
        COVERAGE,
        "sources covered",
        covered / len(documents),
        f"{covered:,} of {len(documents):,} documents have a query; {queries:,} queries can cover {reachable:,}.",
        unit="share of documents",
        values={"documents": len(documents), "with a query": covered, "reachable": reachable},
        limit=(">= 80 % of the documents, or of as many as there are queries (judgement)", covered >= 0.8 * reachable),
    )
    yield _eligible_used(material, reports.get("select"))
    everywhere = queries >= len(documents)
    among = "all documents" if everywhere else "the documents that have a query (queries are fewer than documents)"
    uneven = gini([asked.get(document, 0) for document in documents] if everywhere else list(asked.values()))
    assert uneven is not None
    yield figure(
        COVERAGE,
        "Gini of queries per source",
        uneven,
        f"How unevenly the queries are spread over {among}: 0 = evenly, 1 = all on one document.",
        values={"most queries on one document": max(asked.values())},
        limit=("< 0.5 (judgement)", uneven < 0.5),
    )


def _document(material: DescribedSet, query_id: str) -> str:
    source = material.source(query_id)
    return "" if source is None else material.document_of.get(source, source)


def _eligible_used(material: DescribedSet, select: StageReport | None) -> Figure:
    name = "eligible chunks used"
    if select is None or not select.written:
        return absent(COVERAGE, name, "no manifest counts the chunks that are fit for a query")
    used, eligible = len({material.source(query_id) for query_id in material.queries} - {None}), select.written
    meaning = f"{used:,} of {eligible:,} chunks that are fit for a query have one."
    values: dict[str, Value] = {"eligible": eligible, "used": used}
    return figure(COVERAGE, name, min(1.0, used / eligible), meaning, unit="share of chunks", values=values)


def _circularity(material: DescribedSet) -> Figure:
    named = parties(material)
    if not any(named[role] for role in ("generator", "critic", "judge", "embedder")):
        return absent(CIRCULARITY, "model families", "the files of the set name no model that took part")
    values: dict[str, Value] = {
        role: " | ".join(f"{name}: {vendor or 'unknown'}" for name, vendor in found) or "none"
        for role, found in named.items()
    }
    clashes = overlapping(named)
    unknown = len({name for found in named.values() for name, vendor in found if vendor is None})
    meaning = (
        f"Models of one vendor play two parts: {'; '.join(clashes)}. A model favours its own vendor's models"
        if clashes
        else "No vendor's model both wrote and judged the queries, or helped to make the set and is being measured"
    )
    meaning += f" ({amount(unknown, 'model')} of unknown vendor)." if unknown else "."
    return figure(
        CIRCULARITY,
        "model families",
        len(clashes),
        meaning,
        unit="overlaps",
        values=values,
        items=clashes,
        limit=("none", not clashes),
    )


def _provenance(material: DescribedSet) -> Iterator[Figure]:
    manifest = material.manifest
    values: dict[str, Value] = {JUDGMENTS: material.fingerprint}
    if manifest is not None:
        values |= {
            f"{DATASET} sha256": manifest.files.get(DATASET),
            "configuration sha256": manifest.config_sha256,
            "generator": manifest.generator,
            "model": manifest.model,
            "documents": manifest.documents,
            "goldbench": manifest.goldbench,
        }
        values |= {f"prompt {name}": digest for name, digest in sorted(manifest.prompts.items())}
        values |= {f"package {name}": version for name, version in sorted(manifest.packages.items())}
    if isinstance(material.metadata.get("content_sha256"), str):
        values[CONTENT] = material.metadata["content_sha256"]
    seed = material.metadata.get("seed")
    if isinstance(seed, int) and not isinstance(seed, bool):
        values["seed"] = seed
    yield figure(
        PROVENANCE,
        "provenance",
        material.fingerprint[:12],
        "What the set was made from and with; sets with equal digests are equal."
        if manifest is not None
        else "Identifies the judgments only: no manifest says how the set was made.",
        unit="(SHA-256 of the judgments, first 12 digits)",
        values={key: value for key, value in values.items() if value is not None},
        limit=(None, manifest is not None),
    )
    yield _cost(material)
    yield _licence(material)


def _cost(material: DescribedSet) -> Figure:
    usage = material.manifest.usage if material.manifest else None
    if usage is None:
        return absent(PROVENANCE, "cost", "no manifest records the cost")
    if not usage:
        return figure(PROVENANCE, "cost", 0, "No model was called, so nothing was spent.", unit="USD")
    values: dict[str, Value] = {}
    for stage, spent in sorted(usage.items()):
        values[f"{stage}: requests"] = spent.requests + spent.replayed
        values[f"{stage}: tokens in"], values[f"{stage}: tokens out"] = spent.input_tokens, spent.output_tokens
    if estimated := sum(spent.estimated_usd for spent in usage.values()):
        values["USD, estimated because the server reported no usage"] = estimated
    known = [spent.usd for spent in usage.values() if spent.usd is not None]
    if len(known) < len(usage):
        values["USD, where the price is known"] = sum(known) if known else None
        meaning = "The price of at least one model is not known, so the total cost is not known."
        return figure(PROVENANCE, "cost", "unknown", meaning, unit="USD", values=values)
    return figure(PROVENANCE, "cost", float(sum(known)), "Cost of the last run's calls.", unit="USD", values=values)


def _licence(material: DescribedSet) -> Figure:
    found = material.metadata.get("licence") or material.metadata.get("license")
    if isinstance(found, str) and found.strip():
        return figure(PROVENANCE, "licence of the corpus", found.strip()[:200], "As the set states it.")
    return absent(PROVENANCE, "licence of the corpus", "neither the configuration nor the set names a licence")
