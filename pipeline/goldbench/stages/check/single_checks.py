"""The rules for one candidate, and the table with their order."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import lru_cache

import regex

from goldbench.records.query import Candidate, Query
from goldbench.stages.check.overlap import copied_run, holds_answer, overlap, weighted_terms
from goldbench.stages.check.ties import foreign_answer, no_answer, no_cause, no_subject, nothing_asked, off_topic
from goldbench.stages.check.verdict import CheckContext, Finding, quoted
from goldbench.text.deixis import deixis as pointing_words
from goldbench.text.language import same_language, same_script, script_fits
from goldbench.text.similarity import normal
from goldbench.text.wordings import is_instruction, is_refusal, placeholder
from goldbench.text.words import content_terms, count_words

LONGEST_QUERY = 500
"""Most characters of a query, enough for forty long words; a longer text is rejected before any other check."""

LEAST_MEAN_LOGPROB = -0.35
"""Mean natural logarithm of the probabilities of a reply's tokens below which a query is unlikely to be a good one.

Of 63 queries of a model with 1.5 billion parameters, in English, German and Chinese, that passed the other rules, 51 %
were good by reading; of the 41 above this value, 63 %.
"""

_BROKEN = (
    ("it holds a line break or another control character", regex.compile(r"[\p{Cc}\p{Zl}\p{Zp}]")),
    ("it holds marks that change the direction of writing", regex.compile("[\u202a-\u202e\u2066-\u2069]")),
    (
        "it holds invisible characters",
        # Joiners belong to Persian, Indic scripts and emoji, the zero-width space to scripts without spaces.
        regex.compile(
            r"(?V1)[\u00ad\u2060-\u2064\ufeff\ufff9-\ufffb\u180e\U000e0000-\U000e007f]"
            r"|(?<![[\p{L}\p{M}]--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}]]|[\p{Extended_Pictographic}\ufe0f\U0001f3fb-\U0001f3ff])[\u200c\u200d]"
            r"|(?<![\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])\u200b"
        ),
    ),
    ("it holds characters that stand for nothing", regex.compile(r"[\p{Co}\p{Cs}\ufffd\ufffe\uffff]")),
    (
        "it holds markup",
        regex.compile(
            r"<!--|<!doctype|<\?\w|</\w|&(?:#\d+|#x[\da-f]+|[a-z]{2,8});|```|\*\*\w|\]\(|^#{1,6} |^>"
            r"|<(?:a|abbr|b|base|body|br|button|code|div|em|font|form|h[1-6]|head|hr|html|i|iframe|img|input|li|link|meta|object|ol|p|pre|script|span|strong|style|sub|sup|svg|table|td|th|tr|u|ul|video)\b[^<>]*>",
            regex.IGNORECASE,
        ),
    ),
    ("it starts as a formula of a spreadsheet does", regex.compile(r"^\s*[=+\-@＝＋－＠]")),
    ("it starts or ends with a space", regex.compile(r"^\s|\s$")),
)
_WORDLIKE = regex.compile(r"[\p{L}\p{N}]")
_REPEATED = regex.compile(r"^\W*+(\w++(?:\W++\w++)*?)(?:\W++\1\b){2,}\W*$", regex.IGNORECASE)

_PUNCTUATION = regex.compile(r"[\p{P}~～｜|`]")
_OPTIONS = regex.compile(
    r"(?:^|[\s(（,，;；:：?？])[Aa]\s?[).、．:：）].{1,120}?[\s(（,，;；?？]?\s*[Bb]\s?[).、．:：）]"
    r"|(?:^|\s)\(?1[).]\s.{1,120}?\s\(?2[).]\s|①[^①②\n]*+②|(?:^|[\s(（])[iⅰ][).]\s.{1,120}?(?:ii|ⅱ)[).]"
)
_NUMBERING = regex.compile(
    r"^(?:\(?\d{1,3}[)）]|\d{1,3}[.．、](?!\d)|[①-⑳]|[一二三四五六七八九十]{1,3}、|[-*•·▪–—]\s|第?[一二三四五六七八九十\d]{1,3}[题題问問][:：、.]?"
    r"|(?:q|question|query|search query|frage|pregunta|вопрос|问|問|问题|問題|查询|查詢)\s?\d{0,3}\s?[:：.)])",
    regex.IGNORECASE,
)
_WHOLE_WORD_SCRIPTS = (
    r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Georgian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{N}]"
)
"""Scripts that put spaces between words; Arabic, Hebrew and Hangul also join particles to them."""

SHORTEST_COPIED_RUN = 6
"""Words copied in a row from which a query is rejected."""

LONGEST_COPIED_RUN = 10
"""The same for a model that is asked in short, which uses the words of its sentence."""

FEWEST_TERMS_OF_A_COPY = 5
"""Content terms from which a query is rejected if all of them stand in the chunk."""


def schema(candidate: Candidate, _: CheckContext) -> Finding | None:
    """Reject a text that cannot be a query: too long, unprintable, with markup, or without a word."""
    text = candidate.text
    if len(text) > LONGEST_QUERY:
        return Finding("schema", f"it has {len(text)} characters, more than {LONGEST_QUERY}", float(len(text)))
    if not _WORDLIKE.search(text):
        return Finding("schema", "it holds no word")
    if _REPEATED.match(text):
        return Finding("schema", "it repeats the same words")
    for reason, pattern in _BROKEN:
        if pattern.search(text):
            return Finding("schema", reason)
    return None


def refusal(candidate: Candidate, _: CheckContext) -> Finding | None:
    """Reject a text in which a model declines the task."""
    return Finding("refusal", "it declines to write a query") if is_refusal(candidate.text) else None


def blank(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query with a part to fill in."""
    part = placeholder(candidate.text, context.chunk.text)
    return None if part is None else Finding("placeholder", f"something else should stand for {quoted(part)}")


