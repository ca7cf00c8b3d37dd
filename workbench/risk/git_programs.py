"""Determines whether a read-only git command would run a program that the repository names.

Settings of the user and the system are trusted; those of the repository and of its submodules, which `git status` and
other commands examine, are not. A setting that no table lists as harmless is treated as naming a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.git_repository import (
    Repository,
    SettingsFile,
    nested_work_trees,
    repositories,
    repository_at,
    settings_files,
)
from workbench.risk.git_settings import GitSetting
from workbench.risk.paths import within, words

_MOST_REPOSITORIES: Final = 40
_HARMLESS: Final = words(
    "add advice alias am apply attr author blame branch bundle checkout clean clone color column commit commitgraph "
    "committer completion credential credentialcache credentialstore difftool extensions fastimport feature fetch "
    "format fsck fsmonitor gc gitcvs gitweb grep gui guitool http i18n imap include includeif index init instaweb "
    "interactive log lsrefs mailinfo mailmap maintenance mergetool notes pack pretty protocol pull push rebase "
    "receive remote remotes repack replay rerere reset revert safe sendemail sendpack sequence showbranch "
    "sideband sparse splitindex ssh stash status submodule tag tar trace2 trailer transfer uploadarchive "
    "uploadpack uploadpackfilter url user versionsort worktree "
    "annex branchless bugtraq clang-format codespaces cz deploy devcontainer flow gerrit git-p4 git-town "
    "gitbutler gitflow github gitlab gitreview graphite hooks hub jira nbdime phabricator review secrets svn "
    "svn-remote tower vscode"
)
"""Sections of git, then of other programs, whose settings do not make a read-only command run a program.

If such a command fetches objects, see `_FETCHES`.
"""
_IN_CORE: Final = words(
    "abbrev alternaterefsprefixes askpass attributesfile autocrlf bare bigfilethreshold checkroundtripencoding "
    "checkstat commentchar commentstring commitgraph compression createobject deltabasecachelimit disambiguate "
    "editor eol excludesfile filemode filesreflocktimeout fscache fsmonitorhookversion fsync fsyncmethod "
    "fsyncobjectfiles gitproxy hidedotfiles hookspath ignorecase ignorestat lockfilepid logallrefupdates "
    "longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit packedgitwindowsize "
    "packedrefstimeout precomposeunicode preferasciicase prefersymlinkrefs preloadindex protecthfs protectntfs "
    "quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout "
    "sparsecheckoutcone splitindex sshcommand symlinks trustctime unsetenvvars untrackedcache usereplacerefs "
    "warnambiguousrefs whitespace worktree"
)
"""Harmless variables of the section `core`; the hooks directory is checked by `_hook`."""
_LFS: Final = {
    "clean": "git-lfs clean -- %f",
    "smudge": "git-lfs smudge -- %f",
    "process": "git-lfs filter-process",
    "required": "true",
}
"""The settings that `git lfs install --local` writes."""
_BOOLEANS: Final = words("true false yes no on off 0 1")
_PAGER: Final = lazy_pattern(r"(?:cat|more|(?:less|delta|bat)(?: -[EFGIKMNQRSXiegm]+)*)?")
_IN_DRIVERS: Final = words("binary xfuncname funcname cachetextconv wordregex algorithm trustexitcode name recursive")
_IN_GPG: Final = words("format mintrustlevel ssh.allowedsignersfile ssh.revocationfile")
_LFS_RUNS: Final = lazy_pattern(r"(?:customtransfer|extension)\.")
_PROMISES: Final = lazy_pattern(r"remote\..*\.(?:promisor|partialclonefilter)|extensions\.partialclone", re.DOTALL)
"""Matches the settings with which even a read-only command may fetch missing objects."""
_FETCHES: Final = lazy_pattern(
    r"core\.(?:askpass|gitproxy|sshcommand)|credential\..*|http\..*|protocol\..*|ssh\..*|url\..*|"
    r"remote\..*\.(?:uploadpack|receivepack|vcs|proxy|proxyauthmethod)",
    re.DOTALL,
)
"""Settings that decide which programs a fetch runs."""
_PLAIN_URL: Final = lazy_pattern(r"(?:https?|ssh)://[\w@.:/~+%-]*|[\w.-]+@[\w.-]+:[\w./~-]*")
_RELATIVE: Final = lazy_pattern(r"!?\s*[\"']?(?!/|~)[^\s=]*/")
"""Matches a program with a path relative to the working directory, which the repository therefore provides."""
_HOOK: Final = "post-index-change"
"""The hook that even read-only commands run, because they refresh the index."""
UNKNOWN: Final = "its settings, or those of its submodules, are more than can be checked"


class GitPrograms(NamedTuple):
    """The programs that a repository can make git run in read-only commands."""

    reason: str = ""
    """Why a program may run that is neither git's own nor named by the user's settings; empty if none may."""
    aliases: frozenset[str] = frozenset()
    """The repository's aliases in lower case; an alias takes effect only if no command with that name is installed."""


