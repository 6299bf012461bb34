"""Words that point at a page the reader of a query cannot see: «this section», «the author», a leading «it».

The patterns are kept narrow: «the author of Emma», «the table of contents», «how long does it take to …» and «the
following year» are good queries. What they let through costs one odd query, what they take wrongly costs good ones.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from pipeline.text.scripts import script_of

_BY_SCRIPT = {
    "Latin": "en", "Han": "zh", "Hiragana": "ja", "Katakana": "ja", "Hangul": "ko", "Cyrillic": "ru", "Arabic": "ar",
    "Devanagari": "hi", "Thai": "th",
}  # fmt: skip

_END = r"\s*(?:$|[?!.,;:？！。，；：،؟।])"

_EN_TEXT = r"(?:passage|text|document|article|section|excerpt|context|author|figure|table|paragraph|chapter|page|snippet)"
_EN_ABOUT = (
    r"(?:above|below|says?|said|mentions?|states?|describes?|discuss(?:es)?|explains?|refers?|suggests?|claims?|argues?|"
    r"gives?|provides?|lists?|covers?|implies|indicates?|notes?|points? out|recommends?|uses?|means?|is|are|was|were|does|do|did|that|as|about)"
)
_EN_TIME = r"(?:year|years|month|week|weekend|season|century|decade|day|morning|evening|summer|winter|spring|autumn|time)"

_PATTERNS: dict[str, tuple[str, ...]] = {
    "en": (
        rf"\b(?:this|these|given|provided|attached|preceding|accompanying) {_EN_TEXT}s?\b(?! (?:of|type|element|tag|mining|editor|file)\b)",
        rf"\b(?:the|each|these) (?:passage|excerpt|snippet|text|author|article|document|paragraph)(?:s?['’]s?\b|s? {_EN_ABOUT}\b)",
        rf"\b(?:in|from|by|within|throughout|per|under|with|to) the {_EN_TEXT}s?(?={_END})",
        rf"\b(?:the|this) (?:section|context|figure|table|chapter|page) (?:above|below|says?|states?|mentions?|describes?|discuss(?:es)?|explains?)\b",
        rf"\b(?:in|from|within) the {_EN_TEXT}s?,? (?:what|which|who|how|why|when|where)\b",
        rf"\baccording to (?:(?:the|this|these) )?(?:given |provided |above )?(?:{_EN_TEXT}|information|data|description|source|study|report|survey|statement)s?\b(?! (?:of|by|from|on|type)\b)",
        r"\b(?:as|than|from|shown|see|listed|given|described|mentioned|stated|defined|provided) (?:above|below)\b(?! (?:the|a|an|zero|sea|average|ground|\d))",
        r"\b(?:above|below|afore)[- ]?(?:mentioned|listed|described|given|named|stated)\b",
        rf"\b(?:the|this|these) (?:above|aforementioned)\b|\b(?:of the|the|these) following\b(?! {_EN_TIME})",
        r"\bmentioned\b(?! (?:in|by|on|at|to|as|with|alongside)\b)|\b(?:described|listed|shown|stated|discussed|outlined) (?:here|earlier|previously)\b",
        r"^(?:(?:it|they|he|she|its|their|his)\b(?-i:(?<!IT))(?! (?:is|was|takes|took|will take|follows) .*\b(?:to|that|for)\b))",
        rf"^(?:this|these) (?!is us\b|{_EN_TIME}\b|way\b)(?!.*,\s*(?:what|which|who|how|where|when|name)\b)",
        rf"(?<!^)(?<!,.*|\bif\b.*|\bwhen\b .{{20,}})\b(?:this|these) (?!{_EN_TIME}\b|way\b|type\b|kind\b)\p{{Ll}}+",
        r"^(?:what|where|when|why|how|who|whom|which)\b(?:['’]s)? (?:(?:much|many|long|often|old|else|is|are|was|were|"
        r"do|does|did|has|have|had|can|could|should|would|will|must|may|might) )*(?:he|she|they|this|these)\b"
        r"(?! (?:who|that)\b)",
        r"^(?:what|where|when|why|how|who)\b(?:['’]s)? (?:(?:much|many|long|often|old|is|was|do|does|did|has|had|can|could|"
        r"should|would|will|must|may|might) )+it\b(?-i:(?<!IT))(?!.*\b(?:to|that|for|when|if|like|be|called|between)\b)"
        r"(?! (?:cost|take|rain|snow|mean))",
    ),
    "zh": (
        r"(?:本|这|這|该|該|此|上述|以上|下述|前述|所给|所給|给定|給定)(?:一)?(?:个|個|段|篇|份|张|張)?(?:文章|文本|文档|文檔|文献|文獻|段落|段文字|段话|段話|章节|章節|材料|资料|資料|内容|內容|片段|摘录|摘錄|节选|節選|图表|圖表|表格|语境|語境|上下文|部分内容|作者)",
        r"本文(?!化|明|字|件|本)|(?<![^，,。（(在从從据據])文中(?!学|學|国|國|心)|上文|下文(?!件)|前文(?!明|化)|该文(?![化明字件本])|此文(?![化明字件本])",
        r"(?:文章|段落|原文|文本|材料|短文)(?:中|里|裡|内|內|说|說|提到|提及|指出|认为|認為|的标题|的標題|所述|描述|介绍|介紹)",
        r"(?:作者|笔者|筆者)(?:认为|認為|指出|提到|提及|强调|強調|建议|建議|在文|的观点|的觀點|想|为什么|為什麼|如何看|对.{1,12}(?:看法|态度|態度|评价|評價))",
        r"(?:根据|根據|依据|依據|按照|依照|基于|基於|据|據)(?:上述|以上|下述|本|该|該|此|这|這|文章|文中|文本|原文|材料|资料|資料|内容|內容|所给|所給|给出|給出|提供|描述|介绍|介紹|信息)(?!库|庫)",
        r"如(?:上|下)(?:所|图|圖|表|文)|(?<![之以而低高])(?:上|下|右|左)(?:图|圖|表)(?!书|層|层|达|達|面|示)|(?:以下|下列|上列)(?:哪|选项|選項|说法|說法|关于|關於|各项|各項|描述|叙述|敘述|内容|內容)",
        r"(?<!中)(?:提到|提及|所说|所說|所述)的|(?:上面|前面|下面)(?:提到|提及|所述|所说|所說|的)",
        r"^(?:它|他|她|牠)(?!人|乡|鄉|山)|^其(?!他|它|余|餘|实|實|中|次|乐|樂)|^(?:这|這|那)(?!不勒斯|曲|英|拉提)",
        r"^[^，,；;“”\"《》]{0,5}(?<![应應活])(?:(?:这|這)(?:个|個|位|些|种|種|项|項|类|類|次|座|场|場|本|首|条|條|款|家|所|份|届|一)|该|該)(?!死)",
        r"(?<![，,；;].*)[了着过過](?:这|這)(?:个|個|位|些|种|種|项|項|类|類|座|场|場|本|首|条|條|款|家|所|份|届)",
    ),
    "de": (
        r"\bdies(?:e|er|es|em|en) (?:text|abschnitt|absatz|artikel|dokument|passage|auszug|kapitel|autor|autorin|abbildung|tabelle|kontext|seite|textstelle)\w*",
        r"\b(?:im|aus dem|in dem|laut|laut dem|laut der|gemäß dem|nach dem|des) (?:vorliegenden |obigen |gegebenen )?(?:text(?:es|s)?|abschnitts?|absatz(?:es)?|artikels?|dokuments?|auszug(?:s|es)?|autors?|passage|textstelle)\b(?! (?:\d|des|der|von|über|zum|zur)\b)",
        r"\b(?:der|die) (?:autor|autorin|verfasser|verfasserin)\b(?! (?:des|der|von|eines|einer)\b)",
        r"\b(?:oben|unten|zuvor|vorstehend|nachstehend|hier) (?:genannt|erwähnt|beschrieben|aufgeführt|dargestellt|gezeigt)\w*|\b(?:obig|obenstehend|untenstehend|obengenannt|vorgenannt)\w*",
        r"\b(?:der|die|den) folgenden\b(?! (?:jahr|tag|woche|monat|saison)\w*)|\b(?<!nicht )(?:genannten|erwähnten)\b",
        r"^(?:dies|dieser|diese|dieses|diesem|diesen)\b(?! (?:jahr|woche|monat|saison)\b)|^(?:er|ihn|ihm)\b",
        r"(?<!^)(?<!,.*|\bwenn\b.*)\bdies(?:er|e|es|em|en) (?!jahr|woche|monat|saison|zeit|weise|art\b)\p{L}+",
        r"^(?:was|wo|wann|warum|wie|wer|wozu)(?: (?:viel|lange|oft|ist|war|hat|hatte|kann|soll|wird|wurde|muss|funktioniert))* (?:er|ihn|ihm)\b",
    ),
    "fr": (
        r"\b(?:ce|cet|cette|ces) (?:textes?|passages?|documents?|articles?|extraits?|paragraphes?|sections?|chapitres?|auteurs?|figures?|tableaux?|contextes?|page)\b",
        r"\b(?:selon|d['’]après|dans|de) (?:le |la |l['’])(?:texte|passage|extrait|document|article|paragraphe|auteure?)\b(?! (?:d['’e]|du|des|sur|\d))(?! \d)",
        r"\bl['’]auteure?\b(?! (?:d['’e]|du|des)\b)(?! d['’])",
        r"\bci-(?:dessus|dessous|après|avant)\b|\bsusmentionné|\bsusdit|\bmentionnée?s?\b(?! (?:dans|par|sur|au|à|en)\b)|\bparmi les \w*\s*suivant",
        r"\b(?:les|des|la|le) \p{L}+ suivante?s\b",
        r"^(?:ceci|cela|celui-ci|celle-ci|ils|elles?)\b|^il (?!y a\b|faut\b|est \w+ (?:de|que)\b|existe\b|pleut\b)",
        r"(?<!,.*|\bsi\b.*)\b(?:cet|cette|ces) (?!année|semaine|saison|jour|mois|époque|façon)\p{L}+",
        r"^(?:qu['’]est-ce qu['’]|où|quand|comment|pourquoi|que|combien)\s*(?:est-ce qu['’])?(?:elles?|ils)\b",
    ),
    "es": (
        r"\b(?:este|esta|estos|estas|ese|esa|dicho|dicha|el presente|la presente) (?:textos?|pasajes?|documentos?|artículos?|fragmentos?|párrafos?|sección|secciones|capítulos?|autora?|figuras?|tablas?|contexto|página)\b",
        r"\b(?:según|en|de acuerdo con|del?) (?:el |la )?(?:texto|pasaje|fragmento|documento|artículo|párrafo|autora?)\b(?! (?:de|del|sobre|\d))",
        r"\b(?:el|la) autora?\b(?! (?:de|del)\b)",
        r"\bmencionad[oa]s?\b(?! (?:en|por|a|al|como)\b)|\b(?:arriba|abajo|anteriormente) (?:mencionad|descrit|citad|indicad)\w+|\b(?:antes|más arriba|más abajo) (?:mencionad|descrit|citad)\w+",
        r"\b(?:los|las|de los|de las) siguientes\b(?! (?:años|días|meses|semanas))",
        r"^(?:esto|este|esta|estos|estas|eso|ello|él|ella|ellos|ellas)\b(?! (?:año|semana|mes|temporada)\b)",
        r"(?<!^)(?<!,.*|\bsi\b.*)\b(?:este|esta|estos|estas|dicho|dicha|dichos|dichas) (?!año|semana|mes|temporada|momento|época|tipo|forma)\p{L}+",
    ),
    "it": (
        r"\b(?:questo|questa|questi|queste|quest['’]) ?(?:testo|brano|passaggio|documento|articolo|estratto|paragrafo|sezione|capitolo|autore|autrice|figura|tabella|contesto|pagina)\b",
        r"\b(?:secondo|nel|nell['’]|dal|del|dell['’]|in base al) ?(?:il |la |l['’])?(?:testo|brano|documento|articolo|estratto|paragrafo|autore|autrice)\b(?! (?:di|del|della|dei|su|\d))",
        r"\bl['’](?:autore|autrice)\b(?! (?:di|del|della|dei)\b)|\bsopra (?:citat|menzionat|descritt|indicat)\w+|\bsuddett\w+|\bsopraccitat\w+|\bmenzionat[oaie]\b(?! (?:in|nel|nella|da|dal|dalla)\b)",
        r"\b(?:i|le|dei|delle|tra i|tra le) seguenti\b|^(?:questo|questa|questi|queste|ciò|esso|essa|essi|esse|egli)\b(?! (?:anno|settimana|mese|stagione)\b)",
    ),
    "pt": (
        r"\b(?:este|esta|estes|estas|esse|essa|deste|desta|neste|nesta|nesse|nessa|o presente) (?:textos?|trechos?|passagem|documentos?|artigos?|parágrafos?|seção|secção|capítulos?|autora?|figuras?|tabelas?|contexto|página)\b",
        r"\b(?:segundo|no|do|na|de acordo com|conforme) (?:o |a )?(?:texto|trecho|documento|artigo|parágrafo|autora?)\b(?! (?:de|do|da|dos|sobre|\d))",
        r"\b(?:o|a) autora?\b(?! (?:de|do|da|dos|das)\b)|\b(?:acima|abaixo|anteriormente) (?:mencionad|citad|descrit|indicad)\w+|\bmencionad[oa]s?\b(?! (?:em|no|na|por|pelo|pela)\b)",
        r"\b(?:os|as|dos|das) seguintes\b|^(?:isto|isso|este|esta|estes|estas|ele|ela|eles|elas)\b(?! (?:ano|semana|mês)\b)",
    ),
    "ru": (
        r"\b(?:эт(?:от|ом|ого|ому|им|ой|у|а|и|их|о)|данн\p{L}+|приведённ\p{L}+|приведенн\p{L}+|представленн\p{L}+) (?:текст|отрыв|документ|стать|раздел|фрагмент|абзац|глав|автор|таблиц|рисун|контекст|пункт)\p{L}*",
        rf"\b(?:в|из|по) (?:тексте|тексту|текста|отрывк\p{{L}}+|статье|статьи|документе|документа|фрагмент\p{{L}}+|абзац\p{{L}}+)(?={_END})",
        r"\bсогласно (?:тексту|статье|документу|отрывку|автору|фрагменту|абзацу)\b(?! (?:\d|о\b|об\b|«))",
        r"\bавтор(?:а|у|ом)? (?:текста|статьи|отрывка|документа|пишет|считает|говорит|утверждает|упоминает|называет|описывает|отмечает)\b",
        r"\bвыше(?:упомянут|указанн|описанн|приведённ|приведенн|названн|изложенн)\p{L}+|\bниже(?:следующ|приведённ|приведенн|описанн|указанн)\p{L}+|\b(?:указанн|описанн|упомянут|названн)\p{L}+ (?:выше|ниже|здесь)",
        r"\bупомянут\p{L}*\b(?! (?:в|во|на)\b)|\bиз следующих\b|\bследующ(?:ие|их) (?:утвержден|вариант|пункт|ответ)\p{L}*",
        r"^(?:он|она|оно|они|его|её|ее|их|эт(?:о|от|а|и))\b",
        r"(?<!^)(?<!,.*|\bесли\b.*)\bэт(?:от|ого|ому|им|ом|ой|у|и|их|ими|а) (?!год|недел|сезон|месяц|врем|период|ж\b|же\b)\p{L}{3,}",
        r"^(?:что|где|когда|почему|как|зачем|сколько) (?:он|она|оно|они)\b",
    ),
    "ar": (
        r"(?<!\p{L})(?:هذا|هذه|ذلك|تلك|هذين|هاتين) ال(?:نص|نصوص|مقال|مقالة|فقرة|وثيقة|مستند|قسم|مقطع|جدول|شكل|كاتب|مؤلف|سياق|فصل|صفحة)(?!\p{L})",
        r"(?<!\p{L})(?:في|من|حسب|بحسب|يقول|يذكر|ذكر|يشير|وفق) ال(?:نص|مقال|مقالة|فقرة|وثيقة|مستند|مقطع|كاتب|مؤلف)(?!\p{L}| ال)|(?:وفقا|وفقًا|وفقاً|طبقا|طبقًا|طبقاً) لل?ل?(?:نص|مقال|مقالة|فقرة|وثيقة|مستند|مقطع|كاتب|مؤلف)(?!\p{L})",
        r"(?<!\p{L})(?:أعلاه|أدناه|فيما يلي|مما يلي|المذكور|المذكورة|المذكورين|المشار إليها?|الآنف|آنفا|آنفًا|سالف الذكر)(?!\p{L})",
        r"^(?:هذا|هذه|هؤلاء|إنه|إنها|انه|انها)(?!\p{L})(?! (?:العام|الشهر|الأسبوع|الموسم))",
        r"(?<!،.*|(?<!\p{L})إذا(?!\p{L}).*|^)(?<!\p{L})(?:هذا|هذه|هؤلاء) (?!.*،\s*ف?(?:ماذا|ما|من) )(?!العام|الشهر|الأسبوع|الموسم|اليوم|النوع)ال\p{L}+",
    ),
    "hi": (
        r"(?<![\p{L}\p{M}])(?:इस|उस|इन|उपरोक्त|उपर्युक्त|दिए गए|दिये गये|प्रस्तुत) (?:लेख|गद्यांश|पाठ|अनुच्छेद|खंड|दस्तावेज़?|अंश|तालिका|चित्र|लेखक|संदर्भ|टेक्स्ट)(?![\p{L}\p{M}])",
        r"(?<![\p{L}\p{M}])(?:लेख|पाठ|टेक्स्ट|गद्यांश|अनुच्छेद|दस्तावेज़?|लेखक) के अनुसार",
        r"(?<![\p{L}\p{M}])(?:गद्यांश|अनुच्छेद|लेख|पाठ|टेक्स्ट|दस्तावेज़?) (?:में(?= ?(?:,|क्या|कौन|किस|कितन|बताया|उल्लेख|वर्णित|$|\?))|के शीर्षक)",
        r"उपरोक्त|उपर्युक्त|निम्नलिखित|(?:ऊपर|नीचे) (?:दिए|दिये|बताए|वर्णित|उल्लिखित|दी)",
        r"^(?:यह|ये|वह|वे|इसे|इसका|इसकी|इसके|इसमें|उसका|उसकी|उसके|उन्होंने|उसने|उनका|उनकी|उनके)(?![\p{L}\p{M}])(?!.*(?:जो|जिस|जिन| कि ))",
        r"(?<!,.*|यदि.*|अगर.*|जब.*)(?<![\p{L}\p{M}])(?:इस|इन) (?!साल|वर्ष|सप्ताह|महीने|सीज़न|सीजन|समय|तरह|प्रकार|दिन)[\p{L}\p{M}]+(?!.*(?:जो|जिस|जिन))",
    ),
    "ja": (
        r"(?:この|本|当該|上記の?|下記の?|次の|前述の|以下の|上の|下の|与えられた)(?:文章|文書|テキスト|段落|節|章|記事|資料|図表|図|表|著者|筆者|抜粋|文脈|セクション|ドキュメント|文(?![化明学字献]))",
        r"本文(?!化|明)|文中(?!国)|(?:文章|記事|テキスト|資料|文書)(?:中|内)?(?:で|に|の中)(?:は)?(?:よると|よれば|述べ|書か|記さ|言及|紹介|説明|基づ)",
        r"(?:筆者|著者)(?:は|が|の主張|によ)|(?:上記|下記|上述|前述|後述)の?|(?:以下|次)の(?:うち|選択肢|説明|中)",
        r"^(?:それ|これ|彼女|彼ら|彼(?=[はがのを])|その|この(?!ほど|世|間))|(?<![、,].*)(?:この|これらの)(?!ほど|世|年|たび)",
    ),
    "ko": (
        r"(?<!\p{L})(?:이|본|해당|위|아래|다음|상기|주어진)(?:의)? ?(?:글|지문|본문|문서|문단|단락|기사|텍스트|문장|절|장|표|그림|저자|필자|내용)(?=[\s은는이가을를의에과와?,.]|$)",
        r"(?:본문|지문|기사|텍스트|문단)(?:에 ?따르면|에서|의 내용)|(?:저자|필자)(?:는|가|의 주장)|(?<!\p{L})(?:위에서|아래의|다음 중|앞서|상기|전술한|언급된)(?!\p{L})",
        r"^(?:그것|이것|그는|그녀|그들|이는|이 \p{L}+)",
    ),
    "th": (
        r"(?:ข้อความ|บทความ|ย่อหน้า|เอกสาร|เนื้อหา|ตาราง|รูป|ภาพ|ผู้เขียน|ส่วน|บทนี้)(?:นี้|ดังกล่าว|ข้างต้น|ด้านบน|ต่อไปนี้|ที่กำหนด|ที่ให้มา)",
        r"(?:ตาม|จาก)(?:ข้อความ|บทความ|ย่อหน้า|เนื้อหา)|(?:ในชื่อ|ใน)(?:ของ)?บทความ(?= |$|นี้)|ข้างต้น|ดังกล่าว|ต่อไปนี้|ที่กล่าวถึง(?=$| )|ที่กล่าวมา",
        r"^(?:มัน|พวกเขา|สิ่งนี้|นี่)(?!ฝรั่ง|สำปะหลัง|เทศ)",
    ),
}  # fmt: skip


def deixis(text: str, language: str | None) -> str | None:
    """Return the first words of a query that point at something outside it, None where there are none.

    Args:
        text: A query.
        language: ISO 639-1; where it is None or has no patterns here, the commonest language of the script.
    """
    known = (language or "").split("-")[0]
    patterns = _compiled(known if known in _PATTERNS else _BY_SCRIPT.get(script_of(text) or "", ""))
    query = text.strip()
    for pattern in patterns:
        found = pattern.search(query)
        if found:
            return " ".join(found.group().split())
    return None


@lru_cache(maxsize=32)
def _compiled(language: str) -> tuple[regex.Pattern[str], ...]:
    return tuple(regex.compile(pattern, regex.IGNORECASE) for pattern in _PATTERNS.get(language, ()))
