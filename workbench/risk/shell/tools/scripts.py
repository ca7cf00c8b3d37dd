"""Programs with a small language of their own: sed, awk and their kin."""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.tools.rule import Rule, flag_names, shown_variables, words
from workbench.risk.shell.words import UNKNOWN, Word
from workbench.risk.shell.written import written_text

_SED = Spec(values=words("-e --expression -l --line-length"), paths=uses("read", "-f --file"))
_EXPRESSIONS = {"-e", "--expression"}
_SUBSTITUTION = re.compile(r"s([^\w\s\\])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1([\w ]*)", re.DOTALL)
_FILE_COMMAND = re.compile(r"(?:^|[;{}\n]|[\d$/!,])\s*([wWrR])\s*([^\n;}]+)")
_RUN_COMMAND = re.compile(r"(?:^|[;{}\n]|[\d$/!,])\s*e(?:\s|$|;|})")
_TEXT_COMMAND = re.compile(r"(?:^|[;{}\n\d$/])\s*[aic](?:\\?\n|\\|\s).*", re.DOTALL)
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\[^\n]|[^/\\\n])*/[IM]*)"
_SED_HARMLESS = re.compile(
    rf"[;\s]*(?:{_SED_ADDRESS}(?:\s*,\s*(?:{_SED_ADDRESS}|[+~]\d+))?\s*!?\s*)?(?:"
    r"[{}]|(?:[=dDgGhHnNpPxz]|[qQl][ \t]*\d*|[btT][ \t]*[\w-]*)(?=[;\s}]|\Z)|:[ \t]*[\w-]+[ \t]*(?=[;\n]|\Z)|"
    r"#[^\n]*|[aic](?:\\?\n|[ \t\\])[^\n]*|"
    r"([sy])([^\w\s\\;{}])((?:\\.|(?!\2)[^\\\n])*)\2((?:\\.|(?!\2)[^\\])*)\2([gpiIMm\d]*)(?=[;\s}]|\Z))[;\s]*",
    re.DOTALL,
)
"""A command of sed that neither runs, reads nor writes anything."""
_BRACKETS = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)
_AWK_TOKEN = re.compile(
    r'(?P<string>"(?:\\.|[^"\\])*")|(?P<regex>/(?:\\.|[^/\\\n])+/)|(?P<word>[\w.$]+|\+\+|--)|(?P<blank>[ \t]+|#[^\n]*)|'
    r"(?P<sign>\|\||\|&?|&&|>>|>=|.)",
    re.DOTALL,
)
_AWK_BEFORE_REGEX = words("print printf return in case getline else do not")
"""Words of awk behind which a slash begins a pattern; behind others it divides."""
_AWK_ARGUMENTS = words("ARGV ARGC SYMTAB FUNCTAB PROCINFO")
_AWK_READS = re.compile(r'getline\s*[\w$\[\]]*\s*<\s*("[^"]*"|[^\s;})]+)')
_AWK_WRITES = re.compile(r">>?\s*(\"[^\"]*\"|[^\s;})]+)")
_AWK_WRITES_ANYWHERE = re.compile(r"print[^;}]{0,400}>>?\s*[a-zA-Z($]")


def _sed(call: Call) -> None:
    options, operands = call.options(_SED)
    scripts = [option.value for option in options if option.flag in _EXPRESSIONS and option.value]
    names = flag_names(options)
    if not scripts and not names & {"-f", "--file"} and operands:
        scripts = [operands.pop(0)]
    in_place = "-i" in names or any(flag.startswith("--in") for flag in names)
    for option in options:
        if option.flag in {"-f", "--file"} and option.value:
            call.raise_to("MEDIUM", "runs a script of sed")
            _made_here(call, option.value)
            call.use(option.value, "read")
            scripts += [text for text in (written_text(call, option.value),) if text]
    for script in scripts:
        if "--sandbox" not in names or UNKNOWN in script.text:
            _sed_script(call, script)
    for word in operands:
        call.use(word, "write" if in_place else "read")


def _made_here(call: Call, script: Word) -> None:
    """`-f <(command)`, `-f -`: what another command prints is the script."""
    if script.text.startswith("/dev/") or script.text == "-" or UNKNOWN in script.text:
        call.raise_to("HIGH", "runs a script that is not known before")


