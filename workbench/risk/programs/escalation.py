"""Flags, words and verbs that make any call riskier: code from elsewhere, access to other machines, destruction.

They are applied to each call after the rule for its program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.code import rated_code
from workbench.risk.paths import within
from workbench.risk.programs.exposure import OPEN_PORT
from workbench.risk.programs.rule import own_words, words
from workbench.risk.reason import FOR_GIT, RUNS_PACKAGE, RUNS_PROGRAM, RUNS_UNKNOWN_CODE, Reason, Trait, from_cell
from workbench.risk.shell.call import Call
from workbench.risk.shell.written_files import run_embedded
from workbench.risk.word import UNKNOWN, Word, literal

How: TypeAlias = Literal[
    "run", "into", "write", "read", "high", "address", "remote", "port", "exposed", "setting", "python", "code"
]
_URL: Final = lazy_pattern(r"(?:(?:git|hg|svn|bzr)\+|https?:|ftps?:|ssh:|git:|file:|npm:|jsr:|git@)|.* @ ", re.I)
_REMOTE: Final = lazy_pattern(r"(?:[a-z][a-z+.-]*:|[\w.-]+@[\w.-]+:)", re.I)
_MODULE: Final = lazy_pattern(r"[\w-]+(?:\.[\w-]+)+/|.*@")
_EVERYWHERE: Final = lazy_pattern(r"(?:0\.0\.0\.0|\[?::\]?|\*)(?::\d+)?\Z|0?:\d+\Z")
_FINE_SETTING: Final = lazy_pattern(
    r"(?i)(?:user\.|color\.|advice\.|core\.(?:autocrlf|longpaths|symlinks|eol)|http\.\w*buffer)"
)
_ELSEWHERE: Final = Reason("runs code from outside the workspace", Trait.RUNS)
_AT_URL: Final = Reason("runs or installs code from a URL", Trait.RUNS)
_TO_ANYWHERE: Final = "connects to any host"


class Reach(NamedTuple):
    """The meaning of a flag or operand of some programs, with any verb or only with the given ones."""

    programs: frozenset[str]
    verbs: frozenset[str]
    flags: frozenset[str]
    """Flags; or `*` for all operands after the verb, `1` for the first operand and so on, `!` for the call itself."""
    how: How
    reason: str = ""


def _rows() -> Iterator[Reach]:
    for line in _TABLE.strip().splitlines():
        programs, verbs, flags, how, reason = (part.strip() for part in line.split("|"))
        yield Reach(words(programs), words(verbs), words(flags), how, from_cell(reason))  # type: ignore[arg-type]


_NOT_DECLARED: Final = Reason("takes code from a source that is not declared", Trait.RUNS)
_NOT_CONFIGURED: Final = "takes code from a source that is not configured"
_FOR_USER: Final = Reason("installs a program for this user", Trait.RUNS | Trait.DOWNLOADS)
_STEERS: Final = Reason("steers other programs", Trait.RUNS)
_SOURCES: Final = "changes where packages come from [RUNS]"
_SERVERS: Final = (
    "flask uvicorn gunicorn hypercorn vite next nuxt jekyll hugo mkdocs jupyter streamlit rails http-server ng caddy "
    "twistd manage.py django-admin artisan symfony python node npm pnpm yarn bun npx deno ruby webpack parcel wrangler "
    "vercel netlify firebase"
)
_BIND_FLAGS: Final = "--host --bind -b -h -H --hostname --ip --address --server.address --listen -a --dev-addr *"
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
cargo | | --config | high | changes what cargo runs [RUNS]
cargo | add install | --git --registry --index | high | {_NOT_DECLARED.cell}
go | | -C -vettool | run |
gcc g++ cc c++ clang clang++ | | -wrapper | high | {RUNS_PROGRAM.cell}
gcc g++ cc c++ clang clang++ | | -fplugin -fpass-plugin -specs --specs -B -fuse-ld -load -Xclang | run |
ld ld.gold ld.lld gold mold | | -plugin --plugin | run |
rustc | | -C --codegen | run |
javac | | -processorpath --processor-path -J-javaagent -J-agentpath | run |
ghc | | -pgmF -pgmP -pgmL -pgmc -pgml -pgma -pgms -pgmi | run |
bun tsx ts-node | | -e --eval -p --print -pe | code |
ghc ocaml kotlin crystal R Rscript raku luajit jruby qjs bb janet hy swift scala | | -e -c | code |
scilab sage gnuplot bpftrace stap | | -e -c | code |
octave octave-cli gp maxima root cling | | --eval --batch-string -e -c -q | code |
cling | | * | code |
crystal | eval | * | code |
swipl sbcl ecl clisp gforth | | -g -t --eval -eval -x -e | code |
matlab scilab dtrace | | -r -batch -e -n | code |
blender | | --python-expr | python |
helm | | --post-renderer | high | {RUNS_PROGRAM.cell}
terraform tofu | init | -plugin-dir -from-module | run |
nvcc | | -ccbin --compiler-bindir | run |
openssl | | -engine -provider -provider-path | run |
zig | fetch | * | address | {_NOT_DECLARED.cell}
php | | --execute | code |
rails mix | runner r run | 1 -e --eval | code |
pytest py.test | | -c --rootdir --confcutdir | run |
pylint | | --init-hook | python |
pylint flake8 mypy coverage | | --rcfile --config --append-config --config-file | run |
eslint prettier stylelint jest vitest mocha babel webpack vite rollup | | -c --config --plugin --rulesdir -r | run |
npm pnpm yarn bun npx | | --prefix -C --dir --cwd | run |
npm pnpm yarn bun | init create | 1 | high | {RUNS_PACKAGE.cell}
npm pnpm yarn bun | config set | * | high | {_SOURCES}
deno | run install x serve test eval bench cache | * | address | {_AT_URL.cell}
deno | install | -g --global -gf -gA | high | {_FOR_USER.cell}
deno bun | | --import-map --config -c --preload -r | run |
poetry pdm uv pipenv hatch rye pixi pip conda mamba | add install | * -e --editable -r | address | {_AT_URL.cell}
poetry pdm uv pipenv rye | add install | --git --source --index --index-url -i | high | {_NOT_DECLARED.cell}
poetry | source config | * | high | {_SOURCES}
pip | install | * -e --editable | run |
uv | venv | * | into |
uv | pip | * -e --editable -r | address | {_AT_URL.cell}
uv | pip | -e --editable | run |
uv | pip | --target --prefix --root | into |
uv | run | --with --with-editable --with-requirements | address | {_AT_URL.cell}
poetry uv pdm | | --directory --project -C -p | run |
mvn mvnw gradle gradlew sbt | deploy publish release:perform uploadArchives | ! | high | publishes or deploys
virtualenv | | * | into |
conda mamba micromamba | create install | -c --channel | address | {_AT_URL.cell}
conda mamba micromamba | | -p --prefix | into |
conda mamba micromamba | remove uninstall | --all | high | deletes an environment
gem | install | -s --source --clear-sources | high | {_NOT_DECLARED.cell}
gem | push yank owner signin | ! | high | publishes something
composer | global | ! | high | {_FOR_USER.cell}
composer | config | repositories repo | high | {_SOURCES}
cpan cpanm luarocks raco opam | install | ! | high | {_FOR_USER.cell}
vim nvim gvim vi mvim | | --remote --remote-silent --remote-wait --remote-send --remote-expr | high | {_STEERS.cell}
code codium cursor | | --install-extension --user-data-dir --extensions-dir | high | installs what editors run [RUNS]
git | clone | -c --config | setting | changes what git runs [RUNS]
git | clone init | --template | run |
git | clone | --separate-git-dir | into |
git | init | --separate-git-dir | high | moves the repository away
git | clone | 2 | into |
git | clone | -u --upload-pack | high | {RUNS_PROGRAM.cell}
git | fetch | 1 | remote | {_NOT_CONFIGURED}
git | init | 1 | into |
git | archive | --remote --exec | high | works on another machine [RUNS]
git | archive | -o --output | write |
git | format-patch | -o --output-directory | into |
git | send-pack http-push imap-send svn p4 cvsserver instaweb shell | ! | high | {_TO_ANYWHERE} [RUNS]
git | credential-store credential-cache credential-osxkeychain | ! | high | exposes credentials [RUNS]
docker podman nerdctl | build buildx | 1 | address | builds code from a URL [RUNS]
docker podman nerdctl | build buildx compose docker-compose | -f --file --build-context | run |
docker podman nerdctl | build buildx | -o --output --metadata-file | into |
docker-compose podman-compose | | -f --file | run |
flyway | clean | ! | high | deletes everything in a database
jj | op operation | restore revert | high | restores an earlier state of the repository
jj | abandon | ! | high | drops commits
jj | | --config --config-file --config-toml | high | changes what jj runs [RUNS]
jj | git | --deleted --all -d | high | overwrites or deletes on the remote
sl hg | hide strip prune uncommit | ! | high | drops commits
pijul | unrecord reset | ! | high | drops commits
dvc | gc | ! | high | deletes data that no version names
nix-collect-garbage | | -d --delete-old --delete-older-than | high | deletes what could restore earlier versions
nixos-rebuild darwin-rebuild | switch boot test | ! | high | changes the system
home-manager | switch | ! | high | changes the settings of this user
fwupdmgr | update install reinstall downgrade | ! | high | writes firmware
tailscale | up | --ssh | high | {OPEN_PORT}
tailscale | funnel serve | ! | high | {OPEN_PORT}
mise rtx asdf | use global | -g --global | high | {_FOR_USER.cell}
mise rtx | trust | ! | high | lets the settings of a directory run programs [RUNS]
pixi | global | ! | high | {_FOR_USER.cell}
bun npm pnpm yarn | add remove rm uninstall install | -g --global | high | {_FOR_USER.cell}
gh glab | release | create upload | high | sends files to another machine
php | | -S | port | {OPEN_PORT}
{_SERVERS} | | {_BIND_FLAGS} | port | {OPEN_PORT}
vite npm pnpm yarn bun npx | | --host | exposed | {OPEN_PORT}
"""
_REACHES: Final = tuple(_rows())
_RECOGNIZED: Final = {
    name: [row for row in _REACHES if name in row.programs]
    for name in sorted({each for row in _REACHES for each in row.programs})
}


