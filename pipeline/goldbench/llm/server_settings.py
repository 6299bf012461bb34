"""The table ``[model]``: which server, how hard to drive it, and what it may cost."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, ValidationError

from goldbench.errors import Message, UsageError
from goldbench.llm.catalogue import ModelFile, parameters_in, runs_here
from goldbench.records.record import Record
from goldbench.records.settings import Setting
from goldbench.text.display import shown

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
"""The variable whose key names OpenAI's server where no address is given. No other variable names a server."""

MOST_CALLS = 64
"""Calls in flight at once if the user sets no number; fewer while a server is slow."""
PATIENCE_S = 30.0
"""Seconds after which a call is named on the screen; calls that take longer are not made more at once."""


THINKING = 4096
"""Tokens that a model may think before it answers."""
FEW_PARAMETERS = 3e9
"""Parameters below which a temperature of 0.8 breaks sentences."""


_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
_DEPLOYMENT = "/openai/deployments/"
_SECRET = 16
_SHORT_SECRET = 8
"""The fewest characters of a key that is hidden; one that begins with sk- may be shorter."""
_HIDDEN = "*" * 8


def _server(url: str) -> str:
    parts = urlsplit(url)
    valid = re.fullmatch(r"https?://\S+", url) and is_host(parts.hostname or "")
    if not valid or parts.port == 0:  # .port: ValueError above 65535
        raise ValueError("not a valid http(s) URL; give one such as http://127.0.0.1:8000/v1")
    return url


def is_host(name: str) -> bool:
    """Whether this is a name, in whatever script, or an address; a placeholder such as ``{host}`` is neither."""
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return re.fullmatch(r"(\w[\w-]*\.)*\w[\w-]*\.?", name) is not None


def _without_password(url: str) -> str:
    if "@" in urlsplit(url).netloc:
        raise ValueError("must not hold a user name or a password")
    return url


def _sendable(key: str) -> str:
    if re.fullmatch(r"[\x21-\x7e]*", key) is None:
        raise ValueError("the API key holds white space or a character that no header may hold")
    return key


def _named(name: str) -> str:
    if not name.strip():
        raise ValueError("no model is named")
    if not name.isprintable():
        raise ValueError("the name of the model holds a character that cannot be printed")
    return name


Url = Annotated[str, AfterValidator(_server)]


