"""The user's own keys: every binding has a name and can be given other keys, and every hint shows the current key."""

import ast
import re
from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.tui.key_names import key_name
from workbench.tui.keys import ANSWERS, all_bindings, read_keymap
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.welcome import Welcome
from workbench.view.approval import quiet_time

GUIDE = Path(__file__).parents[2] / "workbench/guide/settings.md"


def test_every_binding_has_a_unique_name_and_a_description():
    bindings = all_bindings()
    names = [each.id for each in bindings]
    assert len(names) > 100
    assert all(names)
    assert all(each.binding.description for each in bindings)
    assert sorted(set(names)) == sorted(names)


def test_every_binding_except_answers_can_be_changed():
    for name in (each.id for each in all_bindings()):
        keymap = read_keymap({name: "ctrl+f11"})
        assert bool(keymap.usable) is (name not in ANSWERS), name
        assert bool(keymap.problems) is (name in ANSWERS), name


def test_default_keys_do_not_clash():
    for each in all_bindings():
        if each.id not in ANSWERS and (len(each.binding.key) > 1 or each.context):
            assert read_keymap({each.id: each.binding.key}).problems == (), each.id


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('modee = "f7"', "there is no key binding 'modee'; did you mean 'mode'?"),
        ('diff = "f8"', "diff: f8 is the key of question (Pending approvals)"),
        ('send = "ctrl+p"', "send: ctrl+p is the key of palette (Palette)"),
        ('quit = "x"', "quit: 'x' is needed for typing; use e.g. f7 or ctrl+n"),
        ('help = "escpae"', "help: there is no key 'escpae'; did you mean 'escape'?"),
        ('help = ""', "help: no key is named; write one such as f7"),
        ('"approval.approve" = "enter"', "approval.approve cannot be rebound (approval keys are fixed)"),
        ('"approval.edit" = "y"', "approval.edit: y is the key of approval.approve (Approve)"),
    ],
)
def test_key_problem_is_reported_with_file_and_line_and_others_apply(tmp_path, line, message):
    file = tmp_path / "settings.toml"
    file.write_text(f'mode = "ask"\n\n[keys]\nzoom = "f12"\n{line}\n')
    name, key = (part.strip().strip('"') for part in line.split("="))
    keymap = read_keymap({"zoom": "f12", name: key}, file)
    assert keymap.problems == (f"{file}:5: {message}",)
    assert keymap.usable == {"zoom": "f12"}


def test_swapped_keys_do_not_clash():
    assert read_keymap({"diff": "f8", "question": "f5"}).problems == ()


def test_guide_names_existing_bindings():
    names = {each.id for each in all_bindings()}
    listed = re.search(r"The names of the main screen are `(.*?)`", GUIDE.read_text(), re.DOTALL)[1].split()
    assert set(listed) <= names
    assert {"send", "mode", "diff", "question", "palette"} <= set(listed)


PACKAGE = Path(__file__).parents[2] / "workbench"
FIXED = {"y", "n", "a", "Y", "Enter", "Tab", "1"}
"""Keys in hints that belong to the widgets or to answers, and cannot be changed."""


def strings(node: ast.AST):
    """Yield the text of each string in a module, except docstrings; what an f-string inserts counts as a dash."""
    docs = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Expr)}
    inside = {id(part) for each in ast.walk(node) if isinstance(each, ast.JoinedStr) for part in each.values}
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "-" for part in each.values)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docs | inside:
            yield each.value


def test_no_hint_names_a_key_that_the_user_may_have_changed():
    key = r"(Esc|Enter|Tab|F\d+|(?:Ctrl|Alt)\+\w+|[a-zA-Z/.])"
    hint = re.compile(rf"(?:^|   |· |/|; |Press ){key}(?: [A-Z/]| again| stops )")
    found = []
    for file in [*PACKAGE.glob("tui/**/*.py"), *PACKAGE.glob("view/**/*.py")]:
        tree = ast.parse(file.read_text())
        found += [(file.name, key) for text in strings(tree) for key in hint.findall(text) if key not in FIXED]
        calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and each.args]
        hints = [each.args[0] for each in calls if getattr(each.func, "id", "") == "KeyHint"]
        named = [each.value for each in hints if isinstance(each, ast.Constant)]
        found += [(file.name, key) for key in named if key[:1].isalpha() and key not in FIXED]
    # `Esc` closes a question and its note without an answer: this key is fixed, as those of answers are.
    assert sorted(found) == [("question.py", "Esc"), ("question.py", "Esc")]


