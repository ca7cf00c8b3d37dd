import re
import time
import warnings
from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.widgets import Input, TextArea

from tests.tui.sample_session import START
from workbench.view import clock

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch):
    """The same terminal, time zone and home on each machine, and nothing that blinks or moves."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(TextArea.cursor_blink, "_default", False)
    monkeypatch.setattr(Input.cursor_blink, "_default", False)
    time.tzset()


@pytest.fixture
def _time_stands_still(monkeypatch):
    """Running actions have run for the same time in each picture."""
    monkeypatch.setattr(clock, "now", lambda: START.replace(minute=1))


class PictureExtension(SingleFileSnapshotExtension):
    """Golden pictures: one SVG each, in `snapshots/<module>/`, named by the parameters of its test."""

    _file_extension = "svg"
    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def write_snapshot(cls, **written):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a picture's name is not that of its test
            super().write_snapshot(**written)

    @classmethod
    def dirname(cls, *, test_location):
        return str(SNAPSHOTS / test_location.basename)

    @classmethod
    def get_snapshot_name(cls, *, test_location, index=0):
        return re.sub(r".*\[(.+)\]", r"\1", super().get_snapshot_name(test_location=test_location, index=index))

    def serialize(self, data, **kwargs):
        named = re.sub(r"\bterminal-\d+-", "terminal-", data)
        blanks = named.replace("&#160;", " ")  # some programs that draw pictures drop the other kind
        return blanks.replace("<text ", '<text xml:space="preserve" ')


@pytest.fixture
def picture(snapshot, _time_stands_still):
    """Compare what an app shows with its golden picture."""
    golden = snapshot.use_extension(PictureExtension)

    def compare(app, name=None):
        """`name` tells several pictures of one test apart."""
        return app.export_screenshot(title="ohw") == (golden(name=name) if name else golden)

    return compare
