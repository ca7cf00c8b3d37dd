"""Which variables hold secrets, by their names, and the environment of child processes, which is without them.

Used wherever a process is started, and by `secrets` for what is masked. Light: nothing else is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(
    r"(?:^|_|API|ACCESS|SECRET|PRIVATE)KEYS?(?:_ID|_BASE|_DATA|_JSON)?$|PASS|PWD|PASSPHRASE|SECRET|TOKEN|BEARER|COOKIE"
    r"|(?:^|_)DSN$|(?:^|_)AUTH(?!OR(?!IZ))|CREDENTIAL|(?:^|_)(?:PAT|JWT)$|CONN(?:ECTION)?_?STR(?:ING)?$",
    re.IGNORECASE,
)
_NO_SECRETS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
"""Where we are, where we were, and where the user's agent of ssh listens: the last is a door and not a key."""


def holds_secret(variable: str) -> bool:
    """Whether the name of a variable says that it holds a secret."""
    return variable.upper() not in _NO_SECRETS and bool(_NAME.search(variable))


class PassedOn:
    """The variables that the user lets children have though their names say that they hold secrets."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def set(self, names: Iterable[str]) -> None:
        """Pass on these from here on, and no others."""
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


PASSED_ON = PassedOn()
"""For this process: what `pass_env` of the settings lists."""


def child_environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for a child process: without secrets, by their names, but with those that the user listed."""
    return {name: value for name, value in env.items() if name in PASSED_ON or not holds_secret(name)}