def has_reach(name: str) -> bool:
    """Return whether the table has rows for the program."""
    return name in _RECOGNIZED


def raise_by_reach(call: Call, original: list[Word]) -> None:
    """Raise the risk of a call because of its flags and operands; `original` is its words before its rule was
    applied.
    """
    if call.name in _SPECIAL:
        _SPECIAL[call.name](call, original)
    if call.name not in _RECOGNIZED:
        return
    original = own_words(call.name, original)
    verb = next((word.text for word in _operands(original)), "")
    for row in _RECOGNIZED[call.name]:
        if not row.verbs or verb in row.verbs:
            for word in _values(row, original):
                _reached(call, row, word)


def _operands(original: list[Word]) -> Iterator[Word]:
    return (word for word in original if not word.text.startswith("-"))


def _values(row: Reach, original: list[Word]) -> Iterator[Word]:
    """Yield the words to which a row applies."""
    operands = list(_operands(original))[1 if row.verbs else 0 :]
    if "!" in row.flags:
        yield literal("")
    if "*" in row.flags:
        yield from operands
    for at, word in enumerate(operands, 1):
        if str(at) in row.flags or word.text in row.flags:
            yield word
    for at, word in enumerate(original):
        flag, equals, value = word.text.partition("=")
        if flag in row.flags and flag.startswith("-"):
            yield Word(value, word.raw) if equals else original[at + 1] if at + 1 < len(original) else literal("")
        elif word.text[:2] in row.flags and len(word.text) > 2 and word.text[1] != "-":
            yield Word(word.text[2:], word.raw)


