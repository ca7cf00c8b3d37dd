"""Other tools of a session that can replace a tool whose program is not installed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from workbench.lazy_pattern import lazy_pattern

Need: TypeAlias = Literal["bash", "ipython", "pip", "browser", "scripts", "web server", "file server", "server"]
"""What is missing: a program, the scripts of a web page, or the program of an MCP server of this kind."""
_RUNS: Final = "to run a program"
_PAGES: Final = "for pages that need no clicking"
_OTHERS: Final[Mapping[Need, Mapping[str, str]]] = {
    "bash": {
        "execute_ipython_cell": "to run code and `!command`",
        "python_execute": "to run code, also `subprocess`",
        "str_replace_editor": "for files",
        "glob": "to find files",
        "grep": "to search in them",
    },
    "ipython": {"python_execute": "for code that needs no earlier cell", "execute_bash": "to run scripts"},
    "pip": {"execute_bash": "to install packages"},
    "browser": {"web_read": _PAGES, "execute_bash": "to fetch files"},
    "scripts": {"browser": "to open the page with its scripts"},
    "web server": {"browser": "for pages", "web_read": _PAGES, "execute_bash": _RUNS},
    "file server": {"str_replace_editor": "for files", "execute_bash": "to list and move them"},
    "server": {"execute_bash": _RUNS, "python_execute": "to run code"},
}
"""The tools that can replace what is missing, best first, each with the part of the work that it can do."""
_WEB: Final = lazy_pattern(r"playwright|puppeteer|browser|chrome|fetch|crawl|scrape", re.IGNORECASE)
_FILES: Final = lazy_pattern(r"filesystem|file-system|\bfiles?\b", re.IGNORECASE)
_MOST: Final = 3


def need_of_server(command: Iterable[str]) -> Need:
    """Return what is missing if the program in a server's command line is not installed."""
    words = " ".join(command)
    if _WEB.search(words):
        return "web server"
    return "file server" if _FILES.search(words) else "server"


def alternatives(need: Need, tools: Collection[str]) -> str:
    """Return a sentence that names the replacements among `tools`; empty if there are none."""
    others = [f"{name} {use}" for name, use in _OTHERS[need].items() if name in tools][:_MOST]
    return f"Instead, use {', or '.join(others)}." if others else ""
