"""The terms of a corpus, counted once for systems that cut texts into the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.postings import Occurrences
from goldbench.retrieval.stopwatch import Stopwatch, Took
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer


class Lexicon:
    """How a system cuts texts, and how often each term occurs in each passage.

    Args:
        tokens: How texts are cut into terms.
        words: The words of the corpus, shared with other systems of the same analyzer; None shares nothing.
    """

    def __init__(self, tokens: Tokenizer | TokenFiles, words: SharedWords | None = None) -> None:
        self.tokens, self._words = tokens, words

    def occurrences(self, passages: Mapping[str, str]) -> tuple[list[str], Occurrences]:
        """Return the ids of passages in tie order, and the occurrences of the terms in that order.

        Raises:
            RetrieverFailed: The files of tokens lack a text.
        """
        ids = in_tie_order(passages)
        if isinstance(self.tokens, TokenFiles):
            return ids, Occurrences.of(self.tokens.of({doc_id: passages[doc_id] for doc_id in ids}))
        if self._words is None:
            return ids, counted(self.tokens, (passages[doc_id] for doc_id in ids))
        words = self._words.of(self.tokens, ids, passages)
        return ids, words if self.tokens.terms_of is None else words.split(self.tokens.terms_of)


class SharedWords:
    """The words of the corpus that was counted last.

    Args:
        stopwatch: Counts the time of the counting again for each system that uses the words.
    """

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._passages: Mapping[str, str] | None = None
        self._words: Occurrences | None = None
        self._took = Took(0.0, {})

    def of(self, tokens: Tokenizer, ids: list[str], passages: Mapping[str, str]) -> Occurrences:
        """Return the words of passages, counted unless this very mapping was counted last.

        Args:
            tokens: Cuts a text into words; its terms are not asked for.
            ids: The ids of the passages, in order.
            passages: Their texts.
        """
        if self._words is not None and passages is self._passages:
            self._stopwatch.count_again(self._took)
            return self._words
        self.forget()
        took = self._stopwatch.started()
        self._words = Occurrences.of(tokens.words(passages[doc_id]) for doc_id in ids)
        self._passages, self._took = passages, took()
        return self._words

    def forget(self) -> None:
        """Forget the passages and their words."""
        self._words = self._passages = None


def counted(tokens: Tokenizer, texts: Iterable[str]) -> Occurrences:
    """Return how often each term occurs in each text."""
    words = Occurrences.of(map(tokens.words, texts))
    return words if tokens.terms_of is None else words.split(tokens.terms_of)
