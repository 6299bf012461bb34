"""What real servers refuse, in the words in which they do."""

from __future__ import annotations

from typing import Any

Complaint = tuple[int, dict[str, Any]]


def _error(status: int, message: str, *, code: str | None = None, param: str | None = None) -> Complaint:
    return status, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def complaint_about(settings: dict[str, Any], kind: str, body: dict[str, Any], authorization: str) -> Complaint | None:
    """Return the status and body of the refusal, None where the request is fine."""
    if settings["api_key"] and authorization != f"Bearer {settings['api_key']}":
        return _error(401, "Incorrect API key provided.", code="invalid_api_key")
    if kind == "models":
        return None
    if settings["models"] and body.get("model") not in settings["models"]:
        return _error(404, f"The model `{body.get('model')}` does not exist.", code="model_not_found")
    return _complaint_about_chat(settings, body) if kind not in ("embeddings", "rerank") else None


def _complaint_about_chat(settings: dict[str, Any], body: dict[str, Any]) -> Complaint | None:
    if settings["reasoning"] and "max_tokens" in body:
        return _error(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param="max_tokens",
        )
    if settings["reasoning"] and body.get("temperature", 1) != 1:
        return _error(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
            code="unsupported_value",
            param="temperature",
        )
    if settings["no_system"] and any(m["role"] == "system" for m in body["messages"]):
        return _error(400, "Developer instruction is not enabled: role 'system' is not supported", param="messages")
    if settings["probabilities"] == "refused" and "logprobs" in body:
        return _error(400, "logprobs are not supported with this model.", param="logprobs")
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema" and not settings["json_schema"]:
        return _error(400, "'response_format.type' must be 'json_object' or 'text'", param="response_format")
    if wanted.get("type") == "json_object" and not settings["json_object"]:
        return _error(400, "'response_format.type' must be 'text'", param="response_format")
    if wanted.get("type") == "json_schema" and settings["strict"]:
        problem = _loose(wanted["json_schema"]["schema"], "schema")
        if problem:
            message = f"Invalid schema for response_format 'answer': {problem}"
            return _error(400, message, code="invalid_json_schema", param="response_format")
    return None


_FORBIDDEN = ("default", "allOf", "oneOf", "not", "if", "patternProperties", "minLength", "maxLength", "uniqueItems")


def _loose(schema: Any, where: str) -> str | None:
    """Return the first thing that strict structured output does not take."""
    if isinstance(schema, list):
        return next((p for i, part in enumerate(schema) if (p := _loose(part, f"{where}[{i}]"))), None)
    if not isinstance(schema, dict):
        return None
    if "properties" in schema:
        if schema.get("additionalProperties") is not False:
            return f"in {where}, 'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", [])) != set(schema["properties"]):
            return f"in {where}, 'required' has to include every key in properties"
    for key, part in schema.items():
        if key in _FORBIDDEN and not where.endswith(".properties"):
            return f"in {where}, '{key}' is not permitted"
        if key != "enum" and (problem := _loose(part, f"{where}.{key}")):
            return problem
    return None
