"""The environment of a shell: without secrets, pagers and settings of bash, and with the variable that marks the
shell's processes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from typing import Final

from workbench.processes.spawn import absolute_path
from workbench.secrets.secret_names import child_environment

NONCE_NAME = "OHW_SHELL"
"""The variable that marks every process of one shell, so it can be found even after it has left the shell."""

_DROPPED = frozenset({
    *("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"),
    *("IFS", "CDPATH", "GLOBIGNORE", "HISTCONTROL", "TMOUT", "MAILCHECK", "LINES", "COLUMNS", "OLDPWD"),
})  # fmt: skip
_SET = {
    "TERM": "dumb",
    "HISTFILE": "",
    "LESSHISTFILE": "-",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "VIRTUAL_ENV_DISABLE_PROMPT": "1",
}

PASSED: Final = (*_SET, NONCE_NAME)
"""The variables that a shell in a container gets too; its other variables are those of the image."""


def shell_environment(env: Mapping[str, str], nonce: str, hidden: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of `env` that a shell without a user may have, without secrets, pagers and settings of bash.

    Secrets are recognized by name, or listed in `hidden`. `nonce` marks the shell's processes. Relative entries of PATH
    are removed: with them, `ls` might be a program in the current directory.
    """
    variables = {
        name: value
        for name, value in child_environment(env).items()
        if not (name in hidden or name in _DROPPED or name.startswith(("BASH_FUNC_", "OHW_")))
    }
    if "PATH" in variables:
        variables["PATH"] = absolute_path(variables["PATH"])
    # so that `rm -r "$TMPDIR/x"` can never mean /x
    temporary = variables.get("TMPDIR") or tempfile.gettempdir()
    return {**variables, **_SET, "TMPDIR": temporary, NONCE_NAME: nonce}
