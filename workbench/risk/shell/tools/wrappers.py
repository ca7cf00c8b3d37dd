"""Programs that run another program which stands in their words."""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.shell.tools.rule import Rule, words
from workbench.risk.shell.tools.wrapping import launcher, wrap, wrapper
from workbench.risk.shell.variables import rated_variable
from workbench.risk.shell.words import UNKNOWN, Word, literal

_ENV_SPLITS = re.compile(r"(?:-[iv0]*S|--s[a-z-]*(?:=|\Z))(.*)", re.DOTALL)
_ENV_FLAG = re.compile(r"-[iv0]*\Z|-u.|--(?:ignore-environment|null|debug|unset=\w+|chdir=.+)\Z|--\Z", re.DOTALL)


def _env(call: Call) -> None:
    rest = list(call.words)
    while rest:
        text = rest[0].text
        name, equals, value = text.partition("=")
        if split := _ENV_SPLITS.match(text):
            given, behind = (split[1], rest[1:]) if split[1] else (rest[1].text if len(rest) > 1 else "", rest[2:])
            call.is_proven = True
            call.run_text(Word(" ".join([given, *(word.raw for word in behind)]), call.text))
            return
        if text.startswith("-"):
            takes = text in {"-u", "-C", "--unset", "--chdir", "-a"}
            if not takes and not _ENV_FLAG.match(text):
                call.raise_to("HIGH", "has an option of env that is not known to be harmless")
            if text in {"-C", "--chdir"} or text.startswith("--chdir="):
                call.raise_to("MEDIUM", "runs a command in another folder")
            rest = rest[2:] if takes else rest[1:]
        elif equals and re.fullmatch(r"\w+", name):
            program = next((word.text for word in rest if "=" not in word.text), "")
            call.raise_to(*rated_variable(name, value, program))
            rest.pop(0)
        else:
            call.is_proven = True
            call.run_words(rest)
            return
    call.raise_to("MEDIUM", "prints the variables of the surroundings, secrets among them")


_XARGS = Spec(
    values=words("-n -P -s -d -E -L --max-args --max-procs --delimiter --max-lines --max-chars -I -J -R"),
    paths=uses("read", "-a --arg-file"),
)


def _xargs(call: Call) -> None:
    rest = list(call.words)
    mark = ""
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        value = rest.pop(0) if rest and (flag in _XARGS.values or flag in _XARGS.paths) else None
        if flag in _XARGS.paths and value:
            call.use(value, "read")
        if flag.startswith(("-I", "-i", "--replace")):
            mark = value.text if value else re.sub(r"^(?:-[Ii]|--replace=?)", "", flag) or "{}"
    if not rest:
        return
    call.raise_to("MEDIUM", "runs a command with what it reads")
    unknown = Word(UNKNOWN, "…")
    marked = [Word(word.text.replace(mark, UNKNOWN), word.raw) if mark and mark in word.text else word for word in rest]
    call.run_words(marked if mark else [*rest, unknown])


def _exec(call: Call) -> None:
    texts = [word.text for word in call.words]
    if not texts or (call.redirects and len(texts) == 1 and texts[0].isdecimal()):  # the parser cuts off its number
        call.raise_to("MEDIUM", "changes where the shell reads and writes")
        if texts in ([], ["0"]) and any(_OF_STDIN.match(redirect) for redirect in call.redirects):
            call.raise_to("HIGH", "gives the shell commands from elsewhere")
        return
    call.raise_to("MEDIUM", "puts a program in the place of the shell")
    wrapper("-a")(call)


_OF_STDIN = re.compile(r"0?<")


def _command(call: Call) -> None:
    if call.words and call.words[0].text in {"-v", "-V"}:
        call.is_proven = all(not word.text.startswith("-") for word in call.words[1:])
        return
    wrapper(plain="-p")(call)


def _coproc(call: Call) -> None:
    call.raise_to("MEDIUM", "runs a command beside the others")
    call.run_words(call.words)
    call.run_words(call.words[1:])


def _flock(call: Call) -> None:
    texts = [word.text for word in call.words]
    if "-c" in texts and texts.index("-c") + 1 < len(texts):
        call.run_text(call.words[texts.index("-c") + 1])
    lock = next((word for word in call.words if not word.text.startswith("-")), literal("-"))
    call.use(lock, "write") if not lock.text.isdigit() and lock.text != "-" else None
    wrapper("-w -E --timeout", skip=1)(call)


def _texts(call: Call) -> None:
    """Its words together are a command line."""
    call.run_text(Word(" ".join(word.text for word in call.words), call.text))