def _reached(call: Call, row: Reach, word: Word) -> None:
    if row.how == "high":
        call.raise_to("HIGH", row.reason)
    elif row.how == "address":
        call.raise_to("HIGH", row.reason or _AT_URL) if _URL.match(word.text) else None
    elif row.how == "remote":
        call.raise_to("HIGH", row.reason) if _REMOTE.match(word.text) or word.text[:1] in {"/", ".", "~"} else None
    elif row.how in {"port", "exposed"}:
        exposed = row.how == "exposed" and word.text[:1] in {"", "-"}  # `vite --host` without an address
        call.raise_to("HIGH", row.reason) if exposed or _EVERYWHERE.match(word.text) else None
    elif row.how == "setting":
        call.raise_to("HIGH", row.reason) if not _FINE_SETTING.match(word.text) else None
    elif row.how in _RUNS_CODE:
        _RUNS_CODE[row.how](call, word)
    elif row.how == "into":
        call.use(word._replace(text=f"{word.text.rstrip('/') or '/'}/made"), "write")
    else:
        call.use(word, "write" if row.how == "write" else "read")


def _runs_python(call: Call, word: Word) -> None:
    if UNKNOWN in word.text:
        call.raise_to("HIGH", RUNS_UNKNOWN_CODE)
    else:
        call.runs_python(word.text)


