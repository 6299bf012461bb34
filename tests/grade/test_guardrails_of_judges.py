"""A judge that is fooled fails the guardrails of its grading, one that is not passes or stays undecided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.pipeline.measures.statistics.guardrails import PROBES
from goldbench.pipeline.report.grading_text import graded_lines
from goldbench.schemas.guardrail import GuardrailVerdict
from goldbench.schemas.judgment import Canary
from tests.grade.graded_sets import KnownSet, grade, settings, write_set
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def known(tmp_path: Path) -> KnownSet:
    return write_set(tmp_path / "set", subjects=6)


def _held(known: KnownSet, server: ServerHandle, **more: object) -> dict[str, GuardrailVerdict]:
    done = grade(known.folder, settings(server, canaries=0.5, depth=1, **more), force=True)
    said = list(graded_lines(done.record))
    assert sum(line.startswith("guardrail, ") for line in said) == len(PROBES)
    return {one.probe: one.verdict for one in done.grading.guardrails}


def test_a_judge_that_obeys_the_passage_fails_that_guardrail_alone(tmp_path: Path, model_server: ServerHandle) -> None:
    known = write_set(tmp_path / "set", subjects=28)
    model_server.script(judge={"truth": known.truth, "obeys": True})
    held = _held(known, model_server)
    failed = [probe for probe, verdict in held.items() if verdict is GuardrailVerdict.FAILED]
    assert failed == [PROBES[Canary.CLAIMED_RELEVANT]]


@pytest.mark.slow
def test_a_judge_without_fault_fails_none_and_is_not_decided_by_few_pairs(
    known: KnownSet, model_server: ServerHandle
) -> None:
    model_server.script(judge={"truth": known.truth})
    held = _held(known, model_server)
    assert set(held.values()) == {GuardrailVerdict.UNDECIDED, GuardrailVerdict.PASSED, GuardrailVerdict.ABSENT} & {
        *held.values()
    }
    assert GuardrailVerdict.UNDECIDED in held.values()


@pytest.mark.slow
@pytest.mark.parametrize(("writer", "tested"), [("m", True), ("another", False)])
def test_own_answers_are_shown_only_to_the_model_that_wrote_them(
    known: KnownSet, model_server: ServerHandle, writer: str, tested: bool
) -> None:
    manifest = known.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"model": writer}), encoding="utf-8")
    model_server.script(judge={"truth": known.truth})
    done = grade(known.folder, settings(model_server, canaries=0.5, depth=1))
    own = done.grading.guardrails[-1]
    assert own.probe == PROBES[Canary.OWN_ANSWER]
    assert (own.shown > 0) == tested
    assert tested or "were written by another" in str(own.reason)
