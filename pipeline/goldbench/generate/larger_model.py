"""A larger model whose file is on this machine already, for who writes queries with the bundled one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from goldbench.errors import Message, MissingExtra, Parameter
from goldbench.llm.catalogue import CATALOGUE, memory_needed
from goldbench.llm.local.download import cached
from goldbench.llm.local.machine import Machine
from goldbench.processes.own_process import usable_processors

_OLLAMA = "http://127.0.0.1:11434/v1"


def larger_model() -> Message | None:
    """Return a line that names a larger model on this machine, None if there is none that it can serve.

    Only files are looked at, those in the cache of the Hub and those of Ollama: no server is asked.
    """
    memory = Machine.now().memory or float("inf")
    with contextlib.suppress(MissingExtra):  # without the Hub's library, nothing was downloaded with it
        for model in reversed(CATALOGUE):
            if model.repository and model.fits(megabytes=memory, cores=usable_processors()) and cached(model):
                return _advice("{}", Parameter("model", model.name))
    fitting = (model for model in _ollama_models() if memory_needed(model[0]) <= memory)
    _, name = max(fitting, default=(0, ""))
    options = (Parameter("model", name), Parameter("base_url", _OLLAMA))
    return _advice("{} {}, while Ollama runs", *options) if name else None


def _advice(options: str, *parameters: Parameter) -> Message:
    return Message(f"A larger model is on this machine and writes better queries: give {options}.", *parameters)


def _ollama_models() -> Iterator[tuple[float, str]]:
    """Yield the size in megabytes and the name of each model that Ollama keeps; those for embeddings write nothing."""
    home = os.path.expanduser("~")  # noqa: PTH111  pathlib's raises where there is none
    folder = Path(os.environ.get("OLLAMA_MODELS") or f"{home}/.ollama/models", "manifests")
    for path in folder.glob("*/*/*/*"):
        _, owner, model, tag = path.relative_to(folder).parts
        try:
            layers = json.loads(path.read_text(encoding="utf-8"))["layers"]
            size = sum(layer["size"] for layer in layers if layer["mediaType"] == "application/vnd.ollama.image.model")
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not a manifest
        if size and "embed" not in model and "bge" not in model and "minilm" not in model:
            yield size / 1e6, f"{model}:{tag}" if owner == "library" else f"{owner}/{model}:{tag}"
