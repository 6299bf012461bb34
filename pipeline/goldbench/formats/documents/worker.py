"""The process that touches documents for ``worker_pool.py``: it reads files, finds passages, and looks at chunks.

It may be killed at any time. It reaches no network, starts no program, takes no more memory than a request allows,
prints nothing, and ends when its input ends, also amid its work, or when nothing was asked for some seconds. Its start
is most of what a small build waits for, so it imports what a document needs, and nothing else.

A request is one message, a reply is one or several. Each holds a list: the answers to the items of the request, and
None after the last answer to each item.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from goldbench.errors import MissingExtra
from goldbench.formats.documents.whole_files import read_file
from goldbench.formats.faults import Fault
from goldbench.processes.messages import decoded, encoded, framed, next_message

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

_PART = 256 * 2**10
"""Bytes after which a part of a reply is sent."""
_IMPORTED = 2**30
"""Bytes of address space that the packages which read documents take at most."""
_PATIENCE_S = 10
"""Seconds after which the process ends if nothing is asked."""
_GRACE_S = 30
_CONVERTED = frozenset({"html", "rst", "office"})
"""Kinds of files whose text is not what stands in the file, so that characters that nobody sees are left out."""
_SIZE = Path("/proc/self/statm")
_FORBIDDEN = frozenset(
    {
        *("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "socket.sendmsg"),
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"),
        *("os.fork", "os.forkpty"),
    }
)


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes the worker's input
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # parsers may print text of the document
    os.dup2(nowhere, 2)
    sys.addaudithook(_refuse)
    _prepare_to_end()
    serve(sys.stdin.buffer, replies)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer each request until the input ends.

    Args:
        requests: Objects with ``kind``, ``items``, ``settings``, ``seconds``, ``memory_megabytes``, ``megabytes`` and
            ``cuts_later`` (whether texts are to be cut next).
        replies: Gets the answers.
    """
    while _is_asked() and (message := next_message(requests)) is not None:
        request = decoded(message)
        _limit_time(request["seconds"] + _GRACE_S)  # ends an endless loop if the parent is gone
        _limit_memory(request["memory_megabytes"])
        _end_with_input(on=True)
        if request["kind"] == "chunk":
            _prepare_to_cut()
        part, size = [], 0
        for item in request["items"]:
            for answer in answers(item, request):
                part.append(answer)
                size += len(answer)
                if size >= _PART:
                    _send(replies, part)
                    part, size = [], 0
                    _limit_time(request["seconds"] + _GRACE_S)
            part.append(b"null")
        _end_with_input(on=False)  # the next request may follow the last part at once
        _send(replies, part)
        if request["cuts_later"] and not _is_asked(0):
            _prepare_to_cut()
        _limit_time(0)


@cache
def _prepare_to_cut() -> None:
    from goldbench.text.cuts import prepare_alone

    prepare_alone()


def _is_asked(patience_s: float = _PATIENCE_S) -> bool:
    """Wait for a request; return False if none comes, where that can be known."""
    if os.name == "nt":
        return True
    return bool(select.select([0], [], [], patience_s)[0])


def _prepare_to_end() -> None:
    """Have the system tell when something happens to the input, so that the process ends if the parent is killed."""
    if fcntl is not None and hasattr(os, "O_ASYNC"):
        # Without a handler Linux ends the process even in a long call; other systems would ignore the signal.
        signal.signal(signal.SIGIO, signal.SIG_DFL if sys.platform == "linux" else lambda *_: os._exit(1))
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())


def _end_with_input(*, on: bool) -> None:
    """Switch on or off that the end of the input ends this process at once; no request may come while it is on."""
    if fcntl is not None and hasattr(os, "O_ASYNC"):
        flags = fcntl.fcntl(0, fcntl.F_GETFL)
        fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)
        if on and _is_asked(0):
            sys.exit(1)  # the input ended before


def _send(replies: BinaryIO, part: list[bytes]) -> None:
    view = memoryview(framed(b"[" + b",".join(part) + b"]"))
    while view:
        view = view[replies.write(view) :]


