"""``docs/how_to/ollama_and_azure.md`` says what is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from goldbench.config import Config
from goldbench.llm.probe import LOCAL_SERVERS
from goldbench.llm.server_settings import ModelSettings

PAGE = (Path(__file__).parents[2] / "docs/how_to/ollama_and_azure.md").read_text(encoding="utf-8")


def test_the_addresses_are_those_that_are_tried():
    rows = dict(re.findall(r"^\| ([^|]+?) \| `(http[^`]+)` \|", PAGE, re.MULTILINE))
    assert {name: rows[name] for name in LOCAL_SERVERS} == LOCAL_SERVERS


def test_the_configuration_is_taken_and_azure_gets_its_header():
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    config = Config.model_validate(tomllib.loads(toml))
    assert ModelSettings.of(config.model).header_of_key == "x-api-key"
    azure = [url for url in re.findall(r"`(https://[^`]+)`", PAGE) if "azure" in url]
    assert len(azure) == 2
    settings = (ModelSettings(name="m", base_url=url.replace("NAME", "mine")) for url in azure)
    assert {setting.header_of_key for setting in settings} == {"api-key"}


def test_every_setting_named_is_one():
    fields = Config().model_dump()["model"]
    assert set(re.findall(r"`model\.(\w+)`", PAGE)) <= set(fields)
