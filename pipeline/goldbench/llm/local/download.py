"""Downloads of models from the Hugging Face Hub into its usual cache, resumed and checked."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

import httpx2
from filelock import FileLock, Timeout

from goldbench.errors import ModelUnavailable, OutputError, explained, require
from goldbench.llm.catalogue import Offered
from goldbench.llm.certificates import trusted
from goldbench.llm.proxies import proxy_for
from goldbench.ports import Progress, Step

_ATTEMPTS = 5
"""How many times in a row a connection may break before it has brought a byte."""
_WAITS = httpx2.Timeout(60.0, connect=10.0)
_PARTIAL = "the part that came is kept: run the same command again to go on"


class _Remote(NamedTuple):
    """A file as the Hub announces it."""

    url: str
    sha256: str
    size: int
    headers: dict[str, str]


def cached(model: Offered) -> Path | None:
    """Return where a model of the catalogue is in the cache of the Hub, None if it is not there.

    Raises:
        MissingExtra: ``huggingface_hub`` is not installed.
    """
    require("local", "huggingface_hub")
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model.repository, model.file)
    return Path(found) if isinstance(found, str) else None


def pull(model: Offered, *, progress: Progress) -> Path:
    """Download a model into the cache of the Hub and return the file; one that is there is only returned.

    A download that was cut goes on where it ended. The file is put in place once it has the SHA-256 of the catalogue.

    Args:
        model: A model of the catalogue with a repository.
        progress: Shows how far the download is, in megabytes.

    Raises:
        MissingExtra: ``huggingface_hub`` is not installed.
        ModelUnavailable: The Hub cannot be reached, refuses or has another file, or the download is cut or damaged.
        OutputError: The cache cannot be written, or the disk is too full.
    """
    found = cached(model)
    if found is not None:
        return found
    from huggingface_hub import constants, hf_hub_download

    place = f"{model.repository}/{model.file}"
    remote = _announced(model, place)
    blobs = Path(constants.HF_HUB_CACHE) / f"models--{model.repository.replace('/', '--')}" / "blobs"
    with explained(blobs):
        blobs.mkdir(parents=True, exist_ok=True)
        with _alone(blobs / f"{remote.sha256}.lock", place):
            blob = blobs / remote.sha256
            if not blob.exists():
                _fill(blob, remote, place, progress)
        return Path(hf_hub_download(model.repository, model.file))  # finds the file, and files it under its name


def _announced(model: Offered, place: str) -> _Remote:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented there

    url = hf_hub_url(model.repository, model.file)
    try:
        found: Any = get_hf_file_metadata(url)
    except Exception as error:  # noqa: BLE001  the client raises the errors of its HTTP library, which differs by version
        kind = type(error).__name__
        raise ModelUnavailable(
            f"{place}: the Hub does not give the file ({kind}); check the network, HF_ENDPOINT and HF_HUB_OFFLINE"
        ) from None
    if not re.fullmatch("[0-9a-f]{64}", found.etag or "") or not found.size:
        raise ModelUnavailable(f"{place}: the Hub announces no SHA-256 of the file, so it cannot be checked")
    if found.etag != model.sha256:
        raise ModelUnavailable(
            f"{place}: the Hub has another file by now: its SHA-256 begins with {found.etag[:12]}, the catalogue's "
            f"with {model.sha256[:12]}; download it yourself if you trust it, and name its path"
        )
    same = urlsplit(found.location).netloc == urlsplit(url).netloc
    return _Remote(found.location, found.etag, found.size, build_hf_headers() if same else {})


@contextlib.contextmanager
def _alone(lock: Path, place: str) -> Iterator[None]:
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        raise ModelUnavailable(f"{place}: another process downloads it; wait until it has ended") from None


def _fill(blob: Path, remote: _Remote, place: str, progress: Progress) -> None:
    """Download a file beside its place, going on with an earlier part, check it, and put it in place."""
    part = blob.with_name(f"{blob.name}.part")
    done = part.stat().st_size if part.exists() else 0
    room = shutil.disk_usage(blob.parent).free
    if room < remote.size - done:
        raise OutputError(
            f"{blob.parent}: the disk is too full: {_mb(remote.size - done)} are needed, {_mb(room)} free"
        )
    with progress.stage("megabytes", round(remote.size / 1e6)) as step, part.open("ab") as file:
        _receive(file, remote, place, step)
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != remote.sha256:
        part.unlink()
        raise ModelUnavailable(
            f"{place}: the download is damaged: its SHA-256 begins with {digest[:12]}, the Hub's with "
            f"{remote.sha256[:12]}; it was deleted: run the same command again"
        )
    part.replace(blob)


def _receive(file: BinaryIO, remote: _Remote, place: str, step: Step) -> None:
    """Append the rest of a file; a broken connection is made again, as long as each one brings something."""
    shown = in_vain = 0
    proxy = proxy_for(remote.url)
    client = httpx2.Client(verify=trusted(), proxy=proxy, trust_env=False, timeout=_WAITS, follow_redirects=True)
    with client:
        while (begun := file.tell()) < remote.size and in_vain < _ATTEMPTS:
            with contextlib.suppress(httpx2.HTTPError):
                for _ in _pieces(client, file, remote, place):
                    step.advance(file.tell() // 10**6 - shown)
                    shown = file.tell() // 10**6
            in_vain = in_vain + 1 if file.tell() == begun else 0
    if file.tell() < remote.size:
        raise ModelUnavailable(f"{place}: the download was cut at {_mb(file.tell())} of {_mb(remote.size)}; {_PARTIAL}")


def _pieces(client: httpx2.Client, file: BinaryIO, remote: _Remote, place: str) -> Iterator[None]:
    """Write the pieces of one response, at most to the size of the file, and yield after each."""
    at = file.tell()
    asked = {"Range": f"bytes={at}-", "Accept-Encoding": "identity"} if at else {"Accept-Encoding": "identity"}
    with client.stream("GET", remote.url, headers={**remote.headers, **asked}) as response:
        if response.status_code >= 400:
            raise ModelUnavailable(f"{place}: the Hub answers HTTP {response.status_code}; {_PARTIAL}")
        if at and response.status_code != 206:  # the server gives no part: from the beginning
            file.truncate(0)
            file.seek(0)
        for piece in response.iter_raw():
            file.write(piece[: remote.size - file.tell()])
            yield
            if file.tell() == remote.size:
                return


def _mb(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
