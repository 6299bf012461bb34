"""Queries that point at a page nobody sees, and queries that only look so."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.pipeline.text.deixis import deixis

POINTING = {
    "en": [
        "What does this section describe?",
        "What is the passage about?",
        "According to the text, how long does charging take?",
        "What does the author recommend?",
        "Which of the following is true?",
        "What is the limit mentioned above?",
        "as described below how do I reset the router",
        "Which directive mentioned was created in 1994?",
        "It stops after a restart",
        "They changed the filter when?",
        "This device supports which modes?",
        "What does it do?",
        "When was he elected by Nixon?",
        "Who is the English translator of this hymn?",
        "how many rows are in the table?",
        "What is the author's main argument?",
        "what is shown in the figure below",
    ],
    "zh": [
        "这篇文章主要讲了什么",
        "本文的作者是谁",
        "根据上述内容，电池能用多久",
        "根据文中描述，如何重置路由器",
        "文章中提到的设备有哪些",
        "它的电池容量是多少",
        "下列哪项说法正确",
        "该法令是何时宣布的",
        "作者认为最重要的因素是什么",
        "如上图所示的接口叫什么",
        "這首讚美詩的譯者是誰",
    ],
    "de": [
        "Worum geht es in diesem Abschnitt?",
        "Was sagt der Autor über die Batterie?",
        "Welche Geräte werden im Text beschrieben?",
        "Welche der folgenden Aussagen stimmt?",
        "Was bedeutet der oben genannte Grenzwert?",
        "Wann wurde dieses Gesetz verkündet?",
    ],
    "fr": [
        "De quoi parle ce texte ?",
        "Que recommande l'auteur ?",
        "Selon le passage, combien de temps dure la charge ?",
        "Quels appareils sont mentionnés ci-dessus ?",
        "Quand cette loi a-t-elle été annoncée ?",
    ],
    "es": [
        "¿De qué trata este texto?",
        "Según el documento, ¿cuánto dura la batería?",
        "¿Qué recomienda el autor?",
        "¿Cuál de las siguientes afirmaciones es correcta?",
        "¿Cuándo se anunció esta ley?",
    ],
    "it": ["Di cosa parla questo testo?", "Cosa consiglia l'autore?", "Secondo il testo, quanto dura la batteria?"],
    "pt": ["Do que trata este texto?", "Segundo o texto, quanto dura a bateria?", "O que o autor recomenda?"],
    "ru": [
        "О чём говорится в этом тексте?",
        "Что советует автор статьи?",
        "Какое из следующих утверждений верно?",
        "Согласно тексту, сколько держит заряд батарея?",
        "Когда был принят этот закон?",
        "Он сколько стоит?",
    ],
    "ar": ["ما موضوع هذا النص؟", "وفقا للنص، كم تدوم البطارية؟", "ما الأجهزة المذكورة أعلاه؟", "متى صدر هذا المرسوم؟"],
    "hi": ["इस लेख का विषय क्या है?", "पाठ के अनुसार बैटरी कितने समय चलती है?", "निम्नलिखित में से कौन सा सही है?"],
    "ja": [
        "この文章の主題は何ですか",
        "筆者は何を勧めていますか",
        "次のうち正しいものはどれですか",
        "それはいつ作られましたか",
    ],
    "ko": ["이 글의 주제는 무엇인가요?", "본문에 따르면 배터리는 얼마나 가나요?", "다음 중 옳은 것은?"],
    "th": ["ข้อความนี้เกี่ยวกับอะไร", "จากบทความ แบตเตอรี่ใช้ได้นานเท่าไร", "อุปกรณ์ที่กล่าวมามีอะไรบ้าง"],
}
STANDING_ALONE = {
    "en": [
        "Who is the author of War and Peace?",
        "where is the table of contents in Word",
        "What happened in the following year?",
        "IT support hours",
        "How long does it take to charge the robot?",
        "Is it safe to wash the filter with soap?",
        "How much does it cost to replace a screen?",
        "how many times is Nineveh mentioned in the Bible",
        "the text editor keeps crashing on save",
        "temperatures below zero and above average rainfall",
        "What is the average temperature this year?",
        "According to the Geneva Convention, who is a civilian?",
        "This Is Us season 3 cast",
        "how old was Peyton Manning when he retired",
        "This acid is found in lemons, what is it called?",
        "the figure skating rules of 2018",
        "What type of city has Warsaw been for as long as it's been a city?",
    ],
    "zh": [
        "应该如何更换滤芯",
        "其他国家的增值税率是多少",
        "因此产生的费用由谁承担",
        "中文中如何表示感谢",
        "氧气这个词最早由谁使用",
        "上海图书馆的开放时间",
        "红楼梦的作者是谁",
        "零度以下电池还能用吗",
        "圣经中提到的第一座城市",
    ],
    "de": [
        "Wer ist der Autor von Faust?",
        "Was steht im Artikel 5 des Grundgesetzes?",
        "Wie oft regnet es dieses Jahr?",
    ],
    "fr": [
        "Qui est l'auteur de Germinal ?",
        "Qu'est-ce qui est interdit dans l'article 5 du code ?",
        "météo cette semaine",
    ],
    "es": ["¿Quién es el autor de Rayuela?", "¿Qué dice el artículo 14 de la Constitución?", "el tiempo esta semana"],
    "it": ["Chi è l'autore di Pinocchio?", "meteo di Roma"],
    "pt": ["Quem é o autor de Os Lusíadas?", "previsão do tempo em Lisboa"],
    "ru": ["Кто автор романа «Война и мир»?", "погода в этом году", "Как оформить возврат товара?"],
    "ar": ["من هو مؤلف كتاب الأغاني؟", "ما هو الطقس في القاهرة هذا الأسبوع؟"],
    "hi": ["गोदान के लेखक कौन हैं?", "इस साल मानसून कब आएगा?"],
    "ja": ["吾輩は猫である の著者名", "その他の支払い方法"],
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
@pytest.mark.parametrize(("language", "share"), [("en", 0.02), ("zh", 0.03), ("ar", 0.02), ("hi", 0.02), ("th", 0.01)])
def test_few_human_questions_point(collections: Path, language: str, share: float):
    lines = (collections / f"xquad_{language}" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    pointing = [line for line in lines if deixis(json.loads(line)["text"], language)]
    assert len(pointing) <= share * len(lines)


@given(st.text(max_size=500), st.sampled_from([*POINTING, None]))
def test_any_text_gets_an_answer_of_one_line(text: str, language: str | None):
    found = deixis(text, language)
    assert found is None or len(found.splitlines()) == 1


@pytest.mark.parametrize("language", POINTING)
@pytest.mark.parametrize("piece", ["this ", "how much ", ", ", "这", "該", "a", " ", "if when ", "dieses "])
def test_no_pattern_takes_long(language: str, piece: str):
    started = time.process_time()
    deixis((piece * 500)[:500], language)
    assert time.process_time() - started < 0.5
