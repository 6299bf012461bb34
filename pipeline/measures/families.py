"""The families of measures that there are, in the order of every table."""

from __future__ import annotations

from pipeline.measures.bpref import BPREF
from pipeline.measures.f1 import F1
from pipeline.measures.family import Family
from pipeline.measures.hit import HIT
from pipeline.measures.judged import JUDGED
from pipeline.measures.map import AVERAGE_PRECISION
from pipeline.measures.mrr import RECIPROCAL_RANK
from pipeline.measures.ndcg import DCG, IDEAL_DCG, NDCG
from pipeline.measures.precision import PRECISION
from pipeline.measures.recall import RECALL
from pipeline.measures.rprec import R_PRECISION

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        HIT, PRECISION, RECALL, F1, RECIPROCAL_RANK, AVERAGE_PRECISION, DCG, IDEAL_DCG, NDCG, R_PRECISION, BPREF, JUDGED
    )
}  # fmt: skip
"""Each family by the name goldset prints."""

BY_SPELLING: dict[str, Family] = {
    spelling: family for family in FAMILIES.values() for spelling in (family.name, *family.aliases)
}
"""Each family by every spelling, in lower case and letters and digits only."""
