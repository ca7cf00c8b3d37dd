"""The commands of the prompt, which are lines that begin with a slash. Only what works is listed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.suggest import near
from workbench.text import first_line


@dataclass(frozen=True)
class SlashCommand:
    """One command: its name, what it does, and the action of the main screen it runs."""

    name: str
    words: str
    action: str
    argument: str = ""
    """What may follow the command; if empty, nothing may."""

    only_listed: bool = False
    """Whether the argument must be one of those the list shows."""


COMMANDS = (
    SlashCommand("help", "keys and guides", "app.help"),
    SlashCommand("mode", "when to ask: ask, medium, high, never, plan", "mode", argument="MODE", only_listed=True),
    SlashCommand("model", "another model from here on: a profile, or PROVIDER/NAME", "app.model", argument="NAME"),
    SlashCommand("compact", "have the history summed up, so that it takes less of the model's window", "compact"),
    SlashCommand("compact undo", "send the history whole again, as before it was summed up", "compact(True)"),
    SlashCommand("cost", "what the session took, and what fills the model's window", "spending"),
    SlashCommand("queue", "messages that wait for the agent: edit or drop them", "queue"),
    SlashCommand("paste", "the image on the clipboard goes with the message", "paste_image"),
    SlashCommand("tasks", "the agent's plan", "panel('tasks')"),
    SlashCommand("diff", "what changed", "diff"),
    SlashCommand("rules", "what is allowed, asked about and denied; try and save rules", "app.rules"),
    SlashCommand("tools", "what the agent can do: built-in, MCP and OpenAPI tools; which are on", "app.tools"),
    SlashCommand("mcp", "MCP servers: their tools, changes to approve, and logs", "app.servers"),
    SlashCommand("sessions", "all sessions: open, search, rename, export, delete", "app.sessions"),
    SlashCommand("search", "words in all sessions", "app.sessions", argument="WORDS"),
    SlashCommand("export", "write the session to a file: .md .html .jsonl .svg .cast", "export", argument="FILE"),
    SlashCommand(
        "init", "have the agent write or refresh AGENTS.md, its notes on this folder", "init", argument="WISHES"
    ),
    SlashCommand("stop", "end the run; what waits is not run", "stop"),
    SlashCommand("exit", "end the run, as /stop; /quit leaves", "stop"),
    SlashCommand(
        "theme", "other colours, tried while you choose", "app.change_theme", argument="NAME", only_listed=True
    ),
    SlashCommand("setup", "find a model to begin with: keys, local servers; one test call", "app.setup"),
    SlashCommand("settings", "all settings: what holds, where it comes from, change it", "app.settings"),
    SlashCommand("mistakes", "what is wrong in your settings, keys and themes, with file and line", "app.mistakes"),
    SlashCommand("demo", "try it with a scripted model", "app.demo(True)"),
    SlashCommand("quit", "leave; the session is kept", "app.quit"),
)
_BY_NAME = {command.name: command for command in COMMANDS}


class UnknownCommand(ValueError):
    """Raised for an unknown command; the message names the nearest one."""


def command_named(name: str) -> SlashCommand | None:
    """Return the command of that name, or None."""
    return _BY_NAME.get(name)


def words_after(name: str) -> dict[str, str]:
    """Return the second words that make other commands of this one, each with what that command does."""
    both = (command.name.split(" ", 1) for command in COMMANDS if " " in command.name)
    return {rest: _BY_NAME[f"{first} {rest}"].words for first, rest in both if first == name}


def parse_command(text: str) -> tuple[SlashCommand, str] | None:
    """Return the command of a line and its argument; None if the text is a message. Raises UnknownCommand."""
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
