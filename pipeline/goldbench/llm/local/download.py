"""Downloads of models from the Hugging Face Hub into its usual cache, checked by their digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from goldbench.errors import ModelUnavailable, OutputError, explained, require
from goldbench.llm.catalogue import CatalogueModel


def cached(model: CatalogueModel) -> Path | None:
    """Return where a model of the catalogue is in the cache of the Hub, None if it is not there.

    Raises:
        MissingExtra: ``huggingface_hub`` is not installed.
    """
    require("local", "huggingface_hub")
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model.repository, model.file)
    return Path(path) if isinstance(path, str) else None


def pull(model: CatalogueModel) -> Path:
    """Download a model into the cache of the Hub and return the file; one that is there is only returned.

    The client of the Hub shows the progress, and goes on with a download that was cut.

    Args:
        model: A model of the catalogue with a repository.

    Raises:
        MissingExtra: ``huggingface_hub`` is not installed.
        ModelUnavailable: The Hub cannot be reached, refuses or has another file, or the download is cut or damaged.
        OutputError: The cache cannot be written, or the disk is too full.
    """
    path = cached(model)
    if path is not None:
        return path
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url

    name = f"{model.repository}/{model.file}"
    cache = Path(constants.HF_HUB_CACHE)
    with explained(cache):
        cache.mkdir(parents=True, exist_ok=True)
    try:
        digest = get_hf_file_metadata(hf_hub_url(model.repository, model.file)).etag
        if digest == model.sha256:
            path = Path(hf_hub_download(model.repository, model.file))
    except Exception as error:  # noqa: BLE001  errors of the HTTP library of the client, which differs by version
        if isinstance(error, OSError) and error.errno is not None:
            raise OutputError(f"{cache}: cannot be written ({(error.strerror or 'unknown reason').lower()})") from None
        raise ModelUnavailable(
            f"{name}: the Hub does not give the file ({type(error).__name__}); check the network, HF_ENDPOINT and "
            "HF_HUB_OFFLINE; the part that came is kept: run the same command again to go on"
        ) from None
    if path is None:
        raise ModelUnavailable(
            f"{name}: the Hub has another file by now: its SHA-256 begins with {(digest or 'nothing')[:12]}, the "
            f"catalogue's with {model.sha256[:12]}; download it yourself if you trust it, and name its path"
        )
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != model.sha256:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise ModelUnavailable(
            f"{name}: the download is damaged: its SHA-256 begins with {actual[:12]}, the catalogue's with "
            f"{model.sha256[:12]}; it was deleted: run the same command again"
        )
    return path
