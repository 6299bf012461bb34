"""The process that converts documents for ``converter.py``: one request per line of input, one reply per line.

It may be killed at any time. It reaches no network, starts no program, takes at most 2 GiB of memory, prints nothing,
and ends when its input ends.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from goldbench.pipeline.formats.charsets import decode
from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.formats.regular_files import read_whole

_MEMORY = 2 * 2**30
_SIZE = Path("/proc/self/statm")
_FORBIDDEN = frozenset(
    {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
)


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes the worker's input
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # parsers may print text of the document
    os.dup2(nowhere, 2)
    sys.addaudithook(_refuse)
    serve(sys.stdin.buffer, replies)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer each request until the input ends; requests and replies are one JSON object per line.

    Args:
        requests: Objects with ``path`` (bytes in hexadecimal), ``kind``, ``megabytes`` and ``seconds``.
        replies: Gets objects with ``title`` and ``text``, with ``problem``, or with ``missing``.
    """
    for line in requests:
        request = json.loads(line)
        _alarm(int(request["seconds"]) + 30)  # ends an endless loop if the parent is gone
        path = Path(os.fsdecode(bytes.fromhex(request["path"])))
        reply = convert(path, request["kind"], megabytes=request["megabytes"])
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()
        _alarm(0)


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def convert(path: Path, kind: str | None = None, *, megabytes: int) -> dict[str, str | None]:
    """Return the reply for one file; every problem becomes a sentence without text of the document.

    Args:
        path: The file.
        kind: The suffix of its type; by default that of its name.
        megabytes: The size limit in MB.
    """
    kind = kind or path.suffix.lower()
    try:
        data = read_whole(path, megabytes=megabytes)
        with _memory_limit():
            title, text = _convert(data, kind)
        if len(text) > megabytes * 2**20:
            return {"problem": f"gives more than {megabytes} million characters of text: split it"}
    except ImportError as error:
        return {"missing": error.name or "markitdown"}
    except Exception as error:  # noqa: BLE001  # a parser of hostile files raises anything; its message may quote them
        return {"problem": _problem(error, kind)}
    return {"title": title, "text": text}


def _problem(error: Exception, kind: str) -> str:
    if isinstance(error, Fault):
        return error.problem
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, MemoryError):
        return f"needs more than {_MEMORY // 2**30} GB of memory"
    return f"is damaged, or not a {kind} file ({type(error).__name__})"


def _convert(data: bytes, kind: str) -> tuple[str | None, str]:
    if kind in {".html", ".htm", ".xhtml"}:
        from goldbench.pipeline.formats.documents.html_text import html_to_text

        return html_to_text(decode(data))
    if kind == ".rst":
        from goldbench.pipeline.formats.documents.rst_text import rst_to_text

        return rst_to_text(decode(data))
    from goldbench.pipeline.formats.documents.office import office_to_text

    return office_to_text(data, kind)


def limits_memory() -> bool:
    """Return whether this system can limit the memory of a process (Linux can)."""
    return importlib.util.find_spec("resource") is not None and _SIZE.exists()


@contextlib.contextmanager
def _memory_limit() -> Iterator[None]:
    """Limit how much the process may grow, on systems that have such a limit."""
    if not limits_memory():
        yield
        return
    import resource

    pages = int(_SIZE.read_text("ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"a document may not cause {event}")


if __name__ == "__main__":
    main()
