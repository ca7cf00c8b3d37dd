"""Everyday tasks take few keystrokes, counted in the real program.

A word of a command and a paste count as one keystroke each. Free text is not counted, such as that of a message, a
title or a shell line, and neither are the keys that lead back to the prompt. The first key is in `test_first_key`.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from typing import Any

from tests.e2e.test_modes import modes
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, Event, HistoryCondensed, RunEnded, SettingsChanged, UserMessage
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


class Hands:
    """Presses keys and types words into a terminal, and counts them."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._count = 0

    def press(self, key: str) -> None:
        self._count += 1
        self.terminal.press(key)

    def word(self, text: str) -> None:
        """Type one word."""
        self._count += 1
        self.terminal.type(text)

    def paste(self, text: str) -> None:
        self._count += 1
        self.terminal.type(f"\x1b[200~{text}\x1b[201~")

    def command(self, line: str) -> None:
        """Type a line, one keystroke a word, and send it once it is in the prompt."""
        self._count += len(line.split())
        self.terminal.type(line)
        self.terminal.wait_for(line)
        self.press("enter")

    def count(self) -> int:
        """Return the keystrokes since the last call."""
        count, self._count = self._count, 0
        return count


def test_approvals_take_one_key_and_never_again_two(sandbox: Sandbox):
    run = [bash("python3 -m unittest", risk="MEDIUM"), bash("python3 -m unittest", risk="MEDIUM"), finish("Tested.")]
    model = sandbox.script(bash("touch one", risk="MEDIUM"), *run)
    with Terminal(["test it", "--model", model, "--workspace", str(sandbox.project)], 120, 34, sandbox.env) as terminal:
        hands = Hands(terminal)
        terminal.wait_for("touch one")
        terminal.wait_for("y Approve")
        hands.press("y")
        wait_for((sandbox.project / "one").exists, "the command to be run")
        assert hands.count() == 1
        terminal.wait_until(lambda screen: "▌ $ python3" in screen and "y Approve" in screen, "the second question")
        hands.press("a")
        terminal.wait_for("y Save the rule and approve")
        hands.press("y")
        terminal.wait_for("Tested.")
        assert hands.count() == 2
        terminal.press("ctrl+q")


def test_modes_models_sessions_copying_and_leaving_take_one_or_two_keystrokes(sandbox: Sandbox):
    model = sandbox.script(finish("The first answer."))
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text('[models.deep]\nmodel = "scripted/demo"\n')
    with Terminal(["begin", "--model", model, "--workspace", str(sandbox.project)], 120, 34, sandbox.env) as terminal:
        hands = Hands(terminal)
        terminal.wait_for("The first answer.")
        hands.press("shift+tab")
        wait_for(lambda: modes(sandbox) == ["edits"], "edits to be accepted")
        assert hands.count() == 1
        hands.command("/plan")
        wait_for(lambda: modes(sandbox)[-1] == "plan", "the mode for planning")
        assert hands.count() == 2
        hands.press("alt+y")
        copied = base64.b64encode(b"The first answer.")
        wait_for(lambda: terminal.text() and copied in terminal.raw, "the answer to be copied")
        assert hands.count() == 1
        hands.command("/model deep")
        terminal.wait_for("Model changed to: deep")
        assert hands.count() <= 3
        hands.command("/new")
        terminal.wait_for("What should we work on?")
        wait_for(lambda: len(list_sessions(sandbox.locations)) == 2, "the new session")
        assert hands.count() == 2
        hands.press("ctrl+d")
        assert terminal.wait_exit() == 0
        assert hands.count() == 1


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
EDITOR = '#!/bin/sh\nprintf "%s\\nadded line\\n" "$(cat "$1")" > "$1"\n'


