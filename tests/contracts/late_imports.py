"""The reasons for imports inside functions, by the imported package or by the importing module."""

from __future__ import annotations

from typing import Final

_OF_A_COMMAND = "each command of `ohw` loads what it runs, and `--help` and `--version` nothing else"
_FIRST_FRAME = "not needed for the first frame"
_FIRST_CALL = "the definition of a tool is loaded for its schema, its executor for the first call"
_FIRST_RATING = "the tables of the rating are loaded for the first action that needs them"
_FIRST_SERVER = "a session without servers does not load the client for them"
_RECURSION = "the two modules call each other"

HEAVY: Final = {
    "PIL": "decoders of images",
    "anyio": "belongs to the SDK of the protocol",
    "asyncio": "slow to load, and the engine has no event loop",
    "bs4": "web pages are rarely read",
    "charset_normalizer": "files in an unclear encoding are rare",
    "ctypes": "loads a library of the system, for calls that Python lacks",
    "difflib": "`ohw --help` loads the names that it may have to suggest, but suggests none",
    "hashlib": "loads OpenSSL, and a screen may never need a digest",
    "httpcore": "belongs to the clients of models",
    "httpx": "a session may end without a request",
    "importlib": "the package imports nothing before the start directory has left the path",
    "jsonschema": "loads the schemas of all drafts",
    "litellm": "takes longer to load than all of the engine",
    "markdownify": "web pages are rarely read",
    "mcp": "the SDK of the protocol, which a session without servers does not need",
    "mcp_types": "the SDK of the protocol",
    "openai": "belongs to litellm",
    "pygments": "lexers are loaded for the language at hand",
    "pypdf": "web pages are rarely read",
    "regex": "patterns in schemas of other programs are rare",
    "rich": "its console takes 0.1 s, and few tools render their results",
    "shlex": "few messages have arguments, and few pastes are paths",
    "shutil": "the supervisor is a small process that needs it only at its end",
    "subprocess": "the first frame comes before the first child",
    "threading": "`ohw --version` starts no thread",
    "tree_sitter": "loads a compiled grammar",
    "tree_sitter_bash": "loads a compiled grammar",
    "watchfiles": "loads a compiled library",
    "yaml": "skills and documents in YAML are rare",
}
"""Third-party packages that are loaded on first use, with their cost or their purpose."""

OF_OURS: Final = {
    "workbench.__main__": _OF_A_COMMAND,
    "workbench.cli.arguments": _OF_A_COMMAND,
    "workbench.cli.common": _OF_A_COMMAND,
    "workbench.cli.export": _OF_A_COMMAND,
    "workbench.cli.main": _OF_A_COMMAND,
    "workbench.cli.mcp": _OF_A_COMMAND,
    "workbench.cli.sessions": _OF_A_COMMAND,
    "workbench.cli.start": _OF_A_COMMAND,
    "workbench.agent.custom_commands": _FIRST_FRAME,
    "workbench.mcp.connection": _FIRST_SERVER,
    "workbench.mcp.definitions": _RECURSION,
    "workbench.risk.description": _FIRST_RATING,
    "workbench.risk.python.calls": _RECURSION,
    "workbench.risk.shell.call": _FIRST_RATING,
    "workbench.risk.tool_calls": _FIRST_RATING,
    "workbench.risk.terminal_input": _FIRST_RATING,
    "workbench.rules.rule_matching": _FIRST_RATING,
    "workbench.rules.rule_set": _FIRST_RATING,
    "workbench.rules.rule_files": _FIRST_RATING,
    "workbench.session.mentions": _FIRST_FRAME,
    "workbench.session.session_names": "most titles contain nothing that could be a secret",
    "workbench.session.toolset": _FIRST_SERVER,
    "workbench.tools.browser.definition": _FIRST_CALL,
    "workbench.tools.execute_bash.definition": _FIRST_CALL,
    "workbench.tools.execute_ipython_cell.definition": _FIRST_CALL,
    "workbench.tools.openapi.definition": _FIRST_CALL,
    "workbench.tools.openapi.documents": _FIRST_CALL,
    "workbench.tools.web_read.converter": _FIRST_CALL,
    "workbench.tools.web_read.definition": _FIRST_CALL,
    "workbench.tui.app": _FIRST_FRAME,
    "workbench.tui.problems": _FIRST_FRAME,
    "workbench.tui.open_screens": _FIRST_FRAME,
    "workbench.tui.screens.main.event_feed": _FIRST_FRAME,
    "workbench.tui.screens.main.submitter": _FIRST_FRAME,
    "workbench.tui.screens.mode_switch": _FIRST_FRAME,
    "workbench.tui.screens.plan_opener": _FIRST_FRAME,
    "workbench.tui.screens.rewind_opener": _FIRST_FRAME,
    "workbench.tui.screens.time_opener": _FIRST_FRAME,
    "workbench.tui.screens.question_opener": _FIRST_FRAME,
    "workbench.tui.model_setup": _FIRST_FRAME,
    "workbench.tui.settings.model_offers": _FIRST_FRAME,
    "workbench.tui.settings.settings_model": _FIRST_FRAME,
    "workbench.tui.settings.providers": _FIRST_FRAME,
    "workbench.tui.start": _FIRST_FRAME,
    "workbench.tui.theme_manager": _FIRST_FRAME,
    "workbench.tui.terminal.integration": _FIRST_FRAME,
    "workbench.tui.widgets.mounted_items": _FIRST_FRAME,
    "workbench.tui.widgets.prompt": _FIRST_FRAME,
    "workbench.tui.widgets.composer": _FIRST_FRAME,
    "workbench.tui.widgets.welcome": _FIRST_FRAME,
    "workbench.view.approval.trust": _FIRST_FRAME,
    "workbench.view.git_branch": _FIRST_FRAME,
    "workbench.view.prompt.completion": _FIRST_FRAME,
    "workbench.view.review.review": _FIRST_FRAME,
    "workbench.view.prompt.file_search": _FIRST_FRAME,
}
"""Modules that import one of our modules late."""
