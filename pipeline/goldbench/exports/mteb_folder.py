"""MTEB: a module with a retrieval task, and the data set that it evaluates."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from goldbench.exports import dataset_folder
from goldbench.exports.beir_files import about, copy_module, identifier, languages
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.json_files import write_json
from goldbench.exports.packages import package
from goldbench.formats.interchange_names import BEIR_CARD, EXPORT_ABOUT

DATA = "data"
"""The folder of the data set in the export."""
_MODULE = "mteb_task.py"
_UNKNOWN = "und-Zyyy"
"""The code of a language that is not known, in a script that is not known."""
_CODES = dict(
    pair.split("=")
    for line in (
        "af=afr-Latn am=amh-Ethi ar=ara-Arab as=asm-Beng az=aze-Latn be=bel-Cyrl bg=bul-Cyrl bn=ben-Beng bo=bod-Tibt",
        "bs=bos-Latn ca=cat-Latn cs=ces-Latn cy=cym-Latn da=dan-Latn de=deu-Latn el=ell-Grek en=eng-Latn es=spa-Latn",
        "et=est-Latn eu=eus-Latn fa=fas-Arab fi=fin-Latn fr=fra-Latn ga=gle-Latn gl=glg-Latn gu=guj-Gujr ha=hau-Latn",
        "he=heb-Hebr hi=hin-Deva hr=hrv-Latn hu=hun-Latn hy=hye-Armn id=ind-Latn is=isl-Latn it=ita-Latn ja=jpn-Jpan",
        "ka=kat-Geor kk=kaz-Cyrl km=khm-Khmr kn=kan-Knda ko=kor-Hang ku=kur-Latn ky=kir-Cyrl lo=lao-Laoo lt=lit-Latn",
        "lv=lav-Latn mg=mlg-Latn mk=mkd-Cyrl ml=mal-Mlym mn=mon-Cyrl mr=mar-Deva ms=msa-Latn mt=mlt-Latn my=mya-Mymr",
        "ne=nep-Deva nl=nld-Latn no=nor-Latn pa=pan-Guru pl=pol-Latn ps=pus-Arab pt=por-Latn ro=ron-Latn ru=rus-Cyrl",
        "sd=snd-Arab si=sin-Sinh sk=slk-Latn sl=slv-Latn so=som-Latn sq=sqi-Latn sr=srp-Cyrl sv=swe-Latn sw=swa-Latn",
        "ta=tam-Taml te=tel-Telu tg=tgk-Cyrl th=tha-Thai ti=tir-Ethi tl=tgl-Latn tr=tur-Latn tt=tat-Cyrl ug=uig-Arab",
        "uk=ukr-Cyrl ur=urd-Arab uz=uzb-Latn vi=vie-Latn xh=xho-Latn yi=yid-Hebr yo=yor-Latn zh=zho-Hans zu=zul-Latn",
    )
    for pair in line.split()
)
"""MTEB's codes of the languages that goldbench tells apart: ISO 639-3 and the script they are mostly written in."""


def write(exported: ExportedSet, place: Path) -> None:
    """Write the module, what it says of the task, and the data set.

    Args:
        exported: The set.
        place: An empty folder.
    """
    data = place / DATA
    data.mkdir()
    dataset_folder.write(exported, data)
    write_json(place / "task.json", _described(exported, data))
    write_json(place / EXPORT_ABOUT, about(exported))
    copy_module(_MODULE, place)


def _described(exported: ExportedSet, data: Path) -> dict[str, Any]:
    codes = sorted({_CODES.get(code, _UNKNOWN) for code in languages(exported)}) or [_UNKNOWN]
    digest = hashlib.sha256((data / BEIR_CARD).read_bytes())  # the card has the digest of every file
    level = exported.metadata.get("evidence_level")
    told = f" Evidence level: {level}." if isinstance(level, str) else ""
    return {
        "name": f"Goldbench-{identifier(exported.name)}",
        "revision": digest.hexdigest()[:40],
        "description": f"A retrieval test set made with goldbench.{told}",
        "languages": codes,
    }


def task(folder: Path) -> Any:  # noqa: ANN401  a class of mteb
    """Return the task in an export.

    Args:
        folder: The folder of the export.

    Raises:
        MissingPackage: mteb is not installed, or cannot be imported.
    """
    with package("mteb"):
        from goldbench.exports.standalone.mteb_task import task as task_in

    return task_in(folder)
