"""Rules for programs that create, move, change, delete, pack or unpack files."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import within
from workbench.risk.programs.rule import Rule, flag_names, named, words
from workbench.risk.reason import RUNS_CODE, RUNS_PROGRAM, Reason, Trait
from workbench.risk.shell.call import Call, ParsedOption, Spec, flags, uses
from workbench.risk.shell.written_files import EMPTIES, is_code
from workbench.risk.word import UNKNOWN, Word, literal

_INTO = uses("write", "-t --target-directory")
_COPY_VALUES = words("-S --suffix -m -o -g --mode --owner --group --context")
_LOCK = lazy_pattern(r"(?:(?:refs/)?[\w./-]*)?\.?[\w-]+\.lock")
_TEMPLATES = words("example sample template dist")
_WRITE = Spec("MEDIUM", "changes files", operands="write")


def _rm(call: Call) -> None:
    options, operands = call.options(Spec())
    names = flag_names(options)
    deep = any(flag in {"-r", "-R", "-d"} or flag.startswith("--rec") for flag in names)
    call.raise_to("MEDIUM", "deletes files")
    if any(flag.startswith("--no-p") for flag in names):
        call.raise_to("HIGH", "deletes the root of the file system")
    if call.piped and call.name == "xargs" and not operands:
        call.raise_to("HIGH", Reason("deletes files only known at run time", Trait.UNCERTAIN))
    for word in operands:
        _deleted(call, word, deep=deep)
    if not operands:
        call.takes_away(Word(".", "."))  # another program supplies the paths


def _deleted(call: Call, word: Word, *, deep: bool) -> None:
    path = call.scan.absolute(word)
    if path is None:
        call.raise_to("HIGH", Reason("deletes a path only known at run time", Trait.UNCERTAIN))
        call.unplaced = True
        call.takes_away(word)
        return
    call.paths.append(path)
    call.deletes.append(path)
    if _is_lock(call, path):
        call.raise_to("MEDIUM", "deletes a lock file of git")
        call.spared.add(path)
        return
    call.guard(path, deep=deep)
    call.raise_to(*call.scan.context.deleting(path, deep=deep))


def _is_lock(call: Call, path: str) -> bool:
    """Return whether the path is one of git's lock files, which contain nothing worth keeping."""
    directory = f"{call.scan.context.workspace}/.git/"
    real = call.scan.context.resolved(path)
    return real.startswith(directory) and bool(_LOCK.fullmatch(real[len(directory) :]))


def _cp(call: Call) -> None:
    spec = Spec(values=_COPY_VALUES, paths=_INTO)
    options, operands = call.options(spec)
    call.raise_to("MEDIUM", "writes files")
    into = _target(options)
    deep = any(option.flag in {"-r", "-R", "-a", "--recursive", "--archive"} for option in options)
    sources, targets = (operands, [into]) if into else (operands[:-1], operands[-1:])
    follows = deep and any(option.flag in {"-L", "--dereference"} for option in options)
    for word in sources:
        call.use(word, "follow" if follows else "deep" if deep else "read")
    keeps = any(option.flag in {"-n", "--no-clobber"} for option in options)
    for word in targets:
        if not (len(sources) == 1 and _from_template(call, sources[0], word, keeps=keeps)):
            _written_into(call, word, sources, deep=deep)


def _from_template(call: Call, source: Word, target: Word, *, keeps: bool) -> bool:
    """Rate a copy such as `cp .env.example .env` that overwrites nothing; return whether the call is one."""
    temporary, path = f"{target.text}.", call.scan.absolute(target)
    template = source.text.startswith(temporary) and source.text[len(temporary) :] in _TEMPLATES
    if not template or path is None or not source.is_literal or not target.is_literal:
        return False
    real = call.scan.context.resolved(path)
    if not within(real, call.scan.context.workspace) or (recorded_stat.exists(real) and not keeps):
        return False
    call.paths.append(path)
    call.changes.append(path)
    return True


def _target(options: list[ParsedOption]) -> Word | None:
    return next((option.value for option in options if option.flag in _INTO and option.value), None)


