"""The descriptions of the commands and of the export formats in `ohw --help`."""

from __future__ import annotations

COMMANDS = {
    "demo": "watch a scripted agent fix a bug in a small project; needs no model",
    "run": "let the agent work on PROMPT without a screen",
    "batch": "run many tasks, each in a workspace of its own, on the processes and machines of a cluster",
    "race": "let several models or attempts try PROMPT in copies of the directory; compare them and apply the best",
    "acp": "serve an editor on standard input and output (Agent Client Protocol)",
    "sessions": "list sessions; `repair` recovers what can be read of a damaged one",
    "resume": "resume a session",
    "attach": "open another screen on a running session, here or over ssh",
    "serve": "show a session in a browser on this machine; with --read-only it can only be looked at",
    "export": "export a session as Markdown, HTML, JSON lines, a picture, a recording or a patch",
    "import": "import a session from JSON lines",
    "models": "list available models; `test` makes one call, `forget` deletes a saved key",
    "tools": "list the agent's tools",
    "mcp": "list MCP servers; `add`, `test`, `login`, `logout`, `changes`, `approve`, `remove` one",
    "openapi": "list OpenAPI documents; `changes` shows a changed one, `approve` accepts it",
    "risk": "show the risk rating of a command without running it",
    "rules": "list the allow, ask and deny rules; `test` and `try` show what they decide",
    "hooks": "list the programs that run at events, where they come from, and which are ignored",
    "stats": "show what sessions cost by day, model and project, who decided, and how long they waited for you",
    "decisions": "list who or what allowed and denied actions, and why; exports the list",
    "trust": "list the directories whose own tools, rules and servers are used; `revoke` ends it",
    "sandbox": "say whether there is a sandbox; `test` tries to get out of it, `run` runs a command inside",
    "rewind": "move a session back to an earlier message or action, with its files",
    "fork": "continue a session in a new one, from its end or an earlier event",
    "replay": "run a session's actions again in a scratch directory and compare with the record",
    "compare": "compare sessions: outcome, steps, tokens, cost, time, files, and where they differ",
    "worktree": "list the git worktrees with their sessions and changes; `remove` deletes one",
    "blame": "show which action, prompt and model, or you, wrote each line of FILE",
    "restore": "restore what a command deleted, or any path from any version",
    "completion": "print the script that lets a shell complete commands, options and their values",
    "doctor": "check what a session needs on this machine, and say what is missing",
    "config": "list every setting with its value and where it comes from; `get`, `set`, `unset`, `edit` change it",
    "locate": "show the paths of settings, sessions and logs",
    "man": "show the manual page",
    "update": "say how this installation is updated; `--check` asks whether there is a newer version",
}
"""The commands in the order of `ohw --help`."""
SUBCOMMANDS = {
    "batch watch": "show what RUN does as a grid of tasks and models, with the session of each attempt",
    "batch report": "show what came of RUN: what was solved, what it cost, and where attempts end, by model and task",
    "batch diff": "show what got better or worse from one run to another, task by task",
    "batch predictions": "write the patches of a run as the predictions that SWE-bench evaluates",
}
"""Commands of two words, which `--help` of the first word lists."""
HIDDEN = {
    "engine": "serve a screen on another machine, which runs this over ssh",
    "workspace": "answer what a screen on another machine asks about git and files, such as the worktrees",
    "browser-tab": "show a session in a tab of a browser, for which `ohw serve` runs this",
}
"""Commands that other programs run, and that `ohw --help` does not list."""
SETTINGS_OF: dict[str, tuple[str, ...]] = {
    "sessions": ("--model", "--mode"),
    "export": ("--theme",),
    "batch watch": ("--theme",),
    **dict.fromkeys(("batch report", "batch diff", "batch predictions", "openapi", "risk", "stats", "decisions"), ()),
    **dict.fromkeys(("trust", "rewind", "worktree", "blame", "restore", "completion", "locate", "man", "update"), ()),
}
"""The settings that `--help` lists for a command that starts no session; that of the others lists all."""
FORMS = {
    "markdown": "a transcript for issues and notes",
    "html": "a transcript as one HTML page; with --at it starts with a picture of the screen",
    "jsonl": "every event; `ohw import` reads it",
    "svg": "a picture of the screen",
    "cast": "a recording of the screen (asciicast 2)",
    "patch": "the changes to a workspace that --container-copy made",
}
"""The formats of `ohw export`."""
