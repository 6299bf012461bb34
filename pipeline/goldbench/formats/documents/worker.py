"""The process that touches documents for ``worker_pool.py``: it reads files and cuts texts.

It may be killed at any time. It reaches no network, starts no program, takes no more memory than a request allows,
prints nothing, and ends when its input ends, also amid its work, or when nothing was asked for some seconds.

A request is a list of items, each of which is answered by one or several objects in JSON and a null.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldbench.errors import MissingExtra
from goldbench.formats.charsets import decode
from goldbench.formats.documents.titles import markdown_title
from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import read_whole
from goldbench.processes.own_process import decoded, encoded, framed, next_message
from goldbench.text.headings import front_matter

_IMPORTED = 2**30
"""Bytes of address space that the packages which read documents take at most."""
_PATIENCE_S = 10
"""Seconds after which the process ends if nothing is asked."""
_GRACE_S = 30
_SIZE = Path("/proc/self/statm")
_FORBIDDEN = frozenset(
    {
        *("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "socket.sendmsg"),
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"),
        *("os.fork", "os.forkpty"),
    }
)

Item = Mapping[str, Any]


def main() -> None:
    """Answer requests until the input ends or none comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes the worker's input
    replies = os.fdopen(os.dup(1), "wb")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)  # parsers may print text of the document
    os.dup2(devnull, 2)
    sys.addaudithook(_refuse)
    requests: queue.SimpleQueue[list[Item]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=[requests], daemon=True).start()
    with contextlib.suppress(queue.Empty):
        while True:
            for item in requests.get(timeout=_PATIENCE_S):
                _limit_memory(item["memory_megabytes"])
                _limit_time(item["seconds"] + _GRACE_S)  # ends an endless loop if the parent is gone
                for answer in answers(item):
                    replies.write(framed(answer))
                    _limit_time(item["seconds"] + _GRACE_S)
                replies.write(framed(b"null"))
                replies.flush()
            _limit_time(0)


def _receive(requests: queue.SimpleQueue[list[Item]]) -> None:
    """Put requests into the queue; end the process when the input ends, whatever it does."""
    while (message := next_message(sys.stdin.buffer)) is not None:
        requests.put(decoded(message))
    os._exit(0)


def answers(item: Item) -> Iterator[bytes]:
    """Yield the answers to an item in JSON; every problem becomes a sentence without text of the document.

    Args:
        item: ``kind``, ``seconds``, ``memory_megabytes`` and ``megabytes``; for ``chunk`` the ``text``, ``size`` and
            ``overlap``; for a kind of file ``path`` (bytes in hexadecimal), ``suffix``, ``source``, ``encoding`` (None
            recognises it) and ``options``.
    """
    try:
        for answer in _answers(item):
            yield encoded(answer)
    except ImportError as error:
        yield encoded({"missing": error.name or "markitdown"})
    except MissingExtra as error:
        yield encoded({"missing": error.package})
    except Exception as error:  # noqa: BLE001  a parser of hostile files raises anything; its message may quote them
        yield encoded(_problem(error, item))


def _answers(item: Item) -> Iterator[dict[str, Any]]:
    if item["kind"] == "chunk":
        from goldbench.text.cuts import passages

        _prepare_to_cut()
        yield {"passages": passages(item["text"], size=item["size"], overlap=item["overlap"])}
    elif item["kind"] == "table":
        from goldbench.formats.documents.fields import ReadOptions
        from goldbench.formats.documents.rows import file_rows

        options = ReadOptions(**item["options"])
        yield from file_rows(
            _path(item), item["source"], options, megabytes=item["megabytes"], encoding=item["encoding"]
        )
    else:
        yield _whole_file(item)


@cache
def _prepare_to_cut() -> None:
    from goldbench.text.cuts import prepare_alone

    prepare_alone()


def _whole_file(item: Item) -> dict[str, Any]:
    """Return title and text of a file that becomes one document, its encoding, and what was left out.

    Raises:
        Fault: The file cannot be opened, is too large, damaged, encrypted, or holds no text.
        ImportError: The package for this type is not installed.
        Exception: Anything that a parser raises on a damaged file.
    """
    kind = item["kind"]
    megabytes = item["megabytes"]
    data = read_whole(_path(item), megabytes=megabytes)
    answer: dict[str, Any] = {"title": None, "unseen": 0, "page_lines": 0}
    if item["suffix"] == ".pdf":
        from goldbench.formats.documents.pdf import pdf_to_text

        answer["text"], answer["page_lines"] = pdf_to_text(data)
    elif kind == "office":
        from goldbench.formats.documents.office import office_to_text

        answer["title"], answer["text"] = office_to_text(data, item["suffix"])
    else:
        text, charset = decode(data, item["encoding"])
        answer["encoding"] = charset.encoding, charset.confidence
        answer["title"], answer["text"] = _converted(text, kind)
    if len(answer["text"]) > megabytes * 2**20:
        raise Fault(
            f"gives more than {megabytes} million characters of text: split it, or raise documents.max_megabytes"
        )
    _leave_out_unseen(answer, ("title", "text") if kind in {"html", "rst", "office"} else ("title",))
    return answer


def _converted(text: str, kind: str) -> tuple[str | None, str]:
    """Return the title of a text file, if it brings one, and its text."""
    if kind == "html":
        from goldbench.formats.documents.html_text import html_to_text

        return html_to_text(text)
    if kind == "rst":
        from goldbench.formats.documents.rst_text import rst_to_text

        return rst_to_text(text)
    return _markdown(text) if kind == "markdown" else (None, text)


def _markdown(text: str) -> tuple[str | None, str]:
    end, _ = front_matter(text)
    body = text[end:].lstrip("\n") if end else text
    if end and not body.strip():
        raise Fault("holds nothing but front matter")
    return markdown_title(text), body


def _leave_out_unseen(answer: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Take characters that nobody sees out of these texts, and count them."""
    from goldbench.text.unseen import without_unseen

    for key in keys:
        if answer[key] is not None:
            answer[key], count = without_unseen(answer[key])
            answer["unseen"] += count


def _path(item: Item) -> Path:
    return Path(os.fsdecode(bytes.fromhex(item["path"])))


def _problem(error: Exception, item: Item) -> dict[str, Any]:
    if isinstance(error, Fault):
        return {"problem": error.problem, "line": error.line}
    if isinstance(error, RecursionError):
        return {"problem": "is nested too deeply"}
    if isinstance(error, MemoryError):
        megabytes = item["memory_megabytes"]
        problem = f"needs more than {megabytes:,} MB of memory: raise documents.memory_megabytes"
        return {"problem": problem, "is_last": True}  # the process may keep some of the memory
    if item["kind"] == "chunk":
        return {"problem": f"cannot be cut into chunks ({type(error).__name__})"}
    return {"problem": f"is damaged, or not a {item['suffix']} file ({type(error).__name__})"}


def _limit_time(seconds: float) -> None:
    """End the process after this time of work; waiting for the parent does not count."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def limits_memory() -> bool:
    """Return whether this system can limit the memory of a process (Linux can)."""
    return find_spec("resource") is not None and _SIZE.exists()


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
