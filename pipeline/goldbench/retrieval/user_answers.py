"""Reads what a retriever of the user answered one query with into ids, texts and scores.

Ids or texts; pairs of them with scores; a mapping to scores; objects with ``id`` and ``score``; the documents of
LangChain and the nodes of LlamaIndex, recognised by their attributes, so that neither library need be installed.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Mapping, Set
from itertools import islice
from typing import Any, Literal, NamedTuple

from goldbench.errors import RetrieverFailed

Returns = Literal["ids", "texts"]
MOST = 100_000
"""Most results of one query; more are refused, because an iterator may never end."""
_ID_KEYS = ("chunk_id", "id", "doc_id")
"""Keys of a document's metadata that may hold the id of its passage."""
_TEXT_KEYS = ("text", "content", "page_content", "passage")


class UserResult(NamedTuple):
    """One result: the ids it may be known by, the likeliest first; its text; its score, if it has one."""

    ids: tuple[str, ...]
    text: str | None
    score: float | None


def read_answer(answer: Any, *, returns: Returns) -> list[UserResult]:  # noqa: ANN401  whatever the system returned
    """Return the results of one query, in the order they came.

    Args:
        answer: What the system returned.
        returns: Whether a plain string is an id or a text.

    Raises:
        RetrieverFailed: The answer is of another kind, or only some results have a score.
    """
    if isinstance(answer, Mapping):
        answer = answer.items()
    if isinstance(answer, Set) and not isinstance(answer, ItemsView):
        raise RetrieverFailed(f"answered {kind_of(answer)}, which has no order; return a list, best first, or scores")
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise RetrieverFailed(f"answered {kind_of(answer)}, where a list of {returns} or of pairs with scores belongs")
    results = [_read(_plain(item), returns) for item in islice(answer, MOST + 1)]
    if len(results) > MOST:
        raise RetrieverFailed(f"answered more than {MOST:,} results for one query")
    if len({result.score is None for result in results}) > 1:
        raise RetrieverFailed("answered some results with a score and some without")
    return results


def _read(item: Any, returns: Returns) -> UserResult:  # noqa: ANN401
    if isinstance(item, int) and not isinstance(item, bool):
        item = str(item)
    if isinstance(item, str):
        return UserResult((item,), None, None) if returns == "ids" else UserResult((), item, None)
    if isinstance(item, tuple | list) and len(item) == 2:
        return _read(_plain(item[0]), returns)._replace(score=_score(item[1]))
    if isinstance(item, Mapping):
        text = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)
        ids = _ids(item)
        score = item.get("score")
    else:
        node = getattr(item, "node", item)
        text = getattr(node, "page_content", None) if hasattr(node, "page_content") else getattr(node, "text", None)
        metadata = getattr(node, "metadata", None)
        node_ids = (getattr(node, "id", None), getattr(node, "node_id", None))
        ids = _ids(metadata if isinstance(metadata, Mapping) else {}) + _strings(node_ids)
        score = getattr(item, "score", None)
    text = text if isinstance(text, str) else None
    if not ids and text is None:
        raise RetrieverFailed(f"answered {kind_of(item)} with neither id nor text")
    return UserResult(ids, text, None if score is None else _score(score))


def _ids(fields: Mapping[Any, Any]) -> tuple[str, ...]:
    return _strings(_plain(fields[key]) for key in _ID_KEYS if key in fields)


def _strings(values: Iterable[Any]) -> tuple[str, ...]:
    ids = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    return tuple(dict.fromkeys(ids))


def _score(value: Any) -> float:  # noqa: ANN401
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RetrieverFailed(f"answered a score that is not a number but {kind_of(value)}")
    return float(value)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return Python's own number for one of numpy or torch."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


def kind_of(value: object) -> str:
    """Return the type of a value with its article; ``nothing`` for None."""
    name = type(value).__name__
    return "nothing" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
