"""Variables and mounts set in a command line: search paths, startup files, container volumes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.environment import poisons
from workbench.risk.executed_files import programs as table
from workbench.risk.executed_files.lookup import VARIABLE_DIRECTORY, Bases
from workbench.risk.paths import within

_PATH_SET: Final = lazy_pattern(r"\bPATH=([^\s;&|]+)")
_MODULES_SET: Final = lazy_pattern(r"\b(?:PYTHONPATH|NODE_PATH|RUBYLIB|PERL5LIB)=([^\s;&|]+)")
_LIBRARIES_SET: Final = lazy_pattern(
    r"\b(?:LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|DYLD_FALLBACK_LIBRARY_PATH|CLASSPATH|AWKPATH|AWKLIBPATH|PERL5LIB|RUBYLIB|"
    r"NODE_PATH|LUA_PATH|LUA_CPATH|GCONV_PATH|GEM_PATH|GEM_HOME|PYTHONPATH|TCLLIBPATH|R_LIBS(?:_USER)?|JULIA_LOAD_PATH|"
    r"FPATH|PYTHONHOME|PYTHONUSERBASE|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|KUBECONFIG|DOCKER_CONFIG|AWS_CONFIG_FILE|GIT_CONFIG_\w+|MYSQL_HOME|PGSYSCONFDIR)"
    r"=([^\s;&|]+)"
)
"""Variables that name directories or files from which a program loads code or settings."""
_HOMES_SET: Final = lazy_pattern(r"\b(?:HOME|ZDOTDIR|XDG_(?:CONFIG|DATA)_(?:HOME|DIRS))=([^\s;&|]+)")
_GIT_SET: Final = lazy_pattern(r"\bGIT_(?:COMMON_)?DIR=([^\s;&|]+)")
_MOUNT: Final = lazy_pattern(r"(?:-v|--volume|--mount)[ =]['\"]?([^\s:'\"]+):(/[\w./-]+)")
_VALUE: Final = r"=(\"[^\"]*\"|'[^']*'|[^\s;&|]+)"
_CODE_SET: Final = lazy_pattern(
    r"\b(?:BASH_ENV|ENV|PYTHONSTARTUP|RUBYOPT|PERL5OPT|NODE_OPTIONS|MAKEFILES|LUA_INIT\w*|JDK_JAVA_OPTIONS)"
    rf"{_VALUE}"
)
_MODULE_SET: Final = lazy_pattern(rf"\b(?:PYTHONBREAKPOINT|PYTHONWARNINGS|PYTEST_PLUGINS|PYTEST_ADDOPTS){_VALUE}")
"""Matches variables that name modules, or functions or classes in modules, that Python imports for them."""
_DIRECTORY_SET: Final = lazy_pattern(
    r"(?<![\w./-])(?!\w*(?:CACHE|OUT|TARGET|DEST|INSTALL|BUILD|DIST|LOG|TMP|TEMP|DATA)(?:_|=|DIR|PATH))"
    r"(?=\w*(?:PATH|HOME|DIR|CONF|ROOT|LIB|PLUGIN|MODULE|RC|PROFILE|INPUTS|INCLUDE|PREFIX|SETTINGS|RUNTIME|ENGINES))"
    rf"[A-Z]\w*{_VALUE}"
)
"""Matches any other variable that, judging by its name, is a directory from which a program may load code or
settings.
"""

_MODULE_OPTION: Final = lazy_pattern(r"-[Mmr]")
"""An option of Perl or Ruby that precedes the module to load."""

_OWN: Final = frozenset({"PATH", "PWD", "OLDPWD"})
"""Variables that the shell sets itself."""


def module_directories(workspace: str, text: str) -> Bases:
    """Return the workspace directories that a line adds to interpreters' module search paths."""
    return tuple(_inside(_MODULES_SET, text, workspace))


def home_directories(text: str) -> Iterator[str]:
    """Yield the values of variables for directories in which any program may find startup files and settings."""
    return (value.strip("\"'") for value in (_HOMES_SET.findall(text) if "=" in text else ()))


def git_directories(text: str) -> Iterator[str]:
    """Yield the directories that a line sets as the git directory of a repository."""
    return (value.strip("\"'") for value in (_GIT_SET.findall(text) if "GIT_" in text else ()))


def library_paths(text: str) -> Iterator[str]:
    """Yield the values of variables that name directories or files from which programs load code or settings."""
    return (value.strip("\"'") for value in (_LIBRARIES_SET.findall(text) if "=" in text else ()))


@lru_cache(maxsize=8)
def inherited(workspace: str) -> str:
    """Return the variables of this process, one per line, that control programs and name something in the workspace.

    Cached, because iterating over the environment is slow, and commands get the environment that this process started
    with.
    """
    named = ((name, value) for name, value in os.environ.items() if workspace in value or "./" in value)
    return "\n".join(f"{name}={value}" for name, value in named if name not in _OWN and poisons(name, value))


def settings_directories(text: str) -> Iterator[str]:
    """Yield the values of variables in a line that may be directories of code or settings."""
    for value in _DIRECTORY_SET.findall(text) if "=" in text else ():
        yield from (piece.rpartition("=")[2] for piece in value.strip("\"'").split(":"))


def startup_files(text: str) -> Iterator[str]:
    """Yield the files that variables make an interpreter run or import when it starts."""
    for value in (word for values in _CODE_SET.findall(text) for word in values.strip("\"'").split()):
        yield value.lstrip("@")
        if module := _MODULE_OPTION.match(value):
            name = value[module.end() :].partition("=")[0].replace("::", "/")
            yield from (name, f"{name}.pm", f"{name}.rb", f"lib/{name}.pm", f"lib/{name}.rb")
    for value in _MODULE_SET.findall(text):
        for name in re.findall(r"[A-Za-z_][\w.]*", value):
            for path in accumulate(name.split("."), "{}/{}".format):
                yield from (f"{path}.py", f"{path}/__init__.py")


def as_mounted(text: str) -> str:
    """Return the text with paths inside a container replaced by the host's paths, as its mounts map them."""
    for outside, inside in _MOUNT.findall(text):
        text = re.sub(rf"(?<![\w.:]){re.escape(inside)}/(?=[\w.])", f"{outside}/", text)
    return text


def search_path(workspace: str, text: str) -> Bases:
    """Return the workspace directories in which the shell may look for programs, including those set in the line."""
    always = _program_directories(workspace, os.environ.get("PATH", ""))
    return tuple(dict.fromkeys((*_inside(_PATH_SET, text, workspace), *always))) if "PATH=" in text else always


@lru_cache(maxsize=8)
def _program_directories(workspace: str, search: str) -> Bases:
    here = (each for each in search.split(":") if each and within(each, workspace))
    return tuple(dict.fromkeys((*here, *(f"{workspace}/{each}" for each in table.BESIDE))))


def _inside(setting: re.Pattern[str], text: str, workspace: str) -> Iterator[str]:
    """Yield the workspace directories in the search paths that a line sets."""
    for each in (each.strip("\"'") for value in setting.findall(text) for each in value.split(":")):
        path = os.path.normpath(os.path.join(workspace, VARIABLE_DIRECTORY.sub("", each)))  # noqa: PTH118 - strings
        if each and within(path, workspace):
            yield path
