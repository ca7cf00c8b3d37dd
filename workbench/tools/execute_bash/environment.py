"""The environment a shell starts with: no keys of the person, no pagers, nothing that changes bash itself."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping

from workbench.processes import absolute_path
from workbench.secret_names import child_environment

NONCE_NAME = "OHW_SHELL"
"""Marks every process of one shell, so that it is found again wherever it went."""

_DROPPED = frozenset({
    *("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"),
    *("IFS", "CDPATH", "GLOBIGNORE", "HISTFILE", "HISTCONTROL", "TMOUT", "MAILCHECK", "LINES", "COLUMNS", "OLDPWD"),
})  # fmt: skip
_SET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "VIRTUAL_ENV_DISABLE_PROMPT": "1",
}


def shell_environment(env: Mapping[str, str], nonce: str, hidden: Collection[str] = ()) -> dict[str, str]:
    """`env` without secrets (by name, and those in `hidden`), made fit for a shell nobody looks at.

    Relative entries of PATH are left out: with them `ls` may be a program of the directory.
    """
    kept = {
        name: value
        for name, value in child_environment(env).items()
        if not (name in hidden or name in _DROPPED or name.startswith(("BASH_FUNC_", "OHW_")))
    }
    if "PATH" in kept:
        kept["PATH"] = absolute_path(kept["PATH"])
    # so that `rm -r "$TMPDIR/x"` can never mean /x
    temporary = kept.get("TMPDIR") or tempfile.gettempdir()
    return {**kept, **_SET, "TMPDIR": temporary, NONCE_NAME: nonce}
