"""Simulated queries: words of one sentence of a chunk, and of a similar chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from goldbench.offline.analysis import LONGEST_TEXT, Analysis, Token
from goldbench.offline.corpus_sample import Neighbourhood, SampledChunks
from goldbench.records.query import Constraints
from goldbench.text.boundaries import sentence_spans
from goldbench.text.draws import Draws
from goldbench.text.words import query_words, words

MEAN_WORDS = 7
"""Mean number of content words of a query; people's questions to the measured collections have five to nine."""
NEIGHBOURS = 10
"""Similar chunks that a query may take words from."""
VARIED = 1.5
"""Share of words, per unit of the corpus's density, that take any form found in the corpus; at most all.

People who ask for one fact of one text keep its forms (91 % of the words that they share with it on XQuAD in English),
people who ask for a subject less often (63 to 86 % on six collections of abstracts): ``python -m
tests.benchmarks.query_overlap``.
"""
BORROWED = 0.75
"""Share of words, per unit of the corpus's density, that come from a similar chunk.

If many texts are about one subject, people ask for the subject, with words from any of them; if few are, they ask for
one fact of one text, in its words.
"""
BORROWED_AGAIN = 0.7
"""Lowest share of such words, 0 to 1, in a second draw after a query shared too many words with its passage."""
ASKING = 1
"""Function words that a query has beyond a text of its length, because people ask with a question word."""
SENTENCE_STEMS = 4
"""Fewest different content words of a sentence that a query is made from."""
LONGEST_PIECE = 300
"""Most characters of a sentence that a query stands for; a longer one is cut into parts."""
_BREAK = regex.compile(r"[,;:，、；：،؛]|\s")
_COMBINING = regex.compile(r"\p{M}")
_MARK = regex.compile(r"[\p{P}\p{S}]+")


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query, and the first and last character of the chunk that it stands for."""

    text: str
    evidence: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A chunk's text, its content words, and the number of function words per content word."""

    chunk_id: str
    text: str
    tokens: Sequence[Token]
    function_ratio: float

    @classmethod
    def of(cls, chunk_id: str, text: str, analysis: Analysis) -> SourcePassage:
        """Return the passage of a chunk, cut at ``LONGEST_TEXT`` characters.

        Args:
            chunk_id: Id of the chunk.
            text: Its text.
            analysis: Cuts the text into words.
        """
        text = text[:LONGEST_TEXT]
        content, function_words = analysis.sorted_tokens(text)
        return cls(chunk_id, text, content, len(function_words) / max(1, len(content)))

    def counts(self) -> Counter[str]:
        """Return how often each stem occurs."""
        return Counter(token.stem for token in self.tokens)

    def first(self) -> dict[str, Token]:
        """Return the first token of each stem."""
        return {token.stem: token for token in reversed(self.tokens)}

    def sentences(self) -> dict[tuple[int, int], SourcePassage]:
        """Return the sentences with enough content words, by their place in the text."""
        sentences: dict[tuple[int, int], SourcePassage] = {}
        position = 0
        for start, end in pieces(self.text):
            inside = []
            while position < len(self.tokens) and self.tokens[position].start < end:
                inside.append(self.tokens[position])
                position += 1
            if len({token.stem for token in inside}) >= SENTENCE_STEMS:
                sentences[start, end] = replace(self, tokens=inside)
        return sentences