class Day:
    """A user's day in one session of a project under git."""

    def __init__(self, sandbox: Sandbox, terminal: Terminal) -> None:
        self.sandbox, self.terminal, self.hands = sandbox, terminal, Hands(terminal)
        self.project = sandbox.project

    def write(self, text: str) -> None:
        """Type free text, which is not counted."""
        self.terminal.type(text)
        self.terminal.wait_for(text)

    def back(self, *shown: str) -> None:
        """Press Escape once the last line shows each of these keys, until the prompt has the focus; not counted."""
        for keys in shown:
            self.waits_for_keys(keys)
            self.terminal.press("escape")
        self.waits_for_keys("Enter Send")

    def waits_for_keys(self, *any_of: str) -> None:
        self.terminal.wait_until(lambda screen: any(shows_keys(screen, keys) for keys in any_of), f"{any_of}")

    def sees(self, text: str) -> None:
        self.terminal.wait_for(text)

    def waits(self, is_so: Callable[[], object], what: str) -> None:
        self.terminal.wait_until(lambda _: is_so(), what)

    def is_copied(self, text: str) -> None:
        copied = base64.b64encode(text.encode())
        self.waits(lambda: copied in self.terminal.raw, f"{text!r} to be copied")

    def event(self, kind: type[Event], what: str, **fields: object) -> Any:
        """Wait for an event of the newest session that has these values, and return it."""

        def fits(event: Event) -> bool:
            return isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())

        self.waits(lambda: any(map(fits, newest_log(self.sandbox))), what)
        return next(filter(fits, newest_log(self.sandbox)))


MODAL = "F1 Help"
"""The keys that the last line shows while a modal screen is open that does not cover it."""
PAGE = " Esc Close ─╯"
"""How the last line ends while a page covers the screen."""


def shows_keys(screen: str, keys: str) -> bool:
    """Return whether the last line shows these keys."""
    line = screen.rstrip().rpartition("\n")[2].strip()
    return line == MODAL or line.endswith(PAGE) if keys == MODAL else keys in line


def sent(day: Day) -> list[str]:
    return [event.text.strip() for event in newest_log(day.sandbox) if isinstance(event, UserMessage)]


def newest_log(sandbox: Sandbox) -> list[Event]:
    """Return the events of the session that was used last."""
    return log_of(sandbox, list_sessions(sandbox.locations)[0].id)


def log_of(sandbox: Sandbox, session_id: str) -> list[Event]:
    with Store.open(session_path(sandbox.locations, session_id), readonly=True) as store:
        return list(store.events())


def id_of(sandbox: Sandbox, title: str) -> str:
    """Return the id of the session with this title."""
    return next(each.id for each in list_sessions(sandbox.locations) if each.title == title)


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
    day.terminal.type("\x1b[200~a wrong paste\x1b[201~")
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
    day.sees("y Approve")


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


Flows = tuple[tuple[Callable[[Day], None], int], ...]
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
"""The flows of the first part of the day in their order, each with the most keystrokes that it may take."""
CHANGES: Flows = (
    (plan_then_run, 1),
    (reject_with_a_reason, 2),
    (edit_a_hunk, 3),
    (review_the_diff, 1),
    (undo_a_change, 2),
)
"""The flows of the session that is resumed, each with the most keystrokes that it may take."""


def test_a_day_of_writing_searching_and_changing_takes_few_keystrokes(sandbox: Sandbox):
    start_project(sandbox)
    arguments = ["begin", "--model", f"scripted/{sandbox.home}/script.toml", "--mode", "high"]
    with Terminal(arguments, 120, 34, sandbox.env, cwd=sandbox.project) as terminal:
        day = Day(sandbox, terminal)
        day.sees("That is all.")
        play(day, WRITING)
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
    again = ["resume", id_of(sandbox, "a day at the ledger")]
    with Terminal(again, 120, 34, sandbox.env, cwd=sandbox.project) as terminal:
        day = Day(sandbox, terminal)
        day.sees("Session renamed to a day at the ledger")
        play(day, CHANGES)
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0


def play(day: Day, flows: Flows) -> None:
    """Play the flows; each must take at most its keystrokes, and end in the prompt of an idle session."""
    for flow, most in flows:
        day.hands.count()
        flow(day)
        count = day.hands.count()
        assert count <= most, f"{flow.__name__} took {count} keystrokes"
        day.waits_for_keys("Enter Send", "y Approve")


def start_project(sandbox: Sandbox) -> None:
    """Make the project a git repository with one file, and give the user an editor that adds a line."""
    (sandbox.project / "ledger.py").write_text("balance = 1\n")
    (sandbox.home / "script.toml").write_text(SCRIPT)
    for arguments in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@example.org"]):
        subprocess.run(["git", *arguments], cwd=sandbox.project, check=True)
    editor = sandbox.home / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    sandbox.env |= {"VISUAL": str(editor), "EDITOR": str(editor)}
