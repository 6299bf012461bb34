"""What a gold set is good for: for the runs in its folder, else for the built-in baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from goldbench.card.baselines import Baselines, ndcg
from goldbench.card.described_set import DEPTH, DescribedSet
from goldbench.card.figures import writable
from goldbench.errors import GoldbenchError
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.names import parse_measure
from goldbench.measures.statistics.fitness import Ranking
from goldbench.records.set_verdict import SetVerdict
from goldbench.score.fitness_words import Case
from goldbench.score.runs import Gold, load_run
from goldbench.score.set_makers import Makers, makers_of
from goldbench.score.systems_verdict import decided

MEASURE = "ndcg@10"
_OURS, _YOURS = "the {n} built-in baselines, not your systems,", "the {n} runs in its folder"


def verdict_of(folder: Path, material: DescribedSet, baselines: Baselines) -> SetVerdict | None:
    """Return what the set is good for; None if no system could be run.

    Args:
        folder: The folder of the set.
        material: The gold set.
        baselines: What the baselines found.
    """
    gold = Gold(folder, material.qrels, material.level)
    makers = makers_of(gold)
    runs = _scored(material)
    if not runs and not baselines.names:
        return None
    if runs:
        columns, names = list(runs.values()), _YOURS
    else:
        columns, names = baselines.scores.T.tolist(), _OURS
    ranking, unread = _ranking(gold, makers, list(runs))
    ranked = {name: material.runs[name] for name in runs} or baselines.ranked
    unjudged, top = _holes(material, ranked, sorted(material.qrels) if runs else baselines.query_ids)
    strange = [name for name in runs if not _is_known(material, name)]
    case = Case(
        MEASURE,
        makers,
        systems=names,
        unjudged=unjudged,
        top=top,
        ranking=ranking,
        strange=strange,
        has_runs=bool(runs),
        unread=unread,
        counted=len(runs) > 1,
    )
    verdict = decided(columns, case)
    improvements = tuple(map(writable, verdict.improvements))
    return replace(verdict, sentence=writable(verdict.sentence), improvements=improvements)


def _scored(material: DescribedSet) -> dict[str, list[float]]:
    """Return the scores of the runs that hold a query of the set, over all judged queries, as `score` counts them."""
    held = {name: found for name, found in material.runs.items() if not material.qrels.keys().isdisjoint(found)}
    return {name: ndcg(material.qrels, found).tolist() for name, found in held.items()}


def _is_known(material: DescribedSet, name: str) -> bool:
    """Return whether any result of a run is judged or in the corpus: if not, it uses other ids."""
    found = material.runs[name].items()
    return any(
        doc_id in material.corpus or doc_id in material.qrels.get(query_id, {})
        for query_id, doc_ids in found
        for doc_id in doc_ids
    )


def _holes(
    material: DescribedSet, ranked: Mapping[str, Mapping[str, list[str]]], query_ids: Sequence[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the number of unjudged top results of each system, and of all its top results."""
    unjudged, top = {}, {}
    for name, found in ranked.items():
        first = [(query_id, found.get(query_id, [])[:DEPTH]) for query_id in query_ids]
        top[name] = sum(len(documents) for _, documents in first)
        unjudged[name] = sum(one not in material.qrels[query_id] for query_id, documents in first for one in documents)
    return unjudged, top


def _ranking(gold: Gold, makers: Makers, names: Sequence[str]) -> tuple[Ranking | None, str]:
    """Return what people's complete judgments tell of the order of the runs, if a model judged; None if nothing.

    Beside it stands why these judgments could not be read, nothing if they could.
    """
    if not makers.reviewed or makers.basis.judged_by != "model" or len(names) < 2:
        return None, ""
    from goldbench.review.corrected_scores import Reading, calibrate

    runs = {name: path for name, path in GoldFolder(gold.path).named_runs().items() if name in names}
    try:
        loaded = {name: load_run(path) for name, path in runs.items()}
        found = calibrate(gold, loaded, [parse_measure(MEASURE)], ledger=None, reading=Reading())
    except GoldbenchError as error:
        return None, str(error)
    ranking = found.ranking.get(MEASURE)
    return None if ranking is None else Ranking(**ranking.model_dump()), ""
