"""Cells and the browser in a whole run of the command: rated, run, in the log, and nothing of them left."""

import json

import pytest

from tests.tools.browser.conftest import chromium
from tests.tools.shells import eventually
from tests.tools.web.site import Site
from tests.world import World

__all__ = ["chromium"]
pytestmark = pytest.mark.timeout(400)  # a Chromium may have to be installed first

CELL = "from PIL import Image\nprint(__import__('os').environ.get('OPENAI_API_KEY'))\nImage.new('RGB', (8, 8), 'navy')"


def test_a_run_draws_a_picture_and_reads_a_page(world: World, chromium: str):
    settings = world.locations.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[tools]\nexecute_ipython_cell = true\nbrowser = true\n")
    with Site({"/": lambda visit: visit.answer(b"<title>Shop</title><button>Buy now</button>")}) as site:
        model = world.script(
            {"tool": "execute_ipython_cell", "risk": "LOW", "arguments": {"code": CELL}},
            {"tool": "browser", "risk": "LOW", "arguments": {"code": f"goto('{site.url()}')"}},
            {"tool": "browser", "risk": "LOW", "arguments": {"code": "click('e2')"}},
            {"tool": "finish", "arguments": {"message": "Done."}},
        )
        done = world.ohw("run", "look", "--model", model, "--mode", "never", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    seen = [event for event in events if event["kind"] == "action_observed"]
    texts = [event["observation"]["content"][0]["text"] for event in seen]
    assert [event["observation"]["is_error"] for event in seen[:3]] == [False, False, False], texts
    cell, page, clicked = (event["observation"]["content"] for event in seen[:3])
    assert [block["type"] for block in cell] == ["text", "image"]
    assert cell[0]["text"] == "None\n[picture 1]"  # no key of the person
    assert "Title: Shop" in page[0]["text"]
    assert [block["type"] for block in page] == ["text", "image"]
    assert 'button "Buy now" [active]' in clicked[0]["text"]
    rated = [event for event in events if event["kind"] == "action_assessed"]
    assert [event["risk"] for event in rated[:3]] == ["HIGH", "MEDIUM", "MEDIUM"]
    assert [event["reasons"] for event in rated[1:3]] == [
        ["opens a page of this machine"],
        ['clicks button "Buy now" on 127.0.0.1'],
    ]
    eventually(lambda: not world.processes(), "a process is left")
