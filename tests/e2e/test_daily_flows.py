"""Everyday tasks take few keystrokes, counted in the real program; `pytest -s` prints the table of tasks.

What counts as a keystroke is said in `working_day`.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.e2e.test_modes import modes
from tests.e2e.working_day import (
    MODAL,
    Day,
    Flows,
    id_of,
    log_of,
    sent,
    slow_flows,
    start_project,
)
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn
from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, HistoryCondensed, RunEnded, SettingsChanged, UserMessage
from workbench.session.storage.session_list import list_sessions

KEY = "sk-first-0123456789abcdef"
SCRIPT = """\
[[turn]]
name = "fails"
when = { user = "begin" }
[[turn.call]]
tool = "execute_bash"
risk = "LOW"
summary = "Run the tests"
arguments = { command = "echo KeyError in gross; exit 3" }

[[turn]]
name = "passes"
[[turn.call]]
tool = "execute_bash"
risk = "LOW"
summary = "Run the other tests"
arguments = { command = "seq -f 'case %g passed' 40" }

[[turn]]
name = "answer"
text = "One test fails. I would write:\\n\\n```python\\ntotal = 41\\n```\\n\\nThat is all."

[[turn]]
name = "hold"
after = "any"
when = { waiting = true, user = "hold on" }
[[turn.call]]
tool = "execute_bash"
risk = "LOW"
summary = "Wait"
arguments = { command = "echo > held; while [ ! -e go ]; do sleep 0.05; done" }

[[turn]]
name = "plan"
after = "any"
when = { waiting = true, user = "plan it" }
text = "I would change ledger.py in two places."

[[turn]]
name = "edit"
after = "plan"
when = { user = "carry it out" }
[[turn.call]]
tool = "str_replace_editor"
risk = "HIGH"
summary = "Change everything"
arguments = { command = "create", path = "{workspace}/all.py", file_text = "all\\n" }

[[turn]]
name = "smaller"
after = "edit"
when = { note = "only the ledger" }
[[turn.call]]
tool = "str_replace_editor"
risk = "HIGH"
summary = "Change the balance"
arguments = { command = "str_replace", path = "{workspace}/ledger.py", old_str = "= 1", new_str = "= 2" }

[[turn]]
name = "planned"
text = "As planned."

[[turn]]
name = "short"
after = "summary"
text = "Two tests were run and one failed."

