"""The lines of the corpus, put together from the lines of the chunks without parsing the texts in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from goldbench.formats.jsonl import RecordFile, as_line
from goldbench.goldset.dataset import NOTHING_HELD, CorpusLine, held_out, indexed, json_text
from goldbench.records.corpus import Chunk, Span, TitleUse
from goldbench.records.query import Query
from goldbench.text.headings import headings
from goldbench.text.title_path import title_path

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_LINE = re.compile(
    rb'\{"chunk_id":(' + _STRING + rb'),"span":\{"doc_id":(' + _STRING + rb'),"start":\d+,"end":\d+\}'
    rb',"text":(' + _STRING + rb')((?:,"headings":\[[^\]]*+\])?(?:,"title":' + _STRING + rb")?)\}\n"
)
"""The line of a chunk; a heading that holds a bracket is left to the parser of the whole line."""


@dataclass(frozen=True, slots=True)
class CorpusLines:
    """The lines of the corpus, made of the chunks' lines: their texts are JSON already.

    Args:
        chunks: The chunks.
        queries: The queries, with the words held out for them.
        titles: Whether passages get titles.
    """

    chunks: RecordFile[Chunk]
    queries: Iterable[Query]
    titles: TitleUse

    def __call__(self) -> Iterator[CorpusLine]:
        """Yield the lines."""
        held = held_out(self.queries)
        whole = {json_text(doc_id).encode() for doc_id in held}
        for number, line in enumerate(self.chunks.lines(), start=1):
            found = _LINE.fullmatch(line)
            quick = None if found is None or found[2] in whole else self._quick(found[1], found[3], found[4])
            if quick is None:
                chunk = self.chunks.parse(line, number)
                passage = indexed(chunk, held.get(chunk.span.doc_id, NOTHING_HELD), self.titles)
                quick = CorpusLine.of(passage, self.titles)
            yield quick

    def _quick(self, chunk_id: bytes, text: bytes, above: bytes) -> CorpusLine | None:
        """Return the line of a passage without a heading of its own, None if that cannot be told quickly.

        Args:
            chunk_id: Its id, in JSON.
            text: Its text, in JSON.
            above: The members of the chunk's line with what stands above it.
        """
        marked = b"#" in text or b"==" in text or b"---" in text
        if marked and above.startswith(b',"headings"') and headings(json.loads(text)):
            return None
        full = _title_of(above, self.titles is not TitleUse.NONE)
        title = full if self.titles is not TitleUse.NONE else b'""'
        if text in {title, b'""'}:
            return None
        alone = title[:-1] + b"\\n\\n" + text[1:] if self.titles is TitleUse.JOIN and title != b'""' else text
        row = b'{"_id": %b, "title": %b, "text": %b, "metadata": {"title": %b}}\n' % (chunk_id, title, text, full)
        return CorpusLine(b"%b: %b" % (chunk_id, alone), row)


@lru_cache(maxsize=1024)
def _title_of(above: bytes, emitted: bool) -> bytes:
    """Return the full title of a passage in JSON.

    Args:
        above: The members of the chunk's line with what stands above it.
        emitted: Whether titles are emitted with the headings above the passage.
    """
    known = json.loads(b"{" + above[1:] + b"}")
    span = Span(doc_id="-", start=0, end=0)
    chunk = Chunk(chunk_id="-", span=span, text="", headings=known.get("headings", ()), title=known.get("title", ""))
    return as_line(json_text(title_path(chunk) if emitted else chunk.title))[:-1].encode()