def _written_into(call: Call, target: Word, sources: list[Word], *, deep: bool = False) -> None:
    """Rate writing to the target and, in case it is a directory, to the sources' names in it."""
    path = call.scan.absolute(target)
    if path and [source.text for source in sources] == ["/dev/null"] and is_code(call.scan, path):
        call.raise_to("HIGH", EMPTIES)
    call.use(target, "write")
    if deep or not all(source.is_literal for source in sources):
        call.writes_inside(target)
    for source in sources:
        name = source.text.rstrip("/").rsplit("/", 1)[-1]
        if name and name not in {".", ".."} and source.is_literal and target.is_literal:
            call.use(Word(f"{target.text.rstrip('/')}/{name}", target.raw), "write")


def _mv(call: Call) -> None:
    options, operands = call.options(Spec(values=_COPY_VALUES, paths=_INTO))
    call.raise_to("MEDIUM", "moves files")
    into = _target(options)
    sources, targets = (operands, [into]) if into else (operands[:-1], operands[-1:])
    for word in sources:
        call.use(word, "write")
        call.use(word, "read")
        if targets and _leads_out(call, word, targets[0]):
            call.raise_to(*call.scan.context.deleting(call.scan.absolute(word) or "", deep=_is_directory(word)))
    for word in targets:
        _written_into(call, word, sources)


def _leads_out(call: Call, source: Word, target: Word) -> bool:
    """Return whether the source is moved out of the workspace, which amounts to deleting it."""
    paths = (call.scan.absolute(source), call.scan.absolute(target))
    inside = [
        path is not None and within(call.scan.context.resolved(path), call.scan.context.workspace) for path in paths
    ]
    return paths[1] is not None and inside == [True, False]


def _is_directory(word: Word) -> bool:
    """Return whether a word may name a directory, judged by the name alone."""
    return "." not in word.text.rstrip("/").rpartition("/")[2].lstrip(".")


def _ln(call: Call) -> None:
    options, operands = call.options(Spec(values=words("-S --suffix"), paths=_INTO))
    call.raise_to("MEDIUM", "creates a link")
    into = _target(options)
    only = bool(into) or len(operands) == 1
    for word in operands if only else operands[:-1]:
        if word.text.startswith("/") or word.text.startswith("../../"):
            call.use(word, "deep")
    for word in [into] if into else operands[-1:]:
        call.use(Word(word.text.rsplit("/", 1)[-1], word.raw) if only and not into else word, "write")
    symbolic = any(re.fullmatch(r"-\w*s\w*|--symbolic", flag) for flag in flag_names(options))
    for target in operands if only else operands[:-1]:
        _linked(call, target, into or (literal("") if only else operands[-1]), symbolic=symbolic)


def _linked(call: Call, target: Word, name: Word, *, symbolic: bool) -> None:
    """Assume the new link for the rest of the line, so using its name counts as using its target."""
    path = call.scan.absolute(name)
    leads = None if UNKNOWN in target.text else call.scan.absolute(target)
    if path is None or leads is None:
        return
    if recorded_stat.is_directory(path):
        path = f"{path}/{target.text.rstrip('/').rpartition('/')[2]}"
    if symbolic and not target.text.startswith("/"):
        leads = f"{path.rpartition('/')[0]}/{target.text}"
    call.scan.context.assume(path, os.path.normpath(leads))


def _modes(call: Call) -> None:
    options, operands = call.options(Spec(paths=uses("read", "--reference")))
    names = flag_names(options)
    deep = "-R" in names or "--recursive" in names
    original = "--reference" in names
    mode = "" if original or not operands else operands.pop(0).text
    mode = mode or next((word.text for word in call.words if re.fullmatch(r"-[rwxst]+", word.text)), "")
    call.raise_to("MEDIUM", "changes who may do what with files")
    call.keeps = True
    if re.search(r"[ugoa]*[+=][rwxXt]*s", mode) or re.fullmatch(r"0?[2-7]\d{3}", mode):
        call.raise_to("HIGH", "sets setuid: the program runs with the rights of another")
    if deep and re.fullmatch(r"0?777|[ao]*\+\w*w\w*", mode):
        call.raise_to("HIGH", "lets everybody write")
    for word in operands:
        call.use(word, "write")


