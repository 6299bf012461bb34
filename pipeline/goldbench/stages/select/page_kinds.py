"""Pages that nobody asks about: indexes, tables of contents, search pages, and lists of what changed in a release.

A page is known by its title or the name of its file, together with what stands in it: of an index only a chunk that is
a list, of a search page only a short one, and what is called "changes" only where it lists what changed. Such pages
stay in the corpus, so that systems must pass them over. A page about one version is asked about, since a query can name
that version; a list of the changes of many versions is not.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from goldbench.records.corpus import Chunk
from goldbench.text import table
from goldbench.text.words import word_count

INDEX_PAGE = "index-page"
CHANGELOG = "changelog"
PAGE_RULES = (INDEX_PAGE, CHANGELOG)
"""The names of the rules, in the order in which they are tried."""

_DIGEST = re.compile(r"-[0-9a-f]{10,16}\Z")
_INDEX_FILES = frozenset({"search", "sitemap", "contents", "toc"})
_MADE_FILES = re.compile(r"(?:genindex|bookindex|(?:[a-z]{1,4}-)?modindex|http-routingtable)(?:-\w{1,8})?\Z")
_CHANGE_FILES = re.compile(
    r"(?:change-?log|changes|release-?notes|relnotes|release-?history|whats-?new|what-s-new)(?:-v?\d[\w-]*)?\Z"
)
_CODE = "```"
_DECORATION = re.compile(r"[`*_#]+")
_NUMBERED = re.compile(r"\A(?:[a-z]\.)?(?:\d+\.)*\d*\s+")
_BETWEEN = re.compile(r"\s[—–|·•»«-]\s|\||:\s|\s\(")
_VERSION = r"v?\d+(?:\.\w+)+"
_CHANGE = re.compile(
    r"[\s#>*•+|\[`-]*(?:[^\W\d]\w{0,19} ?){0,3}\b(v?\d+\.\d+(?:\.\w+)*|\d{4}-\d\d-\d\d)[`*]*"
    r"(?= ?(?:\Z|[\](:|])| [–—-] | (?:final|alpha|beta|rc|release))",
    re.IGNORECASE,
)
"""A line that begins what changed in a version or on a day: it, after at most three words, and nothing or a mark."""
_MARKED = re.compile(r"\s*(?:[#*•+|-]|\d+[.)]\s)")
"""Begins a heading, an item, a row or a bold line; in a paragraph about one version others are only mentioned."""
_ITEM = re.compile(r"^[^\S\n]*(?:[-*+•|]|\d+[.)])\s+\S", re.MULTILINE)
_FEWEST_ITEMS = 2
"""Fewest entries of a list of what changed in one version, on a page for many."""
_ENTRY_WORDS = 8
"""Most words of an entry of an index."""
_LIST_SHARE = 0.8
_SHORT_PAGE = 400
"""Share of entries among the lines of a list; most characters of what stands beside the field of a search page."""
_ENDS = re.compile(r"[.!?…。！？؟।:：;]\W*\Z")


def page_fault(chunk: Chunk) -> str | None:
    """Return the rule that rejects a chunk for the page it stands on, None for an ordinary page."""
    name = _DIGEST.sub("", chunk.span.doc_id).casefold()
    titles = [_plain(title) for title in (chunk.title, *chunk.headings[:2]) if title]
    index, changes, _ = _words()
    if _MADE_FILES.match(name):
        return INDEX_PAGE
    is_index = name in _INDEX_FILES or any(title in index for title in titles)
    if is_index and (_is_list(chunk.text) or (chunk.span.start == 0 and len(chunk.text) <= _SHORT_PAGE)):
        return INDEX_PAGE
    release = any(map(_is_release, titles))
    called = _CHANGE_FILES.match(name) is not None or any(title in changes for title in titles)
    return CHANGELOG if (called or release) and _lists_changes(chunk, one_version=release) else None


@cache
def _words() -> tuple[frozenset[str], frozenset[str], re.Pattern[str]]:
    words = table("site_words")
    changes = "|".join(map(re.escape, sorted(words["changes"], key=len, reverse=True)))
    release = "|".join(map(re.escape, words["release"]))
    before = rf"(?:{changes})\W.*{_VERSION}.*"
    after = rf"(?:[\w.+-]+ ){{0,4}}{_VERSION} (?:{changes})"
    forms = f"{before}|{after}|(?:{release}) ?{_VERSION}"
    return frozenset(words["index"]), frozenset(words["changes"]), re.compile(forms)


@lru_cache(maxsize=1024)
def _is_release(title: str) -> bool:
    """Whether a title names a release and what changed in it: "What's new in 3.1", "Pumps 3.1 release notes"."""
    return len(title) < 100 and _words()[2].fullmatch(title) is not None


def _lists_changes(chunk: Chunk, *, one_version: bool) -> bool:
    """Whether a chunk lists the changes of several versions or days, or of one on a page that is for many."""
    texts = chunk.text.split("\n")
    lines = (*chunk.headings[1:], *(line for line in texts if not one_version or _MARKED.match(line)))
    kinds = {match[1] for line in lines if (match := _CHANGE.match(line[:100]))}
    return len(kinds) > 1 or (bool(kinds) and not one_version and len(_ITEM.findall(chunk.text)) >= _FEWEST_ITEMS)


@lru_cache(maxsize=1024)
def _plain(title: str) -> str:
    """Return a title in the form of the words: case-folded, without number, decoration and the name of the site."""
    plain = " ".join(_DECORATION.sub("", title[:200]).casefold().replace("’", "'").split())
    return _BETWEEN.split(_NUMBERED.sub("", plain), maxsplit=1)[0].strip()


def _is_list(text: str) -> bool:
    if _CODE in text:
        return False
    lines = [line.strip() for line in text.split("\n") if re.search(r"\w", line)]
    entries = sum(not _ENDS.search(line) and len(line) < 200 and word_count(line) <= _ENTRY_WORDS for line in lines)
    return bool(lines) and entries >= _LIST_SHARE * len(lines)
