"""``goldbench.toml`` and the command line become one frozen configuration, every wrong key named at once."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from goldbench.errors import ConfigError, Message, Parameter, joined, plain_file
from goldbench.llm.server_settings import OPENAI, Model, holds_key
from goldbench.records.corpus import TitleUse
from goldbench.records.query import Constraints, QueryKind, QueryStyle
from goldbench.records.record import Record
from goldbench.records.settings import SHARE, Setting, SettingDeclaration, declared, put
from goldbench.text.display import shell_command, shown
from goldbench.text.suggestion import did_you_mean, language_meant


class Generator(StrEnum):
    """Who writes the queries. ``auto`` takes a model where a key or a base URL is set."""

    AUTO = "auto"
    MODEL = "model"
    SIMULATED = "simulated"


class PromptStyle(StrEnum):
    """How a model is asked for a query: in short, for one numbered sentence of a passage, or at length.

    ``auto`` begins in short with a model whose file or name tells of fewer than 9 billion parameters, at length with
    any other. Unless the first passages yield queries, the other style is tried on them, and the better one is kept.
    """

    AUTO = "auto"
    SHORT = "short"
    LONG = "long"

    @property
    def opposite(self) -> PromptStyle:
        """The other definite style."""
        return PromptStyle.LONG if self is PromptStyle.SHORT else PromptStyle.SHORT

    @property
    def words(self) -> str:
        """How a model is asked, within a sentence."""
        return "in short" if self is PromptStyle.SHORT else "at length"


_NO_ENCODINGS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape"})
"""Codecs of Python that turn bytes into text, but are no encodings of documents."""


def codec_name(name: str) -> str:
    """Return Python's own name of an encoding.

    Raises:
        ValueError: There is none of this name, or it does not turn bytes into text.
    """
    try:
        "a".encode(name)  # refuses those that make no text of bytes
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        codec = None
    if codec is None or codec in _NO_ENCODINGS:
        raise ValueError(f"not a known text encoding: {shown(name)[:60]!r}; give utf-8, cp1252 or the like")
    return codec


class Documents(Record):
    """How files and rows become documents."""

    text_field: Annotated[str | None, Setting(
        "Column or key with a row's text", "text_field", "Input", "NAME", unset="found by name", example="text",
    )] = None  # fmt: skip
    id_field: Annotated[str | None, Setting(
        "Column or key with a row's id, kept as is", "id_field", "Input", "NAME", unset="made", example="id",
    )] = None  # fmt: skip
    title_field: Annotated[str | None, Setting(
        "Column or key with a row's title", "title_field", "Input", "NAME", unset="found by name", example="title",
    )] = None  # fmt: skip
    no_chunk: Annotated[bool, Setting("Take each row or file as one ready chunk", "no_chunk", "Chunks")] = False
    limit: Annotated[int | None, Field(ge=1), Setting(
        "Read only the first N documents",
        "limit_documents", "Input", "N", unit="documents", unset="all", example=100,
    )] = None  # fmt: skip
    encoding: Annotated[str | None, Setting(
        "Encoding of all text files, as cp1252", "encoding", "Input", "NAME", unset="recognised", example="cp1252",
    )] = None  # fmt: skip
    encodings: Annotated[dict[str, str], Setting(
        "Encodings of files by pattern; the first that matches counts",
        unset="none", example={"old/**/*.txt": "cp1251"},
    )] = Field(default_factory=dict)  # fmt: skip
    max_megabytes: Annotated[
        int, Field(ge=1, le=2**20), Setting("Largest text or office file, and text of any file", unit="megabytes")
    ] = 64
    seconds: Annotated[
        int, Field(ge=1, le=1_000_000), Setting("Time for a document, plus 10 s per MB", unit="seconds")
    ] = 60
    memory_megabytes: Annotated[int, Field(ge=256, le=2**24), Setting("Memory for a document", unit="megabytes")] = 2048
    jobs: Annotated[int | None, Field(ge=1, le=64), Setting(
        "Documents read at once", unit="processes", unset="one per processor, at most 4", example=2,
    )] = None  # fmt: skip
    strict: Annotated[bool, Setting("End at the first document that cannot be read", "strict", "Input")] = False

    @field_validator("encoding")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        return None if name is None else codec_name(name)

    @field_validator("encodings")
    @classmethod
    def _all_known(cls, names: dict[str, str]) -> dict[str, str]:
        if not all(pattern.strip("/ ") for pattern in names):
            raise ValueError('a pattern that names no file; give one as "old/*.txt"')
        return {pattern: codec_name(name) for pattern, name in names.items()}


class Chunking(Record):
    """How documents are cut into chunks by the recursive splitter."""

    size: Annotated[int, Field(ge=1), Setting(
        "Characters per chunk", "chunk_size", "Chunks", "N", unit="characters",
    )] = 1000  # fmt: skip
    overlap: Annotated[int | None, Field(ge=0), Setting(
        "Characters shared by neighbours",
        "chunk_overlap", "Chunks", "N", unit="characters", unset="size / 10", example=100,
    )] = None  # fmt: skip

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.overlap is not None and self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
        return self

    @property
    def overlap_characters(self) -> int:
        """Return the overlap in characters; a tenth of the size if it is not set."""
        return self.size // 10 if self.overlap is None else self.overlap


class Corpus(Record):
    """What the corpus of the gold set holds of each passage."""

    title: Annotated[TitleUse, Setting("Title: before the text, in BEIR's title field, or left out")] = TitleUse.JOIN


K = TypeVar("K", QueryKind, QueryStyle)
HEAVIEST = 1_000_000
"""The largest weight of a kind or a style."""

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


SHARED = (
    QueryKind.TEMPORAL,
    QueryKind.CONVERSATIONAL,
    QueryKind.MULTI_HOP,
    QueryKind.CROSS_COMPARISON,
    QueryKind.UNANSWERABLE,
    QueryKind.NOISY,
)
"""The kinds beyond one passage, the simplest first; naming one makes the shares exact."""


class MultiHop(Record):
    """Which passages a query of the kind multi_hop is written about."""

    passages: Annotated[int, Field(ge=2, le=3), Setting("Passages that a query needs, 2 or 3", unit="passages")] = 2
    across_documents: Annotated[bool, Setting("true: each passage is of another document")] = False


class Unanswerable(Record):
    """How many passages are judged before a query counts as unanswerable."""

    depth: Annotated[int, Field(ge=1, le=200), Setting("Passages judged for a query", unit="passages")] = 20
    passages_per_call: Annotated[int, Field(ge=1, le=50), Setting("Passages per judging call", unit="passages")] = 10


class Generation(Record):
    """Who writes the queries, how many, of which kinds and styles, about what and for whom."""

    generator: Annotated[Generator, Setting(
        "Who writes; auto: model where one is set up", "generator", "Queries",
    )] = Generator.AUTO  # fmt: skip
    prompt_style: Annotated[PromptStyle, Setting(
        "Short prompts for any model, long for large", "prompt_style", "Queries",
    )] = PromptStyle.AUTO  # fmt: skip
    queries: Annotated[int | None, Field(ge=1), Setting(
        "Number of queries to write", "queries", "Queries", "N", unit="queries", unset="up to 300", example=100,
    )] = None  # fmt: skip
    seed: Annotated[int, Setting("Another seed draws other chunks", "seed", "Queries", "N")] = 0
    context: Annotated[str, Setting("What the documents are and who reads them, for the model")] = ""
    seed_queries: Annotated[tuple[str, ...], Setting("Real queries of your users; the model copies their style")] = ()
    personas: Annotated[tuple[str, ...], Setting("Who may ask, a phrase each; one is drawn per chunk")] = ()
    prompts: Annotated[Path | None, Setting(
        "Folder of your prompts; relative paths begin at this file", unset="none", example="my-prompts",
    )] = None  # fmt: skip
    kinds: Annotated[dict[QueryKind, float], Field(min_length=1), Setting(
        "Weights of what is asked; exact shares if a kind beyond one passage is named",
    )] = KINDS  # fmt: skip
    styles: Annotated[dict[QueryStyle, float], Field(min_length=1), Setting("Weights of how it is asked")] = STYLES
    multi_hop: MultiHop = MultiHop()
    unanswerable: Unanswerable = Unanswerable()
    constraints: Constraints = Constraints()

    @property
    def asks_in_short(self) -> bool:
        """Whether the model gets the short prompt; a style that is still open counts as long."""
        return self.prompt_style is PromptStyle.SHORT

    @property
    def by_share(self) -> bool:
        """Whether the kinds are exact shares of the set: as soon as one beyond a single passage is asked for."""
        return any(self.kinds.get(kind, 0) > 0 for kind in SHARED)

    @field_validator("kinds", "styles")
    @classmethod
    def _weights(cls, weights: dict[K, float]) -> dict[K, float]:
        if min(weights.values()) < 0 or sum(weights.values()) <= 0:
            raise ValueError("weights must be 0 or more, and not all 0")
        if max(weights.values()) > HEAVIEST:
            raise ValueError(f"weights must be at most {HEAVIEST:,}")
        return weights

    @field_validator("kinds")
    @classmethod
    def _measurable(cls, kinds: dict[QueryKind, float]) -> dict[QueryKind, float]:
        wanted = {kind for kind, share in kinds.items() if share > 0}
        if wanted == {QueryKind.NOISY}:
            raise ValueError("noisy queries are made from others; name another kind as well")
        if wanted <= {QueryKind.NOISY, QueryKind.UNANSWERABLE}:
            raise ValueError("a set of unanswerable queries alone measures nothing; name another kind as well")
        return kinds


class Engine(StrEnum):
    """Where documents are read and cut, and BM25 searches: on this machine, or on the nodes of a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