class Model(Record):
    """An OpenAI-compatible server. The key itself is only ever read from the environment.

    Caps hold for the life of one opened path to the server.
    """

    name: Annotated[str | None, Setting(
        "Chat model: name, local or .gguf", "model", "Model", "M", unset="the only one", example="qwen3",
    )] = None  # fmt: skip
    base_url: Annotated[Url | None, Setting(
        "OpenAI-compatible base URL",
        "base_url", "Model", "U", unset="OPENAI_BASE_URL", example="http://127.0.0.1:11434/v1",
    )] = None  # fmt: skip
    digest: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$"), Setting(
        "SHA-256 that the file of the chat model must have", unset="any", example="0" * 64,
    )] = None  # fmt: skip
    embedding: Annotated[str | None, Setting(
        "Embedding model, for systems that use one", unset="none", example="bge-m3",
    )] = None  # fmt: skip
    dimensions: Annotated[int | None, Field(ge=1), Setting(
        "Length of its vectors, where it can shorten them", unset="the full length", example=256,
    )] = None  # fmt: skip
    api_key_env: Annotated[str, Setting("Environment variable that holds the API key")] = OPENAI_KEY
    key_header: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9-]{1,64}$"), Setting(
        "Header that carries the API key",
        unset="Authorization; api-key for Azure", example="api-key",
    )] = None  # fmt: skip
    concurrency: Annotated[int | None, Field(ge=1, le=4096), Setting(
        "Most calls in flight at once", "concurrency", "Limits", "N", unit="calls", unset="up to 64", example=8,
    )] = None  # fmt: skip
    threads: Annotated[int | None, Field(ge=1, le=256), Setting(
        "Threads of a model file's process",
        "threads", "Model", "N", unit="threads", unset="by idle cores", example=4,
    )] = None  # fmt: skip
    gpu_layers: Annotated[int | None, Field(ge=0, le=999), Setting(
        "GPU layers of a model file",
        "gpu", "Model", "N", unit="layers", unset="all if they fit", example=20,
    )] = None  # fmt: skip
    temperature: Annotated[float | None, Field(ge=0, le=2), Setting(
        "Sampling temperature of written queries", unset="0.8; 0.3 below 3 billion parameters", example=0.8,
    )] = None  # fmt: skip
    max_answer_tokens: Annotated[int | None, Field(ge=64), Setting(
        "Longest answer asked for", unit="tokens", unset="1500; 400 per query of a model file", example=1500,
    )] = None  # fmt: skip
    timeout_seconds: Annotated[float | None, Field(gt=0), Setting(
        "Longest time of one call",
        "timeout", "Limits", "S", unit="seconds", unset="120 s, more if slow", example=600,
    )] = None  # fmt: skip
    deadline_minutes: Annotated[float | None, Field(gt=0), Setting(
        "Stop calling the model after N minutes",
        "deadline", "Limits", "MIN", unit="minutes", unset="no limit", example=60,
    )] = None  # fmt: skip
    max_requests: Annotated[int | None, Field(ge=0), Setting(
        "Send at most N requests", "max_requests", "Limits", "N", unit="requests", unset="no limit", example=1000,
    )] = None  # fmt: skip
    max_tokens: Annotated[int | None, Field(ge=0), Setting(
        "Spend at most N tokens", "max_tokens", "Limits", "N", unit="tokens", unset="no limit", example=1_000_000,
    )] = None  # fmt: skip
    max_usd: Annotated[float | None, Field(ge=0), Setting(
        "Spend at most this many US dollars",
        "max_usd", "Limits", "USD", unit="US dollars", unset="no limit", example=5.0,
    )] = None  # fmt: skip
    usd_per_million_input: Annotated[float | None, Field(ge=0), Setting(
        "Price of input", unit="US dollars per million tokens", unset="the known price", example=0.4,
    )] = None  # fmt: skip
    usd_per_million_output: Annotated[float | None, Field(ge=0), Setting(
        "Price of output", unit="US dollars per million tokens", unset="the known price", example=1.6,
    )] = None  # fmt: skip

    _files: Mapping[str, ModelFile] = PrivateAttr(default_factory=dict)

    def with_files(self, files: Mapping[str, ModelFile]) -> Self:
        """Return the table with the chat model by its recorded name, and the file of each model that runs here.

        Args:
            files: The files by the name that was asked for.
        """
        chat = files.get(self.name or "")
        copy = self.model_copy(update={"name": chat.name, "digest": chat.sha256} if chat else {})
        copy._files = {**self._files, **{file.name: file for file in files.values()}}  # noqa: SLF001  the copy's own
        return copy

    @property
    def needs_no_server(self) -> bool:
        """Whether this machine runs the chat model itself; one with a digest is a file, whatever server is named."""
        if self.name is None:
            return False
        return self.digest is not None or self.name in self._files or runs_here(self.name, self.base_url)

    def file_of(self, name: str | None) -> ModelFile | None:
        """Return the file of a model that this machine runs, by its recorded name; None for one at a server."""
        return self._files.get(name or "")

    @property
    def asked_name(self) -> str | None:
        """The chat model as the user named it: ``local`` or a path, not the recorded name of its file."""
        file = self.file_of(self.name)
        return self.name if file is None else file.asked

    @property
    def server(self) -> str | None:
        """The address that somebody named: ``base_url``, or OpenAI's where its key is set; None where nobody did."""
        if self.base_url is None and self.api_key_env == OPENAI_KEY and self.key_from_environment():
            return OPENAI
        return self.base_url

    def check_server(self) -> None:
        """Refuse a chat model that neither runs here nor has a server.

        Raises:
            UsageError: Nobody named a server.
        """
        if not self.needs_no_server and self.server is None:
            model = f"the model {shown(self.name)}" if self.name else "the model"
            variables = f"{OPENAI_KEY} or OPENAI_BASE_URL" if self.api_key_env == OPENAI_KEY else "OPENAI_BASE_URL"
            options = Message("{base_url=} (or set {}), or {model='local'}", variables)
            raise UsageError(Message("no server is known for {}: give {}", model, options))

    @property
    def parameters(self) -> float | None:
        """About how many parameters the chat model has, by its file or else by its name; None if that does not say."""
        file = self.file_of(self.name)
        return parameters_in(self.name or "") if file is None else file.parameters

    @property
    def writing_temperature(self) -> float:
        """The temperature of written queries: as set, else lower below 3 billion parameters."""
        if self.temperature is not None:
            return self.temperature
        return 0.8 if self.parameters is None or self.parameters >= FEW_PARAMETERS else 0.3

    def answer_tokens(self, queries: int = 1, *, in_short: bool = False) -> int:
        """Return the most tokens of a reply that holds so many queries; some models ramble to the limit.

        A reply to the short prompt is short wherever the model runs.
        """
        if self.max_answer_tokens is not None:
            return self.max_answer_tokens
        return 400 * queries if self.needs_no_server or in_short else 1500

    @property
    def calls_at_once(self) -> int:
        """The most calls in flight at once: as set, else 64."""
        return MOST_CALLS if self.concurrency is None else self.concurrency

    @property
    def patience_s(self) -> float:
        """Seconds after which a call is named on the screen, or after a quarter of the time that is set."""
        return PATIENCE_S if self.timeout_seconds is None else min(PATIENCE_S, self.timeout_seconds / 4)

    @property
    def deadline_s(self) -> float | None:
        """The longest the whole path may work, in seconds from its opening."""
        return None if self.deadline_minutes is None else self.deadline_minutes * 60

    def key_from_environment(self) -> str | None:
        """Return the API key from the environment, None where there is none."""
        return os.environ.get(self.api_key_env) or None


