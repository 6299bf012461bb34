"""The card of a BEIR folder, or of Parquet files: how ``datasets`` and MTEB load it, and what readers must know."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.formats.interchange_names import BEIR_CORPUS, BEIR_QUERIES, BEIR_TEST_LINES, JUDGMENT_COLUMNS
from goldbench.records.relevance import RELEVANT
from goldbench.text.display import amount, queries, shell_command
from goldbench.text.markdown import escaped

Columns = Mapping[str, "str | Columns | tuple[Any]"]
"""The type of every column of a table; a mapping is a column with fields of its own, a tuple of one a list of such."""


@dataclass(frozen=True, slots=True, eq=False)
class CardTable:
    """A configuration of the data set: its name, its only split, its file, and the columns in it."""

    name: str
    split: str
    file: str
    columns: Columns


_CORPUS: Columns = {
    "_id": "string",
    "title": "string",
    "text": "string",
    "metadata": {"title": "string", "original_text": "string"},
}
_QRELS: Columns = dict(zip(JUDGMENT_COLUMNS, ("string", "string", "int32"), strict=True))
_OF_QUERIES: Columns = {
    "answer": {"text": "string", "evidence": ({"quote": "string", "chunk_id": "string"},)},
    "history": ({"question": "string", "answer": "string"},),
    "standalone": "string",
    "original_text": "string",
    "frequency": "int64",
    "traffic": "float64",
}
"""The metadata of queries that only some sets have."""
LEVELS = {
    "smoke": "The queries are simulated or written by a tiny model. Do not use this set to choose a retriever.",
    "model": "A model wrote the queries or judged the passages.",
    "users": "Users asked the queries, drawn from a log; a model or people judged the passages.",
    "human": "People judged the passages.",
}
"""What each level of evidence says of a set."""
_TIME = re.compile(rb'"\d{4}-\d\d-\d\d(?:[ T][\d:.]*(?:Z|[+-][\d:]*)?)?"')
"""A string that Arrow's reader of JSON takes for a time: the id ``2019-01-01`` becomes ``2019-01-01 00:00:00``."""
_FRONT_MATTER = 1 << 16
"""Most characters of the front matter of a card that is read."""


def tables_with(metadata: Collection[str]) -> tuple[CardTable, ...]:
    """Return the tables of a BEIR folder.

    Args:
        metadata: The names in the metadata of its queries.
    """
    of_query = {"source": "string", **{name: kind for name, kind in _OF_QUERIES.items() if name in metadata}}
    return (
        CardTable("corpus", "corpus", BEIR_CORPUS, _CORPUS),
        CardTable("queries", "queries", BEIR_QUERIES, {"_id": "string", "text": "string", "metadata": of_query}),
        CardTable("qrels", "test", BEIR_TEST_LINES, _QRELS),
    )


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file of JSON Lines holds. ``times`` tells whether a string in it looks like a date or a time."""

    rows: int
    sha256: str
    times: bool


def contents_of(lines: Iterable[bytes]) -> Contents:
    """Return what a file of JSON Lines holds.

    Args:
        lines: Its lines, for example a file opened in binary mode.
    """
    rows = 0
    digest = hashlib.sha256()
    times = False
    for line in lines:
        rows += 1
        digest.update(line)
        times = times or _TIME.search(line) is not None
    return Contents(rows, digest.hexdigest(), times)


def dataset_card(
    tables: Mapping[CardTable, Contents], metadata: Mapping[str, Any], languages: Iterable[str], level: int = RELEVANT
) -> str:
    """Return the dataset card (README.md) of a folder, with the front matter that ``datasets`` reads.

    A folder with lines of JSON that ``datasets`` would change has no configurations.

    Args:
        tables: The tables, and what their files hold.
        metadata: The metadata of the gold set.
        languages: The ISO 639 codes of the queries, as far as they are known.
        level: The lowest grade that counts as relevant.
    """
    readable = not any(contents.times and table.file.endswith(".jsonl") for table, contents in tables.items())
    front_matter = {
        "language": sorted(languages),
        "task_categories": ["text-retrieval"],
        "tags": ["goldbench"],
        "configs": [_config(table, contents) for table, contents in tables.items() if readable],
        "dataset_info": [
            {"config_name": table.name, "features": _features(table.columns)} for table in tables if readable
        ],
    }
    yaml = (f"{name}: {json.dumps(value)}" for name, value in front_matter.items() if value)  # JSON is YAML
    rows = {table.name: contents.rows for table, contents in tables.items()}
    lines = ["---", *yaml, _declared(level), "---", "", "# Retrieval test set", "", *_body(rows, metadata, level)]
    if not readable:
        command = shell_command("export", to="hf")
        lines += ["", f"Some ids or texts look like dates, which `datasets` would change: `{command}` writes Parquet."]
    return "\n".join(lines) + "\n"


def _config(table: CardTable, contents: Contents) -> dict[str, Any]:
    """Return how a table is loaded; the cache of ``datasets`` tells sets apart by the digest in the description."""
    description = f"{table.file}, SHA-256 {contents.sha256}"
    files = [{"split": table.split, "path": table.file}]
    return {"config_name": table.name, "description": description, "data_files": files}


def _features(columns: Columns) -> list[dict[str, Any]]:
    """Return columns as ``datasets`` lists them."""
    features: list[dict[str, Any]] = []
    for name, kind in columns.items():
        if isinstance(kind, str):
            features.append({"name": name, "dtype": kind})
        elif isinstance(kind, tuple):
            features.append({"name": name, "list": kind[0] if isinstance(kind[0], str) else _features(kind[0])})
        else:
            features.append({"name": name, "struct": _features(kind)})
    return features


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


def _body(rows: Mapping[str, int], metadata: Mapping[str, Any], level: int) -> Iterator[str]:
    passages = amount(rows["corpus"], "passage")
    judgments = amount(rows["qrels"], "judgment")
    yield f"{passages}, {queries(rows['queries'])} and {judgments} made with goldbench."
    evidence = metadata.get("evidence_level")
    notice = metadata.get("notice")
    if evidence is not None:
        yield from ("", f"**Evidence level: {escaped(str(evidence))}.** {LEVELS.get(str(evidence), '')}".rstrip())
    if isinstance(notice, str) and notice.strip():
        yield from ("", f"> {escaped(notice)}")
    yield ""
    yield f"Scores of {level} and more are relevant. A score of 0 is a judgment, too; a pair that is not listed was"
    yield "not judged. MTEB, BEIR and trec_eval count every score above 0 as relevant: for the same recall, precision,"
    yield f"MAP and MRR there, leave out the rows with scores below {level}; for the same nDCG, keep them."
    yield ""
    yield "The texts keep the licence of their documents, which goldbench does not know: add `license` to the front"
    yield "matter before you publish the set."
