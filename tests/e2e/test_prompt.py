"""The prompt of `ohw` in a pseudo terminal: completion, a command of the user's, and what the model receives."""

from __future__ import annotations

import os
from base64 import b64decode

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash
from tests.fakes.model_turns import finish as finish_turn
from tests.sample_images import png
from tests.sandbox import Sandbox, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def events(sandbox: Sandbox) -> list:
    sessions = list_sessions(sandbox.locations)
    if not sessions:
        return []
    with Store.open(session_path(sandbox.locations, sessions[0].id), readonly=True) as store:
        return list(store.events())


def of_kind(sandbox: Sandbox, kind: str) -> list:
    return [event for event in events(sandbox) if event.kind == kind]


def test_users_editor_takes_over_the_terminal_and_returns_it(sandbox: Sandbox):
    editor = sandbox.home / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s\\nadded line\\n" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    env = {**sandbox.env, "EDITOR": str(editor)}
    env.pop("VISUAL", None)
    model = sandbox.script(finish("Read it."))
    with Terminal(("--model", model, "--workspace", str(sandbox.project)), 110, 34, env) as terminal:
        terminal.wait_for("Ask anything")
        terminal.type("first line")
        terminal.press("ctrl+g")
        terminal.wait_for("added line")
        terminal.press("enter")
        terminal.wait_for("Read it.")
        terminal.type("\x10theme")  # one burst: the palette's key, and the keys meant for the palette
        terminal.wait_for("change theme (live preview)")
        terminal.wait_until(lambda screen: "/help" not in screen, "the palette to be narrowed down")
        terminal.press("escape")
        terminal.wait_for("Ask anything")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    (message,) = of_kind(sandbox, "user_message")
    assert message.text == "first line\nadded line"


def test_files_and_commands_are_completed_and_own_commands_run_unasked(sandbox: Sandbox):
    (sandbox.project / "ledger.py").write_text("balance = 42\n")
    args = ("--model", sandbox.script(finish("Looked at it.")), "--mode", "ask", "--workspace", str(sandbox.project))
    with Terminal(args, 110, 34, sandbox.env) as terminal:
        terminal.wait_for("Ask anything")
        terminal.type("!echo by $((40 + 2)) hands > mine; cat mine")
        terminal.press("enter")
        terminal.wait_for("by 42 hands")
        assert (sandbox.project / "mine").read_text() == "by 42 hands\n"
        terminal.type("explain @ledg")
        terminal.wait_for("ledger.py")
        terminal.press("tab")
        terminal.wait_for("explain @ledger.py")
        terminal.press("enter")
        terminal.wait_for("Looked at it.")
        terminal.type("/qu")
        terminal.wait_for("quit (the session is saved)")
        terminal.press("enter")
        assert terminal.wait_exit() == 0
    (message,) = of_kind(sandbox, "user_message")
    assert message.mentions == ("ledger.py",)
    assert message.attached[0].text == "balance = 42\n"
    (command,) = of_kind(sandbox, "person_command")
    assert command.command.startswith("echo by")
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    with Terminal(args, 110, 34, sandbox.env) as terminal:
        terminal.wait_for("Ask anything")

        def is_recalled() -> bool:
            terminal.press("up")
            return "!echo by" in terminal.text()

        wait_for(is_recalled, "what was sent first to stand in the prompt again")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_image_reaches_the_model_and_a_queued_message_can_be_edited(sandbox: Sandbox):
    shot = sandbox.home / "my shot.png"
    shot.write_bytes(png(64, 32))
    go = sandbox.project / "go"
    wait = f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done; echo waited"
    with ModelServer([bash(wait), finish_turn("Saw it all.")]) as server:
        address = ("--model", "openai/x", "--api-base", server.base_url, "--mode", "never")
        with Terminal((*address, "--workspace", str(sandbox.project)), 110, 34, sandbox.env) as terminal:
            terminal.never_ask()
            terminal.wait_for("Ask anything")
            terminal.paste(f"'{shot}'")
            terminal.wait_for("64×32 · 1 kB")
            terminal.type("what is this?")
            terminal.press("enter")
            wait_for((sandbox.project / "begun").exists, "the command to run")
            for text in ("use red", "use blue"):
                terminal.type(text)
                terminal.press("enter")
            terminal.wait_for("2 queued")
            terminal.press("up")
            terminal.wait_for("Enter Edit")
            terminal.press("enter")
            terminal.wait_for("1 queued")
            terminal.wait_for("removed before it was sent")
            terminal.type("ish green")
            terminal.press("enter")
            terminal.wait_for("2 queued")
            go.touch()
            terminal.wait_for("Saw it all.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    content = server.requests[0].messages[-1]["content"]
    image = next(part for part in content if part["type"] == "image_url")
    assert b64decode(image["image_url"]["url"].partition(",")[2]) == shot.read_bytes()
    last = [message["content"] for message in server.requests[1].messages[-2:]]
    assert last == ["use red", "use blueish green"]


def test_clipboard_image_is_attached_and_a_missing_one_is_reported(sandbox: Sandbox):
    tools, shot, types = sandbox.home / "bin", sandbox.home / "shot", sandbox.home / "types"
    tools.mkdir()
    shot.write_bytes(png(64, 32))
    program = tools / "wl-paste"
    program.write_text(f'#!/bin/sh\n[ "$1" = --list-types ] && exec cat {types}\nexec cat {shot}\n')
    program.chmod(0o755)
    types.write_text("text/plain\n")
    env = {**sandbox.env, "WAYLAND_DISPLAY": "wayland-1", "PATH": f"{tools}:{os.environ['PATH']}"}
    with ModelServer([finish_turn("Saw it.")]) as server:
        address = ("--model", "openai/x", "--api-base", server.base_url, "--workspace", str(sandbox.project))
        with Terminal(address, 110, 34, env) as terminal:
            terminal.wait_for("Ask anything")
            terminal.press("ctrl+v")
            terminal.wait_for("there is no image on the clipboard")
            types.write_text("text/plain\nimage/png\n")
            terminal.type("/paste")
            terminal.press("enter")
            terminal.wait_for("64×32 · 1 kB")
            shot.write_bytes(png(10, 20))
            terminal.press("ctrl+v")
            terminal.wait_for("10×20 · 1 kB")
            terminal.type("what are these?")
            terminal.press("enter")
            terminal.wait_for("Saw it.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    content = server.requests[0].messages[-1]["content"]
    images = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert [b64decode(url.partition(",")[2]) for url in images] == [png(64, 32), png(10, 20)]