class ModelSettings(Model):
    """The table as the model path takes it: with the key, the server, and the path's own constants.

    ``base_url`` is None for a model of this machine, and for one that is only replayed or planned.

    The key never shows: not in ``repr``, not in a message, not in a log.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    name: Annotated[str, AfterValidator(_named)]
    base_url: Annotated[Url, AfterValidator(_without_password)] | None = None
    api_key: Annotated[str, AfterValidator(_sendable)] | None = Field(default=None, repr=False)

    file: Path | None = None
    """The GGUF file of a model that this machine runs itself, None for one at a server."""
    first_timeout_s: float = Field(default=120.0, gt=0)
    """Seconds that the first calls may take if the user sets no limit; a slow server gets more."""
    max_attempts: int = Field(default=10, ge=1)
    """Attempts of one call; the waits between ten of them span a minute, the usual window of a rate limit."""
    retry_s: float = Field(default=300.0, gt=0)
    """Seconds that one call may wait between its attempts, all waits together."""
    unreachable_s: float = Field(default=180.0, gt=0)
    """Seconds that a server which has answered before may be unreachable until the run stops."""
    never_reached_s: float = Field(default=15.0, gt=0)
    """Seconds that a server which has never answered may be unreachable until the run stops."""
    reasoning_tokens: int = THINKING
    """Tokens added to the length limit of models that turn out to think before they answer."""
    embedding_batch: int = Field(default=96, ge=1)

    @classmethod
    def of(cls, table: Model, **changes: Any) -> Self:  # noqa: ANN401  values of fields
        """Return the settings of a table, with the key from the environment.

        Args:
            table: The table ``[model]``.
            changes: Fields with other values; ``api_key`` replaces the key from the environment.

        Raises:
            UsageError: No model is named, a number is out of range, or the base URL or the key cannot be used.
        """
        known = {name: value for name, value in table if value is not None}
        own = {"name": table.name or "", "base_url": table.server, "api_key": table.key_from_environment()}
        values = {**known, **own, **changes}
        if values["name"] != own["name"]:  # the digest is that of the chat model's file
            values["digest"] = None
        for field in ("name", "embedding"):
            if holds_key(values.get(field) or "", values["api_key"]):
                raise UsageError(f"model settings: {field}: holds the API key")
        file = table.file_of(values["name"])
        if file is not None:
            values |= {"file": file.path, "base_url": None, "api_key": None, "embedding": None}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            problems = [
                f"{item['loc'][0]}: {item['msg'].removeprefix('Value error, ')}"
                for item in error.errors(include_url=False, include_input=False)
            ]
            raise UsageError("model settings: " + "; ".join(problems)) from None

    @property
    def prices(self) -> tuple[float, float] | None:
        """US dollars per million tokens read and written, as the user stated both; a model on this machine is free."""
        if self.file is not None:
            return 0.0, 0.0
        if self.usd_per_million_input is None or self.usd_per_million_output is None:
            return None
        return self.usd_per_million_input, self.usd_per_million_output

    @property
    def address(self) -> str:
        """The base URL of the server.

        Raises:
            UsageError: Nobody named a server.
        """
        if self.base_url is None:
            self.check_server()
            raise AssertionError("a model of this machine has no address")
        return self.base_url

    @property
    def header_of_key(self) -> str:
        """The header that carries the key: as set, else the one that the address is known for."""
        return self.key_header or usual_header(self.address)

    @property
    def lacks_version(self) -> bool:
        """Whether the address is one of Azure that needs a version and has none."""
        parts = urlsplit(self.address)
        return _DEPLOYMENT in parts.path and "api-version=" not in parts.query

    def shown_url(self) -> str:
        """Return the base URL without user name, password and query, fit for a message."""
        if self.file is not None:
            return "this machine"
        if self.base_url is None:
            return "no server"
        return shown_address(self.base_url, self.api_key)


def usual_header(url: str) -> str:
    """Return the header that carries the key to an address, as far as it is known."""
    parts = urlsplit(url)
    azure = (parts.hostname or "").endswith(_AZURE) or _DEPLOYMENT in parts.path
    return "api-key" if azure else "Authorization"


def headers_of_key(key: str, name: str) -> dict[str, str]:
    """Return the header that carries a key: as it is, or in ``Authorization`` after ``Bearer``.

    Args:
        key: The key.
        name: The header.
    """
    return {name: f"Bearer {key}" if name.lower() == "authorization" else key}


def address_of(url: str) -> tuple[str, dict[str, str]]:
    """Return a base URL without its query, and the query, which goes with every request."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), dict(parse_qsl(parts.query))


