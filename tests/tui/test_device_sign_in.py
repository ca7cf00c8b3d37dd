"""`/model github_copilot/…` signs in with a device code on the screen, and the session goes on."""

import pytest

from tests.fakes.device_server import DeviceServer
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.tui.screens.device_sign_in import DeviceSignInScreen
from workbench.tui.widgets.prompt import Prompt

MODEL = "github_copilot/gpt-5"
ENDLESS = ["authorization_pending"] * 10_000


@pytest.fixture
def token(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_COPILOT_TOKEN_DIR", str(tmp_path / "copilot"))
    return tmp_path / "copilot/access-token"


async def asked(pilot, app, server, monkeypatch):
    """Ask for the model, and wait until the code is on the screen."""
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    await wait_until(pilot, lambda: app.state.session_id)
    app.screen.query_one(Prompt).text = f"/model {MODEL}"
    await pilot.press("enter")
    await wait_until(pilot, lambda: isinstance(app.screen, DeviceSignInScreen))


async def test_code_and_url_are_shown_and_the_model_changes_once_they_were_used(token, monkeypatch, capfd):
    client = FakeClient(Script().start().user("Hi.").events)
    app = workbench_app(client)
    with DeviceServer(*ENDLESS) as server:
        async with app.run_test(size=(100, 30)) as pilot:
            await asked(pilot, app, server, monkeypatch)
            await wait_until(pilot, lambda: "ABCD-1234" in text_on(app) and len(server.polls) > 2)
            assert "https://github.com/login/device" in text_on(app)
            assert ("model", MODEL) not in client.commands
            server.script.clear()
            await wait_until(pilot, lambda: ("model", MODEL) in client.commands)
            assert len(app.screen_stack) == 1
    assert token.read_text() == "gho_secret"
    assert "ABCD" not in capfd.readouterr().out


async def test_escape_cancels_and_the_session_keeps_its_model(token, monkeypatch):
    client = FakeClient(Script().start().user("Hi.").events)
    app = workbench_app(client)
    with DeviceServer(*ENDLESS) as server:
        async with app.run_test(size=(100, 30)) as pilot:
            await asked(pilot, app, server, monkeypatch)
            await wait_until(pilot, lambda: server.polls)
            await pilot.press("escape")
            await wait_until(pilot, lambda: len(app.screen_stack) == 1)
            server.script.clear()
            await pilot.press(*"go", "enter")
            await wait_until(pilot, lambda: ("send", "go") in client.commands)
            assert ("model", MODEL) not in client.commands
    assert not token.exists()


@pytest.mark.parametrize(("error", "words"), [("access_denied", "You refused"), ("expired_token", "has expired")])
async def test_after_a_failure_r_requests_another_code(token, monkeypatch, error, words):
    client = FakeClient(Script().start().user("Hi.").events)
    app = workbench_app(client)
    with DeviceServer("authorization_pending", error) as server:
        async with app.run_test(size=(100, 30)) as pilot:
            await asked(pilot, app, server, monkeypatch)
            await wait_until(pilot, lambda: words in text_on(app))
            assert "ABCD-1234" not in text_on(app)
            await pilot.press("r")
            await wait_until(pilot, lambda: ("model", MODEL) in client.commands)
            assert server.codes == 2
