"""Rules for ssh and programs that copy files to and from other machines."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.rule import Rule, flag_names, words
from workbench.risk.reason import CONNECTS_AND_RUNS, RUNS_PROGRAM, Reason, Trait
from workbench.risk.shell.call import Call, ParsedOption, Spec, flags, uses
from workbench.risk.word import Word

_SSH = Spec(
    values=words("-p -l -b -c -D -e -J -L -m -O -o -Q -R -S -W -w -B"),
    paths=uses("read", "-F -i -I") | uses("write", "-E"),
    flags=flags("HIGH", "opens a way into or out of this machine", "-L -R -D -W -w -J")
    | flags("HIGH", Reason("reads options that may run programs", Trait.RUNS), "-F -I"),
)


_OPTIONS_THAT_RUN = lazy_pattern(
    r"(?is)[\s\"']*(?:(ProxyCommand|LocalCommand|KnownHostsCommand)|PermitLocal\w*|Match|Include|PKCS11Provider"
    r"|SecurityKeyProvider|XAuthLocation)[\s\"']*(?:=|\s)\s*(.*)"
)
"""Options of `-o` that run a command line, which is in the second group after one in the first, or load code."""


_MOST_INNER = 12
"""The number of parts of option commands that are examined; if there are more, the option is known to run something."""


def _rate_option(call: Call, option: ParsedOption) -> None:
    """Rate `-o` of ssh and similar programs, whose value may be an option that runs a command."""
    match = _OPTIONS_THAT_RUN.match(option.value.text) if option.flag == "-o" and option.value else None
    if match is None or match[2].casefold() == "none":
        return
    call.raise_to("HIGH", RUNS_PROGRAM)
    if match[1] and len(call.inner) < _MOST_INNER:
        call.run_text(Word(match[2].strip("\"'"), match[2]))


def _ssh(call: Call) -> None:
    strings = [word.text for word in call.words]
    if strings in (["-V"], []):
        return
    if len(strings) == 2 and strings[0] == "-Q":
        call.raise_to("MEDIUM", "lists what ssh supports")
        return
    options, operands = call.options(replace(_SSH, operands="text"))
    call.raise_to("HIGH", "works on another machine")
    for option in dict.fromkeys(options):
        _rate_option(call, option)
    if len(operands) > 1:
        call.run_text(Word(" ".join(word.text for word in operands[1:]), operands[1].raw))
    elif call.stdin is not None:
        call.run_text(Word(call.stdin, call.stdin))
    elif call.piped or call.has_input:
        call.opaque = "*"


def _copies_out(call: Call) -> None:
    """Rate scp, rsync and similar programs: HIGH if they use another machine or run another program."""
    spec = Spec(
        values=words("-P -c -o -l --exclude --include --filter -f --chmod --port --bwlimit"),
        paths=uses("read", "-i -F --files-from --exclude-from --password-file")
        | uses("write", "--log-file --backup-dir"),
        flags=flags("HIGH", RUNS_PROGRAM, "-e --rsh --rsync-path -S -o -F --daemon"),
    )
    options, operands = call.options(replace(spec, values=spec.values | {"-e", "--rsh", "--rsync-path", "-S"}))
    call.raise_to("MEDIUM", "copies files")
    for option in options:
        if option.flag in spec.flags and not (call.name == "rsync" and option.flag in {"-o", "-S", "-F"}):
            call.raise_to("HIGH", RUNS_PROGRAM)
            _rate_transport(call, option)
    following = {"-L", "--copy-links", "--copy-unsafe-links", "-k", "--copy-dirlinks"} & flag_names(options)
    for at, word in enumerate(operands):
        if re.match(r"[^/]*:", word.text) or "://" in word.text:
            call.raise_to("HIGH", "copies to or from another machine")
        else:
            call.use(word, "write" if at == len(operands) - 1 and at else "follow" if following else "deep")
    _lost_while_copying(call, flag_names(options), operands)
    if len(operands) > 1 and ":" not in operands[-1].text:
        call.writes_inside(operands[-1])


def _rate_transport(call: Call, option: ParsedOption) -> None:
    """Rate the command with which a program connects to the other machine."""
    if option.value and option.flag in ({"-e", "--rsh"} if call.name == "rsync" else {"-S"}):
        call.run_text(option.value)
    elif call.name == "scp":
        _rate_option(call, option)


def _lost_while_copying(call: Call, names: set[str], operands: list[Word]) -> None:
    there, here = any(flag.startswith("--del") for flag in names), "--remove-source-files" in names
    if there or here:
        call.raise_to("HIGH", "deletes files while copying")
    for word in [*(operands[-1:] if there else ()), *(operands[:-1] if here else ())]:
        call.takes_away(word)


def _sftp(call: Call) -> None:
    call.raise_to("HIGH", CONNECTS_AND_RUNS)
    for option in call.options(Spec(values=words("-o -S -F -i -P -b -c -J -D -B -R -l -s")))[0]:
        _rate_option(call, option)
        if option.flag == "-S" and option.value:
            call.run_text(option.value)


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("ssh autossh mosh"), _ssh),
    **dict.fromkeys(words("scp rsync rclone"), _copies_out),
    "sftp": _sftp,
    "sshfs": Spec("HIGH", CONNECTS_AND_RUNS, operands="text"),
}