def _owners(call: Call) -> None:
    _, operands = call.options(Spec(paths=uses("read", "--reference")))
    call.raise_to("MEDIUM", "changes whose files are")
    call.keeps = True
    if operands and operands[0].text.partition(":")[0] in {"root", "0"}:
        call.raise_to("HIGH", "gives files to another user")
    for word in operands[1:]:
        call.use(word, "write")


def _dd(call: Call) -> None:
    for word in call.words:
        name, _, value = word.text.partition("=")
        if name in {"if", "of"}:
            call.use(Word(value, word.raw, word.is_pattern, word.runs), "write" if name == "of" else "read")
    call.raise_to("MEDIUM", "copies bytes")
    if "if=/dev/null" in call.argv and any(is_code(call.scan, path) for path in call.changes):
        call.raise_to("HIGH", EMPTIES)


def _tee(call: Call) -> None:
    _, operands = call.options(Spec())
    for word in operands:
        call.use(word, "write")


def _shred(call: Call) -> None:
    call.apply(Spec("HIGH", "destroys files for good", operands="write", values=words("-n -s")))


def _mktemp(call: Call) -> None:
    call.raise_to("MEDIUM", "creates a temporary file")
    options, _ = call.options(Spec(operands="text", values=words("-p --tmpdir")))
    for directory in (option.value for option in options if option.flag in {"-p", "--tmpdir"} and option.value):
        call.use(directory._replace(text=f"{directory.text.rstrip('/')}/made"), "write")


def _truncate(call: Call) -> None:
    options, operands = call.options(_CUT)
    sizes = {option.value.text for option in options if option.flag in {"-s", "--size"} and option.value}
    paths = [call.scan.absolute(word) for word in operands]
    if sizes == {"0"} and any(path and is_code(call.scan, path) for path in paths):
        call.raise_to("HIGH", EMPTIES)
    call.apply(_CUT)


_CUT = Spec("MEDIUM", "empties or cuts files", operands="write", values=words("-s --size -r --reference"))


_FORMATS = Spec(
    "MEDIUM", "rewrites files of the workspace", operands="write", values=words("-l --line-length --config -c")
)
_ONLY_CHECKS = {
    "black": words("--check --diff"),
    "isort": words("--check --check-only --diff -c"),
    "prettier": words("--check -c --list-different -l"),
    "rustfmt": words("--check"),
    "shfmt": words("-d -l"),
    **dict.fromkeys(("autopep8", "yapf"), words("-d --diff")),
    "clang-format": words("--dry-run -n"),
    "gofmt": words("-l -d"),
}


def _format(call: Call) -> None:
    """Rate a formatter, which rewrites its operands unless a flag makes it only check them."""
    original = {word.text for word in call.words}
    writes = original & {"-w", "--write", "-i", "--in-place"}
    if original & _ONLY_CHECKS.get(call.name, frozenset()) and not writes:
        call.apply(
            Spec(
                "MEDIUM", Reason("reads files and reports on them", Trait.READS), values=words("--line-length --config")
            )
        )
    else:
        call.apply(_FORMATS)