def instruction(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a text that gives an order to a model, or with which a model begins to follow one."""
    if not is_instruction(candidate.text, context.chunk.text):
        return None
    return Finding("instruction", "it gives an order, or begins to follow one, and is not only a query")


def length(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query with fewer or more words or characters than the user allows."""
    rules = context.constraints
    characters = len(unicodedata.normalize("NFC", candidate.text))
    if rules.max_characters is not None and characters > rules.max_characters:
        return Finding("length", f"it has {characters} characters, more than {rules.max_characters}", float(characters))
    count = count_words(candidate.text)
    if count < rules.min_words:
        return Finding("length", f"it has {count} words, fewer than {rules.min_words}", float(count))
    if count > rules.max_words:
        return Finding("length", f"it has {count} words, more than {rules.max_words}", float(count))
    return None


def constraints(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that breaks the user's other rules: banned words, punctuation, lists of options, numbering."""
    text = unicodedata.normalize("NFKC", candidate.text)
    rules = context.constraints
    for banned in rules.banned:
        if _banned(banned).search(text):
            return Finding("constraints", f"it holds the banned {quoted(banned)}")
    mark = _PUNCTUATION.search(candidate.text)
    if not rules.punctuation and mark:
        return Finding("constraints", f"it holds the punctuation mark {mark.group()}, and no punctuation is allowed")
    if not rules.option_lists and _OPTIONS.search(candidate.text):
        return Finding("constraints", "it offers a list of options")
    number = _NUMBERING.match(candidate.text)
    if not rules.numbering and number and candidate.text[: number.end() + 6] not in context.chunk.text:
        return Finding("constraints", f"it starts with the numbering or label {quoted(number.group())}")
    return None


@lru_cache(maxsize=1024)
def _banned(word: str) -> regex.Pattern[str]:
    """Return a pattern for a banned word, as a whole word in scripts that put spaces between words."""
    plain = unicodedata.normalize("NFKC", word).strip()
    pattern = r"\s+".join(regex.escape(part) for part in plain.split())
    before = r"(?<![\p{L}\p{M}\p{N}])" if regex.match(_WHOLE_WORD_SCRIPTS, plain[:1]) else ""
    after = r"(?![\p{L}\p{M}\p{N}])" if regex.search(_WHOLE_WORD_SCRIPTS + r"\p{M}*$", plain) else ""
    return regex.compile(before + pattern + after, regex.IGNORECASE | regex.FULLCASE)


def language(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that is clearly in another language than requested.

    Simulated queries are words of the collection, not always sentences, so only their script is checked. If no
    language is known, the script must be one of the chunk's.
    """
    expected = context.language
    if expected is None:
        fits: bool | None = same_script(candidate.text, context.chunk.text)
    elif not candidate.is_simulated:
        fits = same_language(candidate.text, expected)
    else:
        fits = script_fits(candidate.text, expected)
    if fits is not False:
        return None
    wanted = f"the language asked for ({expected})" if expected else "a script of the text"
    return Finding("language", f"it is not in {wanted}")


def evidence(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query whose evidence does not stand in the chunk; a model must give evidence, a simulation need not."""
    chunk = context.chunk
    if not candidate.evidence and not candidate.is_simulated:
        reason = (
            "the quotation given as evidence is not in the text" if candidate.quote else "it comes without evidence"
        )
        return Finding("evidence", reason)
    for item in candidate.evidence:
        start = item.start - chunk.span.start
        if not chunk.span.contains(item) or chunk.text[start : start + len(item.quote)] != item.quote or not item.quote:
            return Finding("evidence", "its evidence is not what stands at that place of the text")
    return None


def deixis(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that points at something its reader cannot see."""
    wording = pointing_words(candidate.text, candidate.language or context.language)
    if wording is None:
        return None
    return Finding("deixis", f"it points at something its reader cannot see: {quoted(wording)}")


def leak(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that contains its own answer."""
    if candidate.answer and holds_answer(candidate.text, candidate.answer, context.language):
        return Finding("answer-leak", "it contains its own answer")
    return None


def copied(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that copies six words in a row; ten, or all of its own, if the model is asked in short."""
    run = copied_run(candidate.text, context.indexed_text)
    whole = run >= sum(weight for _, weight in weighted_terms(candidate.text))
    if run < (SHORTEST_COPIED_RUN if context.own_words or whole else LONGEST_COPIED_RUN):
        return None
    return Finding("copied-run", f"it copies {run:.3g} words in a row from the text; use other words", run)


def overlapping(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query of five or more content terms that all stand in the chunk, unless the model is asked in short."""
    if not context.own_words:
        return None
    share = overlap(candidate.text, context.indexed_text, context.language)
    if share != 1.0 or len(set(content_terms(candidate.text, context.language))) < FEWEST_TERMS_OF_A_COPY:
        return None
    return Finding("overlap", "every word that matters in it stands in the text; use other words for some", share)


def unlikely(candidate: Candidate, _: CheckContext) -> Finding | None:
    """Reject a query that the model was unsure of while it wrote query and answer."""
    value = candidate.mean_logprob
    if value is None or value >= LEAST_MEAN_LOGPROB:
        return None
    return Finding("unlikely", "the model was unsure of its words", value)


@dataclass(frozen=True, slots=True)
class CandidateCheck:
    """One rule. ``rewrite``: other words could satisfy it. ``simulated``: it is applied to simulated queries, too."""

    name: str
    find: Callable[[Candidate, CheckContext], Finding | None]
    rewrite: bool
    simulated: bool


CHECKS: tuple[CandidateCheck, ...] = (
    CandidateCheck("schema", schema, rewrite=True, simulated=True),
    CandidateCheck("refusal", refusal, rewrite=False, simulated=False),
    CandidateCheck("placeholder", blank, rewrite=False, simulated=False),
    CandidateCheck("instruction", instruction, rewrite=False, simulated=False),
    CandidateCheck("length", length, rewrite=True, simulated=True),
    CandidateCheck("constraints", constraints, rewrite=True, simulated=True),
    CandidateCheck("evidence", evidence, rewrite=False, simulated=True),
    CandidateCheck("language", language, rewrite=True, simulated=True),
    CandidateCheck("deixis", deixis, rewrite=True, simulated=False),
    CandidateCheck("answer-leak", leak, rewrite=False, simulated=True),
    CandidateCheck("no-answer", no_answer, rewrite=False, simulated=False),
    CandidateCheck("answer-tie", foreign_answer, rewrite=False, simulated=False),
    CandidateCheck("nothing-asked", nothing_asked, rewrite=False, simulated=False),
    CandidateCheck("no-cause", no_cause, rewrite=False, simulated=False),
    CandidateCheck("off-topic", off_topic, rewrite=False, simulated=False),
    CandidateCheck("no-subject", no_subject, rewrite=False, simulated=False),
    CandidateCheck("copied-run", copied, rewrite=True, simulated=True),
    CandidateCheck("overlap", overlapping, rewrite=True, simulated=True),
    CandidateCheck("unlikely", unlikely, rewrite=False, simulated=False),
)


def check_candidate(candidate: Candidate, context: CheckContext, *, without: Container[str] = ()) -> Finding | None:
    """Return the first rule that a candidate breaks, None if it breaks none.

    Args:
        candidate: The candidate.
        context: What it is checked against.
        without: Names of rules that do not apply to it.
    """
    for check in CHECKS:
        if check.name in without or (candidate.is_simulated and not check.simulated):
            continue
        finding = check.find(candidate, context)
        if finding:
            return replace(finding, rewrite=check.rewrite)
    return None


def accepted(candidate: Candidate, context: CheckContext) -> Query:
    """Return the query made from a candidate that passed every check."""
    told_by = (candidate.original, candidate.noise, candidate.standalone, candidate.text)
    return Query(
        **dict(candidate),
        query_id=query_id("\n".join(part for part in told_by if part)),
        overlap=overlap(candidate.text, context.indexed_text, context.language),
    )


def query_id(text: str) -> str:
    """Return the id of a query's text; case and white space do not change it."""
    return f"q{hashlib.sha256(normal(text).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
