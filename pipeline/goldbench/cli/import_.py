"""``goldbench import``: a public benchmark as a gold set."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from goldbench.cli.options import input_option, judging_option, output_option, print_list
from goldbench.cli.output import screen
from goldbench.cli.people_asked import Yes, ask_before_replacing
from goldbench.goldset.file_names import MANIFEST

SHOWN = 20
"""Most broken items that are named on the screen; manifest.json lists them all."""


class Kind(StrEnum):
    """What can be imported."""

    BEIR = "beir"
    TREC = "trec"
    MSMARCO = "msmarco"
    SQUAD = "squad"
    HOTPOTQA = "hotpotqa"
    MUSIQUE = "musique"
    LLAMAINDEX = "llamaindex"
    RAGAS = "ragas"
    DEEPEVAL = "deepeval"
    LANGSMITH = "langsmith"
    AUTORAG = "autorag"
    IR_DATASETS = "ir_datasets"
    HF = "hf"
    MTEB = "mteb"


def import_(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="Format of the benchmark.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Folder or file; an id for ir_datasets, hf, mteb.")],
    out: Annotated[Path, output_option("--out", metavar="DIR", help="Folder of the gold set.")],
    split: Annotated[str | None, input_option(metavar="NAME", help="Judgments to use (default: test).")] = None,
    corpus: Annotated[Path | None, input_option(metavar="FILE", help="Passages (default: found by name).")] = None,
    queries: Annotated[Path | None, input_option(metavar="FILE", help="Queries (default: found by name).")] = None,
    qrels: Annotated[Path | None, input_option(metavar="FILE", help="Judgments (default: found by name).")] = None,
    grades: Annotated[
        str | None, judging_option(metavar="MAP", help="New grades, 0 to 3 or none: 0=0,1..2=1,3=2,-1=none.")
    ] = None,
    relevant_from: Annotated[
        int | None, judging_option(metavar="N", help="Lowest relevant grade (default: 1 of 0/1, else 2).")
    ] = None,
    drop_broken: Annotated[bool, input_option("--drop-broken", help="Leave out broken items and list them.")] = False,
    evidence_level: Annotated[
        Literal["human", "model", "smoke"] | None, judging_option(help="Who judged (default: human).")
    ] = None,
    replace: Annotated[bool, output_option("--replace", help="Replace another set in DIR.")] = False,
    yes: Yes = False,
) -> None:
    """Turn a public benchmark into a gold set.

    The output folder has the files of a build. --evidence-level is model by default for llamaindex, ragas, deepeval,
    langsmith and autorag. A set that goldbench export wrote keeps its level.
    """
    from goldbench.formats.benchmarks.collection import Chosen
    from goldbench.goldset.importer import Options, import_benchmark
    from goldbench.report.import_text import remarks
    from goldbench.text.display import amount, printable
    from goldbench.text.display import queries as count_of

    chosen = Chosen(split=split, corpus=corpus, queries=queries, qrels=qrels)
    options = Options(chosen, grades, relevant_from, drop_broken, evidence_level, replace)
    ask_before_replacing(out, replace=replace, yes=yes)
    imported = import_benchmark(kind.value, path, out, options)
    screen.note(*remarks(imported))
    manifest = imported.manifest
    failures = (f"left out {printable(failure.message)}" for failure in manifest.failures)
    print_list(failures, shown=SHOWN, rest=f"more, listed in {MANIFEST}")
    labels = manifest.stages[-1].written
    passages, judgments = amount(manifest.documents, "passage"), amount(labels, "judgment")
    screen.add(folder=str(out), manifest=manifest.model_dump(mode="json"))
    screen.show(f"{passages}, {count_of(manifest.queries)}, {judgments} in {out}")
    screen.explain(f"Next: goldbench validate {shlex.quote(str(out))}")
