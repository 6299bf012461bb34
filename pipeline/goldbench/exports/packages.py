"""What is said where the package of a tool is not installed, or cannot be imported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from goldbench.errors import MissingPackage
from goldbench.text.display import shell_command


@contextlib.contextmanager
def package(name: str) -> Iterator[None]:
    """Import names of a package in this block, and nothing else.

    Args:
        name: What pip calls the package.

    Raises:
        MissingPackage: The package is not installed, or cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        instead = f"or write a file for it with {shell_command('export')}"
        try:
            installed = version(name)
        except PackageNotFoundError:
            raise MissingPackage(name, f"is not installed: run pip install {name}, {instead}") from None
        raise MissingPackage(
            name, f"{installed} cannot be imported ({error}): use the versions that it asks for, {instead}"
        ) from None