class Machines(Record):
    """Which machines read documents and search; results do not depend on it."""

    engine: Annotated[Engine, Setting("Where to read and search documents", "engine", "Input")] = Engine.LOCAL

    def check_available(self) -> None:
        """Refuse an engine that cannot be used, before anything is written; raises as `ray_cluster.check_available`."""
        if self.engine is Engine.RAY:
            from goldbench.cluster.ray_cluster import check_available

            check_available()


class Panel(StrEnum):
    """Which pairs go to every judge: those whose grade is in doubt, or all."""

    ESCALATE = "escalate"
    ALL = "all"


class JudgeMethod(StrEnum):
    """How a model judges: in writing, by the probability of yes, or whichever passes the judge checks better."""

    AUTO = "auto"
    WRITTEN = "written"
    YES_NO = "yes-no"


class GradeSettings(Record):
    """How deep the pool goes, and which models judge it."""

    depth: Annotated[int, Field(ge=1, le=1000), Setting(
        "Results of each retriever to judge", "depth", "Judging", "N", unit="results",
    )] = 10  # fmt: skip
    judges: Annotated[tuple[str, ...], Setting(
        "Other models for pairs in doubt", "judges", "Judging", "LIST", unset="other wordings",
    )] = ()  # fmt: skip
    method: Annotated[JudgeMethod, Setting(
        "How the model judges; auto tries both", "method", "Judging",
    )] = JudgeMethod.AUTO  # fmt: skip
    panel: Annotated[Panel, Setting("Which pairs go to every judge", "panel", "Judging")] = Panel.ESCALATE
    canaries: Annotated[float, Field(ge=0, le=0.5), Setting(
        "Share of calls that test the judge", "canaries", "Judging", "SHARE", unit=SHARE,
    )] = 0.05  # fmt: skip
    passages_per_call: Annotated[int, Field(ge=1, le=50), Setting(
        "Passages per call; more is cheaper", "passages_per_call", "Judging", "N", unit="passages",
    )] = 1  # fmt: skip

    @model_validator(mode="after")
    def _each_judge_once(self) -> Self:
        if len(set(self.judges)) != len(self.judges):
            raise ValueError("the same model is named twice; name each judge once")
        if any(not judge.strip() for judge in self.judges):
            raise ValueError("the name of a judge is empty; leave it out")
        return self


