"""What a person is told about one setting: its help, unit and option, written beside its type, range and default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """Stands in the ``Annotated`` type of a field; help pages, examples and the reference are written from it.

    Attributes:
        help: One phrase without a full stop; with the default behind it at most 60 characters.
        option: The command-line option; None where only the configuration file has the setting.
        panel: The title under which ``--help`` shows the option.
        metavar: What the help calls the option's value; None lets it name the type.
        unit: The unit of a number.
        unset: What happens where the setting has no value.
        example: What a commented-out line of the example configuration shows where there is no default.
    """

    help: str
    option: str | None = None
    panel: str = ""
    metavar: str | None = None
    unit: str = ""
    unset: str = ""
    example: Any = None
