"""A key that stops working in the middle of a session, in a pseudo terminal: another one is pasted, and it goes on."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Turn
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.llm.key_store import KeyStore, key_name

OLD = "sk-old-0123456789abcdef"
NEW = "sk-new-fedcba9876543210"
WRONG = "sk-wrong-0123012301230123"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("source", ["saved-key", "variable"])
def test_session_goes_on_with_another_key_without_a_restart(sandbox: Sandbox, source):
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    with ModelServer([Turn("Hello."), Turn("Ready."), Turn("All is well.")], key=OLD, names=["small"]) as server:
        table = f'model = "house"\n[models.house]\nmodel = "openai/small"\napi_base = "{server.base_url}"\n'
        if source == "variable":
            table += 'api_key_env = "HOUSE_KEY"\n'
            sandbox.env["HOUSE_KEY"] = OLD
        else:
            KeyStore(sandbox.locations).save(key_name("openai/small", server.base_url), OLD, "file")
        sandbox.locations.settings_file.write_text(table)
        with Terminal(["hi", "--workspace", str(sandbox.project)], 100, 30, sandbox.env) as terminal:
            terminal.wait_for("Hello.")
            server.key = NEW
            terminal.type("and now")
            terminal.press("enter")
            terminal.wait_for("✗ 401: this key was rejected. Paste another one, or Tab to change it.")
            terminal.wait_until(lambda screen: "house" in screen and "API key" in screen, "the form of the model")
            wait_for(lambda: server.rejected, "the call with the old key")
            for key in (WRONG, NEW):
                terminal.wait_until(lambda screen: "•" not in screen or WRONG[-4:] in screen, "the field for the key")
                terminal.paste(key)
                terminal.wait_for(key[-4:])
                terminal.press("enter")
                if key == WRONG:
                    wait_for(lambda: server.rejected.count(f"Bearer {WRONG}") == 2, "the list of models and the test")
                    terminal.wait_for("✗ 401")
            terminal.wait_for("Enter Retry")

            terminal.press("enter")
            terminal.wait_for("All is well.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
            written = terminal.raw.decode(errors="replace")
    assert NEW[:-4] not in written
    assert OLD[:-4] not in written
    assert KeyStore(sandbox.locations).read(key_name("openai/small", server.base_url)) == NEW
    assert "api_key_env" not in sandbox.locations.settings_file.read_text()
