"""Reading a finished run, in any format that is scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def read_finished(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Return the scores of a run: query id -> document id -> score.

    Raises:
        InputError: There is no such file, or it is no run.
    """
    from pipeline.formats.runs.run_tables import read_json_run, read_table
    from pipeline.formats.runs.trec import read_run
    from pipeline.score.runs import load_run

    run = load_run(path)
    if run.kind == "trec":
        return read_run(run.source)
    if run.kind in {"json", "jsonl"}:
        return read_json_run(run.source)
    from pipeline.measures.ranks.columns import results

    table, where = read_table(run.source, run.kind)
    found: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in results(table, run.source.name, where).iter_rows():
        found.setdefault(query_id, {})[doc_id] = score
    return found
