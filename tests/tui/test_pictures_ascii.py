"""Golden pictures of an ASCII-only terminal: borders, signs and diffs are still readable."""

import ast
import unicodedata
from pathlib import Path

import pytest

import workbench
from tests.batch.watched import running_run
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.pictures import SMALL, app_with, at_rest, in_each_look, in_looks, show_events, text_on
from tests.tui.test_pictures_batch_watch import watch_app
from tests.tui.test_pictures_diff_viewer import reviewed, session
from tests.tui.test_pictures_stale_files import in_part, stale_file
from workbench.ascii import TABLE
from workbench.protocol.live import EngineState
from workbench.tui.key_names import spelled
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.terminal.filters import AsciiFilter
from workbench.tui.terminal.integration import TerminalIntegration
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view import clock
from workbench.view.formatting.actions import PHASE_ICONS
from workbench.view.formatting.timeline_rows import RISK_ICONS


@in_each_look
@pytest.mark.parametrize("state", [stale_file, in_part], ids=lambda state: state.__name__)
def test_a_screen_in_ascii(state, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": True})

    async def show(pilot):
        await show_events(pilot, client, events)
        await at_rest(pilot)
        assert text_on(app).isascii()

    assert picture(app, look, show)


@in_looks(SMALL)
@pytest.mark.parametrize("state", ["batch_watch"])
def test_run_without_colors_and_unicode(state, look, picture, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("OHW_ASCII", "1")
    with running_run(tmp_path / "nightly", now=clock.now().timestamp()) as run:
        app = watch_app(run, look)

        async def show(pilot):
            await wait_until(pilot, lambda: "27 of 48" in text_on(app))
            assert text_on(app).isascii()

        assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("signs", ["ascii", "no_color"], ids="ruler_in_{}".format)
def test_ruler_of_the_diff_viewer(signs, look, directory, picture, monkeypatch):
    if signs == "no_color":
        monkeypatch.setenv("NO_COLOR", "1")
    events = session()
    client, app = app_with(events, directory, look.theme)
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": signs == "ascii"})

    async def show(pilot):
        await show_events(pilot, client, [*events, EngineState(state="idle")])
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "class Server" in text_on(app))
        view = app.screen.query_one(AnnotatedDiff)
        await wait_until(pilot, lambda: view.has_focus)
        await reviewed(pilot, client, view)
        assert text_on(app).isascii() == (signs == "ascii")

    assert picture(app, look, show)


# Signs that may share their ASCII spelling, because they mean the same or are only the same stroke.
SAME_MEANING = ("─–−—‐‑", "│┃▌▏▎▍", "›❯→»", "‹←«", "■█▀▂▃▄▅▆▇▋▊▉", "●⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "…⋯", "‘’‚‛´", "“”„")
NOT_DRAWN = "⏳✅〰〽⯿"
"""Signs that are sent to the model, or are part of a regular expression."""
FRONT_ENDS = ("tui", "view", "plain", "protocol", "tools", "cli")


def signs_drawn():
    """Return the signs outside ASCII in the strings of the front ends."""
    drawn = set()
    for directory in FRONT_ENDS:
        for path in (Path(workbench.__file__).parent / directory).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    drawn |= {sign for sign in node.value if not sign.isascii()}
    return {sign for sign in drawn - set(NOT_DRAWN) if unicodedata.category(sign)[0] in "SP" and ord(sign) < 0x1F000}


def test_no_two_signs_of_the_interface_share_their_ascii_spelling():
    signs = signs_drawn() | {sign for sign, _ in PHASE_ICONS.values()} | set(RISK_ICONS.values()) | set("⏎◇◐")
    assert {"…", "·", "±", "▸", "›", "⠹"} <= signs
    assert {sign for sign in signs if not sign.isascii() and ord(sign) not in TABLE} == set()
    spellings = {}
    for sign in sorted(signs):
        family = next((each for each in SAME_MEANING if sign in each), sign)
        spellings.setdefault(sign.translate(TABLE), set()).add(family)
    assert [families for families in spellings.values() if len(families) > 1] == []


@pytest.mark.parametrize(
    ("hint", "spelling"),
    [("↑↓", "Up/Down"), ("↑ ↓", "Up/Down"), ("← →", "Left/Right"), ("Move (↑/↓)", "Move (Up/Down)"), ("Esc", "Esc")],
)
async def test_arrow_keys_are_named_in_ascii(hint, spelling):
    app = workbench_app(None, set={"terminal": {"ascii": True}})
    async with app.run_test():
        assert spelled(app, hint) == spelling
        app.terminal.is_ascii = False
        assert spelled(app, hint) == hint


@pytest.mark.parametrize("ascii_only", [True, False])
async def test_the_setting_draws_a_screen_in_ascii(ascii_only):
    app = workbench_app(None, set={"terminal": {"ascii": ascii_only}})
    async with app.run_test():
        assert any(isinstance(each, AsciiFilter) for each in app.get_line_filters()) == ascii_only
