"""Programs that pack and unpack."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.tools.rule import Rule, flag_names, named, words
from workbench.risk.shell.words import Word

_TAR = Spec(
    operands="deep",
    values=words(
        "--exclude --transform --strip-components --format --owner --group --mode -b -H --label -V --sort --mtime"
    ),
    paths=uses("read", "-T --files-from -X --exclude-from") | uses("text", "-f --file -C --directory"),
    flags=flags(
        "HIGH",
        "runs another program",
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
    given = {option.flag: option.value for option in options}
    archive = given.get("-f") or given.get("--file")
    folder = given.get("-C") or given.get("--directory")
    makes, unpacks = bool(_MAKES & set(given)), bool(_UNPACKS & set(given))
    for word in operands if makes and "--remove-files" in given else ():
        _taken_away(call, word)
    call.apply(_TAR if makes else replace(_TAR, operands="text"))
    if archive and archive.text != "-" and (":" in archive.text and not archive.text.startswith(("/", "."))):
        call.raise_to("HIGH", "packs to or from another machine")
    elif archive:
        call.use(archive, "write" if makes and archive.text != "-" else "read")
    if folder:
        call.use(folder, "write" if unpacks else "deep")
    if unpacks:
        call.raise_to("MEDIUM", "unpacks files")
        call.use(folder or Word(".", "."), "write")
        call.writes_below(folder or Word(".", "."))


def _taken_away(call: Call, word: Word) -> None:
    """Rate what is packed and then deleted like what is deleted; a name with a dot is taken for a file."""
    call.takes_away(word, all_of_it=True)
    path = call.scan.absolute(word)
    is_directory = "." not in word.text.rstrip("/").rpartition("/")[2].lstrip(".")
    call.raise_to(*(call.scan.places.deleting(path, deep=is_directory) if path else ("HIGH", "deletes what it packs")))


def _old_style(letters: str, rest: list[Word]) -> list[Word]:
    """`tar xzf a.tgz` as `tar -x -z -f a.tgz`."""
    made: list[Word] = []
    left = list(rest)
    for letter in letters:
        made.append(Word(f"-{letter}", letter))
        if letter in "fCTXbHVIF" and left:
            made.append(left.pop(0))
    return made + left


def _unzip(call: Call) -> None:
    options, operands = call.options(Spec(values=words("-P -x"), paths=uses("write", "-d")))
    names = flag_names(options)
    for word in operands[:1]:
        call.use(word, "read")
    if not names & {"-l", "-t", "-v", "-Z", "-p", "-z"}:
        call.raise_to("MEDIUM", "unpacks files")
        into = next((option.value for option in options if option.flag == "-d" and option.value), None)
        call.use(into or Word(".", "."), "write")
        call.writes_below(into or Word(".", "."))
    if "-:" in names:
        call.raise_to("HIGH", "unpacks over files anywhere")


def _zip(call: Call) -> None:
    runs = flags("HIGH", "runs another program", "-TT --unzip-command")
    options, operands = call.options(Spec(values=words("-x -i -b -n -t"), flags=runs))
    call.raise_to("MEDIUM", "packs files")
    if {"-TT", "--unzip-command"} & flag_names(options) or any(word.text.startswith("-TT") for word in call.words):
        call.raise_to("HIGH", "runs another program")
    moves = bool({"-m", "--move"} & flag_names(options))
    for at, word in enumerate(operands):
        call.use(word, "deep" if at else "write")
        if at and moves:
            call.raise_to("MEDIUM", "packs files, and deletes them")
            _taken_away(call, word)


def _packs_in_place(call: Call) -> None:
    names = flag_names(call.options(Spec())[0])
    prints = bool(names & {"-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"})
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
        call.writes_below(Word(into, into))


def _cpio(call: Call) -> None:
    call.apply(_CPIO)
    if any(re.match(r"-[a-zA-Z]*[irp]|--(?:extract|pass-through)", word.text) for word in call.words):
        call.writes_below(Word(".", "."))


RULES: dict[str, Rule] = {
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "zip": _zip,
    **dict.fromkeys(words("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress"), _packs_in_place),
    **dict.fromkeys(("7z", "7za", "7zz"), _seven),
    **dict.fromkeys(("cpio", "pax"), _cpio),
    **named(_CPIO, "ar"),
}