def _runs_code(call: Call, word: Word) -> None:
    """Rate code in a language that is not parsed, by its words and the commands in it."""
    call.raise_to(*rated_code(word.text))
    run_embedded(call, word.text)


def _runs(call: Call, word: Word) -> None:
    """Rate running the file at a path: HIGH unless the path is inside the workspace."""
    text = word.text.rpartition("=")[2]
    if not text.startswith(("/", "~", "..", "$")) and "/../" not in text and UNKNOWN not in text:
        return
    path = call.scan.absolute(word._replace(text=text))
    if path is not None:
        call.paths.append(path)
    if path is None or not within(call.scan.context.resolved(path), call.scan.context.workspace):
        call.raise_to("HIGH", _ELSEWHERE)


_RUNS_CODE: Final[Mapping[str, Callable[[Call, Word], None]]] = {
    "run": _runs,
    "python": _runs_python,
    "code": _runs_code,
}


def _go(call: Call, original: list[Word]) -> None:
    operands = [word.text for word in _operands(original)]
    if operands[:1] in (["run"], ["install"]) and any(_MODULE.match(text) for text in operands[1:2]):
        call.raise_to("HIGH", RUNS_PACKAGE)


_OF_GIT: Final = {
    "remote": (words("add set-url rename remove rm set-head"), "changes where code comes from and goes to"),
    "submodule": (words("add set-url"), _NOT_CONFIGURED),
    "lfs": (words("install uninstall"), FOR_GIT),
}


_RATED_VERBS: Final = frozenset({*_OF_GIT, "worktree", "bundle", "ls-remote"})
_OVERWRITES: Final = lazy_pattern(r"\+[^:]*:(?!refs/(?:remotes|tags|notes|pull)/).")
"""Matches a refspec that overwrites a local branch."""
_BRANCH: Final = lazy_pattern(r"[^:/][^:]*:(?!refs/(?:remotes|tags|notes|pull)/|//).")


