"""The card of a BEIR folder, or of Parquet files: how ``datasets`` and MTEB load it, and what readers must know."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from goldbench.formats.interchange_names import (
    BEIR_CORPUS,
    BEIR_PARQUET,
    BEIR_QUERIES,
    BEIR_TEST_LINES,
    BEIR_TEST_QRELS,
    JUDGMENT_COLUMNS,
)
from goldbench.records.relevance import RELEVANT, RUBRIC, Relevance
from goldbench.text.display import amount, one_line, queries, shell_command
from goldbench.text.markdown import escaped, markdown_row

Columns = Mapping[str, "str | Columns | tuple[Any]"]
"""The type of every column of a table; a mapping is a column with fields of its own, a tuple of one a list of such."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A configuration of the data set: its name, its only split, its two files, and the columns in them."""

    name: str
    split: str
    file: str
    parquet: str
    columns: Columns


TABLES = (
    Table(
        "corpus",
        "corpus",
        BEIR_CORPUS,
        BEIR_PARQUET[0],
        {
            "_id": "string",
            "title": "string",
            "text": "string",
            "metadata": {"title": "string", "original_text": "string"},
        },
    ),
    Table(
        "queries",
        "queries",
        BEIR_QUERIES,
        BEIR_PARQUET[1],
        {"_id": "string", "text": "string", "metadata": {"source": "string"}},
    ),
    Table(
        "qrels",
        "test",
        BEIR_TEST_LINES,
        BEIR_PARQUET[2],
        dict(zip(JUDGMENT_COLUMNS, ("string", "string", "int32"), strict=True)),
    ),
)

_ANSWER: Columns = {"text": "string", "evidence": ({"quote": "string", "chunk_id": "string"},)}


_OF_QUERIES: Columns = {
    "answer": _ANSWER,
    "history": ({"question": "string", "answer": "string"},),
    "standalone": "string",
    "original_text": "string",
    "frequency": "int64",
    "traffic": "float64",
}
"""The metadata of queries that only some sets have."""


def tables_with(metadata: Collection[str]) -> tuple[Table, ...]:
    """Return the tables of a set.

    Args:
        metadata: The names in the metadata of its queries.
    """
    more = {name: kind for name, kind in _OF_QUERIES.items() if name in metadata}
    columns: Columns = {"_id": "string", "text": "string", "metadata": {"source": "string", **more}}
    return tuple(replace(table, columns=columns) if more and table.name == "queries" else table for table in TABLES)


_TIME = re.compile(rb'"\d{4}-\d\d-\d\d(?:[ T][\d:.]*(?:Z|[+-][\d:]*)?)?"')
"""A string that Arrow's reader of JSON takes for a time."""
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:-[A-Za-z0-9-]+)?")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The hub's size categories, each with the number of rows below which it ends."""
_FRONT_MATTER = 1 << 16
"""Most characters of the front matter of a card that is read."""
_LONGEST = 400
"""Most characters of one value in the list of how the set was made."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file of JSON Lines holds. ``times`` tells whether a string in it looks like a date or a time."""

    rows: int
    sha256: str
    times: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """How a set came to be.

    ``metadata`` is that of the gold set, ``languages`` the ISO 639 codes of its queries as far as they are known, and
    ``grades`` counts its judgments by grade.
    """

    metadata: Mapping[str, Any]
    grades: Mapping[int, int]
    languages: Iterable[str] = ()
    labels: str | None = None
    """Where the labels come from, unless the metadata tell it."""
    tables: tuple[Table, ...] = TABLES
    """The tables as `tables_with` returns them."""
    level: int = RELEVANT
    """The lowest grade that counts as relevant; the rubric of goldbench belongs to 2."""
    parquet: bool = False
    """Whether the folder has Parquet files alone, and none for BEIR's loader."""


def contents_of(lines: Iterable[bytes]) -> Contents:
    """Return what a file of JSON Lines holds.

    Args:
        lines: Its lines, for example a file opened in binary mode.
    """
    rows, digest, times = 0, hashlib.sha256(), False
    for line in lines:
        rows += 1
        digest.update(line)
        times = times or _TIME.search(line) is not None
    return Contents(rows, digest.hexdigest(), times)


def needs_parquet(tables: Mapping[str, Contents]) -> bool:
    """Whether ``datasets`` would misread the JSON Lines of a set.

    It reads a column whose strings all look like dates as times, and turns the id ``2019-01-01`` into
    ``2019-01-01 00:00:00``. It reads all configurations of a folder in one format.

    Args:
        tables: What the files hold, by the names of ``TABLES``.
    """
    return any(table.times for table in tables.values())


