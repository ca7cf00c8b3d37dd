"""Rules for programs that print, filter or edit text."""

from __future__ import annotations

import re

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.code import printed_variables
from workbench.risk.programs.rule import Rule, flag_names, words
from workbench.risk.reason import PRINTS_SURROUNDINGS, RUNS_PROGRAM, RUNS_UNKNOWN_SCRIPT, Reason, Trait
from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.written_files import written_text
from workbench.risk.word import UNKNOWN, Word, literal
from workbench.secrets.secret_names import holds_secret

_SPLIT = Spec(
    "MEDIUM", "writes files", flags=flags("HIGH", RUNS_PROGRAM, "--filter"), values=words("-l -b -n -a -f --prefix")
)


def _split(call: Call) -> None:
    """Rate `split` and `csplit`, whose output is named after the second operand or a flag's value."""
    call.apply(_SPLIT)
    options, operands = call.options(_SPLIT)
    chosen = [option.value for option in options if option.flag in {"-f", "--prefix"} and option.value]
    prefix = chosen or ([literal("xx")] if call.name == "csplit" else operands[1:] or [literal("x")])
    call.use(prefix[0]._replace(text=f"{prefix[0].text}*", is_pattern=True), "write")


def _yq(call: Call) -> None:
    """Rate yq: with `-i` it writes the files after the expression; the expression may read files and variables."""
    options, operands = call.options(Spec(skip=1))
    if {"-i", "--inplace"} & flag_names(options):
        call.raise_to("MEDIUM", "changes files in place")
        for word in operands:
            call.use(word, "write")
    first = call.options(Spec())[1][:1]
    if first and _may_be_file(call, first[0]):
        call.use(first[0], "read")
    for word in call.words:
        if re.search(r"\b(?:str)?env(?:subst)?\b|\$ENV|\$__env", word.text):
            call.raise_to(*printed_variables(word.text))
        if re.search(r"\bload(?:_\w+)?\s*\(", word.text):
            call.raise_to("MEDIUM", Reason("reads a file that its program names", Trait.READS))
            _reads_named(call, word)
        if re.search(r"\bsystem\s*\(", word.text):
            call.raise_to("HIGH", RUNS_PROGRAM)


def _may_be_file(call: Call, word: Word) -> bool:
    """Return whether yq takes its first operand for a file instead of an expression."""
    path = call.scan.absolute(word)
    return bool(_FILE_NAME.fullmatch(word.text)) or (path is not None and recorded_stat.exists(path))


_FILE_NAME = lazy_pattern(r"~?[\w.-]*/[\w./@+-]+|[\w.-]+\.(?:ya?ml|json|toml|xml|csv|env)")


RULES: dict[str, Rule] = {
    "yq": _yq,
    "split": _split,
    "csplit": _split,
    "mail": Spec("HIGH", "sends a message", operands="text"),
}


def _dc(call: Call) -> None:
    """Rate dc, a calculator that can also run commands."""
    text = " ".join([*(word.text for word in call.words), call.stdin or ""])
    if "!" in text or call.piped or (call.has_input and call.stdin is None):
        call.raise_to("HIGH", Reason("may run a command", Trait.RUNS))
    elif any(
        word.text.startswith(("-f", "--f")) or not (word.text.startswith("-") or before in {"-e", "--expression"})
        for before, word in zip(["", *(word.text for word in call.words)], call.words, strict=False)
    ):
        call.raise_to("MEDIUM", "runs the content of a file")


_STRING = lazy_pattern(r"\"([^\"\\\n]{2,300})\"|'([^'\\\n]{2,300})'")


def _reads_named(call: Call, program: Word) -> None:
    """Rate the files named by the strings of a program that may read them; jq adds `.json` and a search path."""
    names = [match[1] or match[2] for match in _STRING.finditer(program.text)][:20]
    searched = [f"{names[at]}/{names[at - 1]}" for at in range(1, len(names))]
    for name in (*names, *searched):
        for path in (name, f"{name}.json"):
            call.use(Word(path, program.raw), "read")


_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f-\x9f]")


