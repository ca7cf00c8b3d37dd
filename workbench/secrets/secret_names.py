"""Environment variables that hold secrets, by name or in a URL, and the environment of child processes.

Used wherever a process is started, so it imports no other module of the workbench.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(
    r"(?:^|_|API|ACCESS|SECRET|PRIVATE)KEYS?(?:_ID|_BASE|_DATA|_JSON|_PEM|_HEX|_B64|_BASE64)?"
    r"(?:_?\d+|_(?:OLD|NEW|DEV|TEST|LIVE|STAGING|PROD(?:UCTION)?))?$|PASS|PWD|PASSPHRASE|SECRET|TOKEN|BEARER|COOKIE"
    r"|(?:^|_)(?:MNEMONIC|SEED_?PHRASE|SERVICE_ACCOUNT_JSON|WEBHOOK_URL)$"
    r"|(?:^|_)SK$|(?<![SP])PIN(?:_?\d+)?$|(?:^|[^A-Za-z])[TH]?OTP(?:$|[^A-Za-z])|OTP$"
    r"|(?:^|_)DSN$|(?:^|_)AUTH(?!OR(?!IZ))|CREDENTIAL|(?:^|_)(?:PAT|JWT)$|CONN(?:ECTION)?_?STR(?:ING)?$",
    re.IGNORECASE,
)
_NO_SECRETS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "OTP_VERSION", "OTP_RELEASE"})
"""Names that look like secrets but are not: the working directories, the socket of the SSH agent, Erlang's release."""
_LOGIN = re.compile(r"://(?:[^/\s:@\"']{0,200}:[^/\s@\"']{1,400}|(?=[^/\s@]*\d)[\w-]{20,400})@")
"""Matches a URL with a password, or with a token in the place of the user."""
_PROXY = re.compile(r"_PROXY$", re.IGNORECASE)


def holds_secret(variable: str) -> bool:
    """Return whether a variable's name looks like that of a secret."""
    return variable.upper() not in _NO_SECRETS and bool(_NAME.search(variable))


def holds_login(variable: str, value: str) -> bool:
    """Return whether the value is or contains a URL with a password; that of a proxy is of no use without it."""
    return "://" in value and not _PROXY.search(variable) and bool(_LOGIN.search(value))


class PassedOn:
    """The names of variables that are passed to child processes although they look like secrets."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def set(self, names: Iterable[str]) -> None:
        """Replace the names."""
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


PASSED_ON = PassedOn()
"""The variables of the setting `pass_env`, for this process."""


def child_environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child process: without secrets, except the variables that the user listed."""
    return {
        name: value
        for name, value in env.items()
        if name in PASSED_ON or not (holds_secret(name) or holds_login(name, value))
    }
