"""Programs that look for files or for text in them."""

from __future__ import annotations

from workbench.security.shell.call import Call, Spec, flags, uses
from workbench.security.shell.tools.rule import Rule, named, words
from workbench.security.shell.words import Word

_GREP = Spec(
    operands="read",
    skip=1,
    values=words(
        "-e -m -A -B -C --regexp --max-count --after-context --before-context --context --include --exclude "
        "--exclude-dir --color --label -d -D"
    ),
    paths=uses("read", "-f --file --exclude-from"),
    unskip=words("-e -f --regexp --file"),
)
_RG = Spec(
    operands="deep",
    skip=1,
    values=words(
        "-e -g -t -T -m -A -B -C -r -j -M -E --regexp --glob --iglob --type --type-not --max-count "
        "--context --max-depth "
        "--after-context --before-context --sort --sortr --replace --threads --color --colors --encoding --type-add"
    ),
    paths=uses("read", "-f --file --ignore-file"),
    flags=flags("HIGH", "runs another program for each file", "--pre --hostname-bin"),
    unskip=words("-e -f --regexp --file --files --type-list"),
)
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_FIND_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})
_FOUND = Word("found-file", "{}")


def _grep(call: Call) -> None:
    deep = any(
        word.text.startswith("-") and not word.text.startswith("--") and set(word.text) & set("rR")
        for word in call.words
    )
    deep = deep or any(word.text in {"--recursive", "--dereference-recursive"} for word in call.words)
    call.apply(Spec(**{**_GREP.__dict__, "operands": "deep"}) if deep else _GREP)


def _find(call: Call) -> None:
    words_ = call.words
    starts: list[Word] = []
    while (words_ and not words_[0].text.startswith(("-", "(", "!", ","))) or (
        words_ and words_[0].text in {"-L", "-P", "-H"}
    ):
        if not words_[0].text.startswith("-"):
            starts.append(words_[0])
        words_ = words_[1:]
    for start in starts:
        call.use(start, "read")
    starts = starts or [Word(".", ".")]
    while words_:
        words_ = _predicate(call, starts, words_)


def _predicate(call: Call, starts: list[Word], rest: list[Word]) -> list[Word]:
    """One predicate of find; what is left behind it."""
    name = rest[0].text
    if name in _FIND_RUNS:
        end = next((at for at, word in enumerate(rest) if word.text in {";", "+"} and at > 1), len(rest))
        _runs_on_found(call, starts, rest[1:end])
        return rest[end + 1 :]
    if name == "-delete":
        _deletes_found(call, starts)
    elif name in _FIND_WRITES and len(rest) > 1:
        call.use(rest[1], "write")
        return rest[2:]
    elif name in _FIND_READS and len(rest) > 1:
        call.use(rest[1], "read")
        return rest[2:]
    elif not rest[0].is_literal and rest[0].runs:
        call.raise_to("HIGH", "a predicate that is not known before it runs")
    return rest[1:]


def _deletes_found(call: Call, starts: list[Word]) -> None:
    call.raise_to("MEDIUM", "deletes what it finds")
    if not any(word.text in {"-name", "-iname", "-path", "-regex"} for word in call.words):
        call.raise_to("HIGH", "deletes all that it finds")
    _take_away(call, starts)
    _change_found(call, starts)


def _take_away(call: Call, starts: list[Word]) -> None:
    for start in starts:
        call.takes_away(start)


def _change_found(call: Call, starts: list[Word]) -> None:
    """What is found is changed: each start must be a place to write below."""
    for start in starts:
        call.use(Word(f"{start.text}/found-file", start.raw, start.is_pattern, start.runs), "write")


def _runs_on_found(call: Call, starts: list[Word], command: list[Word]) -> None:
    if not command:
        return
    if "{}" in command[0].text:
        call.raise_to("HIGH", "runs the files that it finds")
    before, known = call.risk, len(call.scan.parts)
    call.run_words([_placed(word, starts[0]) for word in command])
    if any(part.deletes for part in call.scan.parts[known:]):
        _take_away(call, starts)
    if call.risk not in {before, "LOW"}:
        _change_found(call, starts)


def _placed(word: Word, start: Word) -> Word:
    """A word of the command with a file below the start in the place of the braces."""
    if "{}" not in word.text:
        return word
    text = word.text.replace("{}", f"{start.text.rstrip('/') or '/'}/{_FOUND.text}")
    return Word(text, word.raw, start.is_pattern, start.runs)


def _fd(call: Call) -> None:
    at = next((at for at, word in enumerate(call.words) if word.text in _FD_RUNS), None)
    command = call.words[at + 1 :] if at is not None else []
    call.words = call.words[:at] if at is not None else call.words
    spec = Spec(
        skip=1, values=words("-e -E -t -d -g --extension --exclude --type --max-depth --min-depth --changed-within")
    )
    call.apply(Spec(**{**spec.__dict__, "flags": flags("HIGH", "runs a command for each file", "--exec --exec-batch")}))
    if command:
        call.raise_to("MEDIUM", "runs a command for each file")
        _runs_on_found(call, [Word(".", ".")], command)


def _locate(call: Call) -> None:
    call.raise_to("MEDIUM", "looks at the names of all files")


RULES: dict[str, Rule] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _grep),
    **named(_RG, "rg ag ack ugrep"),
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "locate": _locate,
}
