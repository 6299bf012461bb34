"""The process that serves one model with llama.cpp: ``model_child`` starts it and tells it the file.

One slot: with a second one, the floating-point sums of a reply would depend on its neighbours. The order says how many
threads compute: threads that wait for one another stand still on a busy machine.

It listens on a free port that the system chooses, so no port can be taken. It writes one line, its address, and ends
when its input ends: with the command, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Read the order from standard input, load the model and serve it until the input ends.

    With ``graphics``, print the free memory of the graphics cards in megabytes instead.
    """
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command receives it and closes the input
    if "graphics" in sys.argv:
        sys.stdout.write(f"{_graphics_megabytes()}\n")
        return
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    reports = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # llama.cpp may print parts of prompts; standard error is read until the address is known
    address = _serve(order)
    os.dup2(nowhere, 2)
    reports.write(address.encode() + b"\n")
    reports.close()
    threading.Event().wait()


def _graphics_megabytes() -> int:
    import xllamacpp

    processors = ("_CPU", "_ACCEL")
    cards = [device for device in xllamacpp.get_device_info() if not device["type"].name.endswith(processors)]
    return sum(int(device["memory_free"]) for device in cards) // 10**6


def _serve(order: dict[str, Any]) -> str:
    """Start the server and return its address.

    Args:
        order: ``file``, the ``name`` that replies give the model, the ``key`` that every request must carry,
            ``context``, the longest prompt and reply together in tokens, ``threads`` and ``gpu_layers``.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["file"]
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    params.n_ctx = order["context"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.n_threads_http = 2
    params.n_gpu_layers = order["gpu_layers"]
    params.cache_ram_mib = 0  # with a cache of prompts, replies were seen to belong to other prompts
    params.cache_idle_slots = False
    params.swa_full = True  # else a sliding window would forget the fixed part of a prompt
    params.default_template_kwargs = {"date_string": json.dumps(_DATE)}
    params.ui = False
    params.offline = True
    params.fit_params = False  # would fit the context to the memory that is free just now
    params.verbosity = 1  # errors
    server = xllamacpp.Server(params)
    _KEPT.append(server)
    return str(server.listening_address)


_NICE = 5
"""How far the process lets others go first, of at most 19."""
_DATE = "26 Jul 2024"
"""The date that templates of some models put into every prompt; the clock's would change replies from day to day."""
_KEPT: list[object] = []
"""The server, which would end with its last reference."""


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
