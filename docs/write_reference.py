"""Write what is made of declarations: ``python -m docs.write_reference``.

That is the generated pages of docs/reference and the comments of the example's goldbench.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from docs.code_pages import MADE, files, interface, joined, measures, table
from docs.queries_page import queries
from goldbench.bench.bench_file import BenchFile
from goldbench.cli.app import COMMANDS, built
from goldbench.cli.options import rows_by_title
from goldbench.config import Config
from goldbench.errors import Parameter
from goldbench.generate.starter_config import commented_config
from goldbench.records.settings import SettingDeclaration, declared
from goldbench.retrieval.system_settings import KINDS, PRESETS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
EXAMPLE = ROOT / "data" / "example" / "goldbench.toml"

_COMMENT_COLUMN = 33
_WIDTH = 120

_COMMANDS = f"""\
# Commands

{MADE}
Every command has `--help`, which ends with an example; [In the terminal](terminal.md) explains what is printed, and the
exit codes.
"""
_CONFIGURATION = f"""\
# Configuration

{MADE}
`goldbench build` and most other commands take their settings from a `goldbench.toml` (`--config`), `goldbench bench`
from a `bench.toml` (`-c`). Options of the command line override a file, and a file overrides `OPENAI_BASE_URL`.

Text goes to no server but one that is named: by `base_url`, by the address of a system, by `OPENAI_BASE_URL`, or by a
key in `OPENAI_API_KEY`, which names OpenAI's server (`api.openai.com`) for a model that an option or a file names. The
key of another variable (`api_key_env`) names none. The first line that a command prints on standard error says whether
text leaves this machine, and to which host.
"""
_EXAMPLE_HEAD = """\
# The settings of `make dataset` and, commented out, every other key with its default,
# or with an example value if it has none.
# `make generated` writes the comments; the values that are not commented out are kept.
# Command-line options override this file. All wrong keys are reported at once.
"""
_BENCH = """\
Relative paths begin at the file. `[model]` is the table of `goldbench.toml`. `[systems.NAME]` describes a system by its
kind and the parameters below; `[sweep.NAME]` gives lists of values, also `chunk_size` and `chunk_overlap`, and every
combination is measured as a system; `[published]` holds printed figures to show beside. Systems that need no
description: """


def example(live: Mapping[str, Any]) -> str:
    """Return the example's goldbench.toml.

    Args:
        live: The values that are not commented out, by table and key.
    """
    return commented_config(_EXAMPLE_HEAD, live)


def reference() -> dict[str, str]:
    """Return the generated pages of docs/reference by name."""
    return {
        "commands.md": commands(),
        "configuration.md": configuration(),
        "queries.md": queries(),
        "measures.md": measures(),
        "files.md": files(),
        "api.md": interface(),
    }


def commands() -> str:
    """Return the page of every command with its options."""
    parts = [_COMMANDS]
    for name in COMMANDS:
        parts += _command(name, built(name))
    return joined(parts)


def configuration() -> str:
    """Return the page of every table and key of goldbench.toml and bench.toml, and of every kind of system."""
    parts = [_CONFIGURATION, "## goldbench.toml\n"]
    for name, field in Config.model_fields.items():
        parts += _table(f"[{name}]", field.annotation, list(declared(_record(field.annotation), (name,))))
    parts.append("## bench.toml\n")
    parts.append(_BENCH + ", ".join(f"`{name}`" for name in PRESETS) + ".\n")
    parts.append(_keys([one for one in declared(BenchFile) if not isinstance(one.default, dict)]))
    for kind, record in KINDS.items():
        parts += _table(f'kind = "{kind}"', record, [one for one in declared(record) if one.path != ("kind",)])
    return joined(parts)


def _record(annotation: Any) -> type[BaseModel]:  # noqa: ANN401  the type of a table
    assert isinstance(annotation, type)
    assert issubclass(annotation, BaseModel)
    return annotation


def _table(title: str, table: Any, settings: list[SettingDeclaration]) -> Iterator[str]:  # noqa: ANN401  a record
    yield f"### {title}\n"
    yield (table.__doc__ or "").replace("``", "`").replace("\n    ", "\n").strip() + "\n"
    yield _keys(settings)


def _keys(settings: list[SettingDeclaration]) -> str:
    rows = []
    for one in settings:
        option = f"`{Parameter(one.setting.keyword)}`" if one.setting.keyword else ""
        default = one.default_text()
        rows.append((f"`{one.key}`", one.kind(), default, one.setting.unit, option, one.setting.help))
    return table(("Key", "Value", "Default", "Unit", "Option", "Meaning"), rows)


def _command(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401  typer keeps its classes to itself
    subcommands = getattr(command, "commands", None)
    yield f"## goldbench {name}\n"
    yield f"{command.help}\n"
    if subcommands is not None:
        for inner, found in subcommands.items():
            yield from _command(f"{name} {inner}", found)
        return
    context = command.context_class(command, info_name=name)
    rows = [
        (title, f"`{left}`", right)
        for title, records in rows_by_title(command, context).items()
        for left, right in records
        if left != "--help"
    ]
    yield table(("Group", "Option", "Meaning"), rows)


def main() -> None:
    """Write the files."""
    EXAMPLE.write_text(example(tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))), encoding="utf-8", newline="\n")
    for name, page in reference().items():
        (REFERENCE / name).write_text(page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
