"""The command line, the working directory and the environment in which a local server is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from workbench.mcp.config import ServerConfig, expanded, server_environment, variables_of
from workbench.mcp.errors import ProgramMissing

_BRINGS = {
    "npx": ", which comes with Node.js (apt-get install nodejs npm)",
    "node": ", which is Node.js (apt-get install nodejs)",
    "uvx": ", which comes with uv (pip install uv)",
    "docker": ", which is Docker",
}


def command_of(server: ServerConfig) -> tuple[list[str], str, dict[str, str]]:
    """Return a local server's command, working directory (empty if none is configured) and environment.

    Raises UsageError if a variable is not set, and ProgramMissing if the program is not installed.
    """
    env = variables_of(server, os.environ)
    argv = [expanded(word, env) for word in (server.command, *server.args)]
    theirs = server_environment(server, os.environ)
    _check_program(argv[0], theirs)
    return argv, expanded(server.cwd, env), theirs


def _check_program(command: str, env: Mapping[str, str]) -> None:
    """Raise ProgramMissing if the program is not on the PATH; called before anything is started."""
    if "/" not in command and shutil.which(command, path=env.get("PATH")) is None:
        raise ProgramMissing(f"there is no program {command}{_BRINGS.get(command, '')}")
