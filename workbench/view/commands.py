"""The prompt's commands: lines that start with a slash. Only commands that work are listed."""

from __future__ import annotations

from msgspec import Struct

from workbench.suggest import near
from workbench.text import first_line


class SlashCommand(Struct, frozen=True):
    """One command: its name, its description, and the action of the main screen that it runs."""

    name: str
    words: str
    action: str
    argument: str = ""
    """The argument that may follow the command; empty if it takes none."""

    only_listed: bool = False
    """Whether the argument must be one of the listed values."""
    takes_lines: bool = False
    """Whether the argument may have several lines; otherwise a text with several lines is a message."""

    def action_with(self, argument: str) -> str:
        """Return the action with the user's argument added after the command's own."""
        if not argument:
            return self.action
        return f"{self.action[:-1]}, {argument!r})" if self.action.endswith(")") else f"{self.action}({argument!r})"


COMMANDS = (
    SlashCommand("help", "keys and guides", "app.help"),
    SlashCommand("mode", "when to ask before an action runs", "mode", argument="MODE", only_listed=True),
    SlashCommand("plan", "plan before anything changes: same as /mode plan", "mode('plan')"),
    SlashCommand("model", "switch model (saved name or provider/model)", "app.model", argument="NAME"),
    SlashCommand("compact", "summarize the conversation to free up context", "compact"),
    SlashCommand("compact undo", "undo the last compaction", "compact(True)"),
    SlashCommand("cost", "usage: cost, tokens and context, of this session or of all", "app.page('usage')"),
    SlashCommand("usage", "same as /cost", "app.page('usage')"),
    SlashCommand("queue", "queued messages: edit or delete", "queue"),
    SlashCommand("paste", "attach the image on the clipboard", "paste_image"),
    SlashCommand("tasks", "the agent's plan", "panel('tasks')"),
    SlashCommand("diff", "what changed", "diff"),
    SlashCommand(
        "blame", "who wrote each line: action, prompt and model, or you", "app.page('blame')", argument="FILE"
    ),
    SlashCommand(
        "commit", "propose a git commit of what is staged, or the agent changed, to edit first", "app.page('commit')"
    ),
    SlashCommand("pr", "propose a pull request: push the branch and open it, to edit first", "app.page('pr')"),
    SlashCommand(
        "worktree",
        "start a session in its own git worktree and branch; without a name: list, merge back, remove",
        "app.page('worktree')",
        argument="NAME",
    ),
    SlashCommand("rewind", "go back: conversation, files or both, with a preview", "past('rewind')"),
    SlashCommand("time", "look back: the session as it was at any event", "past('time')"),
    SlashCommand("fork", "continue in a new session, from here or from an earlier event", "app.fork", argument="EVENT"),
    SlashCommand("redo", "undo the last rewind; again, the one before", "past('redo')"),
    SlashCommand(
        "compare", "compare with another session, and apply its changes", "app.page('compare')", argument="ID"
    ),
    SlashCommand(
        "race",
        "let several models try PROMPT in copies of the directory; alone: compare and apply",
        "app.page('race')",
        argument="PROMPT",
        takes_lines=True,
    ),
    SlashCommand("copy", "copy the last answer, or the Nth last", "copy_answer", argument="N"),
    SlashCommand("rules", "allow / ask / deny rules: view, test, add", "app.page('rules')"),
    SlashCommand("hooks", "programs that run at events: source and state of each", "app.page('hooks')"),
    SlashCommand("decisions", "who or what allowed each action, here or in all sessions", "app.page('decisions')"),
    SlashCommand("sandbox", "what the agent's commands can reach", "app.page('sandbox')"),
    SlashCommand(
        "sandbox write",
        "let commands write a directory in this session",
        "app.page('sandbox write')",
        argument="DIRECTORY",
    ),
    SlashCommand(
        "sandbox revoke",
        "let commands no longer write a directory",
        "app.page('sandbox revoke')",
        argument="DIRECTORY",
    ),
    SlashCommand("trust", "directories whose own tools, rules and servers are used: view, revoke", "app.page('trust')"),
    SlashCommand(
        "tools",
        "what the agent can do: its tools and sub-agents, where they come from, which are on",
        "app.page('tools')",
    ),
    SlashCommand("mcp", "MCP servers: their tools, changes to approve, and logs", "app.page('servers')"),
    SlashCommand("new", "start a new session here, with this model and mode", "app.session"),
    SlashCommand("clear", "same as /new", "app.session"),
    SlashCommand("sessions", "all sessions: open, search, rename, export, delete", "app.sessions"),
    SlashCommand("search", "search all sessions", "app.sessions", argument="WORDS"),
    SlashCommand("export", "write the session to a file: .md .html .jsonl .svg .cast", "export", argument="FILE"),
    SlashCommand("init", "create or update AGENTS.md", "init", argument="INSTRUCTIONS"),
    SlashCommand("pen", "take control of a session that another screen controls", "app.request_control"),
    SlashCommand("stop", "stop the agent and cancel pending actions", "stop"),
    SlashCommand("theme", "change theme (live preview)", "app.change_theme", argument="NAME", only_listed=True),
    SlashCommand("setup", "set up a model", "app.setup"),
    SlashCommand("settings", "view and edit settings, or those with these words", "app.settings", argument="WORDS"),
    SlashCommand("problems", "configuration problems", "app.page('problems')"),
    SlashCommand("demo", "try it with a scripted model", "app.demo(True)"),
    SlashCommand("quit", "quit (the session is saved)", "app.quit"),
    SlashCommand("exit", "same as /quit", "app.quit"),
)
_BY_NAME = {command.name: command for command in COMMANDS}


class UnknownCommand(ValueError):
    """The line is not a valid command; the message names the nearest one, or says that it takes no argument."""


def command_named(name: str) -> SlashCommand | None:
    """Return the command of that name, or None."""
    return _BY_NAME.get(name)


def takes_argument(name: str) -> bool:
    """Return whether there is a command of that name, and an argument follows it."""
    command = command_named(name)
    return command is not None and bool(command.argument)


def words_after(name: str) -> dict[str, str]:
    """Return the second words that turn this command into another one, each with the other command's description."""
    both = (command.name.split(" ", 1) for command in COMMANDS if " " in command.name)
    return {rest: _BY_NAME[f"{first} {rest}"].words for first, rest in both if first == name}


def parse_command(text: str) -> tuple[SlashCommand, str] | None:
    """Return the command in a line and its argument, or None if the text is a message. Raises UnknownCommand."""
    line = text.strip()
    if not line.startswith("/") or "/" in line[1:].split(" ")[0] or ("\n" in line and not _takes_lines(line)):
        return None
    whole = _BY_NAME.get(" ".join(line[1:].split()))
    if whole is not None:
        return whole, ""
    name, argument = _split(line[1:])
    command = _BY_NAME.get(name)
    if command is None or (argument.strip() and not command.argument):
        if command is not None:
            raise UnknownCommand(f"/{name} takes no arguments")
        raise UnknownCommand(
            f"Unknown command /{first_line(name, 40)}{near(name, _BY_NAME) or '.'} Type / for the list."
        )
    return command, argument.strip()


def _takes_lines(line: str) -> bool:
    command = _BY_NAME.get(line[1:].split(" ")[0])
    return command is not None and command.takes_lines


def _split(line: str) -> tuple[str, str]:
    """Return the name of the command in a line, which may have two words, and what follows it."""
    first, _, rest = line.partition(" ")
    second, _, argument = rest.lstrip().partition(" ")
    name = f"{first} {second}"
    return (name, argument) if name in _BY_NAME else (first, rest)