def _less(call: Call) -> None:
    """Rate a pager: `+` announces its first command, and a pattern (`-p`) that contains a line break ends there.

    The pager takes the text after the line break as if it were typed, so `-p $'x\\n!id\\n'` runs a command.
    """
    for word in call.words:
        if word.text.startswith("+") and word.text[1:].lstrip("0123456789gGF") != "":
            call.raise_to("HIGH", _STEERS_PAGER)
        elif UNKNOWN in word.text and not _CONTROL.search(word.text.replace(UNKNOWN, "")):
            call.raise_to("MEDIUM", "may give the pager a command")
        elif _CONTROL.search(word.text):
            call.raise_to("HIGH", _STEERS_PAGER)


_STEERS_PAGER = Reason("gives the pager a command", Trait.RUNS)


_JQ_READS = lazy_pattern(r"(?<![.\w\"$])(?:import|include)\b")


_JQ_FILE = lazy_pattern(r"-[a-zA-Z]*f|--from-file(?:=.*)?", re.DOTALL)


def _jq(call: Call) -> None:
    """Rate jq, whose program may read variables or load a module from any file."""
    for word in call.words:
        if re.search(r"(?<![.\w\"])(?:env|\$ENV|\$__prog_args)\b", word.text):
            call.raise_to(*printed_variables(word.text))
        if _JQ_FILE.fullmatch(word.text):
            call.raise_to("MEDIUM", "runs a program from a file")
        if _JQ_READS.search(word.text):
            call.raise_to("MEDIUM", Reason("reads a module that its program names", Trait.READS))
            _reads_named(call, word)