class Config(Record):
    """Everything that shapes a run, one table per stage."""

    documents: Documents = Documents()
    chunk: Chunking = Chunking()
    corpus: Corpus = Corpus()
    generate: Generation = Generation()
    grade: GradeSettings = GradeSettings()
    model: Model = Model()
    machines: Machines = Machines()

    def shaping(self) -> dict[str, Any]:
        """Return the tables that shape the queries: not how fast the model is served, or at what cost.

        Nor where the work is done, nor how they are graded: the manifest says that, and a set can be graded again
        without being built again. The model is the one that was asked for, with the digest of its file. OpenAI is the
        only server that is named, so that a set of another one never reaches it by a key of the environment alone.
        """
        data = self.model_dump(mode="json", exclude_none=True, exclude={"grade", "machines"})
        data["model"] = {key: data["model"][key] for key in ("name", "digest") if key in data["model"]}
        data["model"]["temperature"] = self.model.writing_temperature
        data["model"]["max_answer_tokens"] = self.model.answer_tokens(self.generate.constraints.per_chunk)
        if self.model.name is not None:
            data["model"]["name"] = self.model.asked_name
            if self.model.server == OPENAI and not self.model.needs_no_server:
                data["model"]["base_url"] = OPENAI
        if self.generate.generator is Generator.SIMULATED:
            del data["model"]
        for key in ("strict", "seconds", "memory_megabytes", "jobs"):
            data["documents"].pop(key, None)
        if not self.documents.encodings:
            del data["documents"]["encodings"]
        data["generate"].pop("prompts", None)
        if not self.generate.asks_in_short:
            del data["generate"]["prompt_style"]
        for kind in (QueryKind.MULTI_HOP, QueryKind.UNANSWERABLE):
            if self.generate.kinds.get(kind, 0) <= 0:
                del data["generate"][kind.value]
        return data

    def fingerprint(self, prompts: Mapping[str, str]) -> str:
        """Return the SHA-256 of what shapes the result; equal for equal runs.

        Args:
            prompts: The digest of every prompt in use, by its id.
        """
        shaping = {**self.shaping(), "prompts": dict(prompts)}
        if (model := shaping.get("model")) is not None:
            model.pop("base_url", None)
            if "digest" in model:  # the same file is the same model, wherever it is
                model.pop("name")
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()

    def api_key(self) -> str | None:
        """Return the key from the environment, None where there is none."""
        return self.model.key_from_environment()

    def in_style(self, style: PromptStyle) -> Config:
        """Return the configuration with this prompt style."""
        return self.model_copy(update={"generate": self.generate.model_copy(update={"prompt_style": style})})

    def uses_model(self) -> bool:
        """Whether a model writes the queries: as asked, or for ``auto`` when a key, a server or a model file is set."""
        if self.generate.generator is Generator.AUTO:
            return bool(self.model.server or self.model.needs_no_server)
        return self.generate.generator is Generator.MODEL


