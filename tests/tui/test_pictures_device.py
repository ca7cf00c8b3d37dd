"""Golden pictures of the sign-in with a device code: while it waits, and after it was refused."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from workbench.llm.device_sign_in import DeviceCode, SignInError
from workbench.tui.screens import device_sign_in
from workbench.tui.screens.device_sign_in import DeviceSignInScreen

CODE = DeviceCode("ABCD-1234", "https://github.com/login/device", "d", 5, 900)


@in_each_look
@pytest.mark.parametrize("state", ["waiting", "refused"])
def test_device_sign_in(state, look, directory, picture, monkeypatch):
    def wait(code, cancelled):
        if state == "refused":
            raise SignInError("You refused the sign-in on GitHub.")
        return cancelled.wait() and False

    monkeypatch.setattr(device_sign_in, "request_code", lambda: CODE)
    monkeypatch.setattr(device_sign_in, "wait_for_token", wait)
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        app.push_screen(DeviceSignInScreen("github_copilot/gpt-5"))
        await wait_until(pilot, lambda: ("ABCD-1234" if state == "waiting" else "You refused") in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)
