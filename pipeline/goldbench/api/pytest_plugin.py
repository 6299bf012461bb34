"""The pytest plugin: the fixture ``gold`` holds a gold set, and a figure that is too low names its worst queries.

pytest imports this module at every start where goldbench is installed, so nothing else of goldbench is imported before
a test asks for the fixture.
"""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from goldbench.api.tested_set import GoldUnderTest

_NO_SET = (
    "gold: no gold set given; write @pytest.mark.goldbench('FOLDER'), set goldbench_set in the configuration of "
    "pytest, or give --goldbench-set FOLDER"
)
_ONE_FOLDER = "@pytest.mark.goldbench: takes one folder, as @pytest.mark.goldbench('sets/manual')"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("goldbench")
    group.addoption("--goldbench-set", metavar="FOLDER", help="Gold set of the fixture `gold`.")
    group.addoption(
        "--goldbench-write-baselines",
        action="store_true",
        help="Write the baselines of `assert_no_drop` from this run in place of checking them.",
    )
    parser.addini("goldbench_set", "Gold set of the fixture `gold`, from the root folder.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "goldbench(folder): the gold set of the fixture `gold`, from the root folder.")


@pytest.fixture
def gold(request: pytest.FixtureRequest) -> GoldUnderTest:
    """The gold set of the marker, of ``--goldbench-set`` or of the configuration."""
    from goldbench.api.tested_set import set_at

    return set_at(_place(request), request.config)


def _place(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the set: that of the nearest marker with one, of the command line, of the configuration."""
    config = request.config
    for marker in request.node.iter_markers("goldbench"):
        arguments = [*marker.args, *marker.kwargs.values()]
        if len(arguments) > 1 or set(marker.kwargs) - {"folder"}:
            pytest.fail(_ONE_FOLDER, pytrace=False)
        if arguments and not (isinstance(arguments[0], str | PathLike) and str(arguments[0])):
            pytest.fail(_ONE_FOLDER, pytrace=False)
        if arguments:
            return config.rootpath / str(arguments[0])
    if typed := config.getoption("--goldbench-set"):
        return config.invocation_params.dir / str(typed)
    if written := config.getini("goldbench_set"):
        return config.rootpath / str(written)
    pytest.fail(_NO_SET, pytrace=False)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Explain a comparison with a figure of a gold set; leave every other one to pytest.

    Args:
        config: The configuration.
        op: The operator.
        left: What stands on its left.
        right: What stands on its right.
    """
    tested = sys.modules.get("goldbench.api.tested_set")
    if tested is None or not isinstance(left, tested.MeanUnderTest | float | int):
        return None
    explained: list[str] | None = tested.explained(op, left, right, config)
    return explained
