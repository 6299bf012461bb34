"""The splitter that a process imports alone is the one that everybody imports."""

import subprocess
import sys
from pathlib import Path

from goldbench.text.cuts import passages

MANUAL = Path("data/example/documents/manual")


def test_the_splitter_alone_cuts_as_the_whole_package_does() -> None:
    text = "\n\n".join(path.read_text() for path in sorted(MANUAL.glob("*.md")))
    script = (
        "import sys; from goldbench.text import cuts\n"
        "cuts.prepare_alone(); print('langchain_core.callbacks' in sys.modules)\n"
        "print(cuts.passages(sys.stdin.read(), size=300, overlap=30))"
    )
    run = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, check=True)
    whole, found = run.stdout.splitlines()
    assert whole == "False"
    assert found == str(passages(text, size=300, overlap=30))
