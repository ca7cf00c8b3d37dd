import sys
from pathlib import Path

import pytest

from tests.fakes.memory_keyring import MemoryKeyring
from tests.sandbox import Sandbox
from workbench.config.settings import Profile, Settings
from workbench.llm.model import Model, ModelError
from workbench.session import model_keys
from workbench.session.model_keys import SessionModels

HERE = "http://127.0.0.1:1/v1"
PROFILES = {
    "near": {"model": "openai/near", "api_base": "http://127.0.0.1:2/v1", "api_key_env": "NEAR_WORD"},
    "far": {"model": "anthropic/far"},
    "usual": {"model": "openai/usual", "api_key_env": "OPENAI_API_KEY"},
}


class Opened:
    def __init__(self) -> None:
        self.asked: list[tuple[Profile, str | None]] = []

    def __call__(self, profile: Profile, api_key: str | None = None) -> Model:
        self.asked.append((profile, api_key))
        return None  # type: ignore[return-value]

    def of(self, model_keys: SessionModels, name: str) -> tuple[str, str | None, str | None]:
        """Return the model, base URL and key that are used for that name."""
        model_keys.open(name)
        profile, key = self.asked[-1]
        return profile.model, profile.api_base, key


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    opener = Opened()
    monkeypatch.setattr(model_keys, "open_profile", opener)
    return opener


def test_keys_are_removed_from_the_environment(opened: Opened):
    env = {"MY_KEY": "sk-1", "OHW_API_KEY": "sk-2", "PATH": "/bin", "NEAR_WORD": "sk-3"}
    models = SessionModels(Settings(model="openai/x", api_key_env="MY_KEY", models=PROFILES), env)
    assert env == {"PATH": "/bin"}
    assert opened.of(models, "openai/x") == ("openai/x", None, "sk-1")
    assert opened.of(models, "near") == ("openai/near", "http://127.0.0.1:2/v1", "sk-3")


def test_each_model_gets_only_its_own_url_and_key(opened: Opened):
    settings = Settings(model="openai/x", api_base=HERE, api_key="sk-x", models=PROFILES)
    models = SessionModels(settings, {"NEAR_WORD": "sk-near"})
    assert opened.of(models, "openai/x") == ("openai/x", HERE, "sk-x")
    assert opened.of(models, "openai/sister") == ("openai/sister", HERE, "sk-x")
    assert opened.of(models, "near") == ("openai/near", "http://127.0.0.1:2/v1", "sk-near")
    assert opened.of(models, "far") == ("anthropic/far", None, None)
    assert opened.of(models, "gemini/other") == ("gemini/other", None, None)


def test_standard_variable_named_by_a_profile_serves_the_providers_other_models(opened: Opened):
    models = SessionModels(Settings(models=PROFILES), {"OPENAI_API_KEY": "sk-usual"})
    assert opened.of(models, "usual")[2] == "sk-usual"
    assert opened.of(models, "openai/other")[2] == "sk-usual"
    assert opened.of(models, "far")[2] is None


def test_saved_models_that_the_user_changes_are_read_again(opened: Opened, sandbox: Sandbox, monkeypatch):
    monkeypatch.setenv("HOME", str(sandbox.home))
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    env = {"NEAR_WORD": "sk-near", "NEW_WORD": "sk-new"}
    models = SessionModels(Settings(models=PROFILES), env)
    file.write_text(
        '[models.near]\nmodel = "openai/near"\napi_base = "http://127.0.0.1:2/v1"\n'
        '[models.new]\nmodel = "openai/new"\napi_key_env = "NEW_WORD"\n'
    )
    models.reload()
    assert opened.of(models, "near") == ("openai/near", "http://127.0.0.1:2/v1", None)
    assert opened.of(models, "new") == ("openai/new", None, "sk-new")
    assert opened.of(models, "far") == ("anthropic/far", None, None)
    assert env == {}
    file.write_text("[models.near\n")
    models.reload()
    assert opened.of(models, "new")[0] == "openai/new"


def test_key_is_the_first_line_of_a_file(opened: Opened, tmp_path: Path):
    (tmp_path / "key").write_text("sk-file\n# of mine\n")
    profile = {"model": "openai/x", "api_key_file": str(tmp_path / "key")}
    assert opened.of(SessionModels(Settings(models={"a": profile}), {}), "a")[2] == "sk-file"


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"\n", "is empty"), (b"\xff\n", "not a text")])
def test_key_file_without_a_key_is_named_in_one_line(opened: Opened, tmp_path: Path, content, why):
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    models = SessionModels(Settings(models={"a": {"model": "openai/x", "api_key_file": str(path)}}), {})
    with pytest.raises(ModelError, match=why) as error:
        models.open("a")
    assert str(path) in str(error.value)
    assert "models.a.api_key_file" in str(error.value)
    assert "\n" not in str(error.value)


def test_unset_variable_is_named(opened: Opened):
    models = SessionModels(Settings(models=PROFILES), {"NEAR_WORD": ""})
    with pytest.raises(ModelError, match=r"set the variable NEAR_WORD \(models\.near\.api_key_env in settings\.toml"):
        models.open("near")
    assert opened.asked == []


def test_missing_model_error_says_how_to_name_one():
    with pytest.raises(ModelError, match="no model is set"):
        SessionModels(Settings(), {}).open(None)


def of_keyring(entry: str = "ohw/openai") -> SessionModels:
    return SessionModels(Settings(models={"a": {"model": "openai/x", "api_key_keyring": entry}}), {})


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


def test_key_is_read_from_the_keyring_by_its_package(opened: Opened, memory_keyring: MemoryKeyring):
    memory_keyring.secrets["ohw", "openai"] = "sk-kept"
    assert opened.of(of_keyring(), "a")[2] == "sk-kept"
    with pytest.raises(ModelError, match="has none for ohw/nobody"):
        of_keyring("ohw/nobody").open("a")
    memory_keyring.is_locked = True
    with pytest.raises(ModelError, match="cannot be used") as error:
        of_keyring().open("a")
    assert "sk-secret" not in str(error.value)


@pytest.mark.usefixtures("no_package")
def test_key_is_read_from_the_keyring_by_secret_tool(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "secret-tool"
    program.write_text('#!/bin/sh\n[ "$*" = "lookup service ohw username openai" ] && echo sk-secret-tool\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert opened.of(of_keyring(), "a")[2] == "sk-secret-tool"
    with pytest.raises(ModelError, match="has none for ohw/other"):
        of_keyring("ohw/other").open("a")


@pytest.mark.usefixtures("no_package")
def test_missing_keyring_is_reported_with_alternatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match=r"api_key_env or api_key_file in models\.a "):
        of_keyring().open("a")


def test_providers_key_from_the_environment_is_not_sent_to_an_own_server(opened: Opened):
    profiles = {
        "usual": {"model": "openai/usual", "api_key_env": "OPENAI_API_KEY"},
        "mine": {"model": "openai/mine", "api_base": HERE},
        "bare": {"model": "mine", "api_base": HERE},
        "elsewhere": {"model": "mine", "api_base": "https://api.groq.com/openai/v1"},
        "known": {"model": "gpt-5", "api_base": HERE},
        "theirs": {"model": "openai/theirs", "api_base": "https://eu.api.openai.com/v1"},
    }
    models = SessionModels(Settings(models=profiles), {"OPENAI_API_KEY": "sk-usual"})
    for name in profiles.keys() - {"usual", "theirs"}:
        assert opened.of(models, name)[2] is None, name
    assert opened.of(models, "theirs")[2] == "sk-usual"
