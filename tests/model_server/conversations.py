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


def _refuses(word: str, status: int, body: Any) -> dict[str, Any]:
    """Refuse every request that holds a word of JSON."""
    return {"when": {"contains": word}, "do": {"status": status, "body": body}}


SCHEMA, FORMAT, LENGTH = '"json_schema"', '"response_format"', 'Length":'
_TGI_VARIANT = (
    "Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`, "
    "expected one of `json`, `json_object`, `regex` at line 1 column 5000"
)
_OPENROUTER = {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "One"}}
_LLAMA_CONTEXT = {
    "code": 400,
    "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9000,
    "n_ctx": 4096,
}
_VLLM_CONTEXT = {
    "object": "error",
    "message": "This model's maximum context length is 2048 tokens. However, you requested 3500 tokens.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}

CONVERSATIONS: dict[str, Conversation] = {
    "Ollama": Conversation((), {}),
    "Ollama, a model that thinks": Conversation(({"do": {"shape": "reasoning"}},)),
    "Ollama, thoughts fill the limit": Conversation(
        (
            {
                "when": {"lacks": '"max_tokens":5596'},
                "do": {
                    "status": 200,
                    "body": {
                        "model": "m",
                        "choices": [
                            {
                                "index": 0,
                                "message": {"role": "assistant", "content": "", "reasoning": "Well, the"},
                                "finish_reason": "length",
                            }
                        ],
                        "usage": {"prompt_tokens": 30, "completion_tokens": 1500, "total_tokens": 1530},
                    },
                },
            },
        )
    ),
    "Ollama, a model that is not pulled": Conversation(
        (
            {
                "do": {
                    "status": 404,
                    "body": {
                        "error": {
                            "message": 'model "m" not found, try pulling it first',
                            "type": "api_error",
                            "code": None,
                        }
                    },
                }
            },
        ),
        ends=("does not know model 'm'", "HTTP 404"),
    ),
    "vLLM": Conversation(
        (
            _refuses(
                LENGTH,
                400,
                {
                    "object": "error",
                    "type": "BadRequestError",
                    "param": None,
                    "code": 400,
                    "message": "The provided JSON schema contains features not supported by xgrammar.",
                },
            ),
        )
    ),
    "vLLM, the answer among the thoughts": Conversation(({"do": {"shape": "reasoning-only"}},)),
    "vLLM, a short context": Conversation(
        ({"do": {"status": 400, "body": _VLLM_CONTEXT}},), ends=("context of 2,048 tokens", "chunk.size")
    ),
    "vLLM, an engine that fails over grammars": Conversation(
        (_refuses(SCHEMA, 500, {"error": {"message": "EngineCore failed.", "type": "InternalServerError"}}),)
    ),
    "llama.cpp": Conversation(
        (
            {
                "when": {"first": 1},
                "do": {
                    "status": 503,
                    "body": {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
                },
            },
            _refuses(
                LENGTH,
                400,
                {"error": {"code": 400, "message": "Failed to parse grammar", "type": "invalid_request_error"}},
            ),
        )
    ),
    "llama.cpp, a short context": Conversation(
        ({"do": {"status": 400, "body": {"error": _LLAMA_CONTEXT}}},), ends=("context of 4,096 tokens", "-c)")
    ),
    "LiteLLM": Conversation(
        (
            _refuses(
                FORMAT,
                400,
                {
                    "error": {
                        "message": "litellm.UnsupportedParamsError: m takes no parameters ['response_format']. "
                        "To drop these, set `litellm.drop_params=True`",
                        "type": "None",
                        "param": "None",
                        "code": "400",
                    }
                },
            ),
        )
    ),
    "LiteLLM, an error of what is behind": Conversation(
        (
            _refuses(
                FORMAT,
                500,
                {
                    "error": {
                        "message": "litellm.APIConnectionError: APIConnectionError: OllamaException - ",
                        "type": "None",
                        "param": "None",
                        "code": "500",
                    }
                },
            ),
        )
    ),
    "OpenRouter": Conversation(
        (
            {"when": {"nth": [1]}, "do": {"status": 200, "body": {"error": _OPENROUTER}}},
            {
                "when": {"nth": [3]},
                "do": {
                    "status": 200,
                    "body": {
                        "id": "gen-1",
                        "choices": [
                            {
                                "error": _OPENROUTER,
                                "finish_reason": "error",
                                "message": {"role": "assistant", "content": "{"},
                            }
                        ],
                    },
                },
            },
        )
    ),
    "OpenRouter, no credit": Conversation(
        ({"do": {"status": 200, "body": {"error": {"code": 402, "message": "Insufficient credits"}}}},),
        ends=("no credit left",),
    ),
    "OpenRouter, no provider takes the format": Conversation(
        (
            _refuses(
                FORMAT,
                404,
                {"error": {"code": 404, "message": "No endpoints found that can handle the requested parameters."}},
            ),
        )
    ),
    "Azure OpenAI": Conversation(
        (),
        {"api_key": "azure-key-0123456789", "key_header": "api-key"},
        "/openai/deployments/mine?api-version=2024-10-21",
    ),
    "Azure OpenAI, no version": Conversation(
        ({"do": {"status": 404, "body": {"error": {"code": "404", "message": "Resource not found"}}}},),
        {},
        "/openai/deployments/mine",
        ends=("api-version=2024-10-21",),
    ),
    "Azure OpenAI, no such deployment": Conversation(
        (
            {
                "do": {
                    "status": 404,
                    "body": {
                        "error": {
                            "code": "DeploymentNotFound",
                            "message": "The API deployment for this resource does not exist.",
                        }
                    },
                }
            },
        ),
        {},
        "/openai/deployments/mine?api-version=2024-10-21",
        ends=("does not know model 'm' or the path",),
    ),
    "Azure OpenAI, v1": Conversation((), {"api_key": "azure-key-0123456789"}, "/openai/v1"),
    "TGI": Conversation((_refuses(SCHEMA, 422, _TGI_VARIANT),)),
    "TGI, an error in HTTP 200": Conversation(
        (_refuses(SCHEMA, 200, {"error": "Input validation error: grammar is not valid", "error_type": "validation"}),)
    ),
    "LM Studio": Conversation(
        (_refuses('"json_object"', 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),)
    ),
    "LM Studio, no structured output": Conversation(
        (
            _refuses(SCHEMA, 400, {"error": "Model does not support structured output"}),
            _refuses('"json_object"', 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
        )
    ),
    "a server that only streams": Conversation(
        (
            {
                "when": {"lacks": '"stream":true'},
                "do": {
                    "status": 400,
                    "body": {
                        "error": {
                            "message": "This model only support stream mode, please enable the stream parameter.",
                            "type": "invalid_request_error",
                            "code": "invalid_parameter_error",
                        }
                    },
                },
            },
        )
    ),
    "a server that streams unasked": Conversation(({"do": {"shape": "stream"}},)),
    "a server that calls a tool": Conversation(({"do": {"shape": "tool-call"}},)),
    "a server that sends parts and no usage": Conversation(({"do": {"shape": "parts"}},), {"usage": False}),
    "HTTP 501 to every format": Conversation((_refuses(FORMAT, 501, "not implemented"),)),
    "HTTP 404 to every format": Conversation((_refuses(FORMAT, 404, {"detail": "Not Found"}),)),
    "HTTP 500 to every format": Conversation((_refuses(FORMAT, 500, "Internal Server Error"),)),
}