def write_parquet(table: Table, source: Path | BytesIO, target: Path | BytesIO) -> None:
    """Write a file of JSON Lines as Parquet, every string as it is.

    Args:
        table: The table in the file.
        source: The JSON Lines.
        target: The file to write.
    """
    import polars as pl

    plain = {"string": pl.String, "int32": pl.Int32, "int64": pl.Int64, "float64": pl.Float64}

    def kind(columns: str | Columns | tuple[Any]) -> Any:  # noqa: ANN401  a type of polars
        if isinstance(columns, str):
            return plain[columns]
        if isinstance(columns, tuple):
            return pl.List(kind(columns[0]))
        return pl.Struct({name: kind(inner) for name, inner in columns.items()})

    schema = {name: kind(columns) for name, columns in table.columns.items()}
    pl.scan_ndjson(source, schema=schema).sink_parquet(target)


def dataset_card(tables: Mapping[str, Contents], facts: Facts) -> str:
    """Return the dataset card (README.md) of a folder, with the front matter that ``datasets`` reads.

    Args:
        tables: What the files hold, by the names of ``TABLES``.
        made: How the set came to be.
    """
    lines = ["---", *_front_matter(tables, facts), "---", "", "# Retrieval test set", ""]
    lines += [_summary(tables, facts), "", *_warnings(facts.metadata), *_files(tables, facts), *_scores(facts)]
    lines += [*_origin(facts), *_LICENCE]
    return "\n".join(lines) + "\n"


def _front_matter(tables: Mapping[str, Contents], facts: Facts) -> Iterator[str]:
    """Yield YAML. No value in it comes from documents, queries or ids, except for codes of languages."""
    parquet = facts.parquet or needs_parquet(tables)
    found = {match[1] for code in facts.languages if (match := _LANGUAGE.fullmatch(code))}
    if found:
        yield "language:"
        yield from (f'- "{code}"' for code in sorted(found))  # quoted, because no is not false
    size = next((name for limit, name in _SIZES if tables["corpus"].rows < limit), "n>1M")
    yield from ("task_categories:", "- text-retrieval", "size_categories:", f"- {size}", "tags:", "- goldbench")
    yield _declared(facts.level)
    yield "configs:"
    for table in facts.tables:
        yield f"- config_name: {table.name}"
        # The cache of datasets knows a folder by its last name and this list: the digest keeps sets apart.
        yield f"  description: {table.file}, SHA-256 {tables[table.name].sha256}"
        yield from ("  data_files:", f"  - split: {table.split}")
        yield f"    path: {table.parquet if parquet else table.file}"
    yield "dataset_info:"
    for table in facts.tables:
        yield from (f"- config_name: {table.name}", "  features:", *_features(table.columns, "  "))


def _features(columns: Columns, indent: str) -> Iterator[str]:
    for name, kind in columns.items():
        yield f"{indent}- name: {name}"
        if isinstance(kind, str):
            yield f"{indent}  dtype: {kind}"
        elif isinstance(kind, tuple) and isinstance(kind[0], str):
            yield f"{indent}  list: {kind[0]}"
        elif isinstance(kind, tuple):
            yield f"{indent}  list:"
            yield from _features(kind[0], indent + "  ")
        else:
            yield f"{indent}  struct:"
            yield from _features(kind, indent + "  ")


def _declared(level: int) -> str:
    """Return the line of the front matter that tells from which score on goldbench counts a passage as relevant."""
    return f"relevant_from: {level:d}"


def declares_level(card: Path) -> bool:
    """Whether a file is the dataset card of a gold set, which says from which score on passages are relevant."""
    try:
        with card.open(encoding="utf-8", errors="replace") as file:
            begins = file.readline() == "---\n"
            head = file.read(_FRONT_MATTER).partition("\n---\n")[0].split("\n")
            return begins and _declared(RELEVANT) in head
    except OSError:
        return False


def _summary(tables: Mapping[str, Contents], facts: Facts) -> str:
    form = "made" if facts.parquet else "in the format of BEIR, made"
    counts = {name: table.rows for name, table in tables.items()}
    return (
        f"{amount(counts['corpus'], 'passage')}, {queries(counts['queries'])} and "
        f"{amount(counts['qrels'], 'judgment')} {form} with goldbench."
    )


LEVELS = {
    "smoke": "The queries are simulated or written by a tiny model. Do not use this set to choose a retriever.",
    "model": "A model wrote the queries or judged the passages.",
    "users": "Users asked the queries, drawn from a log; a model or people judged the passages.",
    "human": "People judged the passages.",
}
"""What each level of evidence says of a set."""


def _warnings(metadata: Mapping[str, Any]) -> Iterator[str]:
    level, notice = metadata.get("evidence_level"), metadata.get("notice")
    if level is not None:
        yield f"**Evidence level: {escaped(str(level))}.** {LEVELS.get(str(level), '')}".rstrip()
        yield ""
    if isinstance(notice, str) and notice.strip():
        yield from (f"> {escaped(notice)}", "")


