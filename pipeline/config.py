"""``goldset.toml`` and the command line become one frozen configuration, every wrong key named at once."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from pipeline.errors import ConfigError
from pipeline.llm.server_settings import Model
from pipeline.stages.critique import Critic
from schemas.query import Constraints, QueryKind, QueryStyle
from schemas.record import Record


class Generator(StrEnum):
    """Who writes the queries. ``auto`` takes a model where a key or a base URL is set."""

    AUTO = "auto"
    MODEL = "model"
    OFFLINE = "offline"


class OfflineRecipe(StrEnum):
    """How the offline generator simulates queries."""

    TERMS = "terms"
    HELD_OUT = "held-out"
    MIXED = "mixed"


class Documents(Record):
    """``[documents]``: how files and rows become documents. ``max_megabytes`` bounds one text or office file."""

    text_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    no_chunk: bool = False
    limit: int | None = Field(default=None, ge=1)
    max_megabytes: int = Field(default=64, ge=1)
    strict: bool = False


class Chunking(Record):
    """``[chunk]``: the recursive splitter, in characters; the overlap is a tenth of the size unless given."""

    size: int = Field(default=1000, ge=1)
    overlap: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.overlap is not None and self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
        return self

    @property
    def overlap_characters(self) -> int:
        """The overlap in force."""
        return self.size // 10 if self.overlap is None else self.overlap


KINDS: dict[QueryKind, float] = {
    QueryKind.FACT: 35,
    QueryKind.PROCEDURE: 15,
    QueryKind.DEFINITION: 10,
    QueryKind.REASON: 15,
    QueryKind.CONDITION: 10,
    QueryKind.COMPARISON: 5,
    QueryKind.SUMMARY: 10,
}
STYLES: dict[QueryStyle, float] = {
    QueryStyle.QUESTION: 50,
    QueryStyle.KEYWORDS: 25,
    QueryStyle.PROBLEM: 15,
    QueryStyle.VAGUE: 10,
}


class Generation(Record):
    """``[generate]``: who writes queries, how many, of which kinds and styles (weights), about what, for whom.

    ``prompts`` is a folder whose files go before ours of the same name.
    """

    generator: Generator = Generator.AUTO
    recipe: OfflineRecipe = OfflineRecipe.TERMS
    queries: int | None = Field(default=None, ge=1)
    seed: int = 0
    context: str = ""
    seed_queries: tuple[str, ...] = ()
    personas: tuple[str, ...] = ()
    prompts: Path | None = None
    kinds: dict[QueryKind, float] = Field(default=KINDS, min_length=1)
    styles: dict[QueryStyle, float] = Field(default=STYLES, min_length=1)
    constraints: Constraints = Constraints()

    @model_validator(mode="after")
    def _weights(self) -> Self:
        for name, weights in (("kinds", self.kinds), ("styles", self.styles)):
            if min(weights.values()) < 0 or sum(weights.values()) <= 0:
                raise ValueError(f"{name}: weights must be 0 or more, and not all 0")
        return self


class Critics(Record):
    """``[critics]``: which critics are asked about each query, and for which share of the queries."""

    use: tuple[Critic, ...] = ()
    share: float = Field(default=1.0, gt=0, le=1)


class Panel(StrEnum):
    """Which pairs go to every assessor: those a grade of which is in doubt, or all."""

    ESCALATE = "escalate"
    ALL = "all"


class GradeSettings(Record):
    """``[grade]``: how deep the pool goes, and who judges it how.

    ``judges`` are further models at the same server, asked about pairs in doubt one after the other until most are of
    one mind; without any, the model itself is asked again in two other wordings. ``canaries`` is the share of calls
    about pairs made up to test the judge.
    """

    depth: int = Field(default=10, ge=1, le=1000)
    judges: tuple[str, ...] = ()
    panel: Panel = Panel.ESCALATE
    canaries: float = Field(default=0.05, ge=0, le=0.5)
    passages_per_call: int = Field(default=1, ge=1, le=50)

    @model_validator(mode="after")
    def _each_judge_once(self) -> Self:
        if len(set(self.judges)) != len(self.judges):
            raise ValueError("judges: the same model is named twice")
        if any(not judge.strip() for judge in self.judges):
            raise ValueError("judges: a name is empty")
        return self


class Config(Record):
    """Everything that shapes a run, one table per stage."""

    documents: Documents = Documents()
    chunk: Chunking = Chunking()
    generate: Generation = Generation()
    critics: Critics = Critics()
    grade: GradeSettings = GradeSettings()
    model: Model = Model()

    def shaping(self) -> dict[str, Any]:
        """Return the tables that shape the queries: not who serves the model, how fast, or at what cost.

        Nor how they are graded: the manifest says that, and a set can be graded again without being built again.
        """
        data = self.model_dump(mode="json", exclude_none=True, exclude={"grade"})
        data["model"] = {
            key: data["model"][key] for key in ("name", "temperature", "max_answer_tokens") if key in data["model"]
        }
        if self.generate.generator is Generator.OFFLINE:
            del data["model"], data["critics"]
        del data["documents"]["strict"]
        data["generate"].pop("prompts", None)
        return data

    def fingerprint(self, prompts: Mapping[str, str]) -> str:
        """Return the SHA-256 of what shapes the result; equal for equal runs.

        Args:
            prompts: The digest of every prompt in use, by its id.
        """
        shaping = {**self.shaping(), "prompts": dict(prompts)}
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()

    def api_key(self) -> str | None:
        """Return the key from the environment, None where there is none."""
        return self.model.key_from_environment()

    def uses_model(self) -> bool:
        """Whether a model writes the queries: as asked, or for ``auto`` when a key or a base URL is set."""
        if self.generate.generator is Generator.AUTO:
            return bool(self.api_key() or self.model.base_url)
        return self.generate.generator is Generator.MODEL


def load_config(path: Path | None, overrides: Mapping[str, Mapping[str, Any]]) -> Config:
    """Return the configuration: defaults, then the file, then the environment's base URL, then the command line.

    Args:
        path: A ``goldset.toml``, or None.
        overrides: table -> key -> value; values that are None do not count.

    Raises:
        ConfigError: With every problem found: unknown keys, wrong types, impossible values.
    """
    data: dict[str, Any] = read_toml(path) if path else {}
    tables = Config.model_fields
    for table, values in overrides.items():
        given = {key: value for key, value in values.items() if value is not None}
        if given and isinstance(data.setdefault(table, {}), dict):
            _merge(data[table], given)
    model = data.get("model", {})
    base_url = os.environ.get("OPENAI_BASE_URL")
    if base_url and isinstance(model, dict) and "base_url" not in model:
        data["model"] = {**model, "base_url": base_url}
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        problems = [_problem(item, sorted(tables)) for item in error.errors(include_url=False)]
        raise ConfigError(path or "command line", problems) from None


def _merge(table: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(table.get(key), dict):
            _merge(table[key], {k: v for k, v in value.items() if v is not None})
        else:
            table[key] = {k: v for k, v in value.items() if v is not None} if isinstance(value, Mapping) else value


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: The file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(path, ["there is no such file"]) from None
    except IsADirectoryError:
        raise ConfigError(path, ["is a folder, not a configuration file"]) from None
    except OSError as error:
        raise ConfigError(path, [f"cannot be read ({(error.strerror or 'unknown reason').lower()})"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(path, [f"is not TOML: {error}"]) from None


def _problem(item: Any, tables: list[str]) -> str:  # noqa: ANN401  pydantic's error dictionaries
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        known = f" (tables: {', '.join(tables)})" if "." not in where else ""
        return f"unknown key {where}{known}"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
