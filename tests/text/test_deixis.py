"""Queries that point at a page nobody sees, and queries that only look so."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.text.deixis import deixis

POINTING = {
    "en": [
        "What does this section describe?",
        "According to the text, how long does charging take?",
        "Which of the following is true?",
        "What is the limit mentioned above?",
        "It stops after a restart",
        "When was he elected by Nixon?",
        "What is shown in Figure 3?",
        "What does section 4.2 cover about valves?",
        "What two examples of valves are given?",
        "How many participants were in the study?",
        "What does the following code do?",
        "Which section explains pump maintenance?",
    ],
    "zh": ["本文的作者是谁", "根据上述内容，电池能用多久", "它的电池容量是多少", "图3显示了什么？"],
    "de": [
        "Worum geht es in diesem Abschnitt?",
        "Auf welcher Seite steht die Wartung?",
        "Wie in der obigen Tabelle gezeigt, was kostet die Pumpe?",
    ],
    "fr": [
        "De quoi parle ce texte ?",
        "D'après l'étude, combien de pompes ont échoué ?",
        "À quelle page la pompe est-elle décrite ?",
    ],
    "es": [
        "¿De qué trata este texto?",
        "¿Qué dice el informe sobre la bomba?",
        "De acuerdo con el estudio, ¿cuántas bombas fallaron?",
    ],
    "it": [
        "Di cosa parla questo testo?",
        "In quale sezione si spiega la pompa?",
        "Qual è l'argomento principale del documento?",
    ],
    "pt": ["Do que trata este texto?", "Em que seção a bomba é explicada?", "Qual é o tema principal do documento?"],
    "ru": [
        "О чём говорится в этом тексте?",
        "Какие примеры клапанов приводятся?",
        "О чём говорится в статье о насосах?",
    ],
    "ar": ["ما موضوع هذا النص؟", "ما الموضوع الرئيسي للنص؟", "حسب الدراسة، كم عدد المضخات؟"],
    "hi": ["इस लेख का विषय क्या है?", "पाठ के अनुसार बैटरी कितने समय चलती है?", "निम्नलिखित में से कौन सा सही है?"],
    "ja": [
        "この文章の主題は何ですか",
        "この資料ではどのような例が挙げられていますか？",
        "本文によれば、ポンプの圧力はいくらですか？",
    ],
    "ko": ["이 글의 주제는 무엇인가요?", "어느 장에서 펌프를 설명합니까?", "이 문서의 주요 주제는 무엇입니까?"],
    "th": ["ข้อความนี้เกี่ยวกับอะไร", "จากบทความ แบตเตอรี่ใช้ได้นานเท่าไร", "อุปกรณ์ที่กล่าวมามีอะไรบ้าง"],
}
STANDING_ALONE = {
    "en": [
        "Who is the author of War and Peace?",
        "IT support hours",
        "How long does it take to charge the robot?",
        "What is the average temperature this year?",
        "According to the Geneva Convention, who is a civilian?",
        "This acid is found in lemons, what is it called?",
        "What does section 230 of the Communications Decency Act say?",
        "How do I delete a table in PostgreSQL?",
        "How do I list files below a directory?",
    ],
    "zh": ["其他国家的增值税率是多少", "氧气这个词最早由谁使用", "零度以下电池还能用吗", "地图3D怎么打开"],
    "de": ["Wer ist der Autor von Faust?", "Wie viele Seiten hat ein Würfel?"],
    "fr": ["Qui est l'auteur de Germinal ?", "Quel rapport lie la masse à l'énergie ?"],
    "es": ["¿Quién es el autor de Rayuela?", "¿Qué estudio ganó el Óscar?"],
    "it": ["Chi è l'autore di Pinocchio?", "meteo di Roma"],
    "pt": ["Quem é o autor de Os Lusíadas?", "previsão do tempo em Lisboa"],
    "ru": ["Кто автор романа «Война и мир»?", "Сколько страниц в паспорте?"],
    "ar": ["من هو مؤلف كتاب الأغاني؟", "كيف أدرج جدولا في وورد؟"],
    "hi": ["गोदान के लेखक कौन हैं?", "इस साल मानसून कब आएगा?"],
    "ja": ["吾輩は猫である の著者名", "表計算ソフトの使い方"],
    "ko": ["이순신 장군의 업적은 무엇인가요?", "서울의 오늘 날씨"],
    "th": ["ใครเป็นผู้เขียนสี่แผ่นดิน", "มันฝรั่งปลูกอย่างไร"],
}


def _cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, query) for language, queries in table.items() for query in queries]


@pytest.mark.parametrize(("language", "query"), _cases(POINTING))
def test_a_query_that_points_at_the_page_is_seen(language: str, query: str):
    assert deixis(query, language) is not None


@pytest.mark.parametrize(("language", "query"), _cases(STANDING_ALONE))
def test_a_query_that_stands_alone_is_left_alone(language: str, query: str):
    assert deixis(query, language) is None


def test_without_a_language_the_script_chooses_the_patterns():
    assert deixis("本文的作者是谁", None) is not None
    assert deixis("What does this section describe?", "sw") is not None


def test_the_words_at_fault_are_named():
    assert deixis("What does this section describe?", "en") == "this section"


# Human questions do point now and then («this hymn», «the text says»): read one by one, nearly all of these do.
@pytest.mark.parametrize(("language", "share"), [("en", 0.02), ("zh", 0.03)])
def test_few_human_questions_point(collections: Path, language: str, share: float):
    lines = (collections / f"xquad_{language}" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    pointing = [line for line in lines if deixis(json.loads(line)["text"], language)]
    assert len(pointing) <= share * len(lines)


@given(st.text(max_size=500), st.sampled_from([*POINTING, None]))
def test_any_text_gets_an_answer_of_one_line(text: str, language: str | None):
    found = deixis(text, language)
    assert found is None or len(found.splitlines()) == 1


@pytest.mark.parametrize("language", POINTING)
def test_no_pattern_takes_long(language: str):
    started = time.process_time()
    for piece in ("this ", "how much ", "這", "该", "a", " ", "dieses "):
        deixis((piece * 500)[:500], language)
    assert time.process_time() - started < 1
