"""What a caller gives as documents: paths, or rows in memory. A string is always a path, never a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from goldbench.api.keywords import callers_code
from goldbench.config import Config
from goldbench.errors import Message, UsageError
from goldbench.formats.documents.held_tables import FRAME, TEXTS, table_of_frame, table_of_mapping, table_of_texts
from goldbench.formats.documents.sources import SourceFiles
from goldbench.generate.inputs import find_documents, held_rows
from goldbench.measures.ranks.columns import library_of

TEXT = "text"
ID = "id"
"""The fields of texts in memory, unless the configuration names others."""

_TEXTS = "give texts as texts=[...], or by id as texts={...}"
_LONGEST_PATH = 4096
"""Characters; what is longer is a text."""


def id_field_of(texts: object, config: Config) -> str | None:
    """Return the field of ids that texts by id need and that the configuration does not name, else None."""
    return ID if isinstance(texts, Mapping) and config.documents.id_field is None else None


def documents_of(documents: object, texts: object, config: Config) -> SourceFiles:
    """Return what is to be read.

    Args:
        documents: A path, several of them, or a frame of pandas or polars.
        texts: Texts, or texts by id, where there are no ``documents``.
        config: Names the fields of rows.

    Raises:
        UsageError: Both are given, or neither; or one is of another type, or does not exist.
        InputError: There is nothing in it.
    """
    if (documents is None) is (texts is None):
        what = "neither documents nor texts" if documents is None else "both documents and texts"
        raise UsageError(f"{what}: give paths or a frame as the first argument, or texts=")
    return _rows(texts, config) if documents is None else _documents(documents)


def paths_in(documents: object) -> list[object]:
    """Return the paths among the documents that a caller gave; none for frames."""
    several = documents if isinstance(documents, list | tuple) else [documents]
    return [path for path in several if isinstance(path, str | PathLike)]


def _documents(documents: Any) -> SourceFiles:  # noqa: ANN401  recognised by its type

    if library_of(documents) is not None:
        return held_rows(table_of_frame(documents), name=FRAME, source=f"{FRAME}.parquet")
    if library_of(documents, "LazyFrame") is not None:
        raise UsageError("not a valid frame: a LazyFrame; call collect() first", parameter="documents")
    if isinstance(documents, str | PathLike):
        several = [documents]
    elif isinstance(documents, Mapping | bytes | bytearray) or not isinstance(documents, Iterable):
        raise UsageError(f"not a valid path or frame: {type(documents).__name__}; {_TEXTS}", parameter="documents")
    else:
        with callers_code():
            several = list(documents)
    if not several:
        raise UsageError("is empty; give at least one path", parameter="documents")
    paths = [_path(item, number) for number, item in enumerate(several, start=1)]
    try:
        return find_documents(paths)
    except UsageError as error:
        raise UsageError(Message("{}; a string is a path: {}", error.message, _TEXTS)) from None


def _path(value: object, number: int) -> str:
    if not isinstance(value, str | PathLike):
        of_langchain = "give texts=[document.page_content for ...]" if hasattr(value, "page_content") else _TEXTS
        remedy = "give rows as a frame: pandas.DataFrame(rows)" if isinstance(value, Mapping) else of_langchain
        raise UsageError(
            f"item {number} is of type {type(value).__name__}, not a path; {remedy}", parameter="documents"
        )
    path = str(value)
    if not path or len(path) > _LONGEST_PATH or not path.isprintable():
        what = f"a text of {len(path):,} characters" if path else "empty"
        raise UsageError(f"item {number} is {what}, not a path; {_TEXTS}", parameter="documents")
    return path


def _rows(texts: Any, config: Config) -> SourceFiles:  # noqa: ANN401  recognised by its type

    column = config.documents.text_field or TEXT
    id_column = config.documents.id_field or ID
    if library_of(texts) is not None:
        raise UsageError("not a valid list of texts: a frame; give it as the first argument", parameter="texts")
    if isinstance(texts, set | frozenset):
        raise UsageError(
            "a set has no order, so that every process would build another set; give a list", parameter="texts"
        )
    if isinstance(texts, str | bytes | bytearray) or not isinstance(texts, Iterable):
        raise UsageError(
            f"not a valid list of texts: {type(texts).__name__}; give a list, or texts by id", parameter="texts"
        )
    with callers_code():
        held = dict(texts.items()) if isinstance(texts, Mapping) else list(texts)
    if isinstance(held, dict):
        table = table_of_mapping(held, column=column, id_column=id_column)
    else:
        table = table_of_texts(held, column=column)
    return held_rows(table, name=TEXTS, source=f"{TEXTS}.jsonl")
