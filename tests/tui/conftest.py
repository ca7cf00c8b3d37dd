import gc
import re
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_textual_snapshot
from pytest_textual_snapshot import SVGImageExtension
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.tui.pictures import SMALL, at_rest, bears_every_size
from tests.tui.sample_session import START
from tests.tui.waiting import until_idle, until_processed
from workbench.tui import garbage_collection
from workbench.view import clock
from workbench.view.approval import quiet_time

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch):
    """The same terminal, time zone and home on each machine, and no blinking or animation."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(TextArea.cursor_blink, "_default", False)
    monkeypatch.setattr(Input.cursor_blink, "_default", False)
    time.tzset()


@pytest.fixture(scope="session", autouse=True)
def _style_sheets_are_parsed_once() -> Iterator[None]:
    """Share the parsed rules of style sheets among the apps of all tests, where each app would parse them itself."""
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}
    parse_rules = Stylesheet._parse_rules

    def parsed_once(sheet: Stylesheet, *source: object, **options: object) -> list[RuleSet]:
        key = (*source, *options.items(), *sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse_rules(sheet, *source, **options)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parsed_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _pilots_wait_for_widgets_at_work_only() -> Iterator[None]:
    """Spare every idle widget the message with which a pilot would ask it whether it is idle, in each step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", until_processed)
        for module in ("textual.app", "textual.pilot"):
            patch.setattr(f"{module}.wait_for_idle", until_idle)
        yield


@pytest.fixture(scope="session", autouse=True)
def _apps_freeze_nothing() -> Iterator[None]:
    """Let apps not freeze objects, nor unfreeze them at their end: those of the suite, 800,000, stay frozen.

    Otherwise, the next collection would visit all of them, which takes 0.4 s of CPU.
    """
    controls = SimpleNamespace(**vars(gc) | {"freeze": lambda: None, "unfreeze": lambda: None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(garbage_collection, "gc", controls)
        yield


@pytest.fixture
def freezing_apps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the apps of this test freeze and unfreeze objects, as they do for users."""
    monkeypatch.setattr(garbage_collection, "gc", gc)


@pytest.fixture
def _time_stands_still(monkeypatch):
    """Freeze the clock, so that the durations of running actions are the same in each picture."""
    monkeypatch.setattr(clock, "now", lambda: START.replace(minute=1))


class GoldenPicture(SVGImageExtension):
    """A picture in the plugin's format, kept as `snapshots/<area>/<state>-<look>.svg`."""

    @classmethod
    def dirname(cls, *, test_location):
        return str(SNAPSHOTS / test_location.basename.removeprefix("test_pictures_"))

    @classmethod
    def get_snapshot_name(cls, *, test_location, index=0):
        state = re.fullmatch(r"test_(\w+)\[(.+)\]", test_location.snapshot_name)
        name, parameters = state.groups()
        return f"{name}-{parameters}" if parameters[0].isdigit() else parameters

    @classmethod
    def write_snapshot(cls, **written):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the name of the picture is not the name of its test
            super().write_snapshot(**written)


@pytest.fixture
def picture(monkeypatch, request, _time_stands_still):
    """Return a function that compares what an app shows in one look, after `show(pilot)`, with its golden picture.

    The app of the small picture is then drawn at odd sizes too; it has to survive all of them.
    """
    monkeypatch.setattr(pytest_textual_snapshot, "SVGImageExtension", GoldenPicture)
    monkeypatch.setattr(quiet_time, "QUIET", 0.0)  # a question in a picture accepts keys at once
    snap_compare = request.getfixturevalue("snap_compare")

    def compare(app, look, show):
        async def run_before(pilot):
            app.theme = look.theme
            await show(pilot)
            await at_rest(pilot)
            if look.size == SMALL.size:
                for _ in range(2):  # as `snap_compare` waits before it takes a picture
                    await pilot.pause()
                    await pilot.wait_for_scheduled_animations()
                taken = app.export_screenshot(title=app.title, simplify=True)
                await bears_every_size(pilot)
                monkeypatch.setattr(app, "export_screenshot", lambda **_: taken)

        return snap_compare(app, terminal_size=look.size, run_before=run_before)

    return compare


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A real repository with a change in its tree, at `~/code/calc`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / "code" / "calc"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    (place / "new.py").write_text("")
    return place
