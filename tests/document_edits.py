"""Random edits of documents: what people do to files between two builds."""

from __future__ import annotations

import random


def edited(files: dict[str, str], chance: random.Random, edits: int) -> dict[str, str]:
    """Return the files after random edits: paragraphs inserted, deleted, moved; files renamed, split, joined."""
    found = {name: text.split("\n\n") for name, text in files.items()}
    for number in range(edits):
        name = chance.choice(sorted(found))
        parts = found[name]
        place = chance.randrange(len(parts))
        kind = chance.choice(["insert", "delete", "move", "rename", "split", "join"])
        if kind == "insert":
            parts.insert(place, f"Notice {number}: the gate is closed on the {place + 1} of each month, whoever asks.")
        elif kind == "delete" and len(parts) > 1:
            del parts[place]
        elif kind == "move":
            parts.insert(chance.randrange(len(parts)), parts.pop(place))
        elif kind == "rename":
            found[f"renamed-{number}.md"] = found.pop(name)
        elif kind == "split" and place:
            found[name], found[f"rest-{number}.md"] = parts[:place], parts[place:]
        elif kind == "join" and len(found) > 1:
            other = chance.choice(sorted(found.keys() - {name}))
            found[other] = found[other] + found.pop(name)
    return {name: "\n\n".join(parts) for name, parts in found.items()}