RULES: dict[str, Rule] = {
    "rm": _rm,
    "grm": _rm,
    "unlink": _rm,
    "rmdir": Spec("MEDIUM", "deletes empty directories", operands="delete"),
    "trash": Spec("MEDIUM", "moves files to the trash", operands="delete"),
    "cp": _cp,
    "gcp": _cp,
    "install": _cp,
    "mv": _mv,
    "gmv": _mv,
    "rename": Spec("MEDIUM", "renames files", operands="write", skip=1, flags=flags("HIGH", RUNS_CODE, "-e")),
    "ln": _ln,
    "link": _ln,
    "chmod": _modes,
    "chown": _owners,
    "chgrp": _owners,
    "chattr": Spec("HIGH", Reason("changes what may be changed", Trait.RUNS), operands="write", skip=1, keeps=True),
    "setfacl": Spec("HIGH", "changes who may do what with files", operands="write", values=words("-m -x"), keeps=True),
    "dd": _dd,
    "tee": _tee,
    "sponge": _tee,
    "shred": _shred,
    "srm": _shred,
    "wipe": _shred,
    "mktemp": _mktemp,
    "truncate": _truncate,
    "mkfifo": _WRITE,
    "mknod": Spec("HIGH", "creates a device", operands="write"),
    "touch": Spec(
        "MEDIUM",
        "creates files",
        operands="write",
        values=words("-d -t"),
        paths=uses("read", "-r --reference"),
        keeps=True,
    ),
    "mkdir": Spec("MEDIUM", "creates directories", operands="write", values=words("-m --mode"), keeps=True),
    "patch": Spec(
        "MEDIUM",
        "changes files",
        operands="write",
        values=words("-p -F"),
        paths=uses("read", "-i") | uses("write", "-d -o -r"),
    ),
    "dos2unix": _WRITE,
    "unix2dos": _WRITE,
    "fallocate": Spec("MEDIUM", "creates files", operands="write", values=words("-l -o")),
    **dict.fromkeys(words("black isort autopep8 yapf gofmt rustfmt prettier clang-format shfmt"), _format),
    **named(
        Spec(
            "MEDIUM",
            Reason("reads files and reports on them", Trait.READS),
            flags=flags("HIGH", RUNS_PROGRAM, "-shellcheck -pyflakes"),
        ),
        "yamllint actionlint zizmor check-jsonschema",
    ),
    **named(
        Spec("MEDIUM", "may rewrite files of the workspace", operands="text", values=words("--select --ignore")),
        "ruff eslint stylelint biome rubocop golangci-lint swiftlint pylint flake8 mypy pyright "
        "shellcheck hadolint tsc",
    ),
}


_TAR = Spec(
    operands="deep",
    values=words(
        "--exclude --transform --strip-components --format --owner --group --mode -b -H --label -V --sort --mtime"
    ),
    paths=uses("read", "-T --files-from -X --exclude-from") | uses("text", "-f --file -C --directory"),
    flags=flags(
        "HIGH",
        RUNS_PROGRAM,
        "--to-command -I --use-compress-program --checkpoint-action -F --info-script --new-volume-script --rsh-command",
    )
    | flags("HIGH", "unpacks over files anywhere", "-P --absolute-names")
    | flags("MEDIUM", "deletes the files it packs", "--remove-files"),
)
_CPIO = Spec("MEDIUM", "packs or unpacks files", operands="read", paths=uses("write", "-D -O -F"))
_MAKES = frozenset({"-c", "-r", "-u", "-A", "--create", "--append", "--update", "--concatenate", "--delete"})
_UNPACKS = frozenset({"-x", "--extract", "--get"})


def _tar(call: Call) -> None:
    if call.words and not call.words[0].text.startswith("-"):
        call.words = call.in_usual_form = [*_old_style(call.words[0].text, call.words[1:])]
    options, operands = call.options(_TAR)
    original = {option.flag: option.value for option in options}
    archive = original.get("-f") or original.get("--file")
    directory = original.get("-C") or original.get("--directory")
    makes, unpacks = bool(_MAKES & set(original)), bool(_UNPACKS & set(original))
    for word in operands if makes and "--remove-files" in original else ():
        _taken_away(call, word)
    follows = not {"-h", "--dereference"}.isdisjoint(original)
    call.apply(replace(_TAR, operands=("follow" if follows else "deep") if makes else "text"))
    if archive and archive.text != "-" and (":" in archive.text and not archive.text.startswith(("/", "."))):
        call.raise_to("HIGH", "packs to or from another machine")
    elif archive:
        call.use(archive, "write" if makes and archive.text != "-" else "read")
    if directory:
        call.base = directory
        call.use(directory, "write" if unpacks else "deep")
    if unpacks:
        call.raise_to("MEDIUM", "unpacks files")
        call.use(directory or Word(".", "."), "write")
        call.writes_inside(directory or Word(".", "."))