def answers(item: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the answers to an item in JSON; every problem becomes a sentence without text of the document.

    Args:
        item: ``path`` (bytes in hexadecimal), ``kind``, ``suffix``, ``source`` and ``encoding`` (None recognises it) of
            a file; or ``text``; or ``document``, which is its JSON; or ``lines``, which are chunks in JSON.
        request: The request that it is part of.
    """
    try:
        for answer in _found(item, request):
            yield encoded(answer)
    except ImportError as error:
        yield encoded({"missing": error.name or "markitdown"})
    except MissingExtra as error:
        yield encoded({"missing": error.package})
    except Exception as error:  # noqa: BLE001  # a parser of hostile files raises anything; its message may quote them
        yield encoded(_problem(error, item, request["memory_megabytes"]))


def _found(item: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings, megabytes = request["settings"], request["megabytes"]
    if request["kind"] == "chunk":
        from goldbench.text.cuts import passages

        yield {"passages": passages(item["text"], **settings)}
    elif item["kind"] == "table":
        from goldbench.formats.documents.fields import ReadOptions
        from goldbench.formats.documents.rows import file_rows

        yield from file_rows(
            _path(item), item["source"], ReadOptions(**settings), megabytes=megabytes, encoding=item.get("encoding")
        )
    else:
        yield _whole(item, megabytes)


def _whole(item: Mapping[str, Any], megabytes: int) -> dict[str, Any]:
    file = read_file(_path(item), item["kind"], item["suffix"], megabytes=megabytes, encoding=item.get("encoding"))
    if len(file.text) > megabytes * 2**20:
        raise Fault(
            f"gives more than {megabytes} million characters of text: split it, or raise documents.max_megabytes"
        )
    title, in_title = _seen(file.title or "")
    text, in_text = _seen(file.text) if item["kind"] in _CONVERTED else (file.text, 0)
    return {
        "title": title or None,
        "text": text,
        "unseen": in_title + in_text,
        "page_lines": file.page_lines,
        "encoding": file.charset and (file.charset.encoding, file.charset.confidence),
    }


def _seen(text: str) -> tuple[str, int]:
    if text.isascii() and text.isprintable():
        return text, 0
    from goldbench.text.unseen import without_unseen  # its patterns take a while to be made

    return without_unseen(text)


def _path(item: Mapping[str, Any]) -> Path:
    return Path(os.fsdecode(bytes.fromhex(item["path"])))


def _problem(error: Exception, item: Mapping[str, Any], memory_megabytes: int) -> dict[str, Any]:
    if isinstance(error, Fault):
        return {"problem": error.problem, "line": error.line}
    if isinstance(error, RecursionError):
        return {"problem": "is nested too deeply"}
    if isinstance(error, MemoryError):
        problem = f"needs more than {memory_megabytes:,} MB of memory: raise documents.memory_megabytes"
        return {"problem": problem, "spent": True}
    if "path" not in item:
        return {"problem": f"cannot be cut into chunks ({type(error).__name__})"}
    return {"problem": f"is damaged, or not a {item['suffix']} file ({type(error).__name__})"}


def _limit_time(seconds: float) -> None:
    """End the process after this time of work; waiting for the parent does not count."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def limits_memory() -> bool:
    """Return whether this system can limit the memory of a process (Linux can)."""
    try:
        import resource  # noqa: F401  whether this system has it
    except ImportError:
        return False
    return _SIZE.exists()


def _size() -> int:
    import resource

    return int(_SIZE.read_text("ascii").split()[0]) * resource.getpagesize()


@cache
def _first_size() -> int:
    return _size()


def _limit_memory(megabytes: int) -> None:
    """Limit how much the process may grow from now on, on systems that have such a limit."""
    if not limits_memory():
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    first = _first_size()  # later sizes hold what earlier documents left behind
    most = min(_size(), first + _IMPORTED) + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"a document may not cause {event}")


if __name__ == "__main__":
    main()
