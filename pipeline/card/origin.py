"""Figures on how the set was made: the funnel, what of the corpus it covers, who made it, with what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipeline.card.described_set import Material
from pipeline.card.figures import absent, figure, good, percent, share
from pipeline.card.vendors import overlapping, parties
from pipeline.measures.statistics.gini import gini
from schemas.manifest import StageReport
from schemas.set_card import Figure, Value

FUNNEL, COVERAGE, CIRCULARITY, PROVENANCE = "funnel", "coverage", "circularity", "provenance"
_NO_BUILD = "the queries were not written here: no manifest says what was generated and turned down"


def making_figures(material: Material) -> Iterator[Figure]:
    """Yield the figures on the making of the set."""
    yield _funnel(material)
    yield from _coverage(material)


def origin_figures(material: Material) -> Iterator[Figure]:
    """Yield who made the set with what, and where that makes it partial."""
    yield _circularity(material)
    yield from _provenance(material)


def _funnel(material: Material) -> Figure:
    reports = {report.stage: report for report in material.manifest.stages} if material.manifest else {}
    if not {"select", "generate", "check"} <= reports.keys():
        return absent(FUNNEL, "funnel", _NO_BUILD)
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
        values |= _turned_down(reports[name]) if name in reports else {}
    kept = share(len(material.queries), check.read)
    if kept is None:
        return absent(FUNNEL, "funnel", "no candidate was proposed")
    if material.simulated:
        meaning = "The simulation proposes little that its own checks turn down, so the share kept says nothing."
        return figure(FUNNEL, "funnel", kept, meaning, unit="share of candidates", values=values)
    return figure(
        FUNNEL,
        "funnel",
        kept,
        f"{percent(kept)} of the candidates are in the set; very few mean a poor generator, nearly all mean "
        "checks that catch nothing.",
        unit="share of candidates",
        values=values,
        threshold="30 % to 70 % (judgement)",
        state=good(0.3 <= kept <= 0.7),
    )


def _turned_down(report: StageReport) -> dict[str, Value]:
    found: dict[str, Value] = {f"{report.stage}: {rule}": count for rule, count in sorted(report.rules.items())}
    return found | ({f"{report.stage}: failed": report.failed} if report.failed else {})


def _coverage(material: Material) -> Iterator[Figure]:
    queries = sum(material.source(query_id) is not None for query_id in material.queries)
    if not queries:
        for name in ("sources covered", "eligible chunks used", "Gini of queries per source"):
            yield absent(COVERAGE, name, "nobody noted which passage a query was written from")
        return
    asked = Counter(_document(material, query_id) for query_id in material.queries)
    del asked[""]
    documents = sorted(set(material.document_of.values()) or set(material.corpus))
    covered, reachable = len(asked), min(len(documents), queries)
    yield figure(
        COVERAGE,
        "sources covered",
        covered / len(documents),
        f"{covered:,} of {len(documents):,} documents have a query; {queries:,} queries can reach {reachable:,}.",
        unit="share of documents",
        values={"documents": len(documents), "with a query": covered, "reachable": reachable},
        threshold=">= 80 % of the documents, or of as many as there are queries (judgement)",
        state=good(covered >= 0.8 * reachable),
    )
    yield _eligible_used(material)
    counts = [asked.get(document, 0) for document in documents] if queries >= len(documents) else list(asked.values())
    among = "all documents" if queries >= len(documents) else "the documents with a query, as there are more documents"
    uneven = gini(counts)
    assert uneven is not None
    yield figure(
        COVERAGE,
        "Gini of queries per source",
        uneven,
        f"How unevenly queries are spread over {among}: 0 is even, 1 is all on one.",
        values={"most queries on one document": max(asked.values())},
        threshold="< 0.5 (judgement)",
        state=good(uneven < 0.5),
    )


def _document(material: Material, query_id: str) -> str:
    source = material.source(query_id)
    return "" if source is None else material.document_of.get(source, source)


def _eligible_used(material: Material) -> Figure:
    reports = {report.stage: report for report in material.manifest.stages} if material.manifest else {}
    if "select" not in reports or not reports["select"].written:
        return absent(COVERAGE, "eligible chunks used", "no manifest says which chunks may be asked about")
    used = len({material.source(query_id) for query_id in material.queries} - {None})
    eligible = reports["select"].written
    return figure(
        COVERAGE,
        "eligible chunks used",
        min(1.0, used / eligible),
        f"{used:,} of {eligible:,} chunks that may be asked about have a query.",
        unit="share of chunks",
        values={"eligible": eligible, "used": used},
    )


def _circularity(material: Material) -> Figure:
    named = parties(material)
    values: dict[str, Value] = {role: " | ".join(f"{name}: {family or 'unknown'}" for name, family in found) or "none"
                                for role, found in named.items()}  # fmt: skip
    clashes = overlapping(named)
    unknown = sorted({name for found in named.values() for name, family in found if family is None})
    if not any(named[role] for role in ("generator", "critic", "judge", "embedder")):
        return absent(CIRCULARITY, "model families", "no model took part that the files name")
    meaning = (
        f"The same family stands on two sides: {'; '.join(clashes)}. A judge favours its own kin."
        if clashes
        else "No family of models is known to stand on two sides."
    )
    if unknown:
        meaning += f" Of unknown family: {len(unknown)}; nothing is said of them."
    return figure(
        CIRCULARITY,
        "model families",
        len(clashes),
        meaning,
        unit="overlaps",
        values=values,
        items=clashes,
        threshold="none",
        state=good(not clashes),
    )


def _provenance(material: Material) -> Iterator[Figure]:
    manifest = material.manifest
    values: dict[str, Value] = {"judgments sha256": material.fingerprint}
    if manifest is not None:
        values |= {
            "dataset.json sha256": manifest.files.get("dataset.json"),
            "configuration sha256": manifest.config_sha256,
            "generator": manifest.generator,
            "model": manifest.model,
            "documents": manifest.documents,
            "goldset": manifest.goldset,
        }
        values |= {f"prompt {name}": digest for name, digest in sorted(manifest.prompts.items())}
        values |= {f"package {name}": version for name, version in sorted(manifest.packages.items())}
    seed = material.metadata.get("seed")
    if isinstance(seed, int) and not isinstance(seed, bool):
        values["seed"] = seed
    yield figure(
        PROVENANCE,
        "provenance",
        material.fingerprint[:12],
        "What the set was made from and with; equal digests are equal sets."
        if manifest is not None
        else "Only the judgments can be told apart: no manifest says how the set was made.",
        unit="judgments",
        values={key: value for key, value in values.items() if value is not None},
        state=good(manifest is not None),
    )
    yield _cost(material)
    yield _licence(material)


def _cost(material: Material) -> Figure:
    usage = material.manifest.usage if material.manifest else None
    if usage is None:
        return absent(PROVENANCE, "cost", "no manifest says what was spent")
    if not usage:
        return figure(PROVENANCE, "cost", 0, "No model was asked, so nothing was spent.", unit="USD")
    values: dict[str, Value] = {}
    for stage, spent in sorted(usage.items()):
        values[f"{stage}: requests"] = spent.requests + spent.replayed
        values[f"{stage}: tokens in"], values[f"{stage}: tokens out"] = spent.input_tokens, spent.output_tokens
    known = [spent.usd for spent in usage.values() if spent.usd is not None]
    if len(known) < len(usage):
        priced = sum(known) if known else None
        values["USD, where the price is known"] = priced
        meaning = "The price of a model is not known, so the cost is not."
        return figure(PROVENANCE, "cost", "unknown", meaning, unit="USD", values=values)
    return figure(
        PROVENANCE, "cost", float(sum(known)), "What the calls of the last run cost.", unit="USD", values=values
    )


def _licence(material: Material) -> Figure:
    found = material.metadata.get("licence") or material.metadata.get("license")
    if isinstance(found, str) and found.strip():
        return figure(PROVENANCE, "licence of the corpus", found.strip()[:200], "As the set itself says.")
    return absent(PROVENANCE, "licence of the corpus", "neither the configuration nor the set names one")