def _git(call: Call, original: list[Word]) -> None:
    operands = list(_operands(original))
    verb, inner = ([word.text for word in operands] + ["", ""])[:2]
    if verb in {"fetch", "pull"}:
        forced = not {"-f", "--force"}.isdisjoint(word.text for word in original)
        if any(_OVERWRITES.match(word.text) or (forced and _BRANCH.match(word.text)) for word in operands[2:]):
            call.raise_to("HIGH", "overwrites local branches")
    elif verb in _RATED_VERBS:
        _git_verb(call, original, operands, verb, inner)


def _git_verb(call: Call, original: list[Word], operands: list[Word], verb: str, inner: str) -> None:
    changes, why = _OF_GIT.get(verb, (frozenset(), ""))
    if inner in changes:
        call.raise_to("HIGH", why)
    if verb == "worktree" and inner == "add":
        values = {"-b", "-B", "--reason"}
        named = [word for before, word in pairwise(original) if before.text not in values and word in operands[2:]]
        for word in named[:1]:
            call.use(word._replace(text=f"{word.text.rstrip('/')}/made"), "write")
    elif verb == "submodule" and inner == "deinit" and not {"-f", "--force"}.isdisjoint(word.text for word in original):
        call.raise_to("HIGH", "loses work that is not committed")
    elif verb == "bundle" and inner == "create" and len(operands) > 2:
        call.use(operands[2], "write")
    elif verb == "ls-remote":
        call.raise_to("MEDIUM", "asks another machine")


_EXPORTS_TO: Final = lazy_pattern(r"(?:\A|=)type=(?:local|tar|oci|docker|cacheonly)\b[^ ]*?\bdest=([^,]+)")


def _docker(call: Call, original: list[Word]) -> None:
    operands = list(_operands(original))
    for word in original:
        if match := _EXPORTS_TO.search(word.text):
            call.use(word._replace(text=f"{match[1].rstrip('/') or '/'}/made"), "write")
    if len(operands) < 3 or operands[0].text != "cp":
        return
    source, target = operands[-2:]
    if re.match(r"[\w.-]+:", target.text):
        call.raise_to("HIGH", "changes a container that is in use, which cannot be undone")
        call.use(source, "deep")
    else:
        call.use(target, "write")
        call.writes_inside(target)


_SAME_TOOLS: Final = {
    **dict.fromkeys(("copy", "copy_directory", "copy_if_different"), "cp"),
    **dict.fromkeys(("remove", "remove_directory"), "rm"),
    "rename": "mv",
}
_HARMLESS_TOOLS: Final = words(
    "echo capabilities compare_files md5sum sha1sum sha256sum sha512sum environment true cat"
)


def _cmake(call: Call, original: list[Word]) -> None:
    """Rate cmake; the small tools of `cmake -E` are rated like the equivalent shell commands."""
    strings = [word.text for word in original]
    if "--install" in strings and not any(text.startswith("--prefix") for text in strings):
        call.raise_to("HIGH", "installs, publishes or deploys")
    if "-E" not in strings or len(original) < 2:
        return
    name, *rest = original[strings.index("-E") + 1 :] or [literal("")]
    if name.text in {"env", "time"}:
        call.run_words([name, *rest])
    elif name.text not in _HARMLESS_TOOLS:
        deep = [literal("-r")] if name.text.endswith("_directory") else []
        call.run_words([literal(_SAME_TOOLS.get(name.text, name.text)), *deep, *rest])


_CONNECTED: Final = lazy_pattern(r"-[Mmr](?:LWP|IO::Socket|Net\b|HTTP|Socket|net/|open-uri|socket)")


def _loads_network(call: Call, original: list[Word]) -> None:
    if any(_CONNECTED.match(word.text) for word in original):
        call.raise_to("HIGH", _TO_ANYWHERE)


_SPECIAL: Final[dict[str, Callable[[Call, list[Word]], None]]] = {
    "go": _go,
    "git": _git,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _docker),
    "cmake": _cmake,
    **dict.fromkeys(("perl", "ruby"), _loads_network),
}
