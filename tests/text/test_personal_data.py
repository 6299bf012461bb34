"""Rules for personal data in users' queries: what each finds, what goes through, and that no line takes long."""

from __future__ import annotations

import time

import pytest

from goldbench.text.personal_data import RULES, PersonNames, personal_data

FOUND = {
    "mail": [
        "write to anna.berg@example.org please",
        "anna＠example.org",
        "anna (at) example dot org",
        "an\u200bna@exam\u200bple.org",
        "John.Doe%40example.com invoice",
        "user@[10.0.0.1]",
    ],
    "secret": [
        "https://anna:hunter2@intranet.example/wiki",
        "reset example.org/x?access_token=abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx",
        "Bearer abcdef0123456789abcdef",
    ],
    "account": ["NO93 8601 1117 947", "mt84malt011000012345mtlcast001s", "transfer to GB29 NWBK 6016 1331 9268 19"],
    "number": [
        "order 123456",
        "0171%20123%20456",
        "+49 (0)30 12 34 56",
        "born 24.12.1999",
        "12\u200b34\u00a056",
        "١٢٣٤٥٦",
        "电话 一三八零零一三八零零零",
    ],
    "name": ["is ANNA BERG in", "Ánna Bérg", "anna\u200b berg", "o’brien sick", "请问王小明的电话", "ÖZİL"],
}
NAMES = PersonNames.of(["Anna Berg", "O'Brien", "王小明", "özi̇l", "!!"])

CLEAN = [
    "when does the pump start",
    "E17 error on model TX20 dual core",
    "5 pumps, 12 seals and 99 lamps in 2024",
    "what is in the year 12345",
    "token bucket algorithm",
    "annaberg",
    "basic characterization of seals",
    "小明",
    "",
]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in FOUND.items() for text in texts])
def test_a_query_with_personal_data_meets_its_rule(rule: str, text: str) -> None:
    assert personal_data(text, NAMES) == rule


@pytest.mark.parametrize("text", CLEAN)
def test_a_query_without_it_goes_through(text: str) -> None:
    assert personal_data(text, NAMES) is None


def test_every_rule_is_described_and_names_need_a_list() -> None:
    assert list(RULES) == ["secret", "mail", "account", "number", "name"]
    assert personal_data("is anna berg in") is None


PIECES = ["a@", "1 ", "1..", "://a", "?a=", "eyj-", "gb29nwbk", "bearer a", "anna "]


@pytest.mark.parametrize("piece", PIECES)
def test_no_line_takes_longer_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    personal_data(text, NAMES)
    assert time.process_time() - start < 1.0  # a quadratic rule takes minutes
