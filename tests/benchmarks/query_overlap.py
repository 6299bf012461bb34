"""How many of a query's content words stand in its relevant documents, for people's queries, and in which form.

``python -m tests.benchmarks.query_overlap``

The card shows the range of the overlap beside its figure *lexical overlap*, which is computed in the same way: the mean
share over a query's relevant documents, then over queries. Beside it stand the overlap with a document of the next
query and the share of the shared words that the document has in the same form (in languages with stems). Half a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np

from goldbench.stages.check.overlap import overlap
from goldbench.text.language import detect_language
from goldbench.text.words import content_terms, stems, terms
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load


@dataclass(frozen=True, slots=True)
class Shares:
    """Mean shares, 0 to 1, of one collection; NaN where nothing can be said."""

    overlap: float
    with_others: float
    same_form: float


HEADS = ("overlap", "with others", "same form")


def measured(collection: Collection) -> Shares:
    """Return the figures of a collection."""
    own: list[float] = []
    others: list[float] = []
    forms: list[bool] = []
    for place, (query, relevant) in enumerate(zip(collection.queries, collection.gains, strict=True)):
        language = detect_language(query)
        texts = [collection.documents[position] for position in relevant]
        own += _mean([overlap(query, text, language) for text in texts])
        other = next(iter(collection.gains[(place + 1) % len(collection.queries)]))
        if other not in relevant:
            others += _mean([overlap(query, collection.documents[other], language)])
        if not collection.spaceless:
            forms += [kept for text in texts for kept in _kept_forms(query, text, language)]
    return Shares(_middle(own), _middle(others), _middle(forms))


def _middle(shares: list[float] | list[bool]) -> float:
    return float(np.mean(shares)) if shares else float("nan")


def _mean(shares: list[float | None]) -> list[float]:
    known = [share for share in shares if share is not None]
    return [float(np.mean(known))] if known else []


def _kept_forms(query: str, text: str, language: str | None) -> Iterator[bool]:
    """Yield, for each content word that a query shares with a document, whether the document has it as it stands."""
    there = set(terms(text))
    known, wanted = set(stems(sorted(there), language)), set(content_terms(query, language))
    asked = sorted(set(terms(query)))
    for word, stem in zip(asked, stems(asked, language), strict=True):
        if stem in wanted and stem in known:
            yield word in there


def main() -> None:
    """Print the shares of every collection and the range of the overlap."""
    print(f"{'collection':16}" + "".join(f"{head:>13}" for head in HEADS))
    means = []
    for folder in sorted(filter(is_collection, collections_folder().iterdir())):
        found = measured(load(folder))
        means.append(found.overlap)
        print(f"{folder.name:16}" + "".join(_cell(share) for share in astuple(found)), flush=True)
    if means:
        print(f"{len(means)} collections: {min(means):.0%} to {max(means):.0%}")


def _cell(share: float) -> str:
    return f"{'-' if np.isnan(share) else format(share, '.0%'):>13}"


if __name__ == "__main__":
    main()