BENCH_TABLES = ("systems", "sweep", "published")
"""The tables of ``bench.toml`` that may stand in a ``goldbench.toml``; `goldbench.bench` reads them."""


def load_config(path: Path | None, options: Mapping[str, Any]) -> Config:
    """Return the configuration: defaults, then OPENAI_BASE_URL, then the file, then the command line.

    Args:
        path: A ``goldbench.toml``, or None.
        options: The values of the command line: table -> key -> value, tables within tables likewise.

    Raises:
        ConfigError: With every problem found: unknown keys, wrong types, impossible values.
    """
    return config_of(_from_here(without_systems(read_toml(path)), path.parent) if path else {}, options, path=path)


def without_systems(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a file without those of ``goldbench bench``, which may stand in the same file."""
    return {name: table for name, table in tables.items() if name not in BENCH_TABLES}


def _from_here(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the tables of a file with the paths in them, which begin at the file's folder."""
    for setting in SETTINGS:
        value = _value_at(data, setting.path)
        if setting.type is Path and isinstance(value, str) and value:
            put(data, setting.path, str(folder / value))
    return data


def config_of(data: dict[str, Any], options: Mapping[str, Any], *, path: Path | None = None) -> Config:
    """Return the configuration that the tables of a file make.

    Args:
        data: The tables of the file.
        path: The file, named where it holds something wrong.

    Raises:
        ConfigError: With every problem found.
    """
    sources: dict[tuple[str, ...], str | Parameter] = {}
    base_url = os.environ.get("OPENAI_BASE_URL")
    model = data.setdefault("model", {})
    if base_url and isinstance(model, dict) and "base_url" not in model:
        model["base_url"] = base_url
        sources["model", "base_url"] = "OPENAI_BASE_URL"
    for item in SETTINGS:
        if item.setting.keyword is not None and _value_at(options, item.path) is not None:
            sources[item.path] = Parameter(item.setting.keyword, is_subject=True)
    _merge(data, options)
    wrong: list[Any] = list(_no_numbers(data))
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        known = {item["loc"] for item in wrong}
        wrong += [item for item in error.errors(include_url=False) if item["loc"] not in known]
    else:
        wrong += _key_as_model(config)
    if not wrong:
        return config
    in_file = any(_source(item, sources) is None for item in wrong)
    raise ConfigError(path if in_file else None, [_problem(item, sources) for item in wrong])


def _no_numbers(data: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield, in the form of pydantic, which takes them for numbers, each flag and text where a number belongs."""
    for setting in SETTINGS:
        value = _value_at(data, setting.path)
        if setting.type in {int, float} and isinstance(value, bool | str):
            yield {"type": "not_a_number", "loc": setting.path, "input": value, "msg": "not a number"}


def _key_as_model(config: Config) -> Iterator[dict[str, object]]:
    """Yield, in the form of pydantic but without the value, each name of a model that holds the API key."""
    for name in ("name", "embedding"):
        if holds_key(getattr(config.model, name) or "", config.api_key()):
            message = f"holds the API key: name a model here, and leave the key in {config.model.api_key_env}"
            yield {"type": "value_error", "loc": ("model", name), "msg": message}


def _merge(table: dict[str, Any], options: Mapping[str, Any]) -> None:
    for key, value in options.items():
        if not isinstance(value, Mapping):
            table[key] = value
        elif isinstance(table.setdefault(key, {}), dict):
            _merge(table[key], value)


def _value_at(tables: Mapping[str, Any], path: Sequence[str]) -> Any:  # noqa: ANN401  any value
    """Return the value of a setting; None where it is not given."""
    value: Any = tables
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a configuration file holds.

    Raises:
        ConfigError: The file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(plain_file(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            path, [Message("file not found; correct {config=}, or write a file with {}", shell_command("init"))]
        ) from None
    except IsADirectoryError:
        raise ConfigError(path, ["is a folder; give a configuration file"]) from None
    except OSError as error:
        raise ConfigError(path, [f"cannot be read ({(error.strerror or 'unknown reason').lower()})"]) from None
    except RecursionError:
        raise ConfigError(path, ["is nested too deeply to be read"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(path, [f"is not TOML: {error}"]) from None
    except ValueError:  # of int(), which takes 4,300 digits
        raise ConfigError(path, ["holds a number with too many digits"]) from None


def _source(item: Any, sources: Mapping[tuple[str, ...], str | Parameter]) -> str | None:  # noqa: ANN401  pydantic's dictionaries
    """Return the option or the variable that gave a wrong value, or the options of a table whose values clash.

    None where the value stands in the file.
    """
    loc = item["loc"]
    if item["type"] == "value_error" and len(loc) == 1:
        return joined(", ", (name for path, name in sources.items() if path[0] == loc[0])) or None
    return next((Message("{}", name) for path, name in sources.items() if path == loc[: len(path)]), None)


def _problem(item: Any, sources: Mapping[tuple[str, ...], str | Parameter]) -> str:  # noqa: ANN401  pydantic's dictionaries
    loc = item["loc"]
    where = _source(item, sources) or ".".join(map(str, loc))
    if item["type"] == "extra_forbidden":
        return Message("unknown key {}{}", where, _nearest(where, loc))
    message = str(item["msg"]).removeprefix("Value error, ")
    at = next((setting for setting in SETTINGS if setting.path == loc[: len(setting.path)]), None)
    if item["type"] in {"model_type", "dict_type"}:
        message = "not a table"
    elif at is not None and item["type"] != "value_error":
        message = f"not a valid value: {shown(repr(item['input']))}{_wanted(at, str(item['input']))}"
        where = _source(item, sources) or at.key
    return Message("{}: {}", where, message) if where else message


def _wanted(setting: SettingDeclaration, value: str) -> str:
    """Return what to give in the place of a wrong value: what was probably meant, or what may be given."""
    if setting.path[-1] == "language":
        return language_meant(value) or "; give a code such as en"
    wanted = setting.kind()
    return f"; give {_article(wanted)}{wanted}"


def _article(wanted: str) -> str:
    return "a " if wanted.startswith(("whole", "number", "text", "list", "table", "path", "value")) else ""


def _nearest(key: str, loc: Sequence[object]) -> str:
    """Return the known key that an unknown one resembles, or the tables there are."""
    keys = {setting.key for setting in SETTINGS}
    keys |= {setting.key.rpartition(".")[0] for setting in SETTINGS}
    near = did_you_mean(key, (known for known in keys if not key.startswith(f"{known}.")), likeness=0.75)
    if near:
        return near
    return f" (tables: {', '.join(sorted(Config.model_fields))})" if len(loc) == 1 else ""


SETTINGS: tuple[SettingDeclaration, ...] = tuple(declared(Config))
"""Every setting of ``goldbench.toml``, in the order of its tables."""


def settings_in(*tables: str) -> dict[str, SettingDeclaration]:
    """Return the settings that have an option, by the option as a keyword: ``chunk_size``.

    Args:
        tables: Tables, as ``model``, or single settings, as ``model.base_url``.
    """
    return {
        item.setting.keyword: item
        for item in SETTINGS
        if item.setting.keyword is not None and any(f"{item.key}.".startswith(f"{name}.") for name in tables)
    }


def given_by(values: Mapping[str, Any], settings: Mapping[str, SettingDeclaration]) -> dict[str, Any]:
    """Return options as the tables of a configuration; None stands for an option that is not given.

    Args:
        values: The values by keyword; those of lists may be text with commas.
        settings: The settings by keyword; see `settings_in`.
    """
    tables: dict[str, Any] = {}
    for keyword, value in values.items():
        setting = settings[keyword]
        if value is not None:
            is_text = isinstance(setting.default, tuple) and isinstance(value, str)
            put(tables, setting.path, listed(value) if is_text else value)
    return tables


def listed(text: str) -> list[str]:
    """Return the names in a list with commas; ``none`` is the empty list."""
    return [name.strip() for name in text.split(",") if name.strip() not in {"", "none"}]
