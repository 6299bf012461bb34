"""The options of the settings of ``goldbench.toml``, for help pages and completion, which load no setting.

``make reference`` writes the table from the declarations in the code; change them, not the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class SettingOption(NamedTuple):
    """An option: its key in the file, the type of its value or the choices, and what help shows of it."""

    key: str
    option: str
    kind: Any
    metavar: str | None
    help: str
    panel: str

    @property
    def keyword(self) -> str:
        """The option as a keyword, as ``chunk_size``."""
        return self.option.lstrip("-").replace("-", "_")

    def belongs_to(self, tables: Iterable[str]) -> bool:
        """Return whether this is one of the settings, or stands in one of the tables."""
        return any(self.key == name or self.key.startswith(f"{name}.") for name in tables)


# fmt: off
OPTIONS = (
    SettingOption(
        "documents.text_field", "--text-field", str, "NAME",
        "Column or key with a row's text (default: found by name).", "Input",
    ),
    SettingOption(
        "documents.id_field", "--id-field", str, "NAME",
        "Column or key with a row's id, kept as is (default: made).", "Input",
    ),
    SettingOption(
        "documents.title_field", "--title-field", str, "NAME",
        "Column or key with a row's title (default: found by name).", "Input",
    ),
    SettingOption(
        "documents.no_chunk", "--no-chunk", bool, None,
        "Take each row or file as one ready chunk.", "Chunks",
    ),
    SettingOption(
        "documents.limit", "--limit-documents", int, "N",
        "Read only the first N documents (default: all).", "Input",
    ),
    SettingOption(
        "documents.encoding", "--encoding", str, "NAME",
        "Encoding of all text files, as cp1252 (default: recognised).", "Input",
    ),
    SettingOption(
        "documents.strict", "--strict", bool, None,
        "End at the first document that cannot be read.", "Input",
    ),
    SettingOption(
        "chunk.size", "--chunk-size", int, "N",
        "Characters per chunk (default: 1000).", "Chunks",
    ),
    SettingOption(
        "chunk.overlap", "--chunk-overlap", int, "N",
        "Characters shared by neighbours (default: size / 10).", "Chunks",
    ),
    SettingOption(
        "generate.generator", "--generator", ("auto", "model", "simulated"), None,
        "Who writes; auto: model where one is set up (default: auto).", "Queries",
    ),
    SettingOption(
        "generate.recipe", "--offline-recipe", ("terms", "held-out", "mixed"), None,
        "How queries are simulated offline (default: terms).", "Queries",
    ),
    SettingOption(
        "generate.prompt_style", "--prompt-style", ("auto", "short", "long"), None,
        "Short prompts for any model, long for large (default: auto).", "Queries",
    ),
    SettingOption(
        "generate.queries", "--queries", int, "N",
        "Number of queries to write (default: up to 300).", "Queries",
    ),
    SettingOption(
        "generate.seed", "--seed", int, "N",
        "Another seed draws other chunks (default: 0).", "Queries",
    ),
    SettingOption(
        "generate.constraints.language", "--language", str, "L",
        "ISO 639-1 code, as en or zh (default: the chunk's language).", "Queries",
    ),
    SettingOption(
        "generate.constraints.per_chunk", "--per-chunk", int, "N",
        "Queries per chunk, 1 to 3 (default: 1).", "Queries",
    ),
    SettingOption(
        "critics.use", "--critics", str, "LIST",
        "grounded, stand-alone, useful, or none (default: none).", "Queries",
    ),
    SettingOption(
        "grade.depth", "--depth", int, "N",
        "Results of each retriever to judge (default: 10).", "Judging",
    ),
    SettingOption(
        "grade.judges", "--judges", str, "LIST",
        "Other models for pairs in doubt (default: other wordings).", "Judging",
    ),
    SettingOption(
        "grade.method", "--method", ("auto", "written", "yes-no"), None,
        "How the model judges; auto tries both (default: auto).", "Judging",
    ),
    SettingOption(
        "grade.panel", "--panel", ("escalate", "all"), None,
        "Which pairs go to every judge (default: escalate).", "Judging",
    ),
    SettingOption(
        "grade.canaries", "--canaries", float, "SHARE",
        "Share of calls that test the judge (default: 0.05 = 5 %).", "Judging",
    ),
    SettingOption(
        "grade.passages_per_call", "--passages-per-call", int, "N",
        "Passages per call; more is cheaper (default: 1).", "Judging",
    ),
    SettingOption(
        "model.name", "--model", str, "M",
        "Chat model: name, local or .gguf (default: the only one).", "Model",
    ),
    SettingOption(
        "model.base_url", "--base-url", str, "U",
        "OpenAI-compatible base URL (default: OPENAI_BASE_URL).", "Model",
    ),
    SettingOption(
        "model.concurrency", "--concurrency", int, "N",
        "Most calls in flight at once (default: up to 64).", "Limits",
    ),
    SettingOption(
        "model.threads", "--threads", int, "N",
        "Threads of a model file's process (default: by idle cores).", "Model",
    ),
    SettingOption(
        "model.gpu_layers", "--gpu", int, "N",
        "GPU layers of a model file (default: all if they fit).", "Model",
    ),
    SettingOption(
        "model.timeout_seconds", "--timeout", float, "S",
        "Longest time of one call (default: 120 s, more if slow).", "Limits",
    ),
    SettingOption(
        "model.deadline_minutes", "--deadline", float, "MIN",
        "Stop calling the model after N minutes (default: no limit).", "Limits",
    ),
    SettingOption(
        "model.max_requests", "--max-requests", int, "N",
        "Send at most N requests (default: no limit).", "Limits",
    ),
    SettingOption(
        "model.max_tokens", "--max-tokens", int, "N",
        "Spend at most N tokens (default: no limit).", "Limits",
    ),
    SettingOption(
        "model.max_usd", "--max-usd", float, "USD",
        "Spend at most this many US dollars (default: no limit).", "Limits",
    ),
    SettingOption(
        "machines.engine", "--engine", ("local", "ray"), None,
        "Where to read and search documents (default: local).", "Input",
    ),
)
