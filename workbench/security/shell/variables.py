"""Variables that change what later commands do, and what may be given to them; used by the scan."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from workbench.security.risk import Risk
from workbench.security.shell.words import UNKNOWN, Word

MAKES_NAMEREFS: Final = frozenset({"declare", "typeset", "local"})
NAMEREF: Final = "makes a variable that stands for another one"

_POISON = re.compile(
    r"(?:LD_|DYLD_|GIT_|BASH_|npm_config_|NPM_CONFIG_|PIP_|UV_INDEX|UV_DEFAULT|GCONV_|PERL5|CARGO_BUILD_|RUSTC).*|"
    r"PATH|ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|IFS|PS[0-4]|(?:\w*_)?PAGER|(?:\w*_)?EDITOR|VISUAL|BROWSER|HOME|SHELL|CDPATH|"
    r"PWD|OLDPWD|DIRSTACK|"
    r"GLOBIGNORE|INPUTRC|HIST\w+|LESS|LESSOPEN|LESSCLOSE|LESSEDIT|MANOPT|MANPATH|PYTHONSTARTUP|PYTHONHOME|"
    r"PYTHONBREAKPOINT|PYTHONINSPECT|PYTHONWARNINGS|NODE_OPTIONS|NODE_PATH|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|"
    r"_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|PROMPT_DIRTRIM|EXECIGNORE|FIGNORE|TMOUT|"
    r"(?:https?|ftp|all|no)_proxy|(?:HTTPS?|FTP|ALL|NO)_PROXY|\w*_BASE_URL|\w*_API_BASE|SSL_CERT_\w+|SSH_ASKPASS|"
    r"SUDO_\w+|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|FZF_\w+|LOCPATH|NLSPATH|TERMINFO|DOCKER_HOST|KUBECONFIG|"
    r"SSLKEYLOGFILE|CURL_HOME|WGETRC|VIMINIT|EXINIT|CC|CXX|CPP|LD|AR|MAKE|MAKEFILES|GOFLAGS|PYTHONPATH|PYTEST_ADDOPTS|"
    r"PYTEST_PLUGINS|MAVEN_OPTS|MAVEN_ARGS|GRADLE_OPTS|JAVA_OPTS|SBT_OPTS"
)
_FINE = {
    "PAGER": r"(?:cat)?",
    "GIT_PAGER": r"(?:cat)?",
    "MANPAGER": r"(?:cat)?",
    "SYSTEMD_PAGER": r"(?:cat)?",
    "AWS_PAGER": r"(?:cat)?",
    "GH_PAGER": r"(?:cat)?",
    "GIT_EDITOR": r"true|:|cat",
    "EDITOR": r"true|:|cat",
    "GIT_TERMINAL_PROMPT": r"\d",
    "GIT_OPTIONAL_LOCKS": r"\d",
    "PIP_DISABLE_PIP_VERSION_CHECK": r"\w*",
    "PIP_NO_INPUT": r"\w*",
    "LESS": r"-?[FRXSQi]*",
    "NODE_OPTIONS": r"(?:--(?:max-old-space-size=\d+|experimental-vm-modules|no-warnings|trace-warnings|"
    r"trace-deprecation|enable-source-maps|openssl-legacy-provider|unhandled-rejections=\w+|no-deprecation|inspect)\s*)+",
    "GOFLAGS": r"(?:-(?:mod=\w+|count=\d+|race|v|buildvcs=\w+)\s*)+",
    "PYTEST_ADDOPTS": r"(?:-[vqxs]+|--tb=\w+|--color=\w+|\s)*",
    "PYTHONWARNINGS": r"(?:(?:ignore|error|default|always)(?:::\w+)?)?",
    "MAKEFLAGS": r"-?j\d*",
    "HISTCONTROL": r"\w*",
    "CC": r"cc|(?:gcc|clang)(?:-\d+)?",
    "CXX": r"c\+\+|(?:g|clang)\+\+(?:-\d+)?",
}
_FINE_BEGINNINGS = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TRACE")
_SEARCHED = {"PYTHONPATH": "Python", "NODE_PATH": "node", "RUBYLIB": "ruby"}
"""Folders that are searched for code."""
_HERE = r"""(?:(?:\$PWD|\$\{PWD\}|\$\(pwd\)|\.)(?:/[\w.@+-]+)*|[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*)/?"""
_BEHIND = r"(?:/usr|/opt|/snap|/bin|/sbin|(?:\$HOME|\$\{HOME\}|~)/\.?[\w-]+)(?:/[\w.+-]+)*"


def poisons(name: str, value: str, command: str = "", *, here: bool = False) -> tuple[Risk, str] | None:
    """What setting a variable means for the commands after it, or for the one command it stands before; `here` says
    that they run inside the workspace.
    """
    name = name.partition("[")[0].removesuffix("+")
    if not _POISON.fullmatch(name) or (name == "IFS" and command == "read"):
        return None
    if name.startswith(_FINE_BEGINNINGS) or (name in _FINE and re.fullmatch(_FINE[name], value)):
        return None
    if here and name in _SEARCHED and ".." not in value and re.fullmatch(_searched(name), value):
        return "MEDIUM", f"{_SEARCHED[name]} takes code from the workspace first"
    if name == "PATH" and re.fullmatch(rf"\$(?:PATH|\{{PATH\}})(?::{_BEHIND})+", value) and ".." not in value:
        return "MEDIUM", "more programs are found, behind those of before"
    return "HIGH", f"sets {name}, which changes what other commands do"


def makes_nameref(word: Word) -> bool:
    """Return whether a word of `declare` may be the flag -n: what is set by such a name is not seen by its name."""
    text = word.text
    return text.startswith((UNKNOWN, "-")) and (UNKNOWN in text or "n" in text)


@cache
def _searched(name: str) -> str:
    """Folders of the workspace, and what was there before."""
    before = rf"\$(?:{name}|\{{{name}(?::[-+][^}}]*)?\}})"
    return rf"(?:(?:{_HERE}|{before})(?::|\Z))+"