[[turn]]
name = "reply"
after = "any"
when = { waiting = true }
text = "Understood."
"""


def first_key(day: Day) -> None:
    day.hands.press(re.search(r"(\d) OpenAI ", day.sees("OpenAI ", "paste a key"))[1])
    day.waits_for_keys("Tab Next field")
    day.hands.paste(KEY)
    day.sees("2 models")
    day.hands.press("enter")
    day.sees("What should we work on?")


def retry_after_an_error(day: Day) -> None:
    day.write("say hello")
    day.terminal.press("enter")
    day.waits_for_keys("Enter Retry")
    day.hands.press("enter")
    day.sees("Hello.")


def approve_once(day: Day) -> None:
    day.waits_for_keys("y Approve")
    day.hands.press("y")
    day.waits((day.project / "one").exists, "the command to be run")


def never_be_asked_again(day: Day) -> None:
    day.sees("▌ $ python3")
    day.waits_for_keys("y Approve")
    day.hands.press("a")
    day.sees("y Save the rule and approve")
    day.hands.press("y")
    day.sees("Tested.")


def accept_edits(day: Day) -> None:
    day.hands.press("shift+tab")
    day.waits(lambda: modes(day.sandbox) == ["edits"], "edits to be accepted")


def plan(day: Day) -> None:
    day.hands.command("/plan")
    day.waits(lambda: modes(day.sandbox)[-1] == "plan", "the mode for planning")


def copy_the_last_answer(day: Day) -> None:
    day.hands.press("alt+y")
    day.is_copied("Tested.")


def choose_another_model(day: Day) -> None:
    day.hands.command("/model deep")
    day.sees("Model changed to: deep")


def start_a_new_session(day: Day) -> None:
    day.hands.command("/new")
    day.sees("What should we work on?")
    day.waits(lambda: len(list_sessions(day.sandbox.locations)) == 2, "the new session")


def leave(day: Day) -> None:
    day.hands.press("ctrl+d")
    assert day.terminal.wait_exit() == 0


def expand_tool_output(day: Day) -> None:
    assert "case 7 passed" not in day.terminal.text()
    day.hands.press("f2")
    day.hands.press("enter")
    day.sees("case 7 passed")
    day.back("q Close", "Esc Prompt")


def jump_to_the_error(day: Day) -> None:
    day.hands.press("f2")
    day.hands.press("/")
    day.hands.word("failed")
    day.sees("1 of 3")
    day.hands.press("enter")
    day.hands.press("enter")
    day.sees("exit code 3")
    day.back("q Close", "Esc Every row again", "Esc Prompt")


def copy_a_code_block(day: Day) -> None:
    day.hands.press("tab")
    day.hands.press("k")
    day.sees("Y Copy code")
    day.hands.press("Y")
    day.is_copied("total = 41")
    day.back("Esc Prompt")


def search_the_conversation(day: Day) -> None:
    day.hands.press("ctrl+f")
    day.hands.word("keyerror")
    day.sees("1/1")
    day.hands.press("enter")
    day.sees("n Next")
    day.back("Esc Prompt")


def attach_a_file(day: Day) -> None:
    day.write("explain @led")
    day.sees("ledger.py")
    day.hands.press("tab")
    day.sees("explain @ledger.py")
    day.hands.press("enter")
    message = day.event(UserMessage, "the mention", mentions=("ledger.py",))
    assert message.attached[0].text == "balance = 1\n"


def paste_many_lines(day: Day) -> None:
    lines = "\n".join(f"line {number}" for number in range(30))
    day.hands.paste(lines)
    day.sees("[pasted 30 lines]")
    day.hands.press("enter")
    day.event(UserMessage, "the whole paste", text=lines)


def edit_the_last_message(day: Day) -> None:
    day.write("look at the cart")
    day.terminal.press("enter")
    day.event(UserMessage, "the message", text="look at the cart")
    day.hands.press("up")
    day.write(" and the tax")
    day.hands.press("enter")
    day.event(UserMessage, "the edited message", text="look at the cart and the tax")


def run_a_shell_line(day: Day) -> None:
    day.write("!echo by $((40 + 2)) hands")
    day.hands.press("enter")
    day.sees("by 42 hands")


def commit(day: Day) -> None:
    day.write("!git add -A && git commit -qm 'Add the ledger'")
    day.hands.press("enter")
    git = ["git", "-C", str(day.project), "log", "--format=%s"]
    day.waits(lambda: "Add the ledger" in subprocess.run(git, capture_output=True, text=True).stdout, "the commit")


def search_the_history(day: Day) -> None:
    day.hands.press("ctrl+r")
    day.hands.word("explain")
    day.hands.press("enter")
    day.sees("│ explain @ledger.py")
    day.hands.press("enter")
    day.waits(lambda: sent(day).count("explain @ledger.py") == 2, "it to be sent again")


def write_in_an_editor(day: Day) -> None:
    day.write("first line")
    day.hands.press("ctrl+g")
    day.sees("added line")
    day.hands.press("enter")
    day.event(UserMessage, "the edited text", text="first line\nadded line")


def undo_in_the_prompt(day: Day) -> None:
    day.terminal.paste("a wrong paste")
    day.sees("a wrong paste")
    day.hands.press("ctrl+_")
    day.sees("Ask anything")


def queue_a_message_and_edit_it(day: Day) -> None:
    day.write("hold on")
    day.terminal.press("enter")
    day.waits((day.project / "held").exists, "the agent to work")
    day.write("use blue")
    day.hands.press("enter")
    day.sees("1 queued")
    day.hands.press("up")
    day.hands.press("enter")
    day.sees("\n│ use blue")
    day.write("ish green")
    day.hands.press("enter")
    day.sees("1 queued")
    (day.project / "go").touch()
    day.event(UserMessage, "the edited message", text="use blueish green")


def interrupt(day: Day) -> None:
    for name in ("go", "held"):
        (day.project / name).unlink()
    day.write("hold on again")
    day.terminal.press("enter")
    day.waits((day.project / "held").exists, "the agent to work")
    day.sees("Esc to stop")
    day.hands.press("escape")
    day.event(RunEnded, "the end of the run", reason="interrupted")
    (day.project / "held").unlink()


def see_the_cost(day: Day) -> None:
    day.hands.command("/cost")
    day.sees("this session")
    day.back(MODAL)


def compact(day: Day) -> None:
    day.hands.command("/compact")
    day.event(HistoryCondensed, "the summary")


def change_the_theme(day: Day) -> None:
    color = b"38;2;35;40;47"
    assert color not in day.terminal.raw
    day.hands.command("/theme ohw-light")
    day.waits(lambda: color in day.terminal.raw, "the theme's text color")


def change_a_setting(day: Day) -> None:
    day.hands.command("/settings unknown")
    day.terminal.wait_until(lambda screen: "›  Ask if unknown" in screen, "the setting to be selected")
    assert "Stop loops" not in day.terminal.text()
    day.hands.press("enter")
    day.sees("Enter Save")
    day.hands.press("down")
    day.hands.press("enter")
    day.waits(day.sandbox.locations.settings_file.exists, "the change to be saved")
    assert "confirm_unknown = false" in day.sandbox.locations.settings_file.read_text()
    day.back(MODAL, MODAL)


def get_help_on_keys(day: Day) -> None:
    day.hands.press("f1")
    day.sees("Search")
    day.back(MODAL)


def export(day: Day) -> None:
    day.hands.command("/export day.md")
    file = day.project / "day.md"
    day.waits(file.exists, "the file")
    day.waits(lambda: "look at the cart and the tax" in file.read_text(), "the session in it")
    file.unlink()


def rename(day: Day) -> None:
    day.hands.press("ctrl+o")
    day.sees("r Rename")
    day.hands.press("r")
    day.sees("Enter Save the title")
    day.hands.press("ctrl+u")
    day.write("a day at the ledger")
    day.hands.press("enter")
    day.waits(lambda: list_sessions(day.sandbox.locations)[0].title == "a day at the ledger", "the new title")
    day.back(MODAL)


def switch_the_session(day: Day) -> None:
    day.terminal.type("/new\r")
    day.sees("What should we work on?")
    day.write("a second session")
    day.terminal.press("enter")
    day.sees("Understood.")
    day.hands.press("ctrl+o")
    day.sees("a day at the ledger")
    day.hands.press("down")
    day.hands.press("enter")
    day.sees("look at the cart and the tax")
    # The flags of the start were for the session that it began, which has had this model and mode ever since.
    events = log_of(day.sandbox, id_of(day.sandbox, "a day at the ledger"))
    assert not [event for event in events if isinstance(event, SettingsChanged) and (event.mode or event.model)]
    assert "changed to" not in day.terminal.text()


def plan_then_run(day: Day) -> None:
    day.terminal.type("/mode plan\r")
    day.sees("Mode changed to: Plan")
    day.write("plan it")
    day.terminal.press("enter")
    day.sees("Keep planning")
    assert not (day.project / "all.py").exists()
    day.hands.press("y")
    day.waits_for_keys("y Approve  n Reject")  # the edit's question; that of the plan has another key after y


def reject_with_a_reason(day: Day) -> None:
    day.hands.press("n")
    day.write("only the ledger")
    day.hands.press("enter")
    day.event(ActionDecided, "the reason", note="only the ledger")
    assert not (day.project / "all.py").exists()
    day.sees("Change the balance")


def edit_a_hunk(day: Day) -> None:
    day.hands.press("e")
    day.sees("Ctrl+S")
    day.write("opening_")
    day.hands.press("ctrl+s")
    day.sees("y Approve as edited")
    day.hands.press("y")
    day.sees("As planned.")
    assert (day.project / "ledger.py").read_text() == "opening_balance = 2\n"


def review_the_diff(day: Day) -> None:
    day.hands.press("f5")
    day.sees("+ opening_balance = 2")
    day.back("Esc")


def undo_a_change(day: Day) -> None:
    day.hands.press("f5")
    day.hands.press("x")
    day.waits(lambda: (day.project / "ledger.py").read_text() == "balance = 1\n", "the change to be undone")
    day.back("Esc Close")


FIRST: Flows = ((first_key, 3), (retry_after_an_error, 1))
"""The tasks of a newcomer, without a key of any provider."""
ASKED: Flows = (
    (approve_once, 1),
    (never_be_asked_again, 2),
    (accept_edits, 1),
    (plan, 2),
    (copy_the_last_answer, 1),
    (choose_another_model, 3),
    (start_a_new_session, 2),
    (leave, 1),
)
"""The tasks of a session in the default mode."""
WRITING: Flows = (
    (expand_tool_output, 2),
    (jump_to_the_error, 5),
    (copy_a_code_block, 3),
    (search_the_conversation, 3),
    (attach_a_file, 2),
    (paste_many_lines, 2),
    (edit_the_last_message, 2),
    (run_a_shell_line, 1),
    (commit, 1),
    (search_the_history, 4),
    (write_in_an_editor, 2),
    (undo_in_the_prompt, 1),
    (queue_a_message_and_edit_it, 4),
    (interrupt, 1),
    (see_the_cost, 2),
    (compact, 2),
    (change_the_theme, 3),
    (change_a_setting, 6),
    (get_help_on_keys, 1),
    (export, 3),
    (rename, 4),
    (switch_the_session, 3),
)
"""The tasks of a session that is not asked."""
CHANGES: Flows = (
    (plan_then_run, 1),
    (reject_with_a_reason, 2),
    (edit_a_hunk, 3),
    (review_the_diff, 1),
    (undo_a_change, 2),
)
"""The tasks after that session is resumed."""


@pytest.mark.timeout(120)
def test_first_key_and_retry_take_few_keystrokes(sandbox: Sandbox):
    del sandbox.env["OPENAI_API_KEY"]
    turns = [Turn("Ready."), Fault(400, "odd request"), Turn("Hello.")]
    with ModelServer(turns, key=KEY, names=["gpt-5", "gpt-5-mini"]) as server:
        sandbox.env["OPENAI_BASE_URL"] = server.base_url
        with Terminal(["--workspace", str(sandbox.project)], 120, 34, sandbox.env) as terminal:
            assert slow_flows(Day(sandbox, terminal), FIRST) == []


@pytest.mark.timeout(120)
def test_approving_and_switching_take_few_keystrokes(sandbox: Sandbox):
    run = [bash("python3 -m unittest", risk="MEDIUM")] * 2
    model = sandbox.script(bash("touch one", risk="MEDIUM"), *run, finish("Tested."))
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text('[models.deep]\nmodel = "scripted/demo"\n')
    arguments = ["test it", "--model", model, "--workspace", str(sandbox.project)]
    with Terminal(arguments, 120, 34, sandbox.env) as terminal:
        assert slow_flows(Day(sandbox, terminal), ASKED) == []


@pytest.mark.timeout(240)
def test_writing_searching_and_changing_take_few_keystrokes(sandbox: Sandbox):
    start_project(sandbox, SCRIPT)
    arguments = ["begin", "--model", f"scripted/{sandbox.home}/script.toml", "--mode", "high"]
    with Terminal(arguments, 120, 34, sandbox.env, cwd=sandbox.project) as terminal:
        day = Day(sandbox, terminal)
        day.sees("That is all.")
        assert slow_flows(day, WRITING) == []
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
    again = ["resume", id_of(sandbox, "a day at the ledger")]
    with Terminal(again, 120, 34, sandbox.env, cwd=sandbox.project) as terminal:
        day = Day(sandbox, terminal)
        day.sees("Session renamed to a day at the ledger")
        assert slow_flows(day, CHANGES) == []
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
