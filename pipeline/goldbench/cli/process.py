"""The process of a command: its streams and signals, and one line and an exit code for every expected error."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from goldbench.errors import INTERRUPTED, NOT_DONE, GoldbenchError
from goldbench.text.display import one_line

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a command in an orderly way."""
GO_ON = "run the same command again to continue"

_CLOSED = 141
"""The exit code where a reader closed the output, as ``head`` does: what a shell tells of other programs."""
_MOMENT_S = 0.01
"""Seconds after which a signal is sent again."""
_RARELY = (20_000, 10, 100)
"""Thresholds of the garbage collector for its three generations. With Python's own, collecting takes a tenth of the
start of a command, because modules are thousands of objects that stay."""


class Interrupted(Exception):
    """The user ended the command; the message says how to go on."""

    exit_code = INTERRUPTED


def main() -> None:
    """Run the command line; every expected error is one line and an exit code."""
    _prepare()
    try:
        code = _run()
        if code == Interrupted.exit_code:  # typer's own word for a KeyboardInterrupt
            code = _interrupted(GO_ON)
    except KeyboardInterrupt:
        code = _interrupted(GO_ON)
    except Interrupted as stop:
        code = _interrupted(str(stop))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _CLOSED
    except OSError as error:
        reason = (error.strerror or "closed").lower()
        code = _failed(f"output cannot be written ({reason}); check free space and permissions", NOT_DONE)
    except GoldbenchError as error:
        code = _failed(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001  the last resort: one line instead of a traceback
        code = _unexpected(error)
    gc.freeze()  # or the interpreter looks for cycles among all modules before it ends, for a fifth of a second
    sys.exit(code)


def _run() -> int | None:
    """Run a command, and return its exit code."""
    import typer

    from goldbench.cli.app import command_line

    try:
        code: int | None = command_line()(standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as end:  # typer's own: 1 where the reader closed the output, 0 after a completion script
        return _CLOSED if end.code == 1 else 0
    return code


def _failed(problem: str, code: int) -> int:
    """Print one line on standard error, and return the exit code."""
    print(f"goldbench: {one_line(problem)}", file=sys.stderr)
    return code


def _interrupted(how_to_go_on: str) -> int:
    return _failed(f"interrupted; {how_to_go_on}", Interrupted.exit_code)


def _prepare() -> None:
    gc.set_threshold(*_RARELY)
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no «−» shows a question mark
            if not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")  # as every file; Windows would choose its code page


def put_off(number: int, frame: FrameType | None) -> bool:
    """Send a signal again a moment later if it falls into a finalizer, in which Python drops exceptions.

    Args:
        number: The signal.
        frame: Where it falls.

    Returns:
        Whether it is sent again.
    """
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    if frame is None:
        return False
    import _thread
    import threading

    threading.Timer(_MOMENT_S, _thread.interrupt_main, (number,)).start()
    return True


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End at once: the event loop's own handler waits for the next await, and whole stages have none.

    Further signals are ignored, so that they do not interrupt the clean-up.
    """
    if put_off(number, frame):
        return
    for every in SIGNALS:
        signal.signal(every, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> int:
    """Print one line for an unforeseen error; those of typer and of prompt files keep their message."""
    import traceback

    from goldbench.prompts.loader import PromptError  # slow to import

    if isinstance(error, PromptError):
        return _failed(str(error), NOT_DONE)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return NOT_DONE
    if hasattr(error, "format_message"):
        from goldbench.cli.refusals import refusal

        return _failed(refusal(error), NOT_DONE)
    if os.environ.get("GOLDBENCH_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return _failed(
        f"internal error: {type(error).__name__} at {place}. "
        "Set GOLDBENCH_DEBUG=1 to see the traceback, and report it.",
        NOT_DONE,
    )
