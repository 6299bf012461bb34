"""What a server takes and how it answers, found out with one small request before a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from goldbench.errors import CallFailed, Message
from goldbench.llm.catalogue import seconds_per_query
from goldbench.llm.chat import usage_of
from goldbench.llm.dialect import Dialect, Lessons
from goldbench.llm.limits import COMING_UP
from goldbench.llm.local.machine import layout_now
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.reply_body import has_thought, text_of, thoughts_of
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.ports import ChatRequest
from goldbench.prompts.loader import load
from goldbench.records.manifest import StageUsage
from goldbench.records.replies import Verdict

PROMPT = "preflight.v1"
STAGE = "preflight"
_TOKENS = 200
_LARGE = 2000
"""Megabytes of a model file from which a query takes long without a graphics card."""
_ATTEMPTS = 5
"""Attempts of the one request; with no other call beside it, a server that fails would be tried for minutes."""
_FORMATS = {
    "json_schema": "JSON Schema",
    "json_object": "a JSON object; the schema stands in the prompt",
    "text": "none; the schema stands in the prompt",
}


@dataclass(frozen=True, slots=True)
class Trait:
    """A property of a server; ``setting`` is what to set, ``good`` None if it is neither right nor wrong."""

    what: str
    says: str
    setting: str = ""
    good: bool | None = None


async def preflight(
    settings: ModelSettings,
    answers: AnswerStore,
    shown: Callable[[ModelPath], AbstractAsyncContextManager[None]] = lambda _: nullcontext(),
) -> tuple[list[Trait], dict[str, StageUsage], bool]:
    """Return what is found of a server, what it cost, and whether other requests may be answered.

    It takes one request, or a few if parameters are refused, whatever the store holds: a server may have changed. What
    was found is remembered in the store, so that a run begins with it.

    Args:
        settings: The server, the model and the caps.
        answers: The store of answers, open.
        shown: Shows the calls under way while its block runs.

    Raises:
        ModelUnavailable: The server cannot be used; the message names what to set.
    """
    system, user = load(PROMPT).render()
    request = ChatRequest(
        stage=STAGE, prompt=PROMPT, system=system, user=user, answer=Verdict, max_tokens=_TOKENS, temperature=0.0
    )
    patient = settings.model_copy(update={"max_attempts": min(settings.max_attempts, _ATTEMPTS)})
    async with open_model(patient, answers=answers, anew=True) as path:
        fault: CallFailed | None = None
        try:
            async with shown(path):
                await path.complete(request)
        except CallFailed as failed:
            fault = failed
        assert path.lessons is not None
        kind = fault.kind if fault is not None and not path.lessons.settled else ""
        answers_come = not kind.startswith("http-5") or kind in COMING_UP
        return _traits(path.lessons, fault), path.usage(), answers_come


def tell_limits(path: ModelPath, settings: ModelSettings, say: Callable[[str], None]) -> None:
    """Have a line said about a model file that is slow here, or a server that cuts prompts short.

    Args:
        path: The open path to the model.
        settings: The server and the model.
        say: Takes the line.
    """
    lessons = path.lessons
    if lessons is None:
        return
    if settings.file is not None:
        tell_slow(settings, say)
        return

    def tell_shortened(read: int, words: int) -> None:
        server = f"{settings.name} at {settings.shown_url()}"
        note = Message(
            "Note: {} read {:,} tokens of a prompt of {:,} words: it cuts prompts short. Give it a longer context at "
            "the server (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx), or make chunks shorter ({chunk_size=}).",
            *(server, read, words),
        )
        say(note)

    lessons.on_shortened = tell_shortened


def tell_slow(settings: ModelSettings, say: Callable[[str], None]) -> None:
    """Have a line said about a large model file that runs without a graphics card."""
    assert settings.file is not None
    megabytes = settings.file.stat().st_size / 1e6
    layout = layout_now(settings)
    if megabytes < _LARGE or layout.gpu_layers:
        return
    seconds = seconds_per_query(megabytes, layout.processes * layout.threads)
    say(
        f"Note: {settings.name} has {megabytes / 1000:.1f} GB and no graphics card here, so that a query takes about "
        f"{seconds:,.0f} s: a server with one is faster, and so is a smaller model."
    )


def _traits(lessons: Lessons, fault: CallFailed | None) -> list[Trait]:
    dialect = lessons.dialect
    reply = lessons.heard or {}
    traits = [Trait("answer", "fits its schema" if fault is None else str(fault), good=fault is None)]
    # A reply that was cut off while the model was thinking says as much as an answer does.
    if not lessons.settled or (fault is not None and not (text_of(reply) or thoughts_of(reply))):
        return traits
    has_schema = dialect.format == "json_schema"
    limits = f", {'with' if dialect.limits else 'without'} its limits" if has_schema else ""
    traits.append(Trait("response format", _FORMATS[dialect.format] + limits, good=has_schema or None))
    takes = [dialect.length, *(["temperature"] if dialect.temperature else [])]
    refuses = [*([] if dialect.temperature else ["temperature"]), *([] if dialect.system else ["system role"])]
    refused = f"; refuses {', '.join(refuses)}" if refuses else ""
    traits.append(Trait("parameters", f"takes {', '.join(takes)}{refused}"))
    if dialect.stream:
        traits.append(Trait("stream", "the server only streams; its events are put together"))
    return [*traits, *_of_reply(reply, dialect)] if reply else traits


def _of_reply(reply: Mapping[str, Any], dialect: Dialect) -> list[Trait]:
    traits = []
    usage = usage_of(dict(reply))
    if has_thought(reply) or dialect.thinks:
        thinks = "the model thinks before it answers, which costs tokens"
        traits.append(Trait("thoughts", thinks, "model.max_answer_tokens"))
    if usage.input_tokens or usage.output_tokens:
        traits.append(Trait("usage", "reported with each answer", good=True))
    else:
        traits.append(Trait("usage", "not reported: caps and costs are estimates", "model.max_requests"))
    return traits
