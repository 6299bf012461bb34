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
        "Which details does the given material provide about pumps?",
        "Following the information provided, when is the valve opened?",
        "According to this guide, how do I reset the pump?",
        "From the description above, what is the flow rate?",
        "What is the text mainly about?",
        "What are the key takeaways from the passage?",
        "What conclusion did the author reach about pumps?",
        "Which of these statements about pumps is correct?",
        "How is pressure defined in the text?",
        "What is shown in Figure 3?",
        "What is discussed in chapter 3 about valves?",
        "What does section 4.2 cover about valves?",
        "What does the chart show about demand?",
        "In the example, what value does the variable have?",
        "In the example above, which port is used?",
        "What two examples of valves are given?",
        "What topic does the document cover?",
        "As the article notes, who built the pump?",
        "What was the purpose of the study?",
        "What did the researchers find about pumps?",
        "How many participants were in the study?",
        "Who is the narrator talking to?",
        "What does the following code do?",
        "What are the steps described here?",
        "What does the image show?",
        "Based on the text, what is the role of pumps?",
        "Considering the excerpt, which valve is best?",
        "Given the context, which valve is best?",
        "In the context of the passage, what does valve mean?",
        "What is the significance of the pump as described?",
        "What is stated about the pump in the document?",
        "Which section explains pump maintenance?",
        "What is the heading of the first paragraph on pumps?",
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
        "根据提供的信息，阀门何时打开？",
        "图3显示了什么？",
        "哪一节介绍了泵的维护？",
        "文档的主题是什么？",
        "该段落主要讲了什么？",
        "文中举了哪些阀门的例子？",
        "作者如何看待水泵？",
        "根据这项研究，有多少水泵失效？",
    ],
    "de": [
        "Worum geht es in diesem Abschnitt?",
        "Was sagt der Autor über die Batterie?",
        "Welche Geräte werden im Text beschrieben?",
        "Welche der folgenden Aussagen stimmt?",
        "Was bedeutet der oben genannte Grenzwert?",
        "Wann wurde dieses Gesetz verkündet?",
        "Welche Angaben macht der gegebene Text zur Pumpe?",
        "Was zeigt Abbildung 3?",
        "In welchem Abschnitt wird die Wartung erklärt?",
        "Wie lautet die Überschrift von Abschnitt 2?",
        "Was ist das Hauptthema des Textes?",
        "Was sagt der Autor über die Pumpe?",
        "Laut der Studie, wie viele Pumpen fielen aus?",
        "Welche Beispiele werden für Ventile genannt?",
        "Basierend auf den Informationen, wann öffnet das Ventil?",
        "Was beschreibt der Artikel über Pumpen?",
        "Auf welcher Seite steht die Wartung?",
        "Wie in der obigen Tabelle gezeigt, was kostet die Pumpe?",
    ],
    "fr": [
        "De quoi parle ce texte ?",
        "Que recommande l'auteur ?",
        "Selon le passage, combien de temps dure la charge ?",
        "Quels appareils sont mentionnés ci-dessus ?",
        "Quand cette loi a-t-elle été annoncée ?",
        "Que montre la figure 3 ?",
        "Selon les informations fournies, quand ouvre-t-on la vanne ?",
        "Dans quelle section parle-t-on de la pompe ?",
        "Quel est le sujet principal du document ?",
        "Quels exemples de vannes sont donnés ?",
        "Que dit le rapport sur la pompe ?",
        "D'après l'étude, combien de pompes ont échoué ?",
        "À quelle page la pompe est-elle décrite ?",
    ],
    "es": [
        "¿De qué trata este texto?",
        "Según el documento, ¿cuánto dura la batería?",
        "¿Qué recomienda el autor?",
        "¿Cuál de las siguientes afirmaciones es correcta?",
        "¿Cuándo se anunció esta ley?",
        "¿Qué muestra la figura 3?",
        "Según la información proporcionada, ¿cuándo se abre la válvula?",
        "¿En qué sección se explica la bomba?",
        "¿Cuál es el tema principal del documento?",
        "¿Qué ejemplos de válvulas se dan?",
        "¿Qué dice el informe sobre la bomba?",
        "De acuerdo con el estudio, ¿cuántas bombas fallaron?",
    ],
    "it": [
        "Di cosa parla questo testo?",
        "Cosa consiglia l'autore?",
        "Secondo il testo, quanto dura la batteria?",
        "Cosa mostra la figura 3?",
        "In base alle informazioni fornite, quando si apre la valvola?",
        "In quale sezione si spiega la pompa?",
        "Qual è l'argomento principale del documento?",
    ],
    "pt": [
        "Do que trata este texto?",
        "Segundo o texto, quanto dura a bateria?",
        "O que o autor recomenda?",
        "O que mostra a figura 3?",
        "Com base nas informações fornecidas, quando se abre a válvula?",
        "Em que seção a bomba é explicada?",
        "Qual é o tema principal do documento?",
    ],
    "ru": [
        "О чём говорится в этом тексте?",
        "Что советует автор статьи?",
        "Какое из следующих утверждений верно?",
        "Согласно тексту, сколько держит заряд батарея?",
        "Когда был принят этот закон?",
        "Он сколько стоит?",
        "Согласно предоставленной информации, когда открывается клапан?",
        "Что показано на рисунке 3?",
        "В каком разделе описан насос?",
        "Какова основная тема документа?",
        "Какие примеры клапанов приводятся?",
        "О чём говорится в статье о насосах?",
    ],
    "ar": [
        "ما موضوع هذا النص؟",
        "وفقا للنص، كم تدوم البطارية؟",
        "ما الأجهزة المذكورة أعلاه؟",
        "متى صدر هذا المرسوم؟",
        "وفقًا للمعلومات المقدمة، متى يفتح الصمام؟",
        "ماذا يوضح الشكل 3؟",
        "في أي قسم يتم شرح المضخة؟",
        "ما الموضوع الرئيسي للنص؟",
        "حسب الدراسة، كم عدد المضخات؟",
    ],
    "hi": ["इस लेख का विषय क्या है?", "पाठ के अनुसार बैटरी कितने समय चलती है?", "निम्नलिखित में से कौन सा सही है?"],
    "ja": [
        "この文章の主題は何ですか",
        "筆者は何を勧めていますか",
        "次のうち正しいものはどれですか",
        "それはいつ作られましたか",
        "提供された情報によると、弁はいつ開きますか？",
        "図3は何を示していますか？",
        "どの章でポンプが説明されていますか？",
        "文書の主なテーマは何ですか？",
        "この資料ではどのような例が挙げられていますか？",
        "本文によれば、ポンプの圧力はいくらですか？",
    ],
    "ko": [
        "이 글의 주제는 무엇인가요?",
        "본문에 따르면 배터리는 얼마나 가나요?",
        "다음 중 옳은 것은?",
        "제공된 정보에 따르면 밸브는 언제 열립니까?",
        "그림 3은 무엇을 보여줍니까?",
        "어느 장에서 펌프를 설명합니까?",
        "이 문서의 주요 주제는 무엇입니까?",
    ],
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
        "What does section 230 of the Communications Decency Act say?",
        "How do I cite a figure in LaTeX?",
        "Which page size does A4 have?",
        "What is the source of the Nile?",
        "How do I delete a table in PostgreSQL?",
        "How long is the main line?",
        "Where is the text editor configuration stored?",
        "How to write a report on sales",
        "What did the Warren Commission report conclude?",
        "Which chapter of the Bible mentions Nineveh?",
        "What example configuration ships with nginx?",
        "How do I run the examples of scikit-learn?",
        "How do I list files below a directory?",
        "How are tables stored in HDF5?",
        "What is the purpose of the article in German grammar?",
        "What does the speaker of the House do?",
        "how to change the context in kubectl",
        "Which section of the Debian archive holds non-free packages?",
        "What is the main function of the kidney?",
        "Where does apt look for source packages?",
        "How do I write a document in Markdown?",
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
        "图书馆几点开门",
        "表格怎么合并单元格",
        "第三章法规什么时候生效",
        "研究生怎么申请奖学金",
        "地图3D怎么打开",
    ],
    "de": [
        "Wer ist der Autor von Faust?",
        "Was steht im Artikel 5 des Grundgesetzes?",
        "Wie oft regnet es dieses Jahr?",
        "Wie lautet Artikel 5 des Grundgesetzes?",
        "Wie füge ich eine Tabelle in Word ein?",
        "Auf welcher Seite liegt die Leber?",
        "Wer schrieb den Bericht des Club of Rome?",
        "Wie viele Seiten hat ein Würfel?",
    ],
    "fr": [
        "Qui est l'auteur de Germinal ?",
        "Qu'est-ce qui est interdit dans l'article 5 du code ?",
        "météo cette semaine",
        "Comment insérer un tableau dans Word ?",
        "Quelle est la page d'accueil de Debian ?",
        "Quel rapport lie la masse à l'énergie ?",
    ],
    "es": [
        "¿Quién es el autor de Rayuela?",
        "¿Qué dice el artículo 14 de la Constitución?",
        "el tiempo esta semana",
        "¿Cómo inserto una tabla en Word?",
        "¿Qué estudio ganó el Óscar?",
    ],
    "it": ["Chi è l'autore di Pinocchio?", "meteo di Roma"],
    "pt": ["Quem é o autor de Os Lusíadas?", "previsão do tempo em Lisboa"],
    "ru": [
        "Кто автор романа «Война и мир»?",
        "погода в этом году",
        "Как оформить возврат товара?",
        "Как вставить таблицу в Word?",
        "Сколько страниц в паспорте?",
    ],
    "ar": ["من هو مؤلف كتاب الأغاني؟", "ما هو الطقس في القاهرة هذا الأسبوع؟", "كيف أدرج جدولا في وورد؟"],
    "hi": ["गोदान के लेखक कौन हैं?", "इस साल मानसून कब आएगा?"],
    "ja": ["吾輩は猫である の著者名", "その他の支払い方法", "図書館は何時に開きますか", "表計算ソフトの使い方"],
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
