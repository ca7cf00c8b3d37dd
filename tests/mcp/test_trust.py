"""The trust screen shows word for word which servers a directory would start."""

import json

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.config.locations import Locations
from workbench.tui.screens.trust import TrustScreen
from workbench.view.approval.trust import started_by, trust_question

SERVERS = {
    "tracker": {"command": "npx", "args": ["-y", "some tracker", "--token", "${TOKEN}"]},
    "web": {"url": "https://example.org/\x1b[31mmcp", "headers": {"X-Key": "${OPENAI_API_KEY}"}},
    "node": {"command": "node", "args": ["x.js"], "env": {"NODE_OPTIONS": "--require ./y.js", "K": "${\x1b[31mK}"}},
    "odd": {"command": "x", "colour": "red"},
    **{f"more{number}": {"command": "sh"} for number in range(6)},
}


def test_no_server_that_runs_outside_is_left_out(tmp_path):
    outside = {f"outside{number}": {"command": "sh", "sandbox": False} for number in range(9)}
    inside = {f"more{number}": {"command": "sh"} for number in range(10)}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {**inside, **outside}}))
    question = trust_question(Locations(*(tmp_path / name for name in ("c", "d", "s", "r"))), tmp_path, (), set())
    assert question is not None
    lines = started_by(question, ".mcp.json")
    assert lines == [*(f"{name}: outside the sandbox: sh" for name in outside), "and 10 more"]


async def test_trust_screen_shows_what_would_be_started(tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": SERVERS}))
    where = Locations(*(tmp_path / name for name in ("c", "d", "s", "r")))
    question = trust_question(where, tmp_path, (), set())
    assert question is not None
    lines = started_by(question, ".mcp.json")
    assert lines[0] == "tracker: npx -y some tracker --token ${TOKEN}"
    assert lines[1] == "web: https://example.org/\\e[31mmcp · with X-Key: ${OPENAI_API_KEY}"
    assert lines[2] == "node: node x.js · with NODE_OPTIONS=--require ./y.js, K=${\\e[31mK}"
    assert lines[3].startswith("odd: x · `colour` is not used")
    assert (len(lines), lines[-1]) == (9, "and 2 more")
    assert started_by(question, ".ohw/rules.toml") == []
    app = workbench_app(FakeClient(), directory=tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        await app.push_screen(TrustScreen(question, lambda text: None))
        await wait_until(pilot, lambda: app.screen.query("#trust-text"))
        message = str(app.screen.query_one("#trust-text").render())
        assert all(line in message for line in lines)
    (tmp_path / ".mcp.json").write_text("[]")
    assert "must contain" in started_by(question, ".mcp.json")[0]