def _ps(call: Call) -> None:
    """Rate `ps`: the letter `e` without a dash shows the environment variables of each process."""
    if any(re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", word.text) for word in call.words[:1]):
        call.raise_to("MEDIUM", Reason("prints the variables of processes, including secrets", Trait.PRINTS_VARIABLES))


def _printenv(call: Call) -> None:
    call.raise_to("MEDIUM", PRINTS_SURROUNDINGS)
    if any(holds_secret(word.text) for word in call.words):
        call.raise_to("HIGH", "prints a secret")


_M4 = Spec(
    "MEDIUM",
    "runs a program of macros",
    values=words("-L -d -l -I -B -H -N -S -s --nesting-limit --include -D -U --define --undefine --hashsize"),
    paths=uses("write", "-F --freeze-state -o --error-output --debugfile") | uses("read", "-R --reload-state"),
)
_M4_RUNS = lazy_pattern(r"e?syscmd'?\s*\(\s*[`\[]*([^`'\[\]()]*)[\]']*\s*\)")


def _m4(call: Call) -> None:
    """Rate m4 by the commands in its macros, as far as they are in the line."""
    call.apply(_M4)
    written = [written_text(call, word) for word in call.words if not word.text.startswith("-")]
    pieces = [
        call.stdin or (call.scan.printed if call.piped else ""),
        *(word.text for word in (*call.words, *written) if word),
    ]
    for text in pieces:
        commands = _M4_RUNS.findall(text)
        for command in commands:
            call.run_text(literal(command))
        if text.count("syscmd") > len(commands):
            call.raise_to("HIGH", Reason("m4 runs a command only known at run time", Trait.RUNS | Trait.UNCERTAIN))


RULES |= {
    **dict.fromkeys(("m4", "gm4"), _m4),
    **dict.fromkeys(("jq", "gojq", "jaq"), _jq),
    **dict.fromkeys(("less", "more", "zless"), _less),
    "ps": _ps,
    "dc": _dc,
    "printenv": _printenv,
}


_SED = Spec(values=words("-e --expression -l --line-length"), paths=uses("read", "-f --file"))
_EXPRESSIONS = {"-e", "--expression"}
_SUBSTITUTION = lazy_pattern(r"s([^\w\s\\])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1([\w ]*)", re.DOTALL)
_FILE_COMMAND = lazy_pattern(r"(?:^|[;{}\n]|[\d$/!,])\s*([wWrR])\s*([^\n;}]+)")
_RUN_COMMAND = lazy_pattern(r"(?:^|[;{}\n]|[\d$/!,])\s*e(?:\s|$|;|})")
_TEXT_COMMAND = lazy_pattern(r"(?:^|[;{}\n\d$/])\s*[aic](?:\\?\n|\\|\s).*", re.DOTALL)
_SED_RANGE = r"(?:\d+(?:~\d+)?|\$|/(?:\\[^\n]|[^/\\\n])*/[IM]*)"
_SED_HARMLESS = lazy_pattern(
    rf"[;\s]*(?:{_SED_RANGE}(?:\s*,\s*(?:{_SED_RANGE}|[+~]\d+))?\s*!?\s*)?(?:"
    r"[{}]|(?:[=dDgGhHnNpPxz]|[qQl][ \t]*\d*|[btT][ \t]*[\w-]*)(?=[;\s}]|\Z)|:[ \t]*[\w-]+[ \t]*(?=[;\n]|\Z)|"
    r"#[^\n]*|[aic](?:\\?\n|[ \t\\])[^\n]*|"
    r"([sy])([^\w\s\\;{}])((?:\\.|(?!\2)[^\\\n])*)\2((?:\\.|(?!\2)[^\\])*)\2([gpiIMm\d]*)(?=[;\s}]|\Z))[;\s]*",
    re.DOTALL,
)
"""Matches a sed command that runs nothing and neither reads nor writes files."""
_BRACKETS = lazy_pattern(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)
_AWK_PLAIN = (
    r'(?P<string>"(?:\\.|[^"\\])*")|(?P<open>"(?:\\.|[^"\\])*\\?\Z)|(?P<word>[\w.$]+|\+\+|--)|'
    r"(?P<blank>[ \t]+|#[^\n]*)|(?P<sign>\|\||\|&?|&&|>>|>=|.)"
)
_AWK_TOKEN = lazy_pattern(rf"(?P<regex>/(?:\\.|[^/\\\n])+/)|{_AWK_PLAIN}", re.DOTALL)
_AWK_AFTER_SLASH = lazy_pattern(_AWK_PLAIN, re.DOTALL)
"""Matches a token on the rest of a line on which a slash is known to start no pattern."""
_AWK_BEFORE_REGEX = words("print printf return in case getline else do not")
"""Words of awk after which a slash starts a pattern; after any other word, it is a division."""
_AWK_ARGUMENTS = words("ARGV ARGC SYMTAB FUNCTAB PROCINFO")
_AWK_READS = lazy_pattern(r'getline\s*[\w$\[\]]*\s*<\s*("[^"]*"|[^\s;})]+)')
_AWK_WRITES = lazy_pattern(r">>?\s*(\"[^\"]*\"|[^\s;})]+)")
_AWK_WRITES_ANYWHERE = lazy_pattern(r"print[^;}]{0,400}>>?\s*[a-zA-Z($]")


def _sed(call: Call) -> None:
    options, operands = call.options(_SED)
    scripts = [option.value for option in options if option.flag in _EXPRESSIONS and option.value]
    names = flag_names(options)
    if not scripts and not names & {"-f", "--file"} and operands:
        scripts = [operands.pop(0)]
    is_inplace = "-i" in names or any(flag.startswith("--in") for flag in names)
    for option in options:
        if option.flag in {"-f", "--file"} and option.value:
            call.raise_to("MEDIUM", "runs a script of sed")
            _created_here(call, option.value)
            call.use(option.value, "read")
            scripts += [text for text in (written_text(call, option.value),) if text]
    for script in scripts:
        if "--sandbox" not in names or UNKNOWN in script.text:
            _sed_script(call, script)
    for word in operands:
        call.use(word, "write" if is_inplace else "read")


def _created_here(call: Call, script: Word) -> None:
    """Rate a script that another command prints as HIGH: `-f <(command)`, `-f -`."""
    if script.text.startswith("/dev/") or script.text == "-" or UNKNOWN in script.text:
        call.raise_to("HIGH", RUNS_UNKNOWN_SCRIPT)


def _sed_script(call: Call, script: Word) -> None:
    text = script.text
    if not _is_harmless_sed(text):
        call.raise_to("MEDIUM", Reason("a script of sed that is not known to be harmless", Trait.UNCERTAIN))
    if UNKNOWN in text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", Reason("a script only known at run time", Trait.UNCERTAIN))
    for match in _SUBSTITUTION.finditer(text):
        marks, _, target = match[2].partition("w")
        if "e" in marks:
            call.raise_to("HIGH", Reason("sed runs a command", Trait.RUNS))
        if "w" in match[2]:
            call.use(Word(target.strip() or text[match.end() :].strip(), script.raw), "write")
    plain = _TEXT_COMMAND.sub("", _SUBSTITUTION.sub("p", text))
    if _RUN_COMMAND.search(plain):
        call.raise_to("HIGH", Reason("sed runs a command", Trait.RUNS))
    for match in _FILE_COMMAND.finditer(plain):
        call.use(Word(match[2].strip(), script.raw), "write" if match[1] in "wW" else "read")


def _is_harmless_sed(script: str) -> bool:
    """Return whether the whole script is understood and only edits its output."""
    at = 0
    while at < len(script.rstrip()):
        result = _SED_HARMLESS.match(script, at)
        # some versions of sed end a pattern at a delimiter in brackets, others after it
        if not result or (result[1] and "[" in _BRACKETS.sub("", result[3])):
            return False
        at = result.end()
    return True


def _awk(call: Call) -> None:
    spec = Spec(
        values=words("-F -v --field-separator --assign"),
        paths=uses("read", "-f --file -i --include -l --load -E --exec"),
        flags=flags("MEDIUM", "runs a script of awk", "-f --file -E --exec")
        | flags("HIGH", Reason("loads code into awk", Trait.RUNS), "-l --load -i --include"),
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
            _created_here(call, option.value)
            call.use(option.value, "read")
            if text := written_text(call, option.value):
                _awk_script(call, text)
    for word in operands:
        call.use(word, "text" if "=" in word.text else "read")


_LONGEST_AWK = 5_000


def _awk_script(call: Call, script: Word) -> None:
    if len(script.text) <= _LONGEST_AWK:
        _short_awk_script(call, script)
    else:
        call.raise_to("HIGH", f"an awk script longer than {_LONGEST_AWK:,} characters, so it was not analyzed")
        call.opaque = "*"


def _short_awk_script(call: Call, script: Word) -> None:
    tokens = _awk_tokens(script.text)
    plain, characters = "".join(tokens), {token for token in tokens if not token.startswith('"')}
    if UNKNOWN in script.text:
        call.raise_to("HIGH" if script.runs else "MEDIUM", Reason("a script only known at run time", Trait.UNCERTAIN))
    if characters & {"|", "|&", "@", "system"} or "/inet" in script.text:
        call.raise_to("HIGH", Reason("awk runs a command", Trait.RUNS))
    reads = tokens.count("getline") > len(_AWK_READS.findall(plain))
    if reads or characters & _AWK_ARGUMENTS or _awk_redirects(tokens):
        call.raise_to("MEDIUM", Reason("a script of awk that is not known to be harmless", Trait.UNCERTAIN))
    _awk_reads(call, plain, script if characters & _AWK_ARGUMENTS else None)
    if "ENVIRON" in script.text:
        call.raise_to(*printed_variables(script.text))
    for target in dict.fromkeys(_AWK_WRITES.findall(plain)):
        if target.startswith('"'):
            call.use(Word(target.strip('"'), target), "write")
    if ">" in plain and _AWK_WRITES_ANYWHERE.search(plain):
        call.raise_to("HIGH", Reason("awk writes a file whose name is only known at run time", Trait.UNCERTAIN))


def _awk_tokens(script: str) -> list[str]:
    """Return the tokens of a script, with `r` for each pattern; a slash after a value is a division."""
    tokens: list[str] = []
    at, divides_until, is_value = 0, 0, False
    while result := (_AWK_TOKEN if at >= divides_until else _AWK_AFTER_SLASH).match(script, at):
        kind, token = result.lastgroup, result[0]
        if token == "/" and at >= divides_until:
            divides_until = script.find("\n", at) % (len(script) + 1)
        if kind == "open":  # a string without an end: nothing is certain about the rest
            tokens.append("@")
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
    """Return whether the script may print to a file: a `>` after `print`, outside parentheses."""
    depth, prints = 0, False
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if token in {";", "{", "}", "\n"}:
            depth, prints = 0, False
        prints |= token in {"print", "printf"}
        if prints and depth <= 0 and token in {">", ">>"}:
            return True
    return False


def _awk_reads(call: Call, plain: str, names_files: Word | None) -> None:
    """Rate what a script reads with getline; `names_files` is the script if it may set the files to read."""
    if names_files is not None:
        _reads_named(call, names_files)
    for match in _AWK_READS.finditer(plain):
        if match[1].startswith('"') and plain[match.end() :].lstrip()[:1] in {"", ")", ";", "}", "\n", ">", "&", "|"}:
            call.use(Word(match[1].strip('"'), match[1]), "read")
        else:
            call.raise_to("HIGH", Reason("awk reads a file whose name is only known at run time", Trait.UNCERTAIN))


RULES |= {"sed": _sed, "gsed": _sed, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk}
