"""Session files written by an earlier version open, read and export as they did then.

`recorded/KIND.session` holds an event of that kind, once with every field filled and once with only the required ones;
`events.json` has the events that were written. `whole.session` is a run of the offline model, beside its exports.
"""

import json
import re
import shutil
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from tests.sandbox import Sandbox
from workbench.protocol.events import Event, event_from_json
from workbench.session.storage.store import Store
from workbench.tui.screen_export import picture

RECORDED = Path(__file__).parent / "recorded"
EVENTS = json.loads((RECORDED / "events.json").read_text())


@pytest.fixture
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of a recorded session: SQLite writes beside a file even if it only reads it."""
    return Path(shutil.copy(RECORDED / f"{request.param}.session", tmp_path))


def test_each_kind_of_event_has_a_recorded_file():
    kinds = {event.__struct_config__.tag for event in get_args(Event)}
    assert kinds == set(EVENTS)


@pytest.mark.parametrize(("session", "kind"), [(kind, kind) for kind in EVENTS], indirect=["session"])
def test_event_of_each_kind_is_read_as_written(session, kind):
    with Store.open(session, readonly=True) as store:
        lines = [json.loads(line) for _, line in store.lines()]
        events = list(store.events())
    assert lines == EVENTS[kind]
    assert [event.kind for event in events] == [each["kind"] for each in EVENTS[kind]]
    assert [event_from_json(json.dumps(each)) for each in EVENTS[kind]] == events


@pytest.mark.parametrize("session", ["whole"], indirect=True)
def test_recorded_session_exports_as_before(sandbox: Sandbox, session):
    (directory := sandbox.locations.sessions).mkdir(parents=True)
    name = json.loads((RECORDED / "whole.jsonl").read_text().split("\n")[0])["id"]
    shutil.move(session, directory / f"{name}.session")
    assert sandbox.command("export", name, "--jsonl").stdout == (RECORDED / "whole.jsonl").read_text()
    text, deciders = re.subn(r" · allowed by [^`\n]+(?= `)", "", sandbox.command("export", name).stdout)
    assert text == (RECORDED / "whole.md").read_text()
    assert deciders == text.count("\n#### ")  # only the field with who allowed each action was added since


@pytest.mark.parametrize("session", ["whole"], indirect=True)
def test_recorded_session_replays_on_the_screen(session):
    with Store.open(session, readonly=True) as store:
        words = "".join(ElementTree.fromstring(picture(list(store.events()), (120, 40), "ohw-dark")).itertext())
    for part in ("Change <two> in the notes", "is new", "zwei", "cat missing"):
        assert part in words.replace("\xa0", " ")
