"""Find out what is configured and which servers can be reached."""

from __future__ import annotations

from dataclasses import dataclass

from goldbench.config import Config, Generator
from goldbench.errors import GoldbenchError, Message, UsageError
from goldbench.generate.writers import with_local_models
from goldbench.llm.local.machine import layout_now
from goldbench.llm.probe import probe, probe_local
from goldbench.llm.server_settings import ModelSettings, shown_address
from goldbench.text.display import amount, shown


@dataclass(frozen=True, slots=True)
class Examination:
    """One thing that was examined; ``good`` is None if it is neither right nor wrong."""

    what: str
    says: str
    good: bool | None = None


async def examine(config: Config) -> list[Examination]:
    """Return what a person should know before a run; sends no prompt to a model."""
    key = config.api_key()
    findings = [
        Examination("key", f"{config.model.api_key_env} is {'set' if key else 'not set'}"),
        Examination("server", _server(config, key)),
        Examination("model", config.model.name or "not named"),
        Examination("queries would be written by", "the model" if config.uses_model() else "no model (simulated)"),
    ]
    names_model = config.generate.generator is Generator.AUTO and config.model.name is not None
    if config.uses_model() or names_model:
        findings.append(_loads(config) if config.model.needs_no_server else await _reach(config, key))
    for name, answer in (await probe_local()).items():
        says = "not listening" if answer.problem else f"listening at {answer.base_url}: {_listed(answer.models)}"
        findings.append(Examination(name, says, None if answer.problem else True))
    return findings


def _server(config: Config, key: str | None) -> str:
    if config.model.needs_no_server:
        return "none needed: this machine runs the model"
    return shown_address(config.model.server or "none", key)


def _loads(config: Config) -> Examination:
    """Return whether the file of the model and what runs it are here."""
    try:
        settings = ModelSettings.of(with_local_models(config).model)
        processes, threads, gpu_layers = layout_now(settings)
    except GoldbenchError as error:
        return Examination("model file", str(error), good=False)
    runs = f"{amount(processes, 'process', 'processes')} of {amount(threads, 'thread')}"
    card = " and a graphics card" if gpu_layers else ""
    says = f"{settings.file}, recorded as {settings.name}; now {runs}{card} would run it"
    return Examination("model file", says, good=True)


async def _reach(config: Config, key: str | None) -> Examination:
    try:
        config.model.check_server()
    except UsageError as error:
        return Examination("reach", str(error), good=False)
    if config.model.base_url is None:
        return Examination(
            "reach", Message("not asked, because only the key names a server; give {base_url=} to ask it")
        )
    answer = await probe(config.model.base_url, key, key_header=config.model.key_header)
    if answer.problem:
        return Examination("reach", f"{answer.base_url} {answer.problem}", good=False)
    name = config.model.name
    if name and name not in answer.models:
        return Examination(
            "reach", f"{answer.base_url} does not offer {name}; it offers {_listed(answer.models)}", good=False
        )
    return Examination("reach", f"{answer.base_url} offers {_listed(answer.models)}", good=True)


def _listed(models: tuple[str, ...]) -> str:
    names = ", ".join(shown(name)[:100] for name in models[:5])
    return f"{names} and {len(models) - 5} more" if len(models) > 5 else names or "no model"
