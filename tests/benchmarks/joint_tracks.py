"""Collections on which the prior of the joint calibration was not chosen, for `joint_validity`.

Each has values of systems by query under people's judgments and under several judges':

- Cystic fibrosis: nDCG@10 of sixteen lexical systems by the query's author, and by three other people as judges.
- LLMJudge: 25 queries of TREC Deep Learning 2023, judged by people and by 33 models of seven teams. The runs are made:
  each ranks the judged passages by grades of models of other teams than the judge's, with noise.
- Cranfield, CISI, NPL: nDCG@10 of the lexical systems by people, and by judges whose errors are drawn for each pair as
  eight judges made them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from goldbench.records.relevance import RELEVANT
from tests.benchmarks.collections import Collection, collections_folder, load, read_rows
from tests.benchmarks.queue_validity import GPT_DL23, NIST_DL23, grades
from tests.benchmarks.systems import Analyzers, Corpus, ndcg

Floats = npt.NDArray[np.float64]
Gains = Sequence[dict[int, float]]
JUDGES = ("h2oloo-zeroshot2", "h2oloo-fewself", "Olz-multiprompt", "TREMA-nuggets", "TREMA-4prompts", "TREMA-rubric0")
FEW_ERRORS = np.array([[0.75, 0.2, 0.03, 0.02], [0.2, 0.18, 0.3, 0.32]])
DRAWN = ("cranfield", "cisi", "npl")
AUTHOR, OTHERS = "REW", ("REW_colleagues", "postdoc", "JBW")
RUNS, MOST_MODELS = 24, 3
"""Made runs for each judge, and the most models whose grades one of them ranks by."""
LEAST_NOISE, MOST_NOISE = 0.4, 1.6
"""Standard deviation of the noise in the scores of a made run, in grades."""


def confusions(folder: Path) -> dict[str, Floats]:
    """Return the shares of the grades 0 to 3 that each judge gives to what is not relevant, and to what is; (2, 4)."""
    dl23 = folder / "dl23_gpt4"
    llmjudge = folder / "llmjudge"
    people = grades(llmjudge / "llmjudge_test_qrel_idx.txt")
    measured = {"GPT-4, DL 2023": (grades(dl23 / NIST_DL23), grades(dl23 / GPT_DL23))}
    measured |= {name: (people, grades(llmjudge / "submissions" / f"{name}.txt")) for name in JUDGES}
    shares = {"few errors": FEW_ERRORS}
    for name, (truth, judge) in measured.items():
        counts = np.zeros((2, 4))
        for pair in truth.keys() & judge.keys():
            counts[int(truth[pair] >= RELEVANT), judge[pair]] += 1
        shares[name] = counts / counts.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, slots=True)
class Track:
    """Values of runs by query, shape (runs, queries), under people's labels and under the model's."""

    people: Floats
    model: Floats


def elsewhere() -> dict[str, list[Track]]:
    """Return the tracks of each collection, one for each judge."""
    folder = collections_folder()
    found = {"cystic fibrosis": raters(folder / "cystic_fibrosis"), "LLMJudge": judges(folder / "llm_judgments")}
    return found | {name: drawn_errors(folder, name) for name in DRAWN}


def raters(folder: Path) -> list[Track]:
    """Return a track for each rater beside the author of the query, whose grades are the truth."""
    collection = load(folder)
    place = {str(row["_id"]): at for at, row in enumerate(read_rows(folder / "corpus.jsonl"))}
    names = {str(row["text"]): str(row["_id"]) for row in read_rows(folder / "queries.jsonl")}
    graded: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    with (folder / "raters.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            for who in (AUTHOR, *OTHERS):
                graded[who, row["query-id"]][place[row["corpus-id"]]] = float(row[who])
    searched = _searched(collection)
    values = {
        who: _ndcg(searched, [graded[who, names[text]] for text in collection.queries]) for who in (AUTHOR, *OTHERS)
    }
    return [Track(values[AUTHOR], values[who]) for who in OTHERS]


def judges(folder: Path) -> list[Track]:
    """Return a track for each model of LLMJudge, with made runs."""
    people = grades(folder / "llmjudge" / "llmjudge_test_qrel_idx.txt")
    files = sorted((folder / "llmjudge" / "submissions").glob("*.txt"))
    models = {file.stem: grades(file) for file in files}
    pairs = sorted(people)
    at = {query: [n for n, pair in enumerate(pairs) if pair[0] == query] for query in sorted({q for q, _ in pairs})}
    truth = np.array([people[pair] for pair in pairs], np.float64)
    table = {name: np.array([labels.get(pair, 0) for pair in pairs], np.float64) for name, labels in models.items()}
    return [_made_runs(name, truth, table, list(at.values()), seed) for seed, name in enumerate(table)]


def _made_runs(judge: str, truth: Floats, table: Mapping[str, Floats], at: list[list[int]], seed: int) -> Track:
    draw = np.random.default_rng(seed)
    others = [labels for name, labels in table.items() if _team(name) != _team(judge)]
    tops = []
    for _ in range(RUNS):
        some = draw.choice(len(others), draw.integers(1, MOST_MODELS + 1), replace=False)
        noise = draw.normal(0, draw.uniform(LEAST_NOISE, MOST_NOISE), len(truth))
        score = np.mean([others[one] for one in some], axis=0) + noise
        tops.append(np.array([np.array(rows)[np.argsort(-score[rows])[:10]] for rows in at]))
    both = ([dict(zip(rows, labels[rows].tolist(), strict=True)) for rows in at] for labels in (truth, table[judge]))
    people, model = (_ndcg(tops, gains) for gains in both)
    return Track(people, model)


def _team(judge: str) -> str:
    return judge.partition("-")[0]


def drawn_errors(folder: Path, name: str) -> list[Track]:
    """Return a track for each measured judge, who grades what the systems found on a collection."""
    collection = load(folder / name)
    searched = _searched(collection)
    people = _ndcg(searched, collection.gains)
    shares = confusions(folder / "llm_judgments").values()
    return [
        Track(people, _ndcg(searched, _judged(searched, collection.gains, share, n))) for n, share in enumerate(shares)
    ]


def _judged(found: Sequence[npt.NDArray[np.int64]], gains: Gains, shares: Floats, seed: int) -> list[dict[int, float]]:
    """Return the gains of the relevant and of the found documents of each query, with a judge's errors drawn."""
    draw = np.random.default_rng(seed)
    steps = np.cumsum(shares, axis=1)[:, :-1]
    judged = []
    for query, relevant in enumerate(gains):
        seen = {int(doc) for run in found for doc in run[query] if doc >= 0} | set(relevant)
        grade = {doc: int((draw.random() > steps[int(doc in relevant)]).sum()) for doc in sorted(seen)}
        judged.append({doc: float(level >= RELEVANT) for doc, level in grade.items()})
    return judged


def _searched(collection: Collection) -> list[npt.NDArray[np.int64]]:
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    return list(Corpus(collection.documents, analyzers).top(collection.queries))


def _ndcg(found: Sequence[npt.NDArray[np.int64]], gains: Gains) -> Floats:
    """Return nDCG@10 by system and query; 0 where nothing is relevant, as in trec_eval."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(ndcg(found, gains))
