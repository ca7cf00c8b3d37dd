"""Settings files that a program finds by their names when it starts: the project's, and the user's."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import islice
from typing import Final

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import home_files
from workbench.risk.executed_files.finder import Finder
from workbench.risk.executed_files.lookup import Bases
from workbench.risk.executed_files.output_files import is_output
from workbench.risk.executed_files.project_files import DATA_ENDINGS, add_directory, start_of
from workbench.risk.executed_files.source import paths_named
from workbench.risk.paths import within, words

_NAME: Final = lazy_pattern(r"[\w.+-]{2,}")
_SHORTEST: Final = 3
"""The minimum length of a program's name for files whose names start with it to be looked for."""
_MOST_FILES: Final = 30
_OUTPUTS: Final = words("tox nox next nuxt turbo nx gradle docusaurus astro terraform serverless vagrant direnv dvc")
"""Programs whose directory `.NAME` in a project contains what they create."""
_FAMILIES: Final = {
    **dict.fromkeys(words("npx pnpm pnpx yarn bun bunx turbo nx lerna"), ("npm", "pnpm", "yarn")),
    **dict.fromkeys(words("git scp sftp rsync mosh autossh sshfs ansible ansible-playbook"), ("ssh",)),
    **dict.fromkeys(words("helm k9s kustomize oc stern skaffold tilt"), ("kube",)),
    **dict.fromkeys(words("gpg2 gpgsm gpg-connect-agent"), ("gnupg", "gpg")),
    **dict.fromkeys(words("vi view ex gvim vimdiff"), ("vim", "exrc")),
    **dict.fromkeys(words("mvn mvnw mvnd"), ("m2", "mvn", "maven")),
    **dict.fromkeys(words("poetry pdm uv"), ("pip", "pypoetry")),
    **dict.fromkeys(words("docker-compose podman"), ("docker", "containers")),
    **dict.fromkeys(words("R Rscript"), ("R",)),
    "git": ("git", "ssh"),
    "gpg": ("gnupg", "gpg"),
    "kubectl": ("kube",),
    "man": ("man", "less"),
    "nu": ("nushell",),
    "svn": ("subversion",),
    "tofu": ("terraform",),
    "hx": ("helix",),
    "crontab": ("selected_editor",),
    "sh": ("profile",),
}
"""The prefixes, without a leading dot, of the names of the user's settings that a program reads, if not its own
name.
"""


def add_settings(finder: Finder, program: str, bases: Bases, depth: int) -> None:
    """Add settings in the working directory that are named after the program: `.rspec`, `knexfile.js`,
    `.ctags.d/a.ctags`.
    """
    if len(program) < _SHORTEST or not _NAME.fullmatch(program):
        return
    plain = program.lower().replace("-", "")
    for directory in dict.fromkeys((bases[0], finder.workspace)):
        names = finder.lookup.entries(directory)
        for name in sorted(names):
            stem = name.lower().lstrip(".").removeprefix("_").replace("-", "")
            is_own = stem.startswith(plain) and not name.endswith(DATA_ENDINGS)
            if is_own and not is_output(f"{directory}/{name}", directory):
                finder.program(name, (directory,), depth)
        for name in (f".{program}", f".{program}.d", f"{program}.d") if program not in _OUTPUTS else ():
            if name in names:
                add_directory(finder, name, (directory,), depth)
        if ".config" in names:
            finder.program(f".config/{program}*", (directory,), depth)
            add_directory(finder, f".config/{program}", (directory,), depth)


def add_user_settings(finder: Finder, program: str, bases: Bases, depth: int) -> None:
    """Add workspace files that the user's own settings for a program name: scripts, hooks, plugins.

    The settings themselves are protected, and are added only if they are in the workspace.
    """
    if (f"~{program}", bases[0]) in finder.searched:
        return
    finder.searched.add((f"~{program}", bases[0]))
    home = os.path.expanduser("~")  # noqa: PTH111 - once for each command
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    for name in _names_in_home(program):
        path = name.replace("~config", config, 1) if name.startswith("~config/") else f"{home}/{name}"
        for settings in islice(finder.lookup.at(path, ("/",)), _MOST_FILES):
            if within(real_path(settings), finder.workspace):
                finder.add(settings, bases, depth)
            elif text := start_of(settings):
                for named in paths_named(re.sub(r"~/|\$\{?HOME\}?/", f"{home}/", text)):
                    _add_inside(finder, named, bases, depth)


def _add_inside(finder: Finder, name: str, bases: Bases, depth: int) -> None:
    for path in finder.lookup.at(name, bases):
        if within(path, finder.workspace):
            finder.add(path, bases, depth)


@cache
def _names_in_home(program: str) -> tuple[str, ...]:
    """Return the user's settings files for a program, relative to home; `~config/` stands for the configuration
    directory.
    """
    families = _FAMILIES.get(program, (program,))
    files = sorted(home_files.HOME_FILES) + [f"{name}/*" for name in sorted(home_files.HOME_DIRECTORIES)]
    configured = sorted(home_files.CONFIG_FILES) + [f"{name}/*" for name in sorted(home_files.CONFIG_DIRECTORIES)]
    return (
        *(name for name in files if name.lstrip(".").startswith(families)),
        *(f"~config/{name}" for name in configured if name.partition("/")[0] in families),
    )
