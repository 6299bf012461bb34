"""What a retriever is given to search with: the text of each query, of a conversation in the form that is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from goldbench.errors import InputError
from goldbench.formats.faults import explain
from goldbench.goldset.gold_path import holds_no_query
from goldbench.records.query import Turn
from goldbench.score.runs import Gold
from goldbench.text.asked_query import AskedQuery, Conversation
from goldbench.text.display import amount

_WAYS: dict[Conversation, str] = {
    "last": "the last turn alone, as it was asked",
    "standalone": "the stand-alone form of the last turn",
    "joined": "all turns",
}


def conversations(gold: Gold) -> dict[str, AskedQuery]:
    """Return the queries that are the last turn of a conversation, with the turns before it.

    Raises:
        InputError: A turn is not an object with a question.
    """
    members = gold.members()
    turns = members.get("history", {})
    alone = members.get("standalone", {})
    if not turns and not alone:
        return {}
    texts = {**gold.queries(), **members.get("unanswerable", {})}
    conversations_by_id = {}
    for query_id in (named_id for named_id in texts if named_id in turns or named_id in alone):
        try:
            history = tuple(Turn.model_validate(turn) for turn in turns.get(query_id, ()))
        except (ValidationError, TypeError) as error:
            problem = explain(error) if isinstance(error, ValidationError) else "is not a list"
            raise InputError(gold.path, f"history of query {query_id!r}: {problem}") from None
        conversations_by_id[query_id] = AskedQuery(texts[query_id], history, alone.get(query_id))
    return conversations_by_id


def searched_queries(gold: Gold, conversation: Conversation = "last") -> dict[str, str]:
    """Return the text that a retriever searches with for each query; queries without an answer come last.

    Args:
        gold: The gold set.
        conversation: What it is for the last question of a conversation.

    Raises:
        InputError: A conversation has no stand-alone form, which was asked for.
    """
    texts = {**gold.queries(), **gold.unanswerable()}
    for query_id, query in (conversations(gold) if conversation != "last" else {}).items():
        text = query.searched(conversation)
        if text is None:
            problem = f"query {query_id!r} has earlier turns but no stand-alone form; search with last or joined"
            raise InputError(gold.path, problem)
        texts[query_id] = text
    return texts


def texts_to_search(gold: Gold, conversation: Conversation = "last") -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of queries and passages, which a retriever needs; queries without an answer come last.

    Args:
        gold: The gold set.

    Raises:
        InputError: There are none, or a conversation has no stand-alone form, which was asked for.
    """
    queries = gold.queries()
    corpus = gold.corpus()
    if not queries and not gold.qrels:
        raise InputError(str(gold.path), f"{holds_no_query(gold.path)}: there is nothing to retrieve for")
    lacks_queries = not queries or (bool(gold.qrels) and gold.qrels.keys().isdisjoint(queries))
    missing = [name for name, lacks in (("queries", lacks_queries), ("passages", not corpus)) if lacks]
    if missing:
        where = "" if corpus else " to retrieve from"
        raise InputError(gold.path, f"holds no texts of {' and '.join(missing)}{where}; name the folder of a build")
    return searched_queries(gold, conversation), corpus


def refuse_blanks(gold: Gold, ids: Iterable[str]) -> None:
    """Refuse ids that no run in a file can hold.

    Raises:
        InputError: An id has white space.
    """
    for name in ids:
        if name.split() != [name]:
            raise InputError(gold.path, f"the id {name[:80]!r} has white space, which no run can hold")


def told_of_conversations(count: int, conversation: Conversation) -> str:
    """Return the line that says what was searched for conversations; empty if there are none.

    Args:
        count: The number of conversations.
        conversation: What was searched for.
    """
    if not count:
        return ""
    return f"{amount(count, 'conversation')} searched by {_WAYS[conversation]} (conversation = {conversation})."