def _taken_away(call: Call, word: Word) -> None:
    """Rate packing a file that is then deleted like a deletion; a name with a dot is taken for a file."""
    call.takes_away(word, all_of_it=True)
    path = call.scan.absolute(word)
    is_directory = "." not in word.text.rstrip("/").rpartition("/")[2].lstrip(".")
    call.raise_to(*(call.scan.context.deleting(path, deep=is_directory) if path else ("HIGH", "deletes what it packs")))


def _old_style(letters: str, rest: list[Word]) -> list[Word]:
    """Return the words of `tar xzf a.tgz` in the form `-x -z -f a.tgz`."""
    temporary: list[Word] = []
    remaining = list(rest)
    for letter in letters:
        temporary.append(Word(f"-{letter}", letter))
        if letter in "fCTXbHVIF" and remaining:
            temporary.append(remaining.pop(0))
    return temporary + remaining


def _unzip(call: Call) -> None:
    options, operands = call.options(Spec(values=words("-P -x"), paths=uses("write", "-d")))
    names = flag_names(options)
    for word in operands[:1]:
        call.use(word, "read")
    if not names & {"-l", "-t", "-v", "-Z", "-p", "-z"}:
        call.raise_to("MEDIUM", "unpacks files")
        into = next((option.value for option in options if option.flag == "-d" and option.value), None)
        call.use(into or Word(".", "."), "write")
        call.writes_inside(into or Word(".", "."))
    if "-:" in names:
        call.raise_to("HIGH", "unpacks over files anywhere")


def _zip(call: Call) -> None:
    runs = flags("HIGH", RUNS_PROGRAM, "-TT --unzip-command")
    options, operands = call.options(Spec(values=words("-x -i -b -n -t"), flags=runs))
    call.raise_to("MEDIUM", "packs files")
    if {"-TT", "--unzip-command"} & flag_names(options) or any(word.text.startswith("-TT") for word in call.words):
        call.raise_to("HIGH", RUNS_PROGRAM)
    moves = bool({"-m", "--move"} & flag_names(options))
    keeps_symlinks = not {"-y", "--symlinks"}.isdisjoint(flag_names(options))
    for at, word in enumerate(operands):
        call.use(word, "write" if not at else "deep" if keeps_symlinks else "follow")
        if at and moves:
            call.raise_to("MEDIUM", "packs files, and deletes them")
            _taken_away(call, word)


_LISTED_BY_L = words("gzip gunzip xz unxz zstd unzstd")
"""Programs with which `-l` lists an archive; with lz4, which is not among them, it packs in an older format."""


def _packs_and_removes(call: Call) -> None:
    names = flag_names(call.options(Spec())[0])
    prints = bool(names & {"-c", "--stdout", "--to-stdout", "--list", "-t", "--test"})
    prints = prints or ("-l" in names and call.name in _LISTED_BY_L)
    call.apply(
        Spec(operands="read") if prints or call.piped else Spec("MEDIUM", "packs files in place", operands="write")
    )


def _seven(call: Call) -> None:
    verb = call.words[0].text if call.words else ""
    call.words = call.words[1:]
    call.raise_to("MEDIUM", "packs or unpacks files")
    for word in call.words:
        if word.text.startswith("-o"):
            call.use(Word(word.text[2:], word.raw, word.is_pattern, word.runs), "write")
        elif not word.text.startswith("-"):
            call.use(word, "read" if verb in {"x", "l", "t", "e"} else "write")
    if any(word.text == "-sdel" for word in call.words):
        for word in [word for word in call.words if not word.text.startswith("-")][1:]:
            _taken_away(call, word)
    if verb in {"x", "e"}:
        into = next((word.text[2:] for word in call.words if word.text.startswith("-o")), "") or "."
        call.writes_inside(Word(into, into))


def _cpio(call: Call) -> None:
    call.apply(_CPIO)
    if any(re.match(r"-[a-zA-Z]*[irp]|--(?:extract|pass-through)", word.text) for word in call.words):
        call.writes_inside(Word(".", "."))


RULES |= {
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "zip": _zip,
    **dict.fromkeys(words("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress"), _packs_and_removes),
    **dict.fromkeys(("7z", "7za", "7zz"), _seven),
    **dict.fromkeys(("cpio", "pax"), _cpio),
    **named(_CPIO, "ar"),
}
