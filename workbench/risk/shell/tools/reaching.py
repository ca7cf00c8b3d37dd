"""Flags and words by which usual programs reach further: to code from elsewhere, to another place or machine.

Looked at for each call beside the rule of its program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from workbench.risk.paths import within
from workbench.risk.shell.call import Call
from workbench.risk.shell.tools.rule import words
from workbench.risk.shell.words import UNKNOWN, Word, literal

How: TypeAlias = Literal["run", "into", "write", "read", "high", "address", "remote", "port", "setting"]
_ADDRESS: Final = re.compile(r"(?:(?:git|hg|svn|bzr)\+|https?:|ftps?:|ssh:|git:|file:|npm:|jsr:|git@)|.* @ ", re.I)
_REMOTE: Final = re.compile(r"(?:[a-z][a-z+.-]*:|[\w.-]+@[\w.-]+:)", re.I)
_MODULE: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+/|.*@")
_EVERYWHERE: Final = re.compile(r"(?:0\.0\.0\.0|\[?::\]?|\*)(?::\d+)?\Z")
_FINE_SETTING: Final = re.compile(
    r"(?:user\.|color\.|advice\.|core\.(?:autocrlf|longpaths|symlinks|eol)|http\.\w*buffer)", re.I
)
_ELSEWHERE: Final = "runs code from outside the workspace"
_AT_ADDRESS: Final = "runs or installs what is at an address"
_TO_ANYWHERE: Final = "opens a connection to anywhere"
_OPEN_PORT: Final = "opens a port to other machines"


class Reach(NamedTuple):
    """What one flag, or the operands, of a program (with one of these verbs) mean."""

    programs: frozenset[str]
    verbs: frozenset[str]
    flags: frozenset[str]
    """`*` are the operands behind the verb, `1` is the first of them, and so on; with `!` it is always so."""
    how: How
    reason: str = ""


def _rows() -> Iterator[Reach]:
    for line in _TABLE.strip().splitlines():
        programs, verbs, flags, how, reason = (part.strip() for part in line.split("|"))
        yield Reach(words(programs), words(verbs), words(flags), how, reason)  # type: ignore[arg-type]


_NOT_DECLARED: Final = "takes code from a place that is not declared"
_NOT_CONFIGURED: Final = "takes code from a place that is not configured"
_FOR_PERSON: Final = "installs a program for this person"
_STEERS: Final = "steers other programs"
_SOURCES: Final = "changes where packages come from"
_TABLE: Final = f"""
make gmake remake | | -C --directory -f --file --makefile -I --include-dir | run |
cmake | | -P -S -C --build --install -D | run |
cmake | | -B --prefix --install-prefix | into |
ninja samu | | -C -f | run |
meson | setup compile test install | -C * | run |
gradle gradlew | | -I --init-script -p --project-dir -b --build-file | run |
gradle gradlew | | -c --settings-file | run |
mvn mvnw | | -f --file -s --settings -gs --global-settings -t --toolchains | run |
just task rake ant invoke inv | | -f --justfile -d --working-directory -c --taskfile -buildfile | run |
tox nox | | -c -f --noxfile | run |
cargo | | --manifest-path -C --path | run |
cargo | | --config | high | changes what cargo runs
cargo | add install | --git --registry --index | high | {_NOT_DECLARED}
go | | -C -vettool | run |
gcc g++ cc c++ clang clang++ | | -wrapper | high | runs another program
gcc g++ cc c++ clang clang++ | | -fplugin -fpass-plugin -specs --specs -B -fuse-ld -load -Xclang | run |
ld ld.gold ld.lld gold mold | | -plugin --plugin | run |
rustc | | -C --codegen | run |
javac | | -processorpath --processor-path -J-javaagent -J-agentpath | run |
ghc | | -pgmF -pgmP -pgmL -pgmc -pgml -pgma -pgms -pgmi | run |
nvcc | | -ccbin --compiler-bindir | run |
pytest py.test | | -c --rootdir --confcutdir | run |
npm pnpm yarn bun npx | | --prefix -C --dir --cwd | run |
npm pnpm yarn bun | init create | 1 | high | runs a package that is not installed
npm pnpm yarn bun | config set | * | high | {_SOURCES}
deno | run install x serve test eval bench cache | * | address | {_AT_ADDRESS}
deno | install | -g --global -gf -gA | high | {_FOR_PERSON}
deno bun | | --import-map --config -c --preload -r | run |
poetry pdm uv pipenv hatch rye pixi pip conda mamba | add install | * -e --editable -r | address | {_AT_ADDRESS}
poetry pdm uv pipenv rye | add install | --git --source --index --index-url -i | high | {_NOT_DECLARED}
poetry | source config | * | high | {_SOURCES}
pip | install | * -e --editable | run |
uv | venv | * | into |
uv | pip | * -e --editable -r | address | {_AT_ADDRESS}
uv | pip | -e --editable | run |
uv | pip | --target --prefix --root | into |
uv | run | --with --with-editable --with-requirements | address | {_AT_ADDRESS}
poetry uv pdm | | --directory --project -C -p | run |
mvn mvnw gradle gradlew sbt | deploy publish release:perform uploadArchives | ! | high | publishes or deploys
virtualenv | | * | into |
conda mamba micromamba | create install | -c --channel | address | {_AT_ADDRESS}
conda mamba micromamba | | -p --prefix | into |
gem | install | -s --source --clear-sources | high | {_NOT_DECLARED}
gem | push yank owner signin | ! | high | publishes something
composer | global | ! | high | {_FOR_PERSON}
composer | config | repositories repo | high | {_SOURCES}
cpan cpanm luarocks raco opam | install | ! | high | {_FOR_PERSON}
vim nvim gvim vi mvim | | --remote --remote-silent --remote-wait --remote-send --remote-expr | high | {_STEERS}
code codium cursor | | --install-extension --user-data-dir --extensions-dir | high | installs what the editor runs
git | clone | -c --config | setting | changes what git runs
git | clone init | --template | run |
git | clone init | --separate-git-dir | into |
git | clone | 2 | into |
git | clone | -u --upload-pack | high | runs another program
git | fetch | 1 | remote | {_NOT_CONFIGURED}
git | init | 1 | into |
git | archive | --remote --exec | high | works on another machine
git | archive | -o --output | write |
git | format-patch | -o --output-directory | into |
git | send-pack http-push imap-send svn p4 cvsserver instaweb shell | ! | high | {_TO_ANYWHERE}
git | credential-store credential-cache credential-osxkeychain | ! | high | hands out credentials
docker podman nerdctl | build buildx | 1 | address | builds what is at an address
docker podman nerdctl | build buildx compose docker-compose | -f --file --build-context | run |
docker podman nerdctl | build buildx | -o --output --metadata-file | into |
docker-compose podman-compose | | -f --file | run |
flyway | clean | ! | high | deletes all that a data base holds
jj | op | restore revert | high | brings back an earlier state of the repository
jj | operation | restore revert | high | brings back an earlier state of the repository
jj | abandon | ! | high | drops commits
jj | git | --deleted --all -d | high | overwrites or deletes on the remote
sl hg | hide strip prune uncommit | ! | high | drops commits
pijul | unrecord reset | ! | high | drops commits
dvc | gc | ! | high | deletes data that no version names
nix-collect-garbage | | -d --delete-old --delete-older-than | high | deletes what could bring back earlier versions
nixos-rebuild darwin-rebuild | switch boot test | ! | high | changes the system
home-manager | switch | ! | high | changes the settings of this user
fwupdmgr | update install reinstall downgrade | ! | high | writes firmware
tailscale | up | --ssh | high | {_OPEN_PORT}
tailscale | funnel serve | ! | high | {_OPEN_PORT}
mise rtx asdf | use global | -g --global | high | {_FOR_PERSON}
pixi | global | ! | high | {_FOR_PERSON}
bun npm pnpm yarn | add remove rm uninstall install | -g --global | high | {_FOR_PERSON}
gh glab | release | create upload | high | sends files to another machine
php | | -S | port | {_OPEN_PORT}
flask uvicorn gunicorn hypercorn vite next nuxt jekyll | | --host --bind -b -h -H --hostname | port | {_OPEN_PORT}
hugo mkdocs jupyter streamlit rails http-server | | --ip --bind -b --server.address --host | port | {_OPEN_PORT}
"""
_REACHES: Final = tuple(_rows())
_KNOWN: Final = {
    name: [row for row in _REACHES if name in row.programs]
    for name in sorted({each for row in _REACHES for each in row.programs})
}


def look_further(call: Call, given: list[Word]) -> None:
    """Raise the risk of a call for what its words reach; `given` are all of them, as they were before its rule."""
    if call.name in _SPECIAL:
        _SPECIAL[call.name](call, given)
    if call.name not in _KNOWN:
        return
    verb = next((word.text for word in _operands(given)), "")
    for row in _KNOWN[call.name]:
        if not row.verbs or verb in row.verbs:
            for word in _values(row, given):
                _reached(call, row, word)


def _operands(given: list[Word]) -> Iterator[Word]:
    return (word for word in given if not word.text.startswith("-"))


def _values(row: Reach, given: list[Word]) -> Iterator[Word]:
    """The words that a row speaks of."""
    operands = list(_operands(given))[1 if row.verbs else 0 :]
    if "!" in row.flags:
        yield literal("")
    if "*" in row.flags:
        yield from operands
    for at, word in enumerate(operands, 1):
        if str(at) in row.flags or word.text in row.flags:
            yield word
    for at, word in enumerate(given):
        flag, equals, value = word.text.partition("=")
        if flag in row.flags and flag.startswith("-"):
            yield Word(value, word.raw) if equals else given[at + 1] if at + 1 < len(given) else literal("")
        elif word.text[:2] in row.flags and len(word.text) > 2 and word.text[1] != "-":
            yield Word(word.text[2:], word.raw)


def _reached(call: Call, row: Reach, word: Word) -> None:
    if row.how == "high":
        call.raise_to("HIGH", row.reason)
    elif row.how == "address":
        call.raise_to("HIGH", row.reason or _AT_ADDRESS) if _ADDRESS.match(word.text) else None
    elif row.how == "remote":
        call.raise_to("HIGH", row.reason) if _REMOTE.match(word.text) or word.text[:1] in {"/", ".", "~"} else None
    elif row.how == "port":
        call.raise_to("HIGH", row.reason) if _EVERYWHERE.match(word.text) else None
    elif row.how == "setting":
        call.raise_to("HIGH", row.reason) if not _FINE_SETTING.match(word.text) else None
    elif row.how == "run":
        _runs(call, word)
    elif row.how == "into":
        call.use(word._replace(text=f"{word.text.rstrip('/') or '/'}/made"), "write")
    else:
        call.use(word, "write" if row.how == "write" else "read")


def _runs(call: Call, word: Word) -> None:
    """What is run is in the workspace, or else it is HIGH."""
    text = word.text.rpartition("=")[2]
    if not text.startswith(("/", "~", "..", "$")) and "/../" not in text and UNKNOWN not in text:
        return
    path = call.scan.absolute(word._replace(text=text))
    if path is not None:
        call.paths.append(path)
    if path is None or not within(call.scan.places.resolved(path), call.scan.places.workspace):
        call.raise_to("HIGH", _ELSEWHERE)


def _go(call: Call, given: list[Word]) -> None:
    operands = [word.text for word in _operands(given)]
    if operands[:1] in (["run"], ["install"]) and any(_MODULE.match(text) for text in operands[1:2]):
        call.raise_to("HIGH", "runs a package that is not installed")


_OF_GIT: Final = {
    "remote": (words("add set-url rename remove rm set-head"), "changes where code comes from and goes to"),
    "submodule": (words("add set-url"), _NOT_CONFIGURED),
    "lfs": (words("install uninstall"), "changes what git runs and keeps"),
}


def _git(call: Call, given: list[Word]) -> None:
    operands = list(_operands(given))
    verb, inner = ([word.text for word in operands] + ["", ""])[:2]
    changes, why = _OF_GIT.get(verb, (frozenset(), ""))
    if inner in changes:
        call.raise_to("HIGH", why)
    if verb == "worktree" and inner == "add":
        values = {"-b", "-B", "--reason"}
        named = [word for before, word in pairwise(given) if before.text not in values and word in operands[2:]]
        for word in named[:1]:
            call.use(word._replace(text=f"{word.text.rstrip('/')}/made"), "write")
    elif verb == "submodule" and inner == "deinit" and not {"-f", "--force"}.isdisjoint(word.text for word in given):
        call.raise_to("HIGH", "loses work that is not committed")
    elif verb == "bundle" and inner == "create" and len(operands) > 2:
        call.use(operands[2], "write")
    elif verb == "ls-remote":
        call.raise_to("MEDIUM", "asks another machine")
    elif verb == "clone" and any(word.text.startswith("ext::") for word in operands):
        call.raise_to("HIGH", "runs another program")


def _docker(call: Call, given: list[Word]) -> None:
    operands = list(_operands(given))
    if len(operands) < 3 or operands[0].text != "cp":
        return
    source, target = operands[-2:]
    if re.match(r"[\w.-]+:", target.text):
        call.raise_to("HIGH", "changes a container that is in use, which cannot be taken back")
        call.use(source, "deep")
    else:
        call.use(target, "write")
        call.writes_below(target)


_SAME_TOOLS: Final = {
    **dict.fromkeys(("copy", "copy_directory", "copy_if_different"), "cp"),
    **dict.fromkeys(("remove", "remove_directory"), "rm"),
    "rename": "mv",
}
_HARMLESS_TOOLS: Final = words(
    "echo capabilities compare_files md5sum sha1sum sha256sum sha512sum environment true cat"
)


def _cmake(call: Call, given: list[Word]) -> None:
    """`cmake -E` brings small tools with it, which are those of the shell."""
    texts = [word.text for word in given]
    if "--install" in texts and not any(text.startswith("--prefix") for text in texts):
        call.raise_to("HIGH", "installs, publishes or deploys")
    if "-E" not in texts or len(given) < 2:
        return
    name, *rest = given[texts.index("-E") + 1 :] or [literal("")]
    if name.text in {"env", "time"}:
        call.run_words([name, *rest])
    elif name.text not in _HARMLESS_TOOLS:
        deep = [literal("-r")] if name.text.endswith("_directory") else []
        call.run_words([literal(_SAME_TOOLS.get(name.text, name.text)), *deep, *rest])


_CONNECTED: Final = re.compile(r"-[Mmr](?:LWP|IO::Socket|Net\b|HTTP|Socket|net/|open-uri|socket)")


def _loads_network(call: Call, given: list[Word]) -> None:
    if any(_CONNECTED.match(word.text) for word in given):
        call.raise_to("HIGH", _TO_ANYWHERE)


_SPECIAL: Final[dict[str, Callable[[Call, list[Word]], None]]] = {
    "go": _go,
    "git": _git,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _docker),
    "cmake": _cmake,
    **dict.fromkeys(("perl", "ruby"), _loads_network),
}
