"""Agreement of independent sources on the card: what fails, what warns, what has no verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from goldbench.card.baselines import Baselines, fresh_scores, run_baselines
from goldbench.card.described_set import DescribedSet, read_described
from goldbench.card.ranking_figures import query_sources, state_of
from goldbench.records.set_card import State
from tests.card.sets import write_dataset
from tests.measures.statistics.spoken import sentences


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> DescribedSet:
    told = sentences(240, seed=1)
    corpus = {f"d{number:02}": " ".join(told[4 * number : 4 * number + 4]) for number in range(60)}
    queries = {f"q{number:02}": " ".join(text.split()[2:7]) for number, text in enumerate(corpus.values())}
    relevant = {f"q{number:02}": [f"d{number:02}"] for number in range(60)}
    folder = tmp_path_factory.mktemp("validity")
    described = read_described(write_dataset(folder, queries=queries, corpus=corpus, relevant_docs=relevant))
    return replace(described, metadata={"evidence_level": "smoke"})


@pytest.fixture(scope="module")
def baselines(material: DescribedSet) -> Baselines:
    return run_baselines(material)


def noted(material: DescribedSet, **notes: str) -> DescribedSet:
    return replace(material, notes={query_id: dict(notes) for query_id in material.queries})


def test_agreement_is_scipys_tau_of_the_two_rankings_of_the_baselines(
    material: DescribedSet, baselines: Baselines
) -> None:
    found = query_sources(material, baselines, seed=0)
    fresh = fresh_scores(material.corpus, "held-out", language=material.main_language, seed=0)
    means = baselines.scores.mean(axis=0), np.concatenate([one.scores for one in fresh]).mean(axis=0)
    assert found.value == pytest.approx(kendalltau(*(one.round(9) for one in means)).statistic, abs=1e-4)
    assert found.values["2.5 %"] <= found.value <= found.values["97.5 %"]
    assert found.values["lowest of single draws"] <= found.values["highest of single draws"]


def test_only_a_set_of_simulated_terms_is_refused(material: DescribedSet) -> None:
    by_people = replace(material, metadata={"evidence_level": "human"})
    by_model = replace(material, metadata={"evidence_level": "model"})
    held_out = noted(material, recipe="held-out-terms")
    assert [state_of(tau, material) for tau in (0.1, 0.3, 0.9)] == [State.FAIL, State.WARN, State.OK]
    assert [state_of(tau, by_model) for tau in (0.1, 0.9)] == [State.WARN, State.OK]
    assert [state_of(tau, held_out) for tau in (0.1, 0.9)] == [State.INFO, State.INFO]
    assert [state_of(tau, by_people) for tau in (0.1, 0.9)] == [State.INFO, State.INFO]
