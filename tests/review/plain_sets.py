"""Small sets for the page whose texts a test chooses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

ARABIC = "تأسست المدينة عام 762م، وسُمّيت «مدينة السلام» (Baghdad) لأسباب سياسية. بلغ عدد سكانها 1.2 مليون نسمة!"
CHINESE = "《红楼梦》是中国古典小说,成书于 18 世纪(约 1791 年)。作者是曹雪芹。"
GERMAN = """## Wartung der **Pumpe**

Die Dichtung ist *alle 500 Stunden* zu prüfen, siehe [Handbuch](https://evil.example/handbuch).

| Teil | Nummer | Größe |
|:-----|-------:|:-----:|
| Dichtung | `D-17\\|b` | 12 mm |
| Öl &amp; Fett | 42 | – |

1. Ventil schließen
2. Druck **langsam** ablassen
   - Anzeige beachten

```sh
pumpe --stop "sofort"
```
"""


def write_plain_set(folder: Path, passages: Mapping[str, str], asked: str = "Was?") -> Path:
    """Write a set with one query and these passages, all of its pool."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = {
        "queries": {"q1": asked},
        "corpus": dict(passages),
        "relevant_docs": {"q1": list(passages)},
        "mode": "text",
        "relevance_scores": {"q1": dict.fromkeys(passages, 2)},
        "metadata": {},
    }
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    return folder
