"""Programs with a small language of their own: sed, awk and their kin."""

from __future__ import annotations

import re

from workbench.security.shell.call import Call, Spec, flags, uses
from workbench.security.shell.tools.rule import Rule, flag_names, shown_variables, words
from workbench.security.shell.words import UNKNOWN, Word

_SED = Spec(values=words("-e --expression -l --line-length"), paths=uses("read", "-f --file"))
_EXPRESSIONS = {"-e", "--expression"}
_SUBSTITUTION = re.compile(r"s([^\w\s\\])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1([\w ]*)", re.DOTALL)
_FILE_COMMAND = re.compile(r"(?:^|[;{}\n]|[\d$/!,])\s*([wWrR])\s*([^\n;}]+)")
_RUN_COMMAND = re.compile(r"(?:^|[;{}\n]|[\d$/!,])\s*e(?:\s|$|;|})")
_TEXT_COMMAND = re.compile(r"(?:^|[;{}\n\d$/])\s*[aic](?:\\?\n|\\|\s).*", re.DOTALL)
_AWK_RUNS = re.compile(r"system\s*\(|\|&?\s*(?:getline|\"|[a-zA-Z_])|[\"\w)]\s*\|\s*getline|@load|@include|/inet/")
_AWK_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\n\\"])+/')
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
    for script in scripts:
        _sed_script(call, script, sandboxed="--sandbox" in names)
    for word in operands:
        call.use(word, "write" if in_place else "read")


def _made_here(call: Call, script: Word) -> None:
    """`-f <(command)`, `-f -`: what another command prints is the script."""
    if script.text.startswith("/dev/") or script.text == "-" or UNKNOWN in script.text:
        call.raise_to("HIGH", "runs a script that is not known before")


def _sed_script(call: Call, script: Word, *, sandboxed: bool) -> None:
    text = script.text
    if UNKNOWN in text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", "a script that is not known before it runs")
    if sandboxed:
        return
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
    for word in operands:
        call.use(word, "text" if "=" in word.text else "read")


def _awk_script(call: Call, script: Word) -> None:
    plain = _AWK_TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else " r ", script.text)
    if UNKNOWN in script.text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", "a script that is not known before it runs")
    if _AWK_RUNS.search(plain.replace("||", " or ")) or _AWK_RUNS.search(script.text.replace("||", " or ")):
        call.raise_to("HIGH", "awk runs a command")
    if "ENVIRON" in script.text:
        call.raise_to(*shown_variables(script.text))
    _awk_reads(call, plain)
    for target in dict.fromkeys(_AWK_WRITES.findall(plain)):
        if target.startswith('"'):
            call.use(Word(target.strip('"'), target), "write")
    if ">" in plain and _AWK_WRITES_ANYWHERE.search(plain):
        call.raise_to("HIGH", "awk writes a file whose name is not known before")


def _awk_reads(call: Call, plain: str) -> None:
    for found in _AWK_READS.finditer(plain):
        if found[1].startswith('"') and plain[found.end() :].lstrip()[:1] in {"", ")", ";", "}", "\n", ">", "&", "|"}:
            call.use(Word(found[1].strip('"'), found[1]), "read")
        else:
            call.raise_to("HIGH", "awk reads a file whose name is not known before")


RULES: dict[str, Rule] = {"sed": _sed, "gsed": _sed, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk}
