"""The scores of one system or of several, as a caller holds them: tables to read, numbers by measure, frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from goldbench.api.frames import ByMeasure, ByQuery, frame_of, relevance, short_names, stacked
from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.special_figures import Kind, NoiseLoss, Separation
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.score_text import by_query, remarks, special_tables, table_rows, unanswerable_lines
from goldbench.report.scorecard_text import verdict_lines
from goldbench.report.text_tables import Rows, aligned, html_lines, html_table
from goldbench.score.runs import Gold
from goldbench.score.scorecards import means_of
from goldbench.score.special_queries import special_by
from goldbench.score.verdict import Case, verdict_on
from goldbench.text.display import printable, queries

if TYPE_CHECKING:
    import pandas as pd


class Evaluation(Mapping[str, float]):
    """The scores of one system: the mean of each measure, in any spelling of its name.

    Its keys are short names: a measure without ``rel`` counts the grades that the judgments call relevant. ``system``
    is the name of the system. ``content_sha256`` is the digest of the content of the set that was measured, None if it
    has none. ``run`` is what was scored, as ``{query: {document: score}}``. It is a copy: the file, frame or dict that
    was given may change.

    >>> from goldbench import evaluate
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 0, "d2": 1}}
    >>> result = evaluate(qrels, {"q1": ["d1"], "q2": ["d1", "d2"]}, "mrr@10 recall@1")
    >>> result["mrr@10"], result["recall@1"]
    (0.75, 0.5)
    >>> result.by_query["q2"]
    {'mrr@10': 0.5, 'r@1': 0.0}
    >>> result
    measure     mean      95 % interval
    mrr@10    0.7500   0.0000 to 1.0000
    r@1       0.5000   0.0945 to 0.9055
    run: 2 queries.
    Verdict: good for smoke tests of one system only: it has 2 queries, and anything more needs 10.
    What would change it most, the cheapest first:
    - add 98 queries
    >>> result.to_pandas(per_query=True)
      query_id  mrr@10  r@1
    0       q1     1.0  1.0
    1       q2     0.5  0.0
    """

    def __init__(
        self,
        gold: Gold,
        result: Result,
        run: Mapping[str, Mapping[str, float]],
        *,
        system: str,
        notes: tuple[str, ...] = (),
        notice: str | None = None,
    ) -> None:
        """Take the scores.

        Args:
            gold: The judgments.
            result: The values of every query, by the full name of the measure.
            run: What was scored.
            system: The name of the system.
            notes: What to know about the answers of a retriever, a line each.
            notice: The gold set's warning, or None.
        """
        names = short_names(result.values, gold.level)
        self.gold = gold
        self.result = replace(result, values={names[name]: column for name, column in result.values.items()})
        self.system = system
        self.run = run
        self.relevant_from = gold.level
        self.notes = notes
        self.content_sha256 = gold.content_sha256()
        self._notice = notice
        self._special = special_by(gold, run, self.result)
        self._means = ByMeasure({name: self.result.mean(name) for name in self.result.values}, level=gold.level)

    def __getitem__(self, measure: str) -> float:
        return self._means[measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def mean(self, measure: str) -> float:
        """Return the mean of a measure, as ``result[measure]``.

        Raises:
            KeyError: The measure was not computed.
        """
        return self[measure]

    @cached_property
    def verdict(self) -> SetVerdict:
        """What the set is good for with this one system.

        It has ``level``, ``sentence``, ``number``, ``improvements``.
        """
        return verdict_on(Case.of(self.gold, {self.system: self.result}))

    @property
    def counts(self) -> Counts:
        """Numbers of queries that say how the run met the judgments."""
        return self.result.counts

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries that are averaged over, in code point order."""
        return self.result.query_ids

    @cached_property
    def by_kind(self) -> dict[str, Kind]:
        """The number of queries and the means of each kind of query; empty if the set does not tell kinds.

        >>> import json, tempfile, pathlib, goldbench
        >>> texts = {"pump": "The pump starts at forty litres.", "valve": "The valve closes slowly.", "lamp": "A lamp."}
        >>> gold = {
        ...     "queries": {"q1": "When does the pump start?", "q2": "When dose the pmup start?"},
        ...     "corpus": texts,
        ...     "relevant_docs": {"q1": ["pump"], "q2": ["pump"]},
        ...     "originals": {"q2": "q1"},
        ...     "unanswerable": {"u1": "Who paid?"},
        ...     "metadata": {"members": ["originals", "unanswerable"]},
        ... }
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = pathlib.Path(folder.name, "gold.json").write_text(json.dumps(gold))
        >>> def search(query, k):
        ...     words = query.lower().strip("?").split()
        ...     return sorted(((key, sum(word in text for word in words)) for key, text in texts.items()),
        ...                   key=lambda one: -one[1])[:k]
        >>> found = goldbench.GoldSet.load(folder.name + "/gold.json").evaluate(search, "hit@1", progress=False)
        >>> found.by_kind["not stated"].queries, found.noise["all"].differences["hit@1"].mean
        (2, 0.0)
        >>> found.separation.auroc
        1.0
        >>> folder.cleanup()
        """
        kinds = self._special.kinds if self._special else {}
        return {
            kind: replace(figures, means=ByMeasure(dict(figures.means), level=self.relevant_from))
            for kind, figures in kinds.items()
        }

    @cached_property
    def noise(self) -> dict[str, NoiseLoss]:
        """What each noise costs, and ``all`` of them: noisy queries minus their originals, pair by pair.

        ``differences`` has the mean difference of each measure with its 95 % interval; below 0 is a loss.
        """
        losses = self._special.noise if self._special else {}
        return {
            noise: replace(loss, differences=ByMeasure(dict(loss.differences), level=self.relevant_from))
            for noise, loss in losses.items()
        }

    @property
    def separation(self) -> Separation | None:
        """How well the first result's score tells answerable from unanswerable queries: ``auroc`` with its interval.

        None if the set or the run has no unanswerable queries, or every first result has the same score.
        """
        return self._special.separation if self._special else None

    @cached_property
    def by_query(self) -> dict[str, ByMeasure[float]]:
        """The value of every measure, by query."""
        rows = by_query(self.result)
        return ByQuery({query_id: ByMeasure(values, level=self.relevant_from) for query_id, values in rows})

    @cached_property
    def intervals(self) -> ByMeasure[tuple[float, float]]:
        """The 95 % bootstrap interval of each mean (10,000 resamples, seed 0); empty for fewer than 2 queries."""
        scores = means_of(self.result, list(self))
        ends = {
            name: (score.low, score.high)
            for name, score in scores.items()
            if score.low is not None and score.high is not None
        }
        return ByMeasure(ends, level=self.relevant_from)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the scores must know: missing queries, ties, unjudged results, simulated queries."""
        notes = (f"{self.system}: {note}" for note in self.notes)
        return (*remarks(self.system, self.result), *notes, *self._warning())

    def _warning(self) -> tuple[str, ...]:
        return (f"Warning: {self._notice}",) if self._notice else ()

    def to_pandas(self, *, per_query: bool = False) -> pd.DataFrame:
        """Return the scores as a frame.

        A row per measure: ``measure`` (string), ``mean``, ``low``, ``high`` (float64; NaN for fewer than 2 queries).
        With ``per_query`` a row per query: ``query_id`` (string) and a column for each measure (float64).
        """
        if per_query:
            values = {name: ("number", column) for name, column in self.result.values.items()}
            return frame_of({"query_id": ("text", self.query_ids), **values})  # type: ignore[dict-item]
        ends = [self.intervals.get(name, (None, None)) for name in self]
        return frame_of({
            "measure": ("text", list(self)),
            "mean": ("number", list(self.values())),
            "low": ("number", [low for low, _ in ends]),
            "high": ("number", [high for _, high in ends]),
        })  # fmt: skip

    def __repr__(self) -> str:
        tables = (line for title, rows in self._tables() for line in (f"{title}:", *aligned(rows, words=2)))
        return "\n".join([*aligned(self._rows()), *tables, *self._lines()])

    def _repr_html_(self) -> str:
        tables = [part for title, rows in self._tables() for part in (html_lines([title]), html_table(rows, words=2))]
        return "\n".join([html_table(self._rows()), *tables, html_lines(self._lines())])

    def _tables(self) -> list[tuple[str, Rows]]:
        """Return the tables of kinds and of noise, as ``goldbench score`` prints them."""
        return special_tables({self.system: self._special}, list(self)) if self._special else []

    def _rows(self) -> list[list[str]]:
        rows = [["measure", "mean", *(["95 % interval"] if self.intervals else [])]]
        for name, mean in self.items():
            ends = self.intervals.get(name)
            rows.append([name, f"{mean:.4f}", *([f"{ends[0]:.4f} to {ends[1]:.4f}"] if ends else [])])
        return rows

    def _lines(self) -> list[str]:
        counted = f"{self.system}: {queries(self.counts.queries)}."
        unanswerable = (
            unanswerable_lines({self.system: self._special}, len(self.gold.unanswerable())) if self._special else ()
        )
        remarks = (*unanswerable, *relevance(self.relevant_from), *self.remarks)
        return [printable(line) for line in (counted, *verdict_lines(self.verdict), *remarks)]


class Evaluations(Mapping[str, Evaluation]):
    """The scores of several systems, by name.

    >>> import goldbench
    >>> texts = {
    ...     "pump": "The circulation pump starts when the tank falls below forty litres and stops when it is full.",
    ...     "valve": "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes.",
    ... }
    >>> gold = goldbench.build(texts=texts, queries=2, no_chunk=True, progress=False)
    >>> found = gold.evaluate({"all": lambda query, k: list(texts), "none": lambda query, k: []}, progress=False)
    >>> list(found), found["all"]["recall@10"], found["none"]["recall@10"]
    (['all', 'none'], 1.0, 0.0)
    >>> found.to_pandas().groupby("system")["mean"].max().to_dict()
    {'all': 1.0, 'none': 0.0}
    """

    def __init__(self, evaluations: Mapping[str, Evaluation]) -> None:
        self._found = dict(evaluations)

    @cached_property
    def verdict(self) -> SetVerdict:
        """What the set is good for with these systems.

        It has ``level``, ``sentence``, ``number``, ``improvements``.
        """
        first = next(iter(self.values()))
        return verdict_on(Case.of(first.gold, {name: evaluation.result for name, evaluation in self.items()}))

    def __getitem__(self, system: str) -> Evaluation:
        if system not in self._found:
            first = next(iter(self._found), "name")
            names = ", ".join(self._found)
            raise KeyError(
                f"{system!r}: not a system; systems are {names}; read a measure as found[{first!r}]['ndcg@10']"
            )
        return self._found[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def to_pandas(self, *, per_query: bool = False) -> pd.DataFrame:
        """Return the frames of all systems one below the other, with a first column ``system`` (string)."""
        return stacked(
            {name: evaluation.to_pandas(per_query=per_query) for name, evaluation in self.items()}, column="system"
        )

    def __repr__(self) -> str:
        return "\n".join([*aligned(self._rows()), *self._told()])

    def _repr_html_(self) -> str:
        return f"{html_table(self._rows())}\n{html_lines(self._told())}"

    def _told(self) -> list[str]:
        return [*verdict_lines(self.verdict), *self._remarks()]

    def _rows(self) -> list[list[str]]:
        return table_rows({name: evaluation.result for name, evaluation in self.items()})

    def _remarks(self) -> list[str]:
        remarks = (
            line for evaluation in self.values() for line in (*relevance(evaluation.relevant_from), *evaluation.remarks)
        )
        lines = dict.fromkeys(map(printable, remarks))
        return sorted(lines, key=lambda line: line.startswith("Warning: "))  # what holds for all of them, last
