"""The status line while a fallback model is asked."""

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.plain.narration import standing
from workbench.protocol.live import EngineState
from workbench.text import visible
from workbench.tui.widgets.status_line import StatusLine


async def test_status_line_names_the_fallback_model_while_it_is_asked():
    client = FakeClient(Script().start(model="openai/gpt-5").user("Hi.").events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:

        def line() -> str:
            return str(pilot.app.screen.query_one(StatusLine).render().plain)

        await wait_until(pilot, lambda: "gpt-5" in line())
        client.bring(EngineState(state="thinking", model="local/sm\x1ball", address="127.0.0.1:9"))
        await wait_until(pilot, lambda: "sm\\eall @ 127.0.0.1:9" in line() and "gpt-5" not in line())
        assert "local/sm\\eall is asked in its place" in visible(" ".join(standing(app.state)))
        client.bring(EngineState(state="idle"))
        await wait_until(pilot, lambda: "gpt-5" in line() and "127.0.0.1" not in line())
        assert "in its place" not in " ".join(standing(app.state))
