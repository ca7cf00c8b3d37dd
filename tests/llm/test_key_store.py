"""Saved keys: where they are stored, to which server they belong, and which key takes precedence."""

import json
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from tests.fakes.memory_keyring import MemoryKeyring
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.llm.key_store import KeyStore, key_name
from workbench.llm.model import Model, ModelError
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.secrets import system_keyring
from workbench.secrets.masker import MASKER
from workbench.secrets.system_keyring import keyring_is_usable
from workbench.session import model_keys
from workbench.session.model_keys import SessionModels

KEY = "sk-saved-0123456789"
OTHER = "sk-other-9876543210"
HERE = "http://127.0.0.1:8123/v1"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyStore:
    monkeypatch.setenv("HOME", str(tmp_path))
    return KeyStore(Locations.from_environment())


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch):
    """Return a function that returns the key that a session would send for a model, given settings and an
    environment.
    """

    def open_profile(profile, key=None) -> Model:
        keys.append(key)
        return None  # type: ignore[return-value]

    def key_of(name: str, env: dict[str, str] | None = None, **settings) -> str | None:
        SessionModels(Settings(**settings), dict(env or {})).open(name)
        return keys[-1]

    keys: list[str | None] = []
    monkeypatch.setattr(model_keys, "open_profile", open_profile)
    return key_of


@pytest.mark.parametrize("storage", ["file", "keyring"])
def test_saved_key_is_sent_to_its_provider_alone_and_masked(store, sent, memory_keyring: MemoryKeyring, storage):
    store.save("openai", KEY, storage)
    assert sent("openai/gpt-5") == KEY
    assert sent("anthropic/claude-sonnet-4-5") is None
    assert sent("openai/x", api_base=HERE) is None
    assert KEY not in MASKER.masked(f"it is {KEY}.")
    assert memory_keyring.secrets == ({("ohw", "openai"): KEY} if storage == "keyring" else {})


@pytest.mark.parametrize("storage", ["file", "keyring"])
def test_key_of_a_server_is_bound_to_its_address(store, sent, memory_keyring, storage):
    store.save(key_name("openai/x", HERE), KEY, storage)
    assert sent("openai/other", models={"openai/other": {"model": "openai/other", "api_base": f"{HERE}/"}}) == KEY
    for elsewhere in ("http://127.0.0.1:8124/v1", "https://127.0.0.1:8123/v1", "http://127.0.0.1.example:8123/v1"):
        assert sent("a", models={"a": {"model": "openai/x", "api_base": elsewhere}}) is None
    assert sent("openai/gpt-5") is None


@pytest.mark.parametrize(
    ("model", "base", "env", "name"),
    [
        ("openai/gpt-5", None, {}, "openai"),
        ("openai/gpt-5", "https://eu.api.openai.com/v1", {}, "openai"),
        ("openai/gpt-5", "http://api.openai.com/v1", {}, "http://api.openai.com:80"),
        ("openai/gpt-5", "https://api.openai.com@evil.example/v1", {}, "https://evil.example:443"),
        ("openai/gpt-5", None, {"OPENAI_BASE_URL": HERE}, "http://127.0.0.1:8123"),
        ("anthropic/c", None, {"ANTHROPIC_BASE_URL": "https://gate.example"}, "https://gate.example:443"),
        ("azure/x", "https://mine.openai.azure.com", {}, "https://mine.openai.azure.com:443"),
        ("together_ai/x", None, {}, "together_ai"),
        ("claude-sonnet-4-5", None, {}, ""),
        ("openai/x", "http://[/v1", {}, ""),
        ("openai/x", "ftp://h/v1", {}, ""),
    ],
    ids=lambda value: str(value)[:24],
)
def test_name_of_a_key_says_where_it_may_go(model, base, env, name):
    assert key_name(model, base, env) == name


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai/gpt-5", "OPENAI_API_KEY"), ("together_ai/x", "TOGETHERAI_API_KEY"), ("gemini/x", "GOOGLE_API_KEY")],
)
def test_environment_goes_first_except_for_the_key_that_was_replaced(store, sent, model, variable):
    name = model.partition("/")[0]
    store.save(name, KEY, "file")
    assert sent(model, {variable: OTHER}) is None  # litellm reads the environment itself
    store.save(name, KEY, "file", instead_of=OTHER)
    assert sent(model, {variable: OTHER}) == KEY
    assert sent(model, {variable: "sk-a-new-one-of-the-user"}) is None
    assert OTHER not in "".join(path.read_text() for path in store._directory.iterdir())


