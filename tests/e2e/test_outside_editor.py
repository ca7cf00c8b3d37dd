"""A command of a question in the user's own editor: a real process that has the terminal for that time."""

from __future__ import annotations

from pathlib import Path

from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

EDITOR = """#!/bin/sh
read -r -p 'EDITOR HAS THE TERMINAL: ' answer < /dev/tty
cp "$1" "$HOME/was-given"
[ "$answer" = keep ] || exit 3
printf 'echo "by  hand" >> made-it\\necho two >> made-it' > "$1"
"""


def editor_of(sandbox: Sandbox) -> dict[str, str]:
    path = sandbox.home / "editor"
    path.write_text(EDITOR.replace("#!/bin/sh", "#!/bin/bash"))
    path.chmod(0o755)
    return {**sandbox.env, "VISUAL": "", "EDITOR": str(path)}


def log(sandbox: Sandbox) -> list:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def use_editor(terminal: Terminal, answer: str) -> None:
    terminal.press("E")
    terminal.wait_for("EDITOR HAS THE TERMINAL")
    assert "Esc Not now" not in terminal.text()
    terminal.type(f"{answer}\r")


def test_command_is_edited_in_a_real_editor_and_runs_as_saved(sandbox: Sandbox) -> None:
    model = sandbox.script(bash("echo ran >> made-it", risk="MEDIUM"), finish("As you wish."))
    args = ("make the file", "--model", model, "--workspace", str(sandbox.project))
    with Terminal(args, 110, 34, editor_of(sandbox)) as terminal:
        terminal.wait_for("y Approve")

        use_editor(terminal, "no")
        terminal.wait_for("ended with code 3")
        assert (sandbox.home / "was-given").read_text() == "echo ran >> made-it"
        terminal.wait_for("y Approve")
        assert "echo ran >> made-it" in terminal.text()

        use_editor(terminal, "keep")
        terminal.wait_for("y Approve as edited")
        assert "echo two >> made-it" in terminal.text()
        made_it = Path(sandbox.project / "made-it")
        assert not made_it.exists()
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert made_it.read_text() == "by  hand\ntwo\n"
    (decided,) = [event for event in log(sandbox) if event.kind == "action_decided" and event.verdict == "edited"]
    assert decided.edited["command"] == 'echo "by  hand" >> made-it\necho two >> made-it'
