"""Commands of the prompt: a line that begins with a slash. Only what works is listed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.suggest import near
from workbench.text import first_line


@dataclass(frozen=True)
class Command:
    """One command: its name, what it does, and the action of the main screen it runs."""

    name: str
    words: str
    action: str
    argument: str = ""
    """What may follow it; nothing may where this is empty."""

    only_listed: bool = False
    """Whether the argument is one of those the list shows."""


COMMANDS = (
    Command("help", "keys and guides", "app.help"),
    Command("mode", "when to ask: ask, medium, high, never, plan", "mode", argument="MODE", only_listed=True),
    Command("model", "another model from here on: a profile, or PROVIDER/NAME", "app.model", argument="NAME"),
    Command("compact", "have the history summed up, so that it takes less of the model's window", "compact"),
    Command("compact undo", "send the history whole again, as before it was summed up", "compact(True)"),
    Command("cost", "what the session took, and what fills the model's window", "spending"),
    Command("queue", "messages that wait for the agent: edit or drop them", "queue"),
    Command("paste", "the image on the clipboard goes with the message", "paste_image"),
    Command("tasks", "the agent's plan", "panel('tasks')"),
    Command("diff", "what changed", "diff"),
    Command("rules", "what is allowed, asked about and denied; try and save rules", "app.rules"),
    Command("tools", "what the agent can do: built-in, MCP and OpenAPI tools; which are on", "app.tools"),
    Command("mcp", "MCP servers: their tools, changes to approve, and logs", "app.servers"),
    Command("sessions", "all sessions: open, search, rename, export, delete", "app.sessions"),
    Command("search", "words in all sessions", "app.sessions", argument="WORDS"),
    Command("export", "write the session to a file: .md .html .jsonl .svg .cast", "export", argument="FILE"),
    Command("init", "have the agent write or refresh AGENTS.md, its notes on this folder", "init", argument="WISHES"),
    Command("stop", "end the run; what waits is not run", "stop"),
    Command("exit", "end the run, as /stop; /quit leaves", "stop"),
    Command("theme", "other colours, tried while you choose", "app.change_theme", argument="NAME", only_listed=True),
    Command("setup", "find a model to begin with: keys, local servers; one test call", "app.setup"),
    Command("settings", "all settings: what holds, where it comes from, change it", "app.settings"),
    Command("mistakes", "what is wrong in your settings, keys and themes, with file and line", "app.mistakes"),
    Command("demo", "try it with a scripted model", "app.demo(True)"),
    Command("quit", "leave; the session is kept", "app.quit"),
)
_BY_NAME = {command.name: command for command in COMMANDS}


class UnknownCommand(ValueError):
    """No such command; the message names the nearest one."""


def command_named(name: str) -> Command | None:
    """The command of that name."""
    return _BY_NAME.get(name)


def words_after(name: str) -> dict[str, str]:
    """The second words that make other commands of this one, and what those do."""
    both = (command.name.split(" ", 1) for command in COMMANDS if " " in command.name)
    return {rest: _BY_NAME[f"{first} {rest}"].words for first, rest in both if first == name}


def parse_command(text: str) -> tuple[Command, str] | None:
    """The command of a line and its argument; None when the text is a message. Raises UnknownCommand."""
    line = text.strip()
    if not line.startswith("/") or "\n" in line or "/" in line[1:].split(" ")[0]:
        return None
    whole = _BY_NAME.get(" ".join(line[1:].split()))
    if whole is not None:
        return whole, ""
    name, _, argument = line[1:].partition(" ")
    command = _BY_NAME.get(name)
    if command is None or (argument.strip() and not command.argument):
        if command is not None:
            raise UnknownCommand(f"nothing may follow /{name}")
        raise UnknownCommand(f"there is no /{first_line(name, 40)}{near(name, _BY_NAME)}; / lists all")
    return command, argument.strip()
