"""Documents are read in processes of their own, with limits; a bad file costs itself alone."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldbench.errors import UnreadableDocument
from goldbench.formats.documents import worker_pool
from goldbench.formats.documents.chunker import cut_documents
from goldbench.formats.documents.sources import find_files
from goldbench.formats.documents.worker_pool import DocumentLimits, WorkerProcess, Workers
from goldbench.records.corpus import Chunk, Document
from tests.conftest import posix
from tests.formats.documents.reading import documents_of, read
from tests.formats.documents.test_office import pdf


@cache
def spinning() -> bytes:
    """Return the packed content of a page that takes about 15 s to read and little memory."""
    return zlib.compress(b"0 g\n" * 40_000_000, 1)


@pytest.fixture(autouse=True)
def no_worker_waits() -> Iterator[None]:
    WorkerProcess.stop_resting()
    yield
    WorkerProcess.stop_resting()


def children() -> set[psutil.Process]:
    """Return the processes that read documents; this one has others, as the server that plays a model."""
    return {child for child in psutil.Process().children() if is_reader(child)}


def is_reader(child: psutil.Process) -> bool:
    try:
        return child.cmdline()[-1:] == ["goldbench.formats.documents.worker"]
    except psutil.Error:  # it has ended
        return False


def unexpected(failure: UnreadableDocument) -> None:
    raise failure


def cut(documents: list[Document], *, jobs: int = 1, **budget: float) -> tuple[list[Chunk], list[str]]:
    failures: list[UnreadableDocument] = []
    with Workers(DocumentLimits(**budget), jobs) as workers:
        chunks = list(cut_documents(documents, workers, size=200, overlap=20, on_failure=failures.append))
    return chunks, [str(failure) for failure in failures]


def put_notes(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number:04}.md").write_text(f"# Note {number}\n\n" + f"It says {number}. " * (number % 7 * 20 + 1))


def put_bomb(path: Path) -> None:
    value = "a" * 2**20
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 3500, pa.int32()), pa.array([value]))
    pq.write_table(pa.table({"text": column}), path, compression="zstd")


def test_a_parquet_file_of_one_long_string_many_times_is_skipped_and_takes_no_memory(tmp_path: Path) -> None:
    put_bomb(tmp_path / "a.parquet")
    (tmp_path / "b.txt").write_text("text")
    assert (tmp_path / "a.parquet").stat().st_size < 5000
    script = (
        "import resource, sys; from tests.formats.documents.reading import read\n"
        "from tests.peak_memory import peak_megabytes\n"
        "from goldbench.formats.documents.worker_pool import WorkerProcess\n"
        "outcome = read(sys.argv[1]); print(outcome.texts, outcome.failures)\n"
        "print(peak_megabytes()); WorkerProcess.stop_resting()\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    said, *peaks = run.stdout.splitlines()
    assert "a.parquet: gives more than 64 million characters of text: split it, or raise documents.max_meg" in said
    assert said.startswith("['text']")
    assert max(map(float, peaks)) < 300


@pytest.fixture
def by_seconds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "_SECONDS_PER_MEGABYTE", 0)


def test_a_file_that_takes_too_long_is_named_with_its_limit_and_the_next_one_is_read(
    tmp_path: Path, by_seconds_alone: None
) -> None:
    pdf(tmp_path / "a.pdf", spinning())
    (tmp_path / "b.txt").write_text("text")
    started = time.monotonic()
    outcome = read(tmp_path, budget=DocumentLimits(seconds=2))
    assert outcome.texts == ["text"]
    assert outcome.failures == [
        f"{tmp_path / 'a.pdf'}: took more than 2 s: raise documents.seconds, or leave the file out"
    ]
    assert time.monotonic() - started < 60


@posix
@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_is_given_up(tmp_path: Path) -> None:
    packer, block = zlib.compressobj(1), b" " * 2**20
    pdf(tmp_path / "a.pdf", b"".join(packer.compress(block) for _ in range(1024)) + packer.flush())
    (failure,) = read(tmp_path, budget=DocumentLimits(memory_megabytes=700)).failures
    assert "needs more than 700 MB of memory" in failure


@posix
def test_a_limit_of_memory_that_the_system_sets_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    script = (
        "import resource, sys; from tests.formats.documents.reading import read\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9)); print(read(sys.argv[1]).texts)"
    )
    run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout == "['text']\n"


def test_a_table_whose_text_is_too_large_is_named_with_its_limit(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("w") as file:
        file.write('{"text": "' + "a" * 2_000_000 + '"}\n')
    assert read(tmp_path, budget=DocumentLimits(megabytes=1)).failures == []
    table = pa.table({"text": pa.array(["a" * 1000] * 50_000).dictionary_encode()})
    pq.write_table(table, tmp_path / "b.parquet")
    (failure,) = read(tmp_path, budget=DocumentLimits(megabytes=1)).failures
    assert "b.parquet: gives more than 1 million characters of text: split it" in failure


@pytest.mark.slow
def test_a_document_that_takes_too_long_to_cut_is_named_and_gives_no_chunk(by_seconds_alone: None) -> None:
    documents = [
        Document(doc_id=name, title="", text=text, source=f"{name}.txt")
        for name, text in (("a", "short " * 100), ("b", "word " * 9_000_000), ("c", "short " * 100))
    ]
    chunks, failures = cut(documents, seconds=1.5)
    assert {chunk.span.doc_id for chunk in chunks} == {"a", "c"}
    assert failures == ["b.txt: took more than 2 s: raise documents.seconds, or leave the file out"]


def test_the_documents_and_chunks_are_the_same_for_one_process_and_for_three(tmp_path: Path) -> None:
    put_notes(tmp_path, 200)
    (tmp_path / "0100.csv").write_text("text\n" + "".join(f"row {number}\n" for number in range(4000)))
    (tmp_path / "0150.html").write_text("<h1>Page</h1><p>text")
    outcomes = [read(tmp_path, jobs=jobs) for jobs in (1, 3)]
    assert outcomes[0] == outcomes[1]
    assert [one.source.split("#")[0] for one in outcomes[0].documents] == sorted(
        document.source.split("#")[0] for document in outcomes[0].documents
    )
    cuts = [cut(outcomes[0].documents, jobs=jobs) for jobs in (1, 3)]
    assert cuts[0] == cuts[1]


def test_a_process_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    put_notes(tmp_path, 200)
    (tmp_path / "0100.csv").write_text("text\n" + "".join(f"row {number}\n" for number in range(20_000)))
    files = find_files([str(tmp_path)]).files

    def fingerprint(*, murderous: bool) -> tuple[str, int]:
        told, killed = hashlib.sha256(), 0
        for number, document in enumerate(documents_of(files, jobs=2, on_failure=unexpected)):
            told.update(document.model_dump_json().encode())
            if murderous and number in {10, 20_150}:
                for child in children():
                    child.kill()
                    killed += 1
        return told.hexdigest(), killed

    calm, disturbed = fingerprint(murderous=False), fingerprint(murderous=True)
    assert disturbed[0] == calm[0]
    assert disturbed[1] >= 1


def test_a_process_that_dies_over_a_file_costs_that_file(tmp_path: Path) -> None:
    pdf(tmp_path / "a.pdf", spinning())
    (tmp_path / "b.txt").write_text("text")
    stop = threading.Event()

    def murder() -> None:
        while not stop.wait(0.7):
            for child in children():
                if child.cpu_times().user > 0.5:
                    child.kill()

    murderer = threading.Thread(target=murder)
    murderer.start()
    outcome = read(tmp_path)
    stop.set()
    murderer.join()
    assert outcome.texts == ["text"]
    (failure,) = outcome.failures
    assert failure.startswith(
        f"{tmp_path / 'a.pdf'}: made its reader crash: it is damaged, or needs more than 2,048 MB"
    )


def test_a_reading_that_is_given_up_leaves_no_process_at_work(tmp_path: Path) -> None:
    pdf(tmp_path / "b.pdf", spinning())
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "c.csv").write_text("text\n" + "word\n" * 300_000)
    before = children()
    documents = documents_of(find_files([str(tmp_path)]).files, on_failure=unexpected, jobs=3)
    assert next(documents).text == "text"
    documents.close()
    WorkerProcess.stop_resting()
    assert children() <= before


def reading_that_spins(tmp_path: Path) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    pdf(tmp_path / "a.pdf", spinning())
    script = "import sys; from tests.formats.documents.reading import read; read(sys.argv[1])"
    run = subprocess.Popen([sys.executable, "-c", script, tmp_path], stderr=subprocess.DEVNULL, start_new_session=True)
    for _ in range(1200):
        for worker in psutil.Process(run.pid).children():
            if worker.cpu_times().user > 1:
                return run, worker
        time.sleep(0.05)
    raise AssertionError("no worker spins")


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_no_worker_outlives_a_run_that_is_interrupted(tmp_path: Path, number: int) -> None:
    run, worker = reading_that_spins(tmp_path)
    os.killpg(run.pid, number)
    assert run.wait(60) != 0
    assert psutil.wait_procs([worker], timeout=60)[1] == []


@posix
@pytest.mark.slow
def test_no_worker_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    run, worker = reading_that_spins(tmp_path)
    run.kill()
    run.wait()
    assert psutil.wait_procs([worker], timeout=60)[1] == []


def test_the_worker_sees_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "a.html").write_text("<p>page")
    before = children()
    read(tmp_path)
    (worker,) = children() - before
    assert "OPENAI_API_KEY" not in worker.environ()


@pytest.mark.slow
def test_a_process_that_ran_out_of_memory_does_not_serve_the_next_file(tmp_path: Path) -> None:
    rounds = "".join(f".. |a{number}| replace:: |a{number - 1}| |a{number - 1}|\n" for number in range(1, 40))
    for number in range(4):
        (tmp_path / f"{number}.rst").write_text(f"Text\n====\n\n.. |a0| replace:: word word\n{rounds}\n|a39|\n")
    (tmp_path / "b.txt").write_text("text")
    largest = 0
    stop = threading.Event()

    def watch() -> None:
        nonlocal largest
        while not stop.wait(0.05):
            for child in children():
                with contextlib.suppress(psutil.Error):
                    largest = max(largest, child.memory_info().vms)

    watcher = threading.Thread(target=watch)
    watcher.start()
    outcome = read(tmp_path, budget=DocumentLimits(memory_megabytes=256), jobs=1)
    stop.set()
    watcher.join()
    assert outcome.texts == ["text"]
    assert len(outcome.failures) == 4
    assert largest < 700 * 2**20, largest
