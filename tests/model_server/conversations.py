"""Servers as their public documentation and issues describe them: what each refuses, in which words and which form.

Each is the settings and rules of a script, the path of its base URL, and how a run with it ends: with the full count,
or with a line that names the setting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Conversation:
    """A server; ``ends`` holds parts of the line in which a run ends, nothing if it reaches its count."""

    rules: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    path: str = "/v1"
    ends: tuple[str, ...] = ()
    most_failures: int = 8


def _answers(status: int, body: Any, **when: Any) -> dict[str, Any]:
    """Answer the requests described with this body."""
    return {"when": when, "do": {"status": status, "body": body}}


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


SCHEMA, FORMAT, LENGTH = '"json_schema"', '"response_format"', 'Length":'
_DEPLOYMENT = "/openai/deployments/mine"
_VERSION = "?api-version=2024-10-21"
_THOUGHTS = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "", "reasoning": "Well, the"},
            "finish_reason": "length",
        }
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 1500, "total_tokens": 1530},
}
_TGI_VARIANT = (
    "Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`, "
    "expected one of `json`, `json_object`, `regex` at line 1 column 5000"
)
_OPENROUTER = {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "One"}}
_UNFINISHED = {"error": _OPENROUTER, "finish_reason": "error", "message": {"role": "assistant", "content": "{"}}
_LLAMA_CONTEXT = _error(
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    code=400,
    type="exceed_context_size_error",
    n_prompt_tokens=9000,
    n_ctx=4096,
)
_VLLM = {"object": "error", "type": "BadRequestError", "param": None, "code": 400}
_VLLM_CONTEXT = "This model's maximum context length is 2048 tokens. However, you requested 3500 tokens."
_VLLM_GRAMMAR = "The provided JSON schema contains features not supported by xgrammar."
_LITELLM = (
    "litellm.UnsupportedParamsError: m takes no parameters ['response_format']. "
    "To drop these, set `litellm.drop_params=True`"
)
_STREAM = "This model only support stream mode, please enable the stream parameter."

CONVERSATIONS: dict[str, Conversation] = {
    "Ollama, a model that thinks": Conversation(({"do": {"shape": "reasoning"}},)),
    "Ollama, thoughts fill the limit": Conversation((_answers(200, _THOUGHTS, lacks='"max_tokens":5596'),)),
    "Ollama, a model that is not pulled": Conversation(
        (_answers(404, _error('model "m" not found, try pulling it first', type="api_error", code=None)),),
        ends=("does not know model 'm'", "HTTP 404"),
    ),
    "vLLM": Conversation((_answers(400, {**_VLLM, "message": _VLLM_GRAMMAR}, contains=LENGTH),)),
    "vLLM, the answer among the thoughts": Conversation(({"do": {"shape": "reasoning-only"}},)),
    "vLLM, a short context": Conversation(
        (_answers(400, {**_VLLM, "message": _VLLM_CONTEXT}),), ends=("context of 2,048 tokens", "chunk.size")
    ),
    "vLLM, an engine that fails over grammars": Conversation(
        (_answers(500, _error("EngineCore failed.", type="InternalServerError"), contains=SCHEMA),)
    ),
    "llama.cpp": Conversation(
        (
            _answers(503, _error("Loading model", code=503, type="unavailable_error"), first=1),
            _answers(400, _error("Failed to parse grammar", code=400, type="invalid_request_error"), contains=LENGTH),
        )
    ),
    "llama.cpp, a short context": Conversation(
        (_answers(400, _LLAMA_CONTEXT),), ends=("context of 4,096 tokens", "-c)")
    ),
    "LiteLLM": Conversation((_answers(400, _error(_LITELLM, type="None", param="None", code="400"), contains=FORMAT),)),
    "OpenRouter": Conversation(
        (
            _answers(200, {"error": _OPENROUTER}, nth=[1]),
            _answers(200, {"id": "gen-1", "choices": [_UNFINISHED]}, nth=[3]),
        )
    ),
    "OpenRouter, no credit": Conversation(
        (_answers(200, _error("Insufficient credits", code=402)),), ends=("no credit left",)
    ),
    "Azure OpenAI": Conversation(
        (), {"api_key": "azure-key-0123456789", "key_header": "api-key"}, _DEPLOYMENT + _VERSION
    ),
    "Azure OpenAI, no version": Conversation(
        (_answers(404, _error("Resource not found", code="404")),), {}, _DEPLOYMENT, ends=("api-version=2024-10-21",)
    ),
    "Azure OpenAI, no such deployment": Conversation(
        (_answers(404, _error("This API deployment does not exist.", code="DeploymentNotFound")),),
        {},
        _DEPLOYMENT + _VERSION,
        ends=("does not know model 'm' or the path",),
    ),
    "TGI": Conversation((_answers(422, _TGI_VARIANT, contains=SCHEMA),)),
    "TGI, an error in HTTP 200": Conversation(
        (_answers(200, {"error": "grammar is not valid", "error_type": "validation"}, contains=SCHEMA),)
    ),
    "LM Studio, no structured output": Conversation(
        (
            _answers(400, {"error": "Model does not support structured output"}, contains=SCHEMA),
            _answers(400, {"error": "must be 'json_schema' or 'text'"}, contains='"json_object"'),
        )
    ),
    "a server that only streams": Conversation(
        (_answers(400, _error(_STREAM, code="invalid_parameter_error"), lacks='"stream":true'),)
    ),
    "a server that streams unasked": Conversation(({"do": {"shape": "stream"}},)),
    "a server that calls a tool": Conversation(({"do": {"shape": "tool-call"}},)),
    "a server that sends parts and no usage": Conversation(({"do": {"shape": "parts"}},), {"usage": False}),
    "HTTP 404 to every format": Conversation((_answers(404, {"detail": "Not Found"}, contains=FORMAT),)),
    "HTTP 500 to every format": Conversation((_answers(500, "Internal Server Error", contains=FORMAT),)),
}
