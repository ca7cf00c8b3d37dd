"""The URL of a directory on another machine, `ssh://[USER@]HOST[:PORT]/PATH`.

It is checked so that ssh cannot mistake any part of it for an option or a command.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible

SCHEME = "ssh://"
_FORM = "use ssh://[USER@]HOST[:PORT]/PATH, where PATH is absolute or starts with ~"
_AUTHORITY = lazy_pattern(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63})@)?"
    r"(?:\[(?P<ip>[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,15})?)\]|(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}))"
    r"(?::(?P<port>[0-9]{1,5}))?"
)
_FIRST_UNPRIVILEGED, _MOVED = 1_024, 8_000
"""Only root may listen on a port below the first number here, so such a port is forwarded to one that is higher by the
second.
"""
_LONGEST = 4_096
"""The maximum number of characters in a path."""


@dataclass(frozen=True)
class SshUrl:
    """A directory on a host; `user` and `host` may be names from the user's ssh configuration."""

    host: str
    path: str
    user: str = ""
    port: int = 0
    """The port, 0 for the default of ssh."""

    @classmethod
    def parse(cls, text: str) -> SshUrl:
        """Parse a URL. Raises UsageError if it has another form, or a name that ssh could misread."""
        authority, slash, path = text.removeprefix(SCHEME).partition("/")
        match = _AUTHORITY.fullmatch(authority)
        if not text.startswith(SCHEME) or match is None:
            raise UsageError(f"{visible(text, lines=False)!r} names no user and host that ssh can use; {_FORM}")
        port = int(match["port"] or 0)
        if match["port"] and not 0 < port < 65_536:
            raise UsageError(f"{port} is not a port; {_FORM}")
        return cls(match["host"] or match["ip"], _checked_path(slash + path), match["user"] or "", port)

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        path = f"/{self.path}" if self.path.startswith("~") else self.path
        return f"{SCHEME}{self.destination_in_url}{port}{quote(path, safe='/~+@:,=')}"

    @property
    def destination_in_url(self) -> str:
        """The user and the host, as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.user}@{host}" if self.user else host

    @property
    def destination(self) -> str:
        """The user and the host, as an argument of ssh."""
        return f"{self.user}@{self.host}" if self.user else self.host

    @property
    def display_path(self) -> Path:
        """The directory as a path that shows its host, as in Emacs; no such path exists on this machine."""
        return Path(f"/ssh:{self.destination}:{self.path}")

    def at(self, path: str) -> SshUrl:
        """Return the URL of another directory on the same host."""
        return SshUrl(self.host, path, self.user, self.port)

    def command(self, *options: str, script: str) -> list[str]:
        """Return the ssh command that runs an `sh` script on the host, whatever the user's shell there is."""
        port = ("-p", str(self.port)) if self.port else ()
        return ["ssh", "-T", *options, *port, "--", self.destination, f"exec sh -c {shlex.quote(script)}"]

    def forwarding(self, port: int, host: str) -> str:
        """Return the ssh command that forwards a local port to `host` and `port` as seen from the remote machine."""
        ours = port if port >= _FIRST_UNPRIVILEGED else port + _MOVED
        options = f"-p {self.port} " if self.port else ""
        return f"ssh -N -L {shlex.quote(f'{ours}:{host}:{port}')} {options}{self.destination}"


def is_ssh_url(text: str) -> bool:
    """Return whether the text is meant as an ssh URL."""
    return text.startswith(SCHEME)


def _checked_path(text: str) -> str:
    """Return the decoded path of a URL. Raises UsageError if it is invalid."""
    try:
        path = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise UsageError(f"the path of the URL is not UTF-8; {_FORM}") from None
    if path.startswith("/~"):
        path = path[1:]
    if not path or len(path) > _LONGEST:
        raise UsageError(f"the URL names no directory; {_FORM}")
    if any(ord(character) < 32 or character == "\x7f" for character in path):
        raise UsageError(f"the path {visible(path, lines=False)!r} contains control characters; {_FORM}")
    return path