def _sed_script(call: Call, script: Word) -> None:
    text = script.text
    if not _is_harmless_sed(text):
        call.raise_to("MEDIUM", "a script of sed that is not known to be harmless")
    if UNKNOWN in text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", "a script that is not known before it runs")
    for found in _SUBSTITUTION.finditer(text):
        marks, _, target = found[2].partition("w")
        if "e" in marks:
            call.raise_to("HIGH", "sed runs a command")
        if "w" in found[2]:
            call.use(Word(target.strip() or text[found.end() :].strip(), script.raw), "write")
    plain = _TEXT_COMMAND.sub("", _SUBSTITUTION.sub("p", text))
    if _RUN_COMMAND.search(plain):
        call.raise_to("HIGH", "sed runs a command")
    for found in _FILE_COMMAND.finditer(plain):
        call.use(Word(found[2].strip(), script.raw), "write" if found[1] in "wW" else "read")


def _is_harmless_sed(script: str) -> bool:
    """Whether all of it is read, and nothing in it does more than edit what is printed."""
    at = 0
    while at < len(script.rstrip()):
        found = _SED_HARMLESS.match(script, at)
        # some find the end of a pattern behind a delimiter in brackets, others before it
        if not found or (found[1] and "[" in _BRACKETS.sub("", found[3])):
            return False
        at = found.end()
    return True


def _awk(call: Call) -> None:
    spec = Spec(
        values=words("-F -v --field-separator --assign"),
        paths=uses("read", "-f --file -i --include -l --load -E --exec"),
        flags=flags("MEDIUM", "runs a script of awk", "-f --file -E --exec")
        | flags("HIGH", "loads code into awk", "-l --load -i --include"),
    )
    options, operands = call.options(spec)
    call.words = [word for word in call.words if not operands or word is not operands[0]]
    if not flag_names(options) & {"-f", "--file", "-E", "--exec"} and operands:
        _awk_script(call, operands.pop(0))
    else:
        call.words = list(call.words)
    for option in options:
        if option.flag in spec.flags:
            call.raise_to(*spec.flags[option.flag])
        if option.flag in spec.paths and option.value:
            _made_here(call, option.value)
            call.use(option.value, "read")
            if text := written_text(call, option.value):
                _awk_script(call, text)
    for word in operands:
        call.use(word, "text" if "=" in word.text else "read")


def _awk_script(call: Call, script: Word) -> None:
    tokens = _awk_tokens(script.text)
    plain, signs = "".join(tokens), {token for token in tokens if not token.startswith('"')}
    if UNKNOWN in script.text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", "a script that is not known before it runs")
    if signs & {"|", "|&", "@", "system"} or "/inet" in script.text:
        call.raise_to("HIGH", "awk runs a command")
    reads = tokens.count("getline") > len(_AWK_READS.findall(plain))
    if reads or signs & _AWK_ARGUMENTS or _awk_redirects(tokens):
        call.raise_to("MEDIUM", "a script of awk that is not known to be harmless")
    if "ENVIRON" in script.text:
        call.raise_to(*shown_variables(script.text))
    _awk_reads(call, plain)
    for target in dict.fromkeys(_AWK_WRITES.findall(plain)):
        if target.startswith('"'):
            call.use(Word(target.strip('"'), target), "write")
    if ">" in plain and _AWK_WRITES_ANYWHERE.search(plain):
        call.raise_to("HIGH", "awk writes a file whose name is not known before")


def _awk_tokens(script: str) -> list[str]:
    """The tokens of a script, with `r` for each pattern; a slash behind a value divides."""
    tokens: list[str] = []
    at, is_value = 0, False
    while found := _AWK_TOKEN.match(script, at):
        kind, token = found.lastgroup, found[0]
        if kind == "regex" and is_value:
            kind, token = "sign", "/"
        at += len(token)
        tokens.append(" r " if kind == "regex" else token)
        if kind == "word":
            is_value = token not in _AWK_BEFORE_REGEX
        elif kind != "blank":
            is_value = kind != "sign" or token in {")", "]"}
    return tokens


def _awk_redirects(tokens: list[str]) -> bool:
    """Whether something may be printed to a file: a `>` outside of brackets behind `print`."""
    depth, prints = 0, False
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if token in {";", "{", "}", "\n"}:
            depth, prints = 0, False
        prints |= token in {"print", "printf"}
        if prints and depth <= 0 and token in {">", ">>"}:
            return True
    return False


def _awk_reads(call: Call, plain: str) -> None:
    for found in _AWK_READS.finditer(plain):
        if found[1].startswith('"') and plain[found.end() :].lstrip()[:1] in {"", ")", ";", "}", "\n", ">", "&", "|"}:
            call.use(Word(found[1].strip('"'), found[1]), "read")
        else:
            call.raise_to("HIGH", "awk reads a file whose name is not known before")


RULES: dict[str, Rule] = {"sed": _sed, "gsed": _sed, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk}
