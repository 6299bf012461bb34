"""The version that sets name is that of the installed distribution."""

from __future__ import annotations

from importlib.metadata import version

from goldbench.pipeline.goldset.own_version import own_version


def test_it_is_the_version_that_python_finds() -> None:
    assert own_version() == version("goldbench")
