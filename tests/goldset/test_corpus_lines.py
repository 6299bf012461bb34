"""Lines of the corpus made of the lines of chunks, against those made of the chunks themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.corpus_lines import CorpusLines
from goldbench.goldset.dataset import CorpusLine, passages
from goldbench.records.corpus import Chunk, Evidence, Span, TitlePart, TitleUse
from goldbench.records.query import Query

PARTS = [
    "Lock",
    'a "quoted\\ [part]',
    "# Lock\n\ntext",
    "\n\nLock\n====\n",
    "line\u2028end\x85",
    "\x01\x1f\x7f",
    "字",
    "=",
    "---\n",
    " ",
    "›",
]
TEXTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join)
CHUNKS = st.builds(
    lambda number, text, headings, title: Chunk(
        chunk_id=f'{number}:ä"{len(text)}',
        span=Span(doc_id=f'd"{number}', start=0, end=len(text)),
        text=text,
        headings=tuple(headings),
        title=title,
    ),
    st.integers(0, 3),
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.one_of(st.just(""), TEXTS),
)


@pytest.mark.parametrize("titles", list(TitleUse))
@settings(max_examples=150, deadline=None)
@given(chunks=st.lists(CHUNKS, max_size=6), held=st.booleans())
def test_a_line_is_that_of_the_passage(titles: TitleUse, chunks: list[Chunk], held: bool) -> None:
    evidence = Evidence(doc_id='d"1', start=0, end=4, quote="Lock")
    part = TitlePart(doc_id='d"2', text="Lock")
    query = Query(
        query_id="q",
        text="lock",
        chunk_id="c",
        generator="g",
        evidence=(evidence,),
        quote="Lock",
        masked=(evidence,),
        masked_titles=(part,),
    )
    queries = [query] if held else []
    with tempfile.TemporaryDirectory() as folder:
        stored = RecordFile.write(Path(folder, "chunks.jsonl"), Chunk, chunks)
        found = list(CorpusLines(stored, queries, titles)())
    assert found == [CorpusLine.of(passage, titles) for passage in passages(chunks, queries, titles)]
