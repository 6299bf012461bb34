"""The likelihood of a reply: read from a response, kept with the stored answer, done without where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from goldbench.llm.likelihoods import likelihood_of
from goldbench.ports import Likelihood
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle


def choice(*tokens: tuple[str, float]) -> dict[str, object]:
    return {"logprobs": {"content": [{"token": token, "logprob": value} for token, value in tokens]}}


def test_only_the_text_inside_the_json_counts():
    frame = (('{"', -9.0), ("question", -9.0), ('":', -9.0), (' "', -9.0))
    likelihood = likelihood_of(choice(*frame, ("Why", -1.0), (" not", -3.0), ("?", -2.0), ('"}', -9.0)))
    assert likelihood == Likelihood(-2.0, -3.0)


@pytest.mark.parametrize(
    "given",
    [{}, {"logprobs": None}, {"logprobs": {"content": []}}, {"logprobs": {"content": [{"token": "a"}]}},
     choice(("a", float("-inf")))],
)  # fmt: skip
def test_without_usable_numbers_there_is_no_likelihood(given: dict[str, object]):
    assert likelihood_of(given) is None


async def test_a_stored_answer_keeps_its_likelihood(open_path: Opener, model_server: ServerHandle):
    request = replace(verdict_request(), weighed=True)
    async with open_path() as path:
        fresh, again = await path.complete(request), await path.complete(request)
    assert fresh.likelihood is not None
    assert again.replayed
    assert again.likelihood == fresh.likelihood
    assert model_server.stats()["requests"] == 1
