"""The JSON Schemas (2020-12) published in ``schemas``: generated, never edited."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from goldbench.records.agreement_report import Agreement
from goldbench.records.calibrated import Calibration
from goldbench.records.corpus import Chunk, Document
from goldbench.records.experiment import Experiment, Timings
from goldbench.records.judgment import Feedback, Judgment, PooledPair
from goldbench.records.manifest import Manifest
from goldbench.records.query import Candidate, DroppedQuery, Query, Rejection, UnlabelledQuery
from goldbench.records.replies import GeneratedQueries
from goldbench.records.review_event import Event
from goldbench.records.review_report import ReviewReport
from goldbench.records.scorecard import Baseline, HistoryEntry, Scorecard
from goldbench.records.set_card import Card
from goldbench.records.testset import TestSet

PUBLISHED: dict[str, type[BaseModel]] = {
    "document": Document,
    "chunk": Chunk,
    "candidate": Candidate,
    "query": Query,
    "unlabelled-query": UnlabelledQuery,
    "rejection": Rejection,
    "pooled": PooledPair,
    "judgment": Judgment,
    "dropped-query": DroppedQuery,
    "dataset": TestSet,
    "manifest": Manifest,
    "scorecard": Scorecard,
    "baseline": Baseline,
    "history-entry": HistoryEntry,
    "experiment": Experiment,
    "timings": Timings,
    "feedback": Feedback,
    "review-event": Event,
    "review-report": ReviewReport,
    "calibration": Calibration,
    "card": Card,
    "agreement": Agreement,
    "generated-queries": GeneratedQueries,
}


def schema_text(name: str) -> str:
    """Return one published schema, with a final newline."""
    schema = PUBLISHED[name].model_json_schema(mode="serialization" if name != "generated-queries" else "validation")
    body = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(body, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write_schemas(folder: Path) -> None:
    """Write every schema into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PUBLISHED:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8", newline="\n")
