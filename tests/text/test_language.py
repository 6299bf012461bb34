"""Language detection, held against human questions and against short queries in many languages."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.text.language import detect_language, same_language, same_script, script_fits

SENTENCES = {
    "en": "How long does the vacuum robot need to charge?",
    "de": "Wie lange muss der Staubsauger am Ladegerät hängen?",
    "fr": "Combien de temps faut-il pour recharger la batterie ?",
    "es": "¿Cuánto tiempo tarda en cargarse la batería del robot?",
    "it": "Quanto tempo ci vuole per ricaricare la batteria?",
    "ru": "Сколько времени заряжается аккумулятор пылесоса?",
    "ar": "كم من الوقت يستغرق شحن البطارية بالكامل؟",
    "hi": "बैटरी को पूरा चार्ज होने में कितना समय लगता है?",
    "th": "แบตเตอรี่ใช้เวลาชาร์จนานเท่าไร",
    "ja": "バッテリーの充電にはどのくらい時間がかかりますか",
    "ko": "배터리를 충전하는 데 얼마나 걸리나요?",
    "zh": "扫地机器人充电需要多长时间",
}
CLOSE = {("it", "es"), ("es", "it")}
"""Languages too close to demand it of a single sentence."""


@pytest.mark.parametrize("language", SENTENCES)
def test_a_question_is_recognised_and_refused_for_another_language_alone(language: str):
    question = SENTENCES[language]
    assert detect_language(question) == language
    assert same_language(question, language) is not False
    others = {other for other in SENTENCES if other != language and (language, other) not in CLOSE}
    assert [other for other in others if same_language(question, other) is not False] == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("如何配置 Kubernetes HorizontalPodAutoscaler", "zh"),
        ("iPhone 15 Pro Max 电池容量", "zh"),
        ("优衣库の新品价格", "zh"),
        ("東京都庁所在地案内図", "ja"),
        ("USB-C ケーブル", "ja"),
        ("Ubuntu server install", "de"),
        ("smart contract deployment", "fr"),
        ("что такое TCP/IP", "ru"),
        ("How are Ergänzungsschulen funded?", "en"),
        ("What does 北京 mean?", "en"),
        ("battery life", "es"),
    ],
)
def test_names_and_abbreviations_of_another_language_are_no_reason_to_refuse(query: str, expected: str):
    assert same_language(query, expected) is not False


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how to configure the router", "zh"),
        ("router setup", "zh"),
        ("什么是DNA", "en"),
        ("この製品の保証期間は", "zh"),
        ("青藏铁路全长多少公里", "ja"),
        ("青藏铁路全长多少公里", "ko"),
        ("Please explain the meaning of 法 in the history of law", "zh"),
    ],
)
def test_a_query_in_the_wrong_script_is_refused(query: str, expected: str):
    assert same_language(query, expected) is False


@pytest.mark.parametrize("text", ["", "12345", "🙂🙂"])
def test_text_without_words_has_no_language(text: str):
    assert detect_language(text) is None
    assert same_language(text, "en") is None


def test_a_region_does_not_matter():
    assert same_language("扫地机器人充电需要多长时间", "zh-TW") is True


def test_a_variety_counts_as_its_language():
    assert same_language("Hvor lang tid tar det å lade batteriet helt opp?", "nb") is not False


def test_a_long_text_is_judged_by_all_of_its_parts():
    assert detect_language("Short title. " + "扫地机器人充电需要多长时间。" * 5000) == "zh"


def test_a_latin_query_fits_a_chinese_text_half_of_which_is_latin():
    assert same_script("docker compose", "安装 docker compose up restart logs 命令 build push pull tag 镜像")


def test_a_bag_of_words_is_judged_by_its_script_only():
    assert script_fits("Wasser Energie Leitung Druck Messung Anlage", "en") is True
    assert script_fits("вода энергия давление", "en") is False


@pytest.mark.parametrize("language", ["en", "zh", "hi"])
def test_no_human_question_is_refused_and_hardly_any_is_given_to_another_language(collections: Path, language: str):
    lines = (collections / f"xquad_{language}" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["text"] for line in lines]
    assert [text for text in questions if same_language(text, language) is False] == []
    found = Counter(map(detect_language, questions))
    assert found[language] >= 0.9 * found.total()
    assert found.total() - found[language] - found[None] <= 0.02 * found.total()


@given(st.text(max_size=200), st.sampled_from([*SENTENCES, "xx", "sr", "zh-TW", "nb"]))
def test_any_text_gets_an_answer(text: str, language: str):
    assert same_language(text, language) in {True, False, None}
    found = detect_language(text)
    assert found is None or (len(found) == 2 and found.islower())
