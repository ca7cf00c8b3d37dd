"""Rules for programs that connect to any host, or connect a program to a socket."""

from __future__ import annotations

from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.rule import Rule, always, words, wrapper
from workbench.risk.reason import CONNECTS_AND_RUNS, RUNS_PROGRAM
from workbench.risk.shell.call import Call, Spec
from workbench.risk.word import Word

_CONNECTS: Final = "connects to any host"
_LOCAL_HOST: Final = lazy_pattern(r"localhost|127(?:\.\d+){1,3}|::1|0\.0\.0\.0")
_FLAGS: Final = lazy_pattern(r"-[zvnw46\d]+")
_NC: Final = Spec(
    values=words(
        "-w -i -p -s -q -x -X -T -I -O -e -c --exec --sh-exec --lua-exec --proxy --proxy-type --proxy-auth -g -G "
        "--source-port --source --wait --idle-timeout --delay"
    )
)
_MOST_OPTIONS: Final = 24
_NC_RUNS: Final = words("-e -c --exec --sh-exec")


def _nc(call: Call) -> None:
    """Rate netcat: MEDIUM if it only tests whether a port answers; a program that it connects to the host is rated
    too.
    """
    options, operands = call.options(_NC)
    asks = any(option.flag == "-z" for option in options) and all(_FLAGS.fullmatch(option.flag) for option in options)
    if asks and operands and not call.piped and not call.has_input and all(word.is_literal for word in operands):
        local = bool(_LOCAL_HOST.fullmatch(operands[0].text))
        call.raise_to("MEDIUM", "asks whether a port of this machine answers" if local else "asks another machine")
        return
    call.raise_to("HIGH", _CONNECTS)
    if any(option.flag in _NC_RUNS or option.flag.startswith(("--e", "--sh", "--lu")) for option in options):
        call.raise_to("HIGH", RUNS_PROGRAM)
    for word in dict.fromkeys(option.value for option in options[:_MOST_OPTIONS] if option.flag in _NC_RUNS):
        if word:
            call.run_text(word)


_RUN_BY_SOCAT: Final = lazy_pattern(r"(?i)(?:[^,]*!!)?(?:EXEC|SYSTEM|SHELL)(?:-[^:,]*)?:(.*)", 0)
_COMMAND: Final = lazy_pattern(r"(?:\\.|\"[^\"]*\"|'[^']*'|[^,\\])*")
"""Matches a command in an address of socat, which ends at the first unquoted comma."""


def _socat(call: Call) -> None:
    """Rate socat, two addresses that it connects, one of which may be a program."""
    call.raise_to("HIGH", _CONNECTS)
    for word in call.words:
        if match := _RUN_BY_SOCAT.match(word.text):
            call.raise_to("HIGH", RUNS_PROGRAM)
            command = _COMMAND.match(match[1])
            call.run_text(Word(command[0] if command else match[1], word.raw))
        elif not word.is_literal:
            call.raise_to("HIGH", CONNECTS_AND_RUNS)


_THROUGH: Final = wrapper("-f -P -u -a -t", plain="-q -i -d -h", risk="HIGH", reason=_CONNECTS)

RULES: dict[str, Rule] = {
    **dict.fromkeys(words("nc ncat netcat"), _nc),
    "socat": _socat,
    **dict.fromkeys(words("tsocks torsocks torify proxychains proxychains4"), _THROUGH),
    "ssh-agent": wrapper("-a -t -P -O -E", plain="-c -s -d -D -k", risk="HIGH", reason=_CONNECTS),
    **always(
        "HIGH",
        _CONNECTS,
        "telnet tftp openssl-s_client ngrok cloudflared lt localtunnel bore zerotier-cli masscan darkhttpd "
        "miniserve simple-http-server b2 pastebinit ffsend transfer croc magic-wormhole wormhole ipfs",
    ),
    **always(
        "HIGH",
        CONNECTS_AND_RUNS,
        "ftp lftp websocat chisel nmap tcpdump wireshark tshark ssh-copy-id sendmail mailx mutt swaks aria2c httpd tor",
    ),
}
