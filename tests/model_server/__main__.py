"""Run the server: ``python -m tests.model_server --port 0``; the first line on stdout says where it listens."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tests.model_server.app import ModelServer


async def _serve(arguments: argparse.Namespace, script: dict[str, Any]) -> None:
    if arguments.latency_ms is not None:
        script.setdefault("settings", {})["latency_ms"] = arguments.latency_ms
    server = ModelServer(script)
    await server.start(arguments.port)
    print(json.dumps({"base_url": server.base_url, "control_url": server.control_url}), flush=True)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows
            loop.add_signal_handler(name, done.set)
    if arguments.until_stdin_closes:

        def wait() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=wait, daemon=True).start()
    await done.wait()
    await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=None, help="wait this long before every answer")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when whoever started it is gone")
    parser.add_argument("--script", default=None, help="JSON file: {settings: {...}, rules: [...]}, see scenario.py")
    arguments = parser.parse_args()
    script = json.loads(Path(arguments.script).read_text("utf-8")) if arguments.script else {}
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(arguments, script))


if __name__ == "__main__":
    main()
