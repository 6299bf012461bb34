"""Real documentation, if it is installed: Debian's python3-doc (Sphinx, with sources) and postgresql-doc-15 (DocBook).

What the pages hold was marked by reading them and by counts of their raw HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.sources import find_files
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import chunk_documents
from goldbench.stages.select import Selection, select
from tests.formats.documents.reading import documents_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(570)]

PYTHON = Path("/usr/share/doc/python3-doc/html")
POSTGRES = Path("/usr/share/doc/postgresql-doc-15/html")

# The page, its title, its headings and blocks of code, and the first and last words below the title.
MARKED = """
tutorial/introduction | 3. An Informal Introduction to Python | 6 | 41 | In the following examples, | (but you have to escape `\\'`) and vice versa.
tutorial/errors | 8. Errors and Exceptions | 11 | 26 | Until now error messages | +------------------------------------ >>> ```
library/abc | abc — Abstract Base Classes | 1 | 11 | **Source code:** Lib/abc.py | concept is not the same as C++’s.
library/json | json — JSON encoder and decoder | 12 | 14 | **Source code:** Lib/json/__init__.py | (as of ECMAScript Edition 5.1) does not.
library/heapq | heapq — Heap queue algorithm | 4 | 5 | **Source code:** Lib/heapq.py | always been a Great Art! :-)
library/textwrap | textwrap — Text wrapping and filling | 1 | 9 | **Source code:** Lib/textwrap.py | string containing the wrapped paragraph.
library/zipapp | zipapp — Manage executable Python zip archives | 10 | 11 | New in version 3.5. | created by any means are acceptable to Python.
library/graphlib | graphlib — Functionality to operate with graph-like structures | 2 | 6 | **Source code:** Lib/graphlib.py | to make it clear that it is cyclic.
c-api/list | List Objects | 1 | 0 | type PyListObject | equivalent to `tuple(list)`.
c-api/iter | Iterator Protocol | 1 | 1 | There are two functions | New in version 3.10.
howto/sorting | Sorting HOW TO | 9 | 17 | Author: : Andrew Dalke | ['jane', 'dave', 'john'] ```
howto/ipaddress | An introduction to the ipaddress module | 11 | 20 | author: : Peter Moody | is invalid for IPv4:', address) ```
reference/simple_stmts | 7. Simple statements | 17 | 30 | A simple statement is comprised | The specification for the `nonlocal` statement.
reference/toplevel_components | 9. Top-level components | 5 | 3 | The Python interpreter can | eval_input ::= expression_list NEWLINE* ```
faq/general | General Python FAQ | 26 | 1 | ## General Information | joining the edu-sig mailing list.
faq/library | Library and Extension FAQ | 36 | 22 | ## General Library Questions | create independent multiple random number generators.
using/unix | 2. Using Python on Unix platforms | 9 | 9 | ## 2.1. Getting and installing | custom OpenSSL installation with a newer version.
installing/index | Installing Python Modules | 12 | 6 | Email: : distutils-sig@python.org | Python Packaging User Guide: Binary Extensions
extending/embedding | 1. Embedding Python in Another Application | 7 | 13 | The previous chapters discussed | '-Xlinker -export-dynamic' ```
distutils/introduction | 1. An Introduction to Distutils | 5 | 6 | Note This document is | will be run from this directory.
"""  # noqa: E501
# Words from within these pages, found by reading them.
WITHIN = {
    "tutorial/errors": ("Syntax errors, also known as parsing errors,", "## 8.10. Enriching Exceptions"),
    "library/json": ("| JSON | Python |", "## Command Line Interface", "json.dump(*obj*, *fp*,"),
    "c-api/list": ("int PyList_Append(PyObject *list, PyObject *item)", "*Part of the Stable ABI.*"),
    "reference/simple_stmts": ("assert_stmt ::=", "## 7.12. The `global` statement"),
    "using/unix": ("| File/directory | Meaning |",),
}
FENCE = re.compile(r"^\s*```")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    if not PYTHON.is_dir():
        pytest.skip("the Debian package python3-doc is not installed")
    return list(read(PYTHON.resolve()))


@pytest.fixture(scope="module")
def chunks(documents: list[Document]) -> list[Chunk]:
    return list(chunk_documents(documents))


def read(*paths: Path, limit: int | None = None) -> Iterator[Document]:
    files = find_files([str(path) for path in paths]).files
    return documents_of(files, ReadOptions(limit_documents=limit), on_failure=lambda _: None)


def outside_code(text: str) -> list[str]:
    lines, inside = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines


def test_no_passage_holds_furniture_or_raw_directives(documents: list[Document], chunks: list[Chunk]) -> None:
    kinds = Counter(document.source.rsplit(".", 1)[-1] for document in documents)
    assert kinds["html"] == 530
    assert kinds["txt"] > 480
    found = Counter[str]()
    for document in documents:
        for line in outside_code(document.text):
            found["directive"] += re.match(r"\s*\.\. [\w:-]+::(?:\s|$)", line) is not None
            found["role"] += document.source.endswith(".txt") and re.search(r"(?<!`):[\w:]+:`\w", line) is not None
    found["mark"] = sum("¶" in chunk.text for chunk in chunks)
    found["copyright"] = sum("Created using Sphinx" in chunk.text for chunk in chunks)
    assert {name: count for name, count in found.items() if count} == {}


@pytest.mark.parametrize("line", MARKED.strip().split("\n"), ids=lambda line: line.split(" | ")[0])
def test_a_page_is_what_a_person_marked(documents: list[Document], line: str) -> None:
    name, title, headings, blocks, first, last = line.split(" | ")
    (page,) = (document for document in documents if document.source == f"{name}.html")
    lines = outside_code(page.text)
    assert page.title == title
    assert sum(re.match(r"#{1,6} ", line) is not None for line in lines) == int(headings)
    assert sum(FENCE.match(line) is not None for line in page.text.split("\n")) == 2 * int(blocks)
    heading, _, below = page.text.partition("\n")
    assert heading.replace("`", "").replace("*", "") == f"# {title}"
    words = " ".join(below.split())
    assert words.startswith(first)
    assert words.endswith(last)
    assert all(part in " ".join(page.text.split()) for part in WITHIN.get(name, ()))


def test_a_page_and_its_source_are_near_duplicates(documents: list[Document]) -> None:
    names = [line.split(" | ")[0] for line in MARKED.strip().split("\n")]
    wanted = {f"{name}.html" for name in names} | {f"_sources/{name}.rst.txt" for name in names}
    chosen = [document for document in documents if document.source in wanted]
    sources = {document.doc_id: document.source for document in chosen}
    held = Held(chunk_documents(chosen))
    selection = select(held, seed=1)
    joined = [_formats(selection, held, sources, number) for number in range(len(held))]
    of_pages = [both for both, chunk in zip(joined, held, strict=True) if sources[chunk.span.doc_id].endswith(".html")]
    assert sum(of_pages) >= 0.75 * len(of_pages)


class Held(list[Chunk]):
    def at(self, position: int) -> Chunk:
        return self[position]


def _formats(selection: Selection, held: Held, sources: dict[str, str], place: int) -> bool:
    kinds = {sources[held[member].span.doc_id].rsplit(".", 1)[-1] for member in selection.cluster_of(place)}
    return len(kinds) == 2


def test_pages_that_list_names_are_not_asked_about_and_pages_about_one_version_are(documents: list[Document]) -> None:
    listing = {document.doc_id for document in documents if re.search(r"genindex|py-modindex", document.source)}
    versions = {document.doc_id for document in documents if re.search(r"whatsnew/\d.*html", document.source)}
    held = Held(
        chunk_documents(document for document in documents if "/" not in document.source or "what" in document.source)
    )
    selection = select(held, seed=1)
    asked = {held[int(place)].span.doc_id for place in selection.order}
    assert len(listing) > 20
    assert not asked & listing
    assert len(versions) > 15
    assert versions <= asked
    assert selection.ineligible["index-page"] > 1000
    assert selection.ineligible["changelog"] < 100
