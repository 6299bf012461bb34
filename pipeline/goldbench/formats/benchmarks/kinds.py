"""The kinds of benchmarks that can be imported, and the reader of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goldbench.errors import UsageError
from goldbench.formats.benchmarks.answered_rows import read_deepeval, read_langsmith, read_ragas
from goldbench.formats.benchmarks.autorag import read_autorag
from goldbench.formats.benchmarks.collection import Chosen, Collection
from goldbench.formats.benchmarks.folders import read_beir
from goldbench.formats.benchmarks.llamaindex import read_llamaindex
from goldbench.formats.benchmarks.msmarco import read_msmarco
from goldbench.formats.benchmarks.multi_hop import read_hotpotqa, read_musique
from goldbench.formats.benchmarks.online import read_hugging_face, read_ir_datasets, read_mteb
from goldbench.formats.benchmarks.squad import read_squad
from goldbench.formats.benchmarks.trec_collection import read_trec
from goldbench.text.display import shown

READERS: dict[str, Callable[[str, Chosen], Collection]] = {
    "beir": lambda path, chosen: read_beir(Path(path), chosen),
    "trec": lambda path, chosen: read_trec(Path(path), chosen),
    "msmarco": lambda path, chosen: read_msmarco(Path(path), chosen),
    "squad": lambda path, _: read_squad(Path(path)),
    "hotpotqa": lambda path, _: read_hotpotqa(Path(path)),
    "musique": lambda path, _: read_musique(Path(path)),
    "llamaindex": lambda path, _: read_llamaindex(Path(path)),
    "ragas": lambda path, _: read_ragas(Path(path)),
    "deepeval": lambda path, _: read_deepeval(Path(path)),
    "langsmith": lambda path, _: read_langsmith(Path(path)),
    "autorag": lambda path, chosen: read_autorag(Path(path), chosen),
    "ir_datasets": read_ir_datasets,
    "hf": read_hugging_face,
    "mteb": read_mteb,
}


def open_collection(kind: str, path: str, chosen: Chosen) -> Collection:
    """Return a benchmark.

    Args:
        kind: A key of ``READERS``.
        path: Its file, its folder, or its id in an online library.
        chosen: The split and the files that the user named.

    Raises:
        UsageError: The kind is not known.
        InputError: The path is not a benchmark of this kind.
    """
    if kind not in READERS:
        raise UsageError(f"{shown(kind)}: no such kind of benchmark; known are {', '.join(READERS)}")
    return READERS[kind](path, chosen)