def programs_named(directory: str, workspace: str, home: str) -> GitPrograms:
    """Return the programs that the repository around a directory can make git run in read-only commands."""
    waiting = [(candidate, candidate.work_tree) for candidate in repositories(directory)]
    examined: set[str] = set()
    aliases: set[str] = set()
    for repository, work_tree in waiting:  # grows during the iteration
        if repository.git in examined:
            continue
        examined.add(repository.git)
        files, is_complete = settings_files(repository, workspace, home)
        aliases.update(*(_aliases(file.settings) for file in files if not file.is_of_user))
        reason = next(_named(files), "") or _hook(repository, files, workspace)
        nested = nested_work_trees(repository, work_tree)
        if reason or not is_complete or nested is None or len(waiting) + len(nested) > _MOST_REPOSITORIES:
            return GitPrograms(reason or UNKNOWN)
        waiting += [(each, each.work_tree) for each in map(repository_at, nested) if each is not None]
    return GitPrograms(aliases=frozenset(aliases))


def _named(files: Sequence[SettingsFile]) -> Iterator[str]:
    """Yield a reason for each setting that may make a read-only command run a program that is not one of the user's."""
    own = [file.settings for file in files if not file.is_of_user]
    fetches = any(map(_promises, own))
    for settings in own:
        yield from map(_reason, _harmful(settings))
        yield from map(_reason, filter(_is_for_fetching, settings) if fetches else ())
    for setting in (setting for file in files if file.is_of_user for setting in _harmful(file.settings)):
        if _RELATIVE.match(setting.value or ""):
            yield _reason(setting)


# The settings rarely change, and most commands of git that only read depend on them.
@lru_cache(maxsize=64)
def _harmful(settings: tuple[GitSetting, ...]) -> Sequence[GitSetting]:
    return [setting for setting in settings if not _is_harmless(setting)]


@lru_cache(maxsize=64)
def _promises(settings: tuple[GitSetting, ...]) -> bool:
    """Return whether the settings say that objects may be missing, which git then fetches."""
    return any(_PROMISES.fullmatch(setting.key) for setting in settings)


@lru_cache(maxsize=64)
def _aliases(settings: tuple[GitSetting, ...]) -> frozenset[str]:
    return frozenset(each.key.split(".")[1].casefold() for each in settings if each.key.startswith("alias."))


def _reason(setting: GitSetting) -> str:
    section, _, rest = setting.key.partition(".")
    between = ".*." if "." in rest else "."
    return f"the settings of the repository may run a program ({section}{between}{rest.rpartition('.')[2]})"


def _is_harmless(setting: GitSetting) -> bool:
    """Return whether, in a read-only command, git ignores the setting or runs nothing because of it."""
    section, _, name = setting.key.partition(".")
    check = _CHECKS.get(section)
    value = "true" if setting.value is None else setting.value.strip()
    return check(name, value) if check else section in _HARMLESS


def _is_harmless_core(name: str, value: str) -> bool:
    if name == "fsmonitor":  # as a truth value, it starts a daemon of git's own
        return not value or value.casefold() in _BOOLEANS
    return name in _IN_CORE or (name == "pager" and bool(_PAGER.fullmatch(value)))


def _is_harmless_driver(name: str, value: str) -> bool:
    driver, _, variable = name.rpartition(".")
    return not value or variable in _IN_DRIVERS or (not driver and variable != "external")


def _is_harmless_filter(name: str, value: str) -> bool:
    driver, _, variable = name.rpartition(".")
    return not value or variable == "required" or (driver == "lfs" and _LFS.get(variable) == value)


_CHECKS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "core": _is_harmless_core,
    "diff": _is_harmless_driver,
    "merge": _is_harmless_driver,
    "filter": _is_harmless_filter,
    "gpg": lambda name, value: name in _IN_GPG,
    "lfs": lambda name, value: not _LFS_RUNS.match(name),
    "pager": lambda name, value: value.casefold() in _BOOLEANS or bool(_PAGER.fullmatch(value)),
    "help": lambda name, value: name != "browser",
    **dict.fromkeys(("browser", "gvfs", "hook", "man", "web"), lambda name, value: False),
}
"""Sections with some harmless settings, each with the function that returns whether a name and value are harmless."""


def _is_for_fetching(setting: GitSetting) -> bool:
    """Return whether the setting may make a fetch use programs other than git's own."""
    if re.fullmatch(r"remote\..*\.(?:url|pushurl)", setting.key, re.DOTALL):
        return not _PLAIN_URL.fullmatch(setting.value or "")
    return bool(_FETCHES.fullmatch(setting.key))


def _hook(repository: Repository, files: Iterable[SettingsFile], workspace: str) -> str:
    """Return a reason if read-only commands would run a hook that the repository provides; otherwise an empty
    string.
    """
    directories = [f"{repository.common}/hooks"]
    for file in files:
        for path in (each for setting in file.settings for each in setting.hooks_paths):
            named = os.path.normpath(os.path.join(repository.work_tree, path))  # noqa: PTH118 - strings
            if not file.is_of_user or within(named, workspace):
                directories.append(named)
    has_hook = any(recorded_stat.exists(f"{directory}/{_HOOK}") for directory in directories)
    return f"the repository has a hook that this command may run ({_HOOK})" if has_hook else ""
