"""How far one set of queries stands in for another: likeness of words, and clusters of alike queries.

There are no thresholds here: callers take what counts as near from a set that is known to be good, by a quantile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.floats import Floats
from goldbench.text.scripts import is_spaceless
from goldbench.text.words import content_terms, stems, stop_words, terms

Positions = npt.NDArray[np.int64]

_CELLS = 4_000_000
"""Number of products held in memory at once; more are computed block by block."""
_MOST_LEADERS = 4000
"""Number of queries that may become the centre of a cluster; further queries only join one."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each query the greatest likeness, 0 to 1, and the position of what is most like it (-1 if nothing is)."""

    likeness: Floats
    position: Positions


class Words:
    """Texts as weighted terms. A term weighs ``ln((N + 1) / (df + 1)) + 1``, with df counted over N passages.

    Source: smoothed inverse document frequency, as in scikit-learn's ``TfidfTransformer``.
    """

    def __init__(self, passages: Iterable[Sequence[str]]) -> None:
        """Take the terms of each passage, in order."""
        self._columns: dict[str, int] = {}
        self._passages = self._matrix(passages)
        self._passages.data[:] = 1.0
        frequency = np.bincount(self._passages.indices, minlength=len(self._columns))
        count = self._passages.shape[0]
        self._weights = np.log((count + 1) / (frequency + 1)) + 1
        self._unknown = math.log(count + 1) + 1

    def weight(self, term: str) -> float:
        """Return the weight of a term; a term that no passage has weighs most."""
        column = self._columns.get(term)
        return self._unknown if column is None or column >= len(self._weights) else float(self._weights[column])

    def coverage(
        self, queries: Sequence[Sequence[str]], *, without: Sequence[Collection[int]] | None = None
    ) -> Nearest:
        """Return for each query the greatest share of the weight of its distinct terms that one passage has.

        Args:
            queries: The terms of each query.
            without: For each query the positions of passages that are left out; None leaves none out.
        """
        rows = self._weighted(queries, binary=True)
        totals = np.asarray(rows.sum(axis=1)).ravel()
        greatest = _greatest(rows, self._widened(self._passages, rows.shape[1]), without=without)
        share = np.divide(greatest.likeness, totals, out=np.zeros_like(totals), where=totals > 0)
        return Nearest(np.minimum(share, 1.0), greatest.position)

    def likeness(self, queries: Sequence[Sequence[str]], others: Sequence[Sequence[str]] | None = None) -> Nearest:
        """Return for each query the greatest cosine with one of the others; without others, with another query."""
        rows = _normalised(self._weighted(queries))
        if others is None:
            greatest = _greatest(rows, rows, without=[(number,) for number in range(rows.shape[0])])
            return Nearest(np.minimum(greatest.likeness, 1.0), greatest.position)
        against = _normalised(self._weighted(others))
        return _greatest(self._widened(rows, against.shape[1]), against)

    def unrelated(self, queries: Sequence[Sequence[str]], groups: Sequence[object], *, quantile: float) -> float:
        """Return the quantile of the cosine of two queries of different groups.

        Args:
            queries: The terms of each query.
            groups: The group of each query; two queries of one group are not compared.
            quantile: From 0 to 1.
        """
        if len(queries) > _MOST_LEADERS // 2:  # more pairs would not change the quantile
            step = len(queries) / (_MOST_LEADERS // 2)
            positions = [int(number * step) for number in range(_MOST_LEADERS // 2)]
            queries = [queries[position] for position in positions]
            groups = [groups[position] for position in positions]
        rows = _normalised(self._weighted(queries))
        numbers = np.unique([str(group) for group in groups], return_inverse=True)[1]
        different = numbers[:, None] != numbers[None, :]
        cosines = (rows @ rows.T).toarray()[different]
        return float(np.quantile(cosines, quantile)) if cosines.size else 0.0

    def clusters(self, queries: Sequence[Sequence[str]], weights: Sequence[int], *, likeness: float) -> list[list[int]]:
        """Return the positions of the queries in clusters, the heaviest first, its centre first in each.

        The query with the heaviest neighbourhood takes all of it; the next free query takes what is free of its own.
        Centres are chosen among the heaviest queries; the others join the centre most like them.

        Args:
            queries: The terms of each query.
            weights: How often each query was asked.
            likeness: The least cosine with the centre, above 0.

        Source: sphere exclusion, Butina, J. Chem. Inf. Comput. Sci. 39, 1999.
        """
        if not queries:
            return []
        order = sorted(range(len(queries)), key=lambda number: (-weights[number], number))
        rows = _normalised(self._weighted(queries))
        likeness = max(likeness, 1e-9)
        candidates = order[:_MOST_LEADERS]
        among = (rows[candidates] @ rows[candidates].T).tocsr()
        among.data[among.data < likeness - 1e-12] = 0
        among.eliminate_zeros()
        groups = _spheres(among, np.array([weights[candidate] for candidate in candidates], dtype=np.int64))
        clusters_of_members = [[candidates[position] for position in group] for group in groups]
        rest = order[_MOST_LEADERS:]
        if rest:
            near = _greatest(rows[rest], rows[[group[0] for group in clusters_of_members]])
            for position, centre, cosine in zip(rest, near.position, near.likeness, strict=True):
                if cosine >= likeness:
                    clusters_of_members[int(centre)].append(position)
                else:
                    clusters_of_members.append([position])
        return sorted(clusters_of_members, key=lambda group: (-sum(weights[position] for position in group), group[0]))

    def _matrix(self, texts: Iterable[Sequence[str]]) -> Any:  # noqa: ANN401  scipy's matrix
        from scipy.sparse import csr_matrix

        columns: list[int] = []
        counts: list[float] = []
        ends = [0]
        for text in texts:
            for term, count in Counter(text).items():
                columns.append(self._columns.setdefault(term, len(self._columns)))
                counts.append(float(count))
            ends.append(len(columns))
        width = max(1, len(self._columns))
        return csr_matrix(
            (np.array(counts), np.array(columns, dtype=np.int64), np.array(ends)), shape=(len(ends) - 1, width)
        )

    def _weighted(self, texts: Sequence[Sequence[str]], *, binary: bool = False) -> Any:  # noqa: ANN401  scipy's matrix
        rows = self._matrix(texts)
        if binary:
            rows.data[:] = 1.0
        else:
            rows.data = 1 + np.log(rows.data)
        weights = np.full(rows.shape[1], self._unknown)
        weights[: len(self._weights)] = self._weights
        rows.data *= weights[rows.indices]
        return rows

    @staticmethod
    def _widened(rows: Any, width: int) -> Any:  # noqa: ANN401  scipy's matrix
        rows.resize(rows.shape[0], max(width, rows.shape[1]))
        return rows


def _normalised(rows: Any) -> Any:  # noqa: ANN401  scipy's matrix
    from scipy.sparse import diags

    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (diags(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)) @ rows).tocsr()


def _greatest(
    rows: Any,  # noqa: ANN401  scipy's matrices
    others: Any,  # noqa: ANN401
    *,
    without: Sequence[Collection[int]] | None = None,
) -> Nearest:
    """Return for each row the greatest inner product with another, computed block by block to bound memory."""
    turned = others.T.tocsr()
    likeness = np.zeros(rows.shape[0])
    position = np.full(rows.shape[0], -1, dtype=np.int64)
    size = max(1, _CELLS // max(1, others.shape[0]))
    for start in range(0, rows.shape[0], size):
        block = (rows[start : start + size] @ turned).tocsr()
        block.sort_indices()
        for row in range(block.shape[0]):
            low = block.indptr[row]
            high = block.indptr[row + 1]
            values = block.data[low:high]
            places = block.indices[low:high]
            if without is not None and without[start + row]:
                keep = ~np.isin(places, list(without[start + row]))
                values = values[keep]
                places = places[keep]
            if values.size and values.max() > 0:
                best = int(values.argmax())
                likeness[start + row], position[start + row] = float(values[best]), int(places[best])
    return Nearest(likeness, position)


def _spheres(near: Any, weights: npt.NDArray[np.int64]) -> list[list[int]]:  # noqa: ANN401  scipy's matrix
    reach = near.astype(bool).astype(np.int64)
    mass = np.asarray(reach @ weights).ravel()
    free = np.ones(len(weights), dtype=bool)
    groups = []
    for centre in np.argsort(-mass, kind="stable"):
        if free[centre]:
            free[centre] = False
            members = reach.indices[reach.indptr[centre] : reach.indptr[centre + 1]]
            group = [int(centre), *(int(position) for position in np.sort(members) if free[position])]
            free[group] = False
            groups.append(group)
    return groups


MOST_TERMS = 4
"""Number of terms in a name."""


def salient_terms(queries: Sequence[tuple[str, int]], words: Words, language: str | None) -> list[str]:
    """Return the terms that weigh most among queries, in the spelling used most often.

    Args:
        queries: Texts, each with how often it was asked.
        words: The weights of terms.
        language: ISO 639-1 code, for stemmer and function words, or None.
    """
    weight: Counter[str] = Counter()
    spelled: dict[str, Counter[str]] = {}
    stop = stop_words(language)
    for text, count in queries:
        salient = [word for word in terms(text) if word not in stop] or terms(text)
        spelling = dict(zip(stems(salient, language), salient, strict=True))
        for term in dict.fromkeys(content_terms(text, language) or salient):
            weight[term] += count
            spelled.setdefault(term, Counter())[spelling.get(term, term)] += count
    best = sorted(weight, key=lambda term: (-weight[term] * words.weight(term), term))[:MOST_TERMS]
    names = [max(spelled[term].items(), key=lambda item: (item[1], item[0]))[0] for term in best]
    return joined(names, [text.casefold() for text, _ in queries])


def joined(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the names, with those of scripts without spaces joined if they overlap in a text."""
    spaced = [name for name in names if not is_spaceless(name)]
    grams = [name for name in names if is_spaceless(name)]
    while grams:
        run = grams[0]
        grams = grams[1:]
        while (step := _step(run, grams, texts)) is not None:
            run, used = step
            grams.remove(used)
        spaced.append(run)
    return spaced


def _step(run: str, grams: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the run extended by a gram that overlaps one of its ends in a text, and the gram."""
    for gram in grams:
        for longer in (run + gram[-1:], gram[:1] + run):
            if gram in longer and any(longer in text for text in texts):
                return longer, gram
    return None
