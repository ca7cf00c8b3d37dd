"""Programs that print what they read."""

from __future__ import annotations

import re

from workbench.security.secrets import holds_secret
from workbench.security.shell.call import Call, Spec, flags, uses
from workbench.security.shell.tools.rule import Rule, flag_names, named, shown_variables, words
from workbench.security.shell.words import literal

_RUNS = "runs another program"
_SPLIT = Spec("MEDIUM", "writes files", flags=flags("HIGH", _RUNS, "--filter"), values=words("-l -b -n -a -f --prefix"))
_YQ = Spec(skip=1, flags=flags("MEDIUM", "changes files in place", "-i --inplace"))
_XXD = Spec(values=words("-l -s -c -g -o"), flags=flags("MEDIUM", "writes bytes", "-r"))


def _split(call: Call) -> None:
    """The parts are called after the second operand, or a flag's value."""
    call.apply(_SPLIT)
    options, operands = call.options(_SPLIT)
    given = [option.value for option in options if option.flag in {"-f", "--prefix"} and option.value]
    prefix = given or ([literal("xx")] if call.name == "csplit" else operands[1:] or [literal("x")])
    call.use(prefix[0]._replace(text=f"{prefix[0].text}*", is_pattern=True), "write")


def _yq(call: Call) -> None:
    """With `-i` the files that follow the expression are written."""
    call.apply(_YQ)
    options, operands = call.options(_YQ)
    in_place = {"-i", "--inplace"} & flag_names(options)
    for word in operands if in_place else ():
        call.use(word, "write")


def _xxd(call: Call) -> None:
    """It writes to its second operand."""
    call.apply(_XXD)
    for word in call.options(_XXD)[1][1:]:
        call.use(word, "write")


RULES: dict[str, Rule] = {
    **named(
        Spec(),
        "cat ls dir vdir wc stat readlink realpath cksum md5sum sha1sum sha224sum sha256sum "
        "sha384sum sha512sum b2sum "
        "nl tac rev fold fmt expand unexpand paste comm cmp od hexdump strings nm size objdump readelf ldd eza exa "
        "lsblk lscpu lsof df cloc tokei scc md5 shasum xmllint hexyl zcat bzcat xzcat zstdcat zless column",
    ),
    **named(Spec(values=words("-n -c --lines --bytes")), "head tail"),
    **named(Spec(operands="deep", values=words("-d --max-depth -t --threshold --exclude")), "du"),
    "cut": Spec(values=words("-d -f -c -b --delimiter --fields --output-delimiter")),
    "tr": Spec(operands="text"),
    **named(
        Spec(operands="text"),
        "true false : pwd basename dirname whoami id groups uname hostname nproc date cal uptime free seq sleep "
        "which whereis whatis apropos tty logname users who w pgrep pstree top htop vmstat iostat getconf locale "
        "tput clear factor expr bc numfmt yes sw_vers ulimit times jobs wait disown umask",
    ),
    "hash": Spec(operands="text", flags=flags("HIGH", "puts another program in the place of a command", "-p")),
    "type": Spec(operands="text"),
    "yq": _yq,
    "diff": Spec(values=words("-U -C -W -I -x --unified --context"), paths=uses("read", "-X --exclude-from")),
    "colordiff": Spec(values=words("-U -C")),
    "tree": Spec(
        values=words("-L -P -I --filelimit --charset --timefmt --sort"), paths=uses("write", "-o"), operands="read"
    ),
    "file": Spec(
        flags=flags(
            "MEDIUM", "reads a file as magic, and shows its lines", "-m --magic-file -f --files-from -C --compile"
        ),
        paths=uses("read", "-m --magic-file -f --files-from"),
        values=words("-F -e -P"),
    ),
    **named(
        Spec(
            flags=flags("HIGH", _RUNS, "--compress-program"),
            paths=uses("write", "-o --output") | uses("read", "--files0-from --random-source"),
            values=words("-k -t -S -T --key --field-separator --parallel"),
        ),
        "sort",
    ),
    "shuf": Spec(paths=uses("write", "-o --output"), values=words("-n -i")),
    "xxd": _xxd,
    "base64": Spec(values=words("-w --wrap -b")),
    "base32": Spec(values=words("-w --wrap")),
    "split": _split,
    "csplit": _split,
    "bat": Spec(flags=flags("HIGH", _RUNS, "--pager"), values=words("-l -r --line-range --language --style --theme")),
    "batcat": Spec(flags=flags("HIGH", _RUNS, "--pager"), values=words("-l -r --line-range --language --style")),
    "man": Spec(
        operands="text",
        values=words("-s -S -k -f -L -M"),
        flags=flags("HIGH", _RUNS, "-P --pager -H --html -p --preprocessor -C --config-file -X -T"),
    ),
    "info": Spec(operands="text"),
    "dmesg": Spec(operands="text", flags=flags("HIGH", "clears the log of the kernel", "-C --clear -c --read-clear")),
    "journalctl": Spec(operands="text", flags=flags("HIGH", "deletes logs", "--vacuum-size --vacuum-time --rotate")),
    "mail": Spec("HIGH", "sends a message", operands="text"),
}


def _dc(call: Call) -> None:
    """The calculator that also runs commands."""
    text = " ".join([*(word.text for word in call.words), call.stdin or ""])
    if "!" in text or call.piped or (call.has_input and call.stdin is None):
        call.raise_to("HIGH", "may run a command")
    call.apply(Spec(operands="read", values=words("-e --expression"), paths=uses("read", "-f --file")))


def _uniq(call: Call) -> None:
    _, operands = call.options(Spec(values=words("-f -s -w")))
    for word, use in zip(operands, ("read", "write"), strict=False):
        call.use(word, "write" if use == "write" else "read")


def _less(call: Call) -> None:
    call.apply(Spec(values=words("-b -h -j -p -P -t -x"), paths=uses("write", "-o -O") | uses("read", "-k -T")))
    if any(word.text.startswith("+") and word.text[1:].lstrip("0123456789gGF") != "" for word in call.words):
        call.raise_to("HIGH", "gives the pager a command")


_JQ = Spec(
    skip=1,
    values=words("--arg --argjson --indent --tab --slurpfile --rawfile"),
    paths=uses("read", "-f --from-file"),
    unskip=words("-f --from-file"),
    flags=flags("MEDIUM", "changes files in place", "-i --in-place"),
)


def _jq(call: Call) -> None:
    for flag, file in zip(call.words, call.words[2:], strict=False):
        if flag.text in {"--rawfile", "--slurpfile"}:
            call.use(file, "read")
    for word in call.words:
        if re.search(r"(?<![.\w\"])(?:env|\$ENV|\$__prog_args)\b", word.text):
            call.raise_to(*shown_variables(word.text))
    call.apply(_JQ)


def _ps(call: Call) -> None:
    """Without a dash in front, `e` shows the variables of each process."""
    if any(re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", word.text) for word in call.words[:1]):
        call.raise_to("MEDIUM", "prints the variables of processes, secrets among them")


def _printenv(call: Call) -> None:
    call.raise_to("MEDIUM", "prints the variables of the surroundings, secrets among them")
    if any(holds_secret(word.text) for word in call.words):
        call.raise_to("HIGH", "prints a secret")


RULES |= {"jq": _jq, "ps": _ps, "dc": _dc, "uniq": _uniq, "less": _less, "more": _less, "printenv": _printenv}
