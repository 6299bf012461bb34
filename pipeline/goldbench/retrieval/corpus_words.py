"""How often each term of a corpus occurs in each passage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.postings import Occurrences
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer


def occurrences_in(passages: Mapping[str, str], tokens: Tokenizer | TokenFiles) -> Occurrences:
    """Return the occurrences of terms in passages, which are numbered in tie order.

    Raises:
        RetrieverFailed: The files of tokens lack a text.
    """
    ids = in_tie_order(passages)
    if isinstance(tokens, TokenFiles):
        return Occurrences.of(tokens.of({doc_id: passages[doc_id] for doc_id in ids}))
    return counted(tokens, (passages[doc_id] for doc_id in ids))


def counted(tokens: Tokenizer, texts: Iterable[str]) -> Occurrences:
    """Return how often each term occurs in each text."""
    words = Occurrences.of(map(tokens.words, texts))
    return words if tokens.terms_of is None else words.split(tokens.terms_of)