def test_key_of_the_settings_goes_before_a_saved_one(store, sent):
    store.save("openai", KEY, "file")
    models = {"a": {"model": "openai/x", "api_key_env": "MINE"}}
    assert sent("a", {"MINE": OTHER}, models=models) == OTHER
    assert sent("openai/x", model="openai/x", api_key=OTHER) == OTHER


def test_file_is_private_at_every_moment(store, monkeypatch):
    modes: list[int] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    before = os.umask(0)
    try:
        path = store.save("openai", KEY, "file").path
        store.save("openai", OTHER, "file")
    finally:
        os.umask(before)
    assert [*modes, stat.S_IMODE(path.stat().st_mode)] == [0o600] * 3
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["openai.key"]


@pytest.mark.parametrize("storage", ["file", "keyring"])
def test_key_is_forgotten_and_replaced(store, memory_keyring, storage):
    store.save("openai", KEY, "keyring")
    store.save("openai", OTHER, storage)
    assert store.read("openai") == OTHER
    assert [(each.name, each.storage) for each in store.all()] == [("openai", storage)]
    assert store.forget("openai")
    assert not store.forget("openai")
    assert (list(store.all()), memory_keyring.secrets) == ([], {})


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"name": "openai"}', '{"name": 1, "in": "file"}', '{"name": "groq", "in": "file", "key": "k"}'],
)
def test_file_that_is_not_ours_is_no_key(store, sent, content):
    path = store.save("openai", KEY, "file").path
    path.write_text(content)
    assert sent("openai/gpt-5") is None
    assert list(store.all()) == []


def test_locked_keyring_ends_after_its_time_limit(store, sent, memory_keyring, monkeypatch):
    store.save("openai", KEY, "keyring")
    memory_keyring.waits_for = threading.Event()
    start = time.monotonic()
    with pytest.raises(WorkbenchError, match="unlock it"):
        store.read("openai", patience=0.05)
    with pytest.raises(WorkbenchError, match="unlock it"):
        store.save("groq", KEY, "keyring", patience=0.05)
    assert store.find("groq") is None
    assert time.monotonic() - start < 30
    memory_keyring.waits_for, memory_keyring.is_locked = None, True
    with pytest.raises(ModelError, match="no key for openai/gpt-5: the keyring cannot be used") as error:
        sent("openai/gpt-5")
    assert "sk-secret" not in str(error.value)


def test_usable_keyring_is_recognized(memory_keyring, monkeypatch):
    assert keyring_is_usable()
    memory_keyring.priority = 0
    assert not keyring_is_usable()
    monkeypatch.setattr("sys.modules", {**__import__("sys").modules, "keyring": None})
    assert not system_keyring.keyring_is_usable()


@pytest.mark.parametrize("command", ["cat", "tar c", "base64"])
def test_reading_saved_keys_is_rated_high(store, tmp_path, command):
    store.save("openai", KEY, "file")
    for path in (f"{store._directory}/openai.key", f"{store._directory}/*"):
        rated = assess_command(f"{command} {path}", PathContext(str(tmp_path / "work"), str(tmp_path)))
        assert rated.risk == "HIGH", path


def test_without_a_keyring_a_key_is_not_saved_there(store):
    with pytest.raises(WorkbenchError, match="keyring"):
        store.save("openai", KEY, "keyring")
    assert list(store.all()) == []


def test_models_command_says_where_each_key_comes_from(sandbox):
    store = KeyStore(sandbox.locations)
    stored = store.save("http://127.0.0.1:8123", KEY, "file")
    store.save("openai", KEY, "file")
    stored.path.with_name("groq.key").write_text(json.dumps({"name": "groq", "in": "keyring"}))
    sandbox.locations.settings_file.parent.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(
        f'[models.house]\nmodel = "openai/x"\napi_base = "{HERE}"\n'
        '[models.big]\nmodel = "openai/gpt-5"\n[models.quick]\nmodel = "groq/x"\n'
    )
    done = sandbox.command("models")
    assert f"(key: saved in {stored.path})" in done.stdout
    assert "openai/gpt-5  (key: OPENAI_API_KEY is set)" in done.stdout
    assert "groq/x  (key: saved in the system keyring)" in done.stdout
    assert "groq: in the system keyring" in done.stdout
    assert KEY not in done.stdout + done.stderr
    assert "deleted" in sandbox.command("models", "forget", "openai").stdout
    again = sandbox.command("models", "forget", "openai")
    assert again.returncode != 0
    assert "groq" in again.stderr
