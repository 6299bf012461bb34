"""The configuration: one frozen object, every mistake named at once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from goldbench.config import KINDS, STYLES, Config, Generator, load_config
from goldbench.errors import ConfigError
from goldbench.records.query import Constraints
from tests.conftest import ROOT


def written(folder: Path, text: str) -> Path:
    path = folder / "goldbench.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_unknown_key_is_named_at_once(tmp_path: Path) -> None:
    text = "[chunk]\nsise = 3\n[generate]\nqueriez = 1\n[generate.constraints]\nmax_wrods = 3\n[nope]\n"
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, {})
    for key in ("chunk.sise", "generate.queriez", "generate.constraints.max_wrods", "nope"):
        assert key in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, '[generate]\n"{y}" = 1\n'), {})
    assert caught.value.problems == ["unknown key generate.{y}"]  # its own table is not what was meant


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "[chunk]\nsize = 500\noverlap = 20\n[generate.constraints]\nmax_words = 7\n")
    config = load_config(path, {"chunk": {"size": 300}, "generate": {"constraints": {"language": "zh"}}})
    assert (config.chunk.size, config.chunk.overlap_characters) == (300, 20)
    assert (config.generate.constraints.max_words, config.generate.constraints.language) == (7, "zh")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[chunk]\nsize = 100\noverlap = 100\n", "smaller than size"),
        ("[generate]\nqueries = 0\n", "generate.queries"),
        ("[generate.constraints]\nmin_words = 9\nmax_words = 3\n", "min_words 9"),
        ("[generate.kinds]\nnoisy = 1\nunanswerable = 1\n", "generate.kinds: a set of unanswerable queries alone"),
        ("[generate.kinds]\nfact = 1e308\n", "generate.kinds: weights must be at most"),
        ("[model]\nbase_url = 'localhost'\n", "base_url"),
        ("[chunk\n", "is not TOML"),
    ],
)
def test_an_impossible_value_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load_config(written(tmp_path, text), {})
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: file not found"):
        load_config(tmp_path / "nowhere.toml", {})


def test_a_key_or_a_base_url_chooses_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_config(None, {}).uses_model()
    assert load_config(None, {"model": {"base_url": "http://127.0.0.1:1/v1"}}).uses_model()
    assert load_config(None, {"generate": {"generator": "model"}}).uses_model()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert load_config(None, {}).uses_model()
    assert not load_config(None, {"generate": {"generator": Generator.SIMULATED}}).uses_model()


def test_a_folder_of_prompts_begins_at_the_configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for given, found in (("mine", tmp_path / "settings" / "mine"), (f"{tmp_path}/mine", tmp_path / "mine")):
        (tmp_path / "settings" / "my.toml").write_text(f'[generate]\nprompts = "{given}"\n', encoding="utf-8")
        assert load_config(tmp_path / "settings" / "my.toml", {}).generate.prompts == found
    assert load_config(None, {"generate": {"prompts": "mine"}}).generate.prompts == Path("mine")


def test_the_fingerprint_does_not_depend_on_who_serves_the_model_or_how_fast() -> None:
    plain = Config()
    config = load_config(None, {"model": {"base_url": "http://127.0.0.1:1/v1", "concurrency": 3, "max_usd": 1.0}})
    assert plain.fingerprint({}) == config.fingerprint({})
    assert plain.fingerprint({}) != load_config(None, {"generate": {"seed": 1}}).fingerprint({})
    assert plain.fingerprint({"generate.v1": "a"}) != plain.fingerprint({"generate.v1": "b"})


def test_a_key_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    config = load_config(None, {})
    assert config.api_key() == "sk-canary"
    assert "canary" not in repr(config) + str(config.shaping())


def test_the_example_names_every_key_with_its_default() -> None:
    text = (ROOT / "data" / "example" / "goldbench.toml").read_text(encoding="utf-8")
    assert load_config(ROOT / "data" / "example" / "goldbench.toml", {}).generate.queries == 40
    live = re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)
    shown = tomllib.loads(live)
    for table, record in Config.model_fields.items():
        fields = record.annotation.model_fields  # type: ignore[union-attr]
        assert set(shown[table]) == set(fields), table
        for key, field in fields.items():
            value = shown[table][key]
            if isinstance(value, dict) or key in {"queries", "context"}:
                continue
            if isinstance(field.default, (bool, int, float, str)):
                assert value == field.default, (table, key)
    assert set(shown["generate"]["constraints"]) == set(Constraints.model_fields)
    assert shown["generate"]["kinds"] == {kind.value: weight for kind, weight in KINDS.items()}
    assert shown["generate"]["styles"] == {style.value: weight for style, weight in STYLES.items()}
