"""The words that people's queries are held together with, per language, commonest first.

A table, not a count over the corpus: they belong to whoever asks, and do not change when a document is added.
"""

from __future__ import annotations

_COMMONEST = {
    "ar": "في من ما على هو التي إلى هي كيف عن",
    "bn": "কি এর কে এবং থেকে কোন হয় কত",
    "cs": "v a na je co se jak z pro kdy",
    "da": "i og er en af hvad det til på hvordan",
    "de": "der die in und was das von ist den wie",
    "el": "το της και του η για τι είναι στο πώς",
    "en": "the of in and what is to a for how",
    "es": "de la en el que y los a cuál cómo",
    "fa": "در از و به چه که است را این چگونه",
    "fi": "on ja mikä ei se kuinka että mitä oli",
    "fr": "de la le les et en des à quel comment",
    "he": "של את מה על הוא עם היא איך",
    "hi": "के में की का क्या है से को कैसे और",
    "hu": "a az és mi hogy egy van milyen hogyan",
    "id": "yang di dan dari apa untuk dengan ini bagaimana",
    "it": "di la il in che e per del è come",
    "ja": "の は に が を と で 何",
    "nl": "de van het in een en is wat voor hoe",
    "no": "i og er en av hva det til på hvordan",
    "pl": "w i na z jest co do się jak dla",
    "pt": "de a o e que do da em qual como",
    "ro": "de în și a la cu ce este pentru cum",
    "ru": "в и на с что по как для из от",
    "sv": "i och är en av vad det som på hur",
    "th": "ที่ ใน ของ และ คือ อะไร เป็น",
    "tr": "ve bir ne bu için ile nasıl de",
    "uk": "в і на з що як для до та",
    "vi": "của là và trong gì các có như",
    "zh": "的 在 是 什么 和 了 有 如何",
}


def function_words(language: str | None) -> dict[str, float]:
    """Return a language's commonest function words, each weighted by one over its rank; none where it has no list.

    Args:
        language: ISO 639-1, None where it is not known.

    Source: Zipf (1935): the frequency of a word is about the inverse of its rank.
    """
    listed = _COMMONEST.get((language or "").split("-")[0], "").split()
    return {word: 1 / rank for rank, word in enumerate(listed, start=1)}
