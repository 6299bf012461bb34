"""The queries behind the figures of an experiment, from its finished runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from goldbench.bench.bench_file import Bench
from goldbench.bench.experiment_files import run_path
from goldbench.bench.searched_texts import Texts, texts_of
from goldbench.bench.sweeps import Cut, Point
from goldbench.bench.trial import Found
from goldbench.formats.runs.trec import read_run
from goldbench.measures.ranks.order import best
from goldbench.report.failure_browser import Behind
from goldbench.score.queries_behind import Sources, behind_of
from goldbench.score.runs import Gold, Retrieved, load_run

MOST_VALUES = 120
"""Pairs of a system and a measure whose values by query are on the page; further measures are left out."""


def behind_experiment(bench: Bench, gold: Gold, found: Found, *, folder: Path) -> Behind | None:
    """Return the queries behind the figures; None if no system was measured.

    Args:
        bench: The experiment.
        gold: The gold set.
        found: What the experiment found.
        folder: Where its runs are.

    Raises:
        InputError: A run cannot be read again.
    """
    if found.experiment is None:
        return None
    card = found.experiment.card
    names = [system.system for system in card.systems]
    searched = _Searched(bench, gold, found, folder)
    sources = Sources(
        gold,
        {name: found.results[name] for name in names},
        top=searched.top,
        relevant=searched.relevant,
        passages=searched.passages,
    )
    most = max(1, MOST_VALUES // len(names))
    measures = list(dict.fromkeys([*found.experiment.compared, *card.measures]))[:most]
    return behind_of(sources, measures, depth=bench.depth)


class _Searched:
    """Runs and passages of an experiment. Passages of another cut than the set's own are told apart by its name."""

    def __init__(self, bench: Bench, gold: Gold, found: Found, folder: Path) -> None:
        self._bench, self._gold, self._outcome, self._folder = bench, gold, found.outcome, folder
        self._points: dict[str, Point] = {point.name: point for point in found.outcome.measured}
        self._texts: Texts | None = None

    def top(self, name: str, query_ids: Sequence[str], depth: int) -> dict[str, list[Retrieved]]:
        """Return the best results of a system for some queries, this many of each."""
        run = read_run(load_run(run_path(self._folder, name)).source)
        cut = self._points[name].cut
        if self._bench.match == "text":
            run = self._by_text(run, cut)
        grades = self._outcome.corpora[cut].qrels
        found = {}
        for query_id in query_ids:
            documents, judged = run.get(query_id, {}), grades.get(query_id, {})
            found[query_id] = [
                Retrieved(_named(doc_id, cut), documents[doc_id], judged.get(doc_id), None)
                for doc_id in best(documents, depth)
            ]
        return found

    def relevant(self, name: str, query_id: str) -> dict[str, int]:
        """Return the relevant passages of a query among those that a system searched."""
        cut = self._points[name].cut
        grades = self._outcome.corpora[cut].qrels.get(query_id, {})
        return {_named(doc_id, cut): grade for doc_id, grade in grades.items() if grade >= self._gold.level}

    def passages(self, doc_ids: Collection[str]) -> dict[str, str]:
        """Return the texts of passages, those of other cuts under their names."""
        found: dict[str, str] = {}
        for cut in dict.fromkeys(point.cut for point in self._points.values()):
            texts = self._passages_of(cut)
            known = ((_named(doc_id, cut), text) for doc_id, text in texts.items())
            found |= {doc_id: text for doc_id, text in known if doc_id in doc_ids}
        missing = set(doc_ids) - found.keys()
        return {**self._gold.corpus(missing), **found} if missing else found

    def _passages_of(self, cut: Cut | None) -> Mapping[str, str]:
        if cut is None:
            return self._outcome.corpora[None].passages
        if self._texts is None:
            self._texts = texts_of(self._bench, self._gold)
        return self._texts.corpus(cut).passages

    def _by_text(self, run: Mapping[str, Mapping[str, float]], cut: Cut | None) -> dict[str, dict[str, float]]:
        from goldbench.measures.ranks.text_match import TextMatch

        passages = self._passages_of(cut)
        ordered = {query_id: [passages[doc_id] for doc_id in found] for query_id, found in run.items()}
        return TextMatch(self._gold.qrels, self._gold.corpus()).run_of(ordered)


def _named(doc_id: str, cut: Cut | None) -> str:
    return doc_id if cut is None else f"{doc_id} (cut {cut.size}/{cut.overlap})"