_OF_TIME = "-p -v -a -q -l -h --portability --verbose --append --quiet"
_OF_TIMEOUT = "-v -f -p --foreground --preserve-status --verbose"
_ARCHITECTURE = re.compile(r"linux(?:32|64)|i[3-6]86|x86_64|uname26|arm\w*|aarch64|ppc\w*|s390x?|mips\w*|sparc\w*|ia64")


def _setarch(call: Call) -> None:
    """The name of a machine in front is not needed."""
    named = bool(call.words) and bool(_ARCHITECTURE.fullmatch(call.words[0].text))
    wrapper(skip=1 if named else 0, plain="-v -R -F -Z -L -X -B -I -S -T -3 --uname-2.6 --addr-no-randomize")(call)
    if len(call.words) < 2 and not any(word.text.startswith("--") for word in call.words):
        call.raise_to("HIGH", "starts a shell that nobody sees")


def _arch(call: Call) -> None:
    """On some systems it runs a program for another machine."""
    if call.words:
        wrapper("-arch -e -d", sets=True)(call)


_ANOTHER = wrapper(risk="HIGH", reason="acts with the rights of another user", skip=1)
_HIDES = wrapper("-f", risk="HIGH", reason="opens a connection to anywhere")


RULES: dict[str, Rule] = {
    "env": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "exec": _exec,
    "command": _command,
    "builtin": wrapper(),
    **dict.fromkeys(("time", "gtime"), wrapper("-f --format", writes="-o --output", plain=_OF_TIME)),
    "coproc": _coproc,
    "!": wrapper(),
    **dict.fromkeys(("timeout", "gtimeout"), wrapper("-s -k --signal --kill-after", skip=1, plain=_OF_TIMEOUT)),
    "nohup": wrapper(),
    "nice": wrapper("-n --adjustment", plain="-#"),
    "ionice": wrapper("-c -n -p -P -u --class --classdata", plain="-t --ignore"),
    "chrt": wrapper(skip=1),
    "taskset": wrapper(skip=1),
    "setsid": wrapper(plain="-w -c --wait --ctty"),
    "stdbuf": wrapper("-i -o -e --input --output --error"),
    "unbuffer": wrapper(),
    "setarch": _setarch,
    "faketime": wrapper(skip=1),
    "xvfb-run": wrapper("-n -s -e -f -l -p"),
    "dbus-run-session": wrapper(),
    "caffeinate": wrapper("-t -w"),
    "busybox": wrapper(),
    "toybox": wrapper(),
    "winpty": wrapper(),
    "direnv": launcher(
        "exec",
        wrap(skip=1, risk="MEDIUM", reason="runs what the folder's settings say"),
        Spec("HIGH", "is run when the folder is entered", operands="text"),
    ),
    "start-stop-daemon": wrapper(high="--start -S"),
    "flock": _flock,
    **dict.fromkeys(
        words(
            "ccache sccache distcc icecc catchsegv nocache eatmydata dumb-init tini catatonit with-contenv steam-run "
            "dbus-launch noglob nocorrect chronic linux32 linux64 i386 x86_64 uname26"
        ),
        wrapper(),
    ),
    **dict.fromkeys(("scan-build", "bear"), wrapper("--use-cc --use-c++", writes="-o --output")),
    "fakeroot": wrapper("-l -f -b --lib --faked", writes="-s", skip=0),
    "numactl": wrapper("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred"),
    "systemd-inhibit": wrapper("--what --who --why --mode"),
    "systemd-cat": wrapper(
        "-t -p --identifier --priority --stderr-priority --level-prefix", risk="MEDIUM", reason="writes to the log"
    ),
    "cpulimit": wrapper("-l -e -p -m --limit --exe --pid"),
    "cgexec": wrapper("-g"),
    "prlimit": wrapper("-p --pid -o --output"),
    "aa-exec": wrapper("-p -n --profile --namespace"),
    "schedtool": wrapper("-n -a -p"),
    "chpst": wrapper("-u -U -b -e -d -o -p -f -c -m -n"),
    **dict.fromkeys(("envdir", "envuidgid", "setlock", "repeat"), wrapper(skip=1)),
    "multitime": wrapper("-n -s -I -i -o -b"),
    "retry": wrapper("-t -d -s -m -x -f --times --delay --until --while"),
    "rlwrap": wrapper("-f -H -b -p -P -C -l"),
    "wait-for-it": wrapper("-t --timeout", skip=1),
    "dockerize": wrapper("-wait -timeout -template"),
    **dict.fromkeys(("cross-env", "env-cmd"), wrapper("-f --file -e --environments", sets=True)),
    "cross-env-shell": _texts,
    "arch": _arch,
    **dict.fromkeys(("gosu", "su-exec"), _ANOTHER),
    **dict.fromkeys(("tsocks", "proxychains4"), _HIDES),
}
