"""The measures that there are, and their names: read as goldbench, ir_measures and trec_eval spell them.

``ndcg@10``, ``recall@5``, ``map@10(norm=hits)``, ``p@10(rel=2)`` are goldbench's; ``P(rel=2)@10`` is ir_measures';
``ndcg_cut_10`` and ``map_cut.100`` are trec_eval's and pytrec_eval's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from goldbench.errors import UnknownMeasure
from goldbench.measures.binary import (
    ALL_NEEDED,
    AVERAGE_PRECISION,
    BPREF,
    F1,
    HIT,
    JUDGED,
    PRECISION,
    R_PRECISION,
    RECALL,
    RECIPROCAL_RANK,
)
from goldbench.measures.family import UNCUT, Family, RankedQuery
from goldbench.measures.ndcg import DCG, IDEAL_DCG, NDCG

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        HIT, PRECISION, RECALL, F1, RECIPROCAL_RANK, AVERAGE_PRECISION, DCG, IDEAL_DCG, NDCG, R_PRECISION, BPREF,
        JUDGED, ALL_NEEDED,
    )
}  # fmt: skip
"""Each family by the name goldbench prints, in the order of every table."""

DEFAULT = ("hit@10", "p@10", "r@10", "f1@10", "mrr@10", "map@100", "ndcg@10", "judged@10")
"""The measures of a command that names none."""

_WITHOUT_CUTOFF = ("hit", "p", "r", "f1", "mrr", "map", "ndcg", "judged")
"""The measures where only cutoffs are named."""

_DEEPEST = 10**9
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*?)(?:[@_.](-?\d+))?", re.ASCII)
_OPTION = re.compile(r"""\s*([a-z_]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^\s'"]+))\s*""", re.ASCII)
_SET_MEASURES = {"setp": ("p", "returned"), "setr": ("r", None), "setf": ("f1", "returned"), "setrecall": ("r", None)}
_SEPARATED = re.compile(r"(?:\([^()]*(?:\)|$)|[^\s,(])+")
_NO_SPELLING = re.compile(r"[^a-z0-9]")
_BY_SPELLING = {spelling: family for family in FAMILIES.values() for spelling in (family.name, *family.aliases)}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: a family, a cutoff (None for the whole list), the smallest relevant grade, and options.

    ``options`` holds only what differs from the default, in the family's order, so that equal measures are equal.
    """

    family: str
    k: int | None = None
    rel: int = 1
    options: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name in goldbench's spelling, which ``parse_measure`` reads back."""
        return self.name_at(1)

    def name_at(self, level: int) -> str:
        """Return the name for readers to whom ``level`` is the smallest relevant grade of a measure without one."""
        says_rel = FAMILIES[self.family].has_rel and self.rel != level
        inside = [f"rel={self.rel}"] * says_rel + [f"{key}={value}" for key, value in self.options]
        cut = "" if self.k is None else f"@{self.k}"
        return self.family + cut + (f"({','.join(inside)})" if inside else "")

    def __str__(self) -> str:
        return self.name

    @property
    def ir_name(self) -> str | None:
        """The name in ir_measures' spelling, or None if ir_measures does not have the measure."""
        rel = [f"rel={self.rel}"] * (self.rel != 1)
        options = dict(self.options)
        name = FAMILIES[self.family].ir_name
        if self.k is None and self.family in {"p", "r", "f1"} and options in ({}, {"k": "returned"}):
            name = {"p": "SetP", "r": "SetR", "f1": "SetF"}[self.family]
            options = {}
        elif self.family == "hit" and self.k is None:
            return None
        if options.pop("gain", None):
            rel.append("dcg='exp-log2'")
        if name is None or options:
            return None
        return name + (f"({', '.join(rel)})" if rel else "") + ("" if self.k is None else f"@{self.k}")

    def kernel(self) -> Callable[[RankedQuery], float]:
        """Return the function that computes the value of one query."""
        value = FAMILIES[self.family].value
        k = self.k or UNCUT
        rel = self.rel
        options = dict(self.options)
        return lambda ranked: value(ranked, k, rel, options)


def parse_measure(text: str, *, rel: int = 1) -> Measure:
    """Return the measure that ``text`` names, in any of the spellings.

    Raises:
        UnknownMeasure: The measure, its cutoff or an option does not exist.
    """
    [measure] = parse_measures([text], rel=rel)
    return measure


def parse_measures(texts: Iterable[str], *, cutoffs: Sequence[int] = (), rel: int = 1) -> list[Measure]:
    """Return the measures that ``texts`` name, each once, in order.

    Args:
        texts: Names of measures; each text may hold several, separated by commas or white space.
        cutoffs: Cutoffs for names without one; a name then stands for one measure per cutoff.
        rel: The smallest relevant grade for names without one, 1 or more.

    Raises:
        UnknownMeasure: A name cannot be understood; the message lists all of these.
    """
    problems = [
        f"not a valid cutoff: {k}; give a whole number from 1 to {_DEEPEST:,}"
        for k in cutoffs
        if not 1 <= k <= _DEEPEST
    ]
    measures: list[Measure] = []
    names = [name for text in texts for name in _split(text)]
    for name in names:
        try:
            measures += _expanded(_parse(name, rel, cut=bool(cutoffs)), cutoffs)
        except _Problem as problem:
            problems.append(f"{_shown(name)}: {problem}")
    if not names:
        problems.append("no measure is named; give one, as ndcg@10")
    if problems:
        raise UnknownMeasure(problems)
    return list(dict.fromkeys(measures))


def asked_measures(names: Iterable[str] | None, cutoffs: Sequence[int] = (), *, rel: int = 1) -> list[Measure]:
    """Return the measures that a person asks for; the default ones, at every cutoff if there are any, for None.

    Args:
        names: As in `parse_measures`, or None.

    Raises:
        UnknownMeasure: A name or a cutoff cannot be understood.
    """
    return parse_measures(names or default_measures(cutoffs), cutoffs=cutoffs, rel=rel)


def default_measures(cutoffs: Sequence[int] = ()) -> tuple[str, ...]:
    """Return the names of the measures where none is named; without cutoffs of their own if there are some."""
    return _WITHOUT_CUTOFF if cutoffs else DEFAULT


class _Problem(Exception):
    """Why one name cannot be understood."""


def _split(text: str) -> list[str]:
    """Return the parts between commas or white space; what stands in brackets is not cut."""
    return _SEPARATED.findall(text)


def _parse(text: str, default_rel: int, *, cut: bool) -> Measure:
    """Return the measure; with ``cut`` a missing cutoff is allowed because the caller adds it."""
    head = text
    options = {}
    opening = text.find("(")
    closing = text.rfind(")")
    if opening >= 0:
        if closing < opening:
            raise _Problem("the bracket is not closed")
        head = text[:opening] + text[closing + 1 :]
        options = _options(text[opening + 1 : closing])
    match = _NAME.fullmatch(head)
    if match is None:
        raise _Problem("not a valid measure; write one as ndcg@10")
    family = _family(match[1], options, at=match[2] or ("" if cut else "10"))
    k = _cutoff(match[2] or options.pop("cutoff", None))
    rel = _level(family, options.pop("rel", None), default_rel)
    chosen = _chosen(family, options)
    if k is None and family.cutoff == "required" and chosen.get("k") != "returned" and not cut:
        raise _Problem(f"needs a cutoff, as {family.name}@10")
    if k is not None and family.cutoff == "none":
        raise _Problem(f"has no cutoff, write {family.name}")
    return Measure(family.name, k, rel, tuple(chosen.items()))


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        match = _OPTION.fullmatch(part)
        if match is None:
            raise _Problem(f"{_shown(part.strip())} is not a valid option; one is rel=2")
        if match[1] in options:
            raise _Problem(f"gives {match[1]} twice")
        options[match[1]] = next(value for value in match.groups()[1:] if value is not None)
    return options


def _family(name: str, options: dict[str, str], *, at: str) -> Family:
    """Return the family, and add to ``options`` what its name in another tool implies; ``at`` is the cutoff."""
    spelling = _NO_SPELLING.sub("", name.lower())
    if spelling in _SET_MEASURES:
        spelling, returned = _SET_MEASURES[spelling]
        if returned:
            options.setdefault("k", returned)
    family = _BY_SPELLING.get(spelling)
    if family is None:
        known = f"; known: {', '.join(FAMILIES)}; a cutoff is written as in ndcg@10"
        raise _Problem(f"unknown measure{_suggestion(spelling, at) or known}")
    exponential = options.pop("dcg", None)
    if exponential not in {None, "log2", "exp-log2"}:
        raise _Problem(f"dcg={_shown(exponential or '')} is not offered; choose log2 or exp-log2")
    if exponential == "exp-log2":
        options.setdefault("gain", "exp")
    if options.get("judged_only", "").lower() == "false":
        del options["judged_only"]
    return family


def _suggestion(spelling: str, at: str) -> str:
    """Return which measure was probably meant, with the cutoff it was given if it takes one; or nothing."""
    from goldbench.text.suggestion import did_you_mean

    nearest = did_you_mean(spelling, _BY_SPELLING, likeness=0.55)
    family = _BY_SPELLING.get(nearest.removeprefix("; did you mean ").rstrip("?"))
    if family is None or family.cutoff == "none" or not at:
        return nearest
    return f"{nearest.rstrip('?')}@{at}?"


def _cutoff(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or not 1 <= int(text) <= _DEEPEST:
        raise _Problem(f"not a valid cutoff: {_shown(text)}; give a whole number from 1 to {_DEEPEST:,}")
    return int(text)


def _level(family: Family, text: str | None, default: int) -> int:
    if text is None:
        return default if family.has_rel else 1
    if not family.has_rel:
        raise _Problem("takes no rel, because it uses the grades themselves")
    if not re.fullmatch(r"\d{1,4}", text, re.ASCII) or not int(text):
        raise _Problem(f"rel={_shown(text)}: the smallest relevant grade is a whole number from 1 to 9999")
    return int(text)


def _chosen(family: Family, options: dict[str, str]) -> dict[str, str]:
    """Return the options that differ from the default, in the family's order."""
    for key, value in options.items():
        if key not in family.options:
            offered = [*(["rel"] if family.has_rel else []), *family.options]
            raise _Problem(f"has no option {_shown(key)}" + (f"; it has {', '.join(offered)}" if offered else ""))
        if value not in family.options[key]:
            raise _Problem(f"{key}={_shown(value)} is not offered; choose from {', '.join(family.options[key])}")
    return {key: options[key] for key, values in family.options.items() if options.get(key, values[0]) != values[0]}


def _expanded(measure: Measure, cutoffs: Sequence[int]) -> list[Measure]:
    if measure.k is not None or not cutoffs or FAMILIES[measure.family].cutoff == "none":
        return [measure]
    return [Measure(measure.family, k, measure.rel, measure.options) for k in cutoffs]


def _shown(text: str) -> str:
    shown = text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")
    return repr(shown if len(shown) <= 60 else shown[:60] + "…")