def test_hints_name_bindings_and_their_default_keys():
    usual = {each.id: each.binding.key.split(",")[0] for each in all_bindings()}
    named = []
    for file in [*PACKAGE.glob("tui/**/*.py"), *PACKAGE.glob("view/**/*.py")]:
        text = file.read_text()
        named += re.findall(r"\{([a-z-]+(?:\.[a-z-]+)?)=(\w+(?:\+\w+)*)\}", text)
        named += re.findall(r"""\bkey(?:_of\([\w.]+, |\()["']([a-z.-]+)["'], ["']([^"']+)["']\)""", text)
    assert len(named) > 60
    for name, key in named:
        assert key_name(key).lower() == key_name(usual[name]).lower(), name


async def test_footer_help_and_welcome_show_the_users_keys():
    keys = {"mode": "f7", "help": "ctrl+f1", "send": "ctrl+s", "palette": "f12"}
    app = workbench_app(FakeClient(Script().start().events), set={"keys": keys})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id and "Ctrl+F1 Help" in text_on(app))
        assert bound_keys(app.screen)["mode"] == "F7"
        hints = app.screen.query_one(KeyHints).render().plain
        assert "Ctrl+S Send" in hints
        assert "F7 Mode" in hints
        assert "F12 Palette" in hints
        await pilot.resize_terminal(120, 11)  # without the last line, the welcome text shows the keys
        await wait_until(pilot, lambda: "Ctrl+S Send   F7 Mode" in app.screen.query_one(Welcome).render().plain)
        await pilot.resize_terminal(120, 40)
        await pilot.press("ctrl+f1")
        await wait_until(pilot, lambda: app.screen.id == "help-screen" and re.search(r"F7 +Next mode", text_on(app)))
        assert not app._notifications


async def test_key_problems_are_one_notice():
    app = workbench_app(FakeClient(), set={"keys": {"nosuch": "f7", "diff": "f8", "mode": "f7"}, "theme": "ohw-dusc"})
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app._notifications)
        (notice,) = app._notifications
        assert notice.message == "3 problems in settings and themes   F10 Details"
        assert [line.split(":")[0] for line in app.problems.lines] == [
            "there is no theme ohw-dusc; did you mean 'ohw-dusk'?; using ohw-dark",
            "there is no key binding 'nosuch'",
            "diff",
        ]
        await wait_until(pilot, lambda: bound_keys(app.screen)["diff"] == "F5")
        assert bound_keys(app.screen)["mode"] == "F7"


async def test_rejected_key_leaves_the_default_in_the_footer():
    app = workbench_app(FakeClient(), set={"keys": {"help": "ctrl+p"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app._notifications)
        await wait_until(pilot, lambda: "F1 Help" in app.screen.query_one(KeyHints).render().plain)
        assert "Ctrl+P Palette" in app.screen.query_one(KeyHints).render().plain


async def test_question_shows_the_users_keys():
    script = Script().start().user("go")
    script.ask("execute_bash", command="make")
    app = workbench_app(FakeClient(script.events), set={"keys": {"approval.note": "t", "approval.edit": "w"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen) and app.screen.quiet.is_armed)
        await wait_until(pilot, lambda: "w Edit" in text_on(app))
        assert "t Note" in text_on(app)
        await wait_until(pilot, lambda: "y Approve" in text_on(app))


@pytest.mark.parametrize(
    ("key", "keys", "hints"),
    [
        ("ctrl+o", {"sessions.new": "w", "sessions.search": "f11", "sessions.close": "q"}, ["w New", "F11 Search"]),
        ("ctrl+o", {"sessions.new": "w,f12"}, ["w New", "/ Filter", "Esc Close"]),
    ],
)
async def test_pages_show_the_users_keys(key, keys, hints):
    app = workbench_app(FakeClient(Script().start().events), set={"keys": keys})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(key)
        await wait_until(pilot, lambda: all(hint in text_on(app) for hint in hints))
        assert len(app.screen_stack) > 1


async def test_changed_keys_of_a_question_have_no_effect_before_the_quiet_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quiet_time, "QUIET", 1e9)  # so that a slow machine does not count as a slow user
    script = Script().start().user("go")
    script.ask("execute_bash", command="make")
    app = workbench_app(FakeClient(script.events), set={"keys": {"approval.edit": "f11", "approval.note": "f12"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        for key in ("f11", "f12"):
            await pilot.press(key)
            assert isinstance(app.screen, ApprovalScreen)
            assert app.screen.box.editor is None
            assert not app.screen.box.is_writing
