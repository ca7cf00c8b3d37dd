"""Golden pictures of the Usage screen."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look, text_on
from tests.tui.test_usage import spent
from tests.tui.usage_files import keep_spent
from workbench.protocol import events as ev


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    keep_spent(has_decisions=True)


@in_each_look
@pytest.mark.parametrize("scope", ["session", "all"])
def test_usage(scope, look, picture):
    script = spent()
    script.add(ev.RunEnded, reason="finished")
    script.user("And now the tests")
    for number, size in enumerate((30_000, 90_000, 8_000)):
        script.end(script.begin("execute_bash", command=f"cat log{number}.txt"), "x\n" * (size // 2))
    app = workbench_app(FakeClient(script.events))

    async def show(pilot):
        await wait_until(pilot, lambda: len(app.state.actions) == 3)
        app.action_page("usage")
        await wait_until(pilot, lambda: "By turn" in text_on(app))
        if scope == "all":
            await pilot.press("shift+tab")
            await wait_until(pilot, lambda: "Plan the release" in text_on(app))

    assert picture(app, look, show)