def without_key(content: bytes, key: str | None) -> bytes:
    """Return a body without the key, which a server may repeat; a short word that only stands for a key stays.

    Args:
        content: The body.
        key: The key that was sent.
    """
    if not key or not _is_secret(key):
        return content
    for form in {key, json.dumps(key)[1:-1]}:
        content = content.replace(form.encode(), _HIDDEN.encode())
    return content


def _is_secret(key: str | None) -> bool:
    return key is not None and len(key) >= (_SHORT_SECRET if key.startswith("sk-") else _SECRET)


def holds_key(text: str, key: str | None) -> bool:
    """Return whether a text holds the key, as it is or percent-encoded, in whatever case of letters.

    Args:
        text: The text.
        key: The key, None for none; a short word that only stands for a key is never found.
    """
    return _without_key(text, key) != text


def _without_key(text: str, key: str | None) -> str:
    if not key or not _is_secret(key):
        return text
    forms = "|".join(map(re.escape, {key, quote(key), quote(key, safe="")}))
    return re.sub(forms, _HIDDEN, text, flags=re.IGNORECASE)


def shown_address(url: str, key: str | None = None) -> str:
    """Return an address without user name, password and query, in which a secret may stand, and without the key.

    Args:
        url: The address.
        key: The key, if one is set; a short word that only stands for a key stays.
    """
    parts = urlsplit(url)
    address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    return _without_key(address, key)