class QueryMaker:
    """Makes queries from passages and the words of a corpus.

    Three rules keep a query from favouring one kind of retriever. A word often takes any form that the corpus has, as
    often as the corpus uses that form, because a user does not know which form the text has. Some words are not from
    the text, because a user knows the words of the subject, the more texts the more words, and prefers them among the
    text's own. The language's commonest function words are mixed in, because people's queries hold them and systems
    treat them differently.

    Args:
        analysis: Cuts texts into words.
        pool: The sampled chunks.
    """

    def __init__(self, *, analysis: Analysis, pool: SampledChunks) -> None:
        self._analysis = analysis
        self._pool = pool
        self._density = pool.density(NEIGHBOURS + 1)

    def make(
        self, passage: SourcePassage, draws: Draws, constraints: Constraints, *, least_borrowed: float = 0.0
    ) -> QueryDraft | None:
        """Return words of one sentence, with words that the passage lacks from one of the most similar chunks.

        Args:
            passage: The chunk to write about.
            draws: The random numbers of this query.
            constraints: The user's constraints.
            least_borrowed: Lowest share of words from similar chunks, 0 to 1.
        """
        sentences = passage.sentences()
        evidence = _drawn("sentence", passage, sentences, draws)
        source = passage if evidence is None else sentences[evidence]
        near = self._pool.neighbourhood(passage.chunk_id, passage.counts(), NEIGHBOURS)
        share = max(least_borrowed, BORROWED * self._density)
        size, strange = _sizes(constraints, draws, share)
        subject = {stem: 1 + self._density * near.shared.get(stem, 0) for stem in source.counts()}
        own = draws.race("own", subject, max(2, size - strange))
        tokens = {stem: source.first()[stem] for stem in own}
        known = set(passage.counts())
        for neighbour in self._neighbours(
            passage, near, draws
        ):  # the first has enough words unless it is nearly a copy
            missing = strange - (len(tokens) - len(own))
            if missing <= 0:
                break
            weights = {stem: float(count) for stem, count in neighbour.counts().items() if stem not in known}
            # Placed after the chunk's own words, whatever their place in the neighbour.
            tokens |= {
                stem: _after(neighbour.first()[stem], passage) for stem in draws.race("borrowed", weights, missing)
            }
            known |= tokens.keys()
        text = self._phrase(tokens, passage, draws, constraints)
        rarity = {stem: self._pool.idf(stem) for stem in own}
        evidence = evidence or heaviest_piece(passage.text, passage.tokens, rarity)
        return QueryDraft(text, evidence) if text else None

    def _neighbours(self, passage: SourcePassage, near: Neighbourhood, draws: Draws) -> Iterator[SourcePassage]:
        """Yield the most similar chunks in the language of a passage, in drawn order, each read when it is needed."""
        language = self._analysis.own_language_of(passage.text)
        for chunk_id in draws.race("neighbour", near.weights, NEIGHBOURS):
            text = self._pool.text_of(chunk_id)
            if self._analysis.own_language_of(text) == language:
                yield SourcePassage.of(chunk_id, text, self._analysis)

    def _phrase(
        self, tokens: Mapping[str, Token], passage: SourcePassage, draws: Draws, constraints: Constraints
    ) -> str:
        """Return a query of these words, as many as the constraints allow; empty if they are too few."""
        worded: dict[str, str] = {}
        for stem, token in tokens.items():
            form = token.form
            if draws.uniform("varied", stem) < VARIED * self._density:
                form = (draws.race(f"form of {stem}", self._pool.forms_of(stem), 1) or [token.form])[0]
            parts = allowed_terms([form], constraints)
            if parts and " ".join(parts) not in worded.values():
                worded[stem] = " ".join(parts)
        chosen = fitted_terms([worded[stem] for stem in draws.shuffled("keep", worded)], constraints)
        if not chosen:
            return ""
        ordered = sorted((stem for stem in worded if worded[stem] in chosen), key=lambda stem: tokens[stem].start)
        content = [worded[stem] for stem in ordered]
        language = self._analysis.own_language_of(passage.text)
        return " ".join(_connected(content, passage.function_ratio, query_words(language), draws, constraints))


def _connected(
    content: list[str], ratio: float, weights: Mapping[str, float], draws: Draws, constraints: Constraints
) -> list[str]:
    """Return the words with different function words between them, as many as fit.

    Args:
        content: The content words of the query.
        ratio: Number of function words per content word in the text.
        weights: How common each function word is.
        draws: The random numbers of this query.
        constraints: The user's constraints.
    """
    words = content
    for word in draws.race("function word", weights, draws.poisson("function words", ratio * len(content) + ASKING)):
        position = int(draws.uniform("place", word) * len(words))
        longer = [*words[:position], *allowed_terms([word], constraints), *words[position:]]
        if obeys(" ".join(longer), constraints):
            words = longer
    return words


