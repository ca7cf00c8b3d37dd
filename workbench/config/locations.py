"""The locations of the user's files, according to the XDG base directory specification, and how directories are kept
private.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.config.base_directories import config_directory, data_directory, state_directory
from workbench.errors import UsageError

_SYSTEMD = "/run/user/{}"
"""The runtime directory of a user under systemd; a login over ssh may not name it in the environment."""


@dataclass(frozen=True)
class Locations:
    """The directories of one user, which are created only when they are needed."""

    config: Path
    data: Path
    state: Path
    runtime: Path

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Locations:
        """Return the `ohw` directories under the XDG variables, or under their defaults in the home directory."""
        return cls(
            config=config_directory(env),
            data=data_directory(env),
            state=state_directory(env),
            runtime=_runtime(env),
        )

    @property
    def settings_file(self) -> Path:
        """The path of the user's `settings.toml`."""
        return self.config / "settings.toml"

    @property
    def rules_file(self) -> Path:
        """The path of the user's `rules.toml`."""
        return self.config / "rules.toml"

    @property
    def themes(self) -> Path:
        """The directory of the user's own themes."""
        return self.config / "themes"

    @property
    def skills(self) -> Path:
        """The directory of the user's own skills."""
        return self.config / "skills"

    @property
    def agents(self) -> Path:
        """The directory of the user's own kinds of sub-agents."""
        return self.config / "agents"

    @property
    def commands(self) -> Path:
        """The directory of the user's own custom commands."""
        return self.config / "commands"

    @property
    def compared(self) -> tuple[Path, ...]:
        """The real paths of the settings and approvals, which engines compare before and after each action."""
        paths = (self.config, self.data / "mcp", self.data / "trusted.json")
        return tuple(Path(os.path.realpath(path)) for path in paths)

    @property
    def prompt_history(self) -> Path:
        """The file with the messages the user sent in all sessions."""
        return self.state / "prompt-history.jsonl"

    @property
    def sessions(self) -> Path:
        """The directory of the session files."""
        return self.data / "sessions"

    @property
    def logs(self) -> Path:
        """The directory of the log files."""
        return self.state / "logs"


def _runtime(env: Mapping[str, str]) -> Path:
    value = env.get("XDG_RUNTIME_DIR", "")
    # The path of a socket may have at most 107 bytes, of which the file names below this directory take up to 47.
    if value.startswith("/") and len(value) < 60:
        return Path(value) / "ohw"
    systemd = Path(_SYSTEMD.format(os.getuid()))
    if not value and systemd.is_dir():
        return systemd / "ohw"
    shared = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"
    # The user's ID is in the name, because another user must not own the directory that contains the sockets.
    return Path(shared) / f"ohw-{os.getuid()}"


def private_directory(path: Path) -> Path:
    """Create a directory and its missing parents with mode 0700, and return its path.

    An existing directory that others can access gets that mode too. Raises UsageError if it is a link, belongs to
    another user, or cannot be created.
    """
    try:
        # `parents=True` would leave the mode of the parents to the umask.
        for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
            missing.mkdir(exist_ok=True, mode=0o700)
        info = path.lstat()
        if info.st_uid != os.getuid() or not stat.S_ISDIR(info.st_mode):
            raise UsageError(f"{path} is not a directory of yours; remove it or set another one with XDG variables")
        if info.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise UsageError(f"cannot use the directory {path}: {error.strerror or error}") from error
    return path