def _files(tables: Mapping[str, Contents], facts: Facts) -> Iterator[str]:
    yield from ("## Files", "", "| configuration | split | rows | columns |", "| --- | --- | ---: | --- |")
    for table in facts.tables:
        rows = f"{tables[table.name].rows:,}"
        yield markdown_row((table.name, table.split, rows, ", ".join(table.columns)))
    yield from ("", *_loading(facts))
    if needs_parquet(tables) and not facts.parquet:
        yield from ("", *_IN_PARQUET)
    if not all(found.rows for found in tables.values()):
        yield from ("", "`datasets` cannot load a configuration without rows.")
    yield ""


def _loading(facts: Facts) -> Iterator[str]:
    yield from ("```python", "from datasets import load_dataset", "")
    for table in facts.tables:
        yield f'{table.name} = load_dataset("path/of/this/folder", "{table.name}", split="{table.split}")'
    yield from ("```", "", *(_ONE_COPY if facts.parquet else _TWO_COPIES))


_ONE_COPY = ("A task of MTEB takes the path of this folder as the `path` of its `dataset`.",)
_TWO_COPIES = (
    f"The loader of BEIR reads the same judgments from `{BEIR_TEST_QRELS}`. For MTEB, run",
    f"`{shell_command('export', to='mteb')}`, because its encoders refuse the column `metadata`.",
)
_IN_PARQUET = (
    "The configurations are read from Parquet files, which repeat the JSON Lines: some ids or texts look like dates,",
    "and `datasets` would turn them into times.",
)


def is_own_scale(grades: Collection[int], level: int) -> bool:
    """Return whether grades are those of goldbench's rubric.

    Args:
        grades: The grades of a set.
        level: The lowest relevant one.
    """
    return level == RELEVANT and set(grades) <= set(Relevance)


def meaning_of(grade: int, level: int, *, own: bool) -> str:
    """Return what a grade says of a passage.

    Args:
        grade: The grade.
        level: The lowest relevant grade.
        own: Whether it is one of goldbench's rubric.
    """
    if own:
        return RUBRIC[Relevance(grade)]
    return "relevant" if grade >= level else "not relevant"


def _scores(facts: Facts) -> Iterator[str]:
    own = is_own_scale(facts.grades, facts.level)
    yield from ("## Scores", "", "| score | the passage | judgments |", "| ---: | --- | ---: |")
    for grade in sorted(Relevance, reverse=True) if own else sorted(facts.grades, reverse=True):
        counted = f"{facts.grades.get(grade, 0):,}"
        yield markdown_row((f"{grade:d}", meaning_of(grade, facts.level, own=own), counted))
    yield ""
    yield "A score of 0 is a judgment, too. A pair that is not listed was not judged, which does not mean irrelevant."
    counted = f"{RELEVANT:d} and 3" if own else f"{facts.level:d} and more"
    yield f"goldbench counts scores of {counted} as relevant, and takes the score as the gain in nDCG."
    if own and facts.grades.get(Relevance.SAME_TOPIC):
        yield "MTEB, BEIR and trec_eval count every score above 0 as relevant. For the same recall, precision, MAP and"
        yield "MRR there, leave out the rows with a score of 1 (trec_eval: `-l 2`). For the same nDCG, keep all rows."
    yield ""


_ORIGINS: dict[str, tuple[str, tuple[str, ...]]] = {
    "generator": ("Queries by", ()),
    "model": ("Model", ()),
    "seed": ("Seed", ()),
    "chunk": ("Passages", ("size", "overlap")),
    "corpus": ("Titles in the corpus", ("title",)),
    "source": ("Imported from", ()),
    "grades": ("Grades (given: here)", ()),
    "rechunked": ("Cut again", ("queries", "left_out")),
    "grading": ("Graded by a model", ("assessors", "panel", "depth", "retrievers", "runs", "unjudged")),
    "review": ("Reviewed by people", ("annotators", "judgments")),
    "goldbench": ("Version of goldbench", ()),
}
"""What is told of a set's metadata: the name of a member, its title, and its members, or () for all of them."""


def _origin(facts: Facts) -> Iterator[str]:
    yield from ("## How it was made", "", "| | |", "| --- | --- |")
    if facts.labels:
        yield markdown_row(("Labels", facts.labels))
    for name, (title, members) in _ORIGINS.items():
        value = facts.metadata.get(name)
        if isinstance(value, Mapping) and members:
            value = {member: value[member] for member in members if value.get(member)}
        if value not in (None, {}, [], ""):
            yield markdown_row((title, one_line(_said(value))[:_LONGEST]))
    yield ""


def _said(value: object) -> str:
    """Return a value of the metadata in words."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{str(name).replace('_', ' ')}: {_said(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_said(inner) for inner in value)
    return json.dumps(value)


_LICENCE = (
    "## Licence",
    "",
    "The texts keep the licence of the documents they were taken from, which goldbench does not know. Add `license` to",
    "the front matter before you publish the set.",
)