def _sizes(constraints: Constraints, draws: Draws, share: float) -> tuple[int, int]:
    """Return the number of content words of a query, and how many of them come from elsewhere."""
    size = max(3, constraints.min_words, draws.poisson("length", MEAN_WORDS))
    return size, sum(draws.uniform("elsewhere", str(number)) < share for number in range(size))


def _drawn(
    purpose: str, passage: SourcePassage, spans: Mapping[tuple[int, int], object], draws: Draws
) -> tuple[int, int] | None:
    """Return one of the spans, drawn by its words, so that another chunking elsewhere does not change the draw."""
    by_text: dict[str, tuple[int, int]] = {}
    for start, end in spans:
        by_text.setdefault(passage.text[start:end], (start, end))
    drawn = draws.race(purpose, dict.fromkeys(by_text, 1.0), 1)
    return by_text[drawn[0]] if drawn else None


def _after(token: Token, passage: SourcePassage) -> Token:
    return token._replace(start=token.start + len(passage.text), end=token.end + len(passage.text))


def allowed_terms(forms: Iterable[str], constraints: Constraints) -> list[str]:
    """Return the forms that a keyword query may use, split at their marks if no punctuation is allowed."""
    allowed: list[str] = []
    for form in forms:
        parts = [form] if constraints.punctuation else _MARK.sub(" ", form).split()
        allowed.extend(part for part in parts if not _is_banned(part, constraints))
    return list(dict.fromkeys(allowed))


def fitted_terms(ranked: Sequence[str], constraints: Constraints) -> list[str]:
    """Return the first terms that together fit into the allowed length; none if that leaves too few words."""
    chosen: list[str] = []
    for term in ranked:
        if _fits(" ".join([*chosen, term]), constraints):
            chosen.append(term)
    text = " ".join(chosen)
    return chosen if obeys(text, constraints) else []


def obeys(text: str, constraints: Constraints) -> bool:
    """Return whether the text obeys the constraints; numbers before it and lists of options are left to the checks."""
    return (
        len(words(text)) >= constraints.min_words
        and _fits(text, constraints)
        and not _is_banned(text, constraints)
        and (constraints.punctuation or not _MARK.search(text))
    )


def _fits(text: str, constraints: Constraints) -> bool:
    short = constraints.max_characters is None or len(text) <= constraints.max_characters
    return short and len(words(text)) <= constraints.max_words


def _is_banned(text: str, constraints: Constraints) -> bool:
    folded = text.casefold()
    return any(word.casefold() in folded for word in constraints.banned)


def pieces(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as spans, in order, long ones cut after a comma or at a space."""
    return [part for start, end in sentence_spans(text) for part in _parts(text, start, end)]


def heaviest_piece(text: str, tokens: Sequence[Token], weights: Mapping[str, float]) -> tuple[int, int]:
    """Return the piece with the highest weight of different stems, the first if several have it.

    Args:
        text: The passage; at least one character is not white space.
        tokens: Its words, in order.
        weights: Weight of each stem that counts, 0 or more.
    """
    best = (0, 0)
    most = -1.0
    place = 0
    for start, end in pieces(text):
        inside: set[str] = set()
        while place < len(tokens) and tokens[place].start < end:
            inside.add(tokens[place].stem)
            place += 1
        # Summed in a fixed order: rounding must not depend on the hash seed.
        weight = sum(weights[stem] for stem in sorted(inside) if stem in weights)
        if weight > most:
            best = (start, end)
            most = weight
    return best


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST_PIECE:
        cut = _cut(text, start)
        trimmed = text[start:cut].rstrip()
        if trimmed:
            yield start, start + len(trimmed)
        start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
    if start < end:
        yield start, end


def _cut(text: str, start: int) -> int:
    """Return the end of a part: after the last break in its second half, else before the last letter that fits."""
    breaks = [int(match.end()) for match in _BREAK.finditer(text, start + LONGEST_PIECE // 2, start + LONGEST_PIECE)]
    if breaks:
        return breaks[-1]
    cut = start + LONGEST_PIECE
    while cut > start + LONGEST_PIECE // 2 and _COMBINING.match(text, cut):
        cut -= 1
    return cut
