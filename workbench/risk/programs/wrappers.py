"""Rules for programs that run another program named in their arguments."""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.environment import rated_variable
from workbench.risk.programs.cloud import or_status
from workbench.risk.programs.interpreters import interpreter
from workbench.risk.programs.packages import sources
from workbench.risk.programs.rule import Rule, launcher, stays_one, subcommands, words, wrap, wrapper
from workbench.risk.reason import (
    INSTALLS_ELSEWHERE,
    PRINTS_SURROUNDINGS,
    REPEATS_COMMAND,
    RUNS_PROJECT,
    STARTS_SHELL_UNSEEN,
    Reason,
    Trait,
)
from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.word import UNKNOWN, Word, literal

_ENV_SPLITS = lazy_pattern(r"(?s)(?:-[iv0]*S|--s[a-z-]*(?:=|\Z))(.*)")
_ENV_FLAG = lazy_pattern(r"(?s)-[iv0]*\Z|-u.|--(?:ignore-environment|null|debug|unset=\w+|chdir=.+)\Z|--\Z")


def _env(call: Call) -> None:
    rest = list(call.words)
    while rest:
        text = rest[0].text
        name, equals, value = text.partition("=")
        if split := _ENV_SPLITS.match(text):
            arguments, behind = (split[1], rest[1:]) if split[1] else (rest[1].text if len(rest) > 1 else "", rest[2:])
            call.is_proven = True
            call.run_text(Word(" ".join([arguments, *(word.raw for word in behind)]), call.text))
            return
        if text.startswith("-"):
            takes = text in {"-u", "-C", "--unset", "--chdir", "-a"}
            stays_one(call, rest[1] if takes and len(rest) > 1 else rest[0], attached=not takes)
            if not takes and not _ENV_FLAG.match(text):
                call.raise_to("HIGH", Reason("has an option of env that is not known to be harmless", Trait.UNCERTAIN))
            if text in {"-C", "--chdir"} or text.startswith("--chdir="):
                call.raise_to("MEDIUM", "runs a command in another directory")
                call.base = rest[1] if takes and len(rest) > 1 else Word(value, text)
            rest = rest[2:] if takes else rest[1:]
        elif equals and re.fullmatch(r"\w+", name):
            program = next((word.text for word in rest if "=" not in word.text), "")
            call.raise_to(*rated_variable(name, value, program))
            stays_one(call, rest.pop(0), attached=True)
        else:
            call.is_proven = True
            call.run_words(rest)
            return
    call.raise_to("MEDIUM", PRINTS_SURROUNDINGS)


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
    strings = [word.text for word in call.words]
    # The parser splits off a redirect's number.
    if not strings or (call.redirects and len(strings) == 1 and strings[0].isdecimal()):
        call.raise_to("MEDIUM", "changes where the shell reads and writes")
        if strings in ([], ["0"]) and any(re.match("0?<", redirect) for redirect in call.redirects):
            call.raise_to("HIGH", Reason("gives the shell commands from elsewhere", Trait.RUNS))
        return
    call.raise_to("MEDIUM", "replaces the shell with a program")
    wrapper("-a")(call)


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
    strings = [word.text for word in call.words]
    if "-c" in strings and strings.index("-c") + 1 < len(strings):
        call.run_text(call.words[strings.index("-c") + 1])
    lock = next((word for word in call.words if not word.text.startswith("-")), literal("-"))
    call.use(lock, "write") if not lock.text.isdigit() and lock.text != "-" else None
    wrapper("-w -E --timeout", skip=1)(call)


def _strings(call: Call) -> None:
    """Rate a program whose words together form a command line."""
    call.run_text(Word(" ".join(word.text for word in call.words), call.text))


_OF_TIME = "-p -v -a -q -l -h --portability --verbose --append --quiet"
_OF_TIMEOUT = "-v -f -p --foreground --preserve-status --verbose"
_MACHINE = lazy_pattern(r"linux(?:32|64)|i[3-6]86|x86_64|uname26|arm\w*|aarch64|ppc\w*|s390x?|mips\w*|sparc\w*|ia64")


def _setarch(call: Call) -> None:
    """Rate setarch, whose first operand may be an architecture or already the command."""
    named = bool(call.words) and bool(_MACHINE.fullmatch(call.words[0].text))
    wrapper(skip=1 if named else 0, plain="-v -R -F -Z -L -X -B -I -S -T -3 --uname-2.6 --addr-no-randomize")(call)
    if len(call.words) < 2 and not any(word.text.startswith("--") for word in call.words):
        call.raise_to("HIGH", STARTS_SHELL_UNSEEN)


def _arch(call: Call) -> None:
    """Rate arch, which on some systems runs a program for another architecture."""
    if call.words:
        wrapper("-arch -e -d", sets=True)(call)


_BY_SETTINGS = Reason("runs what the directory's settings define", Trait.DOWNLOADS)
_OF_A_FILE = Reason("runs a command with the variables that a file sets", Trait.RUNS)
_ANOTHER = wrapper(risk="HIGH", reason=Reason("acts with the rights of another user", Trait.RUNS), skip=1)


RULES: dict[str, Rule] = {
    "env": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "exec": _exec,
    "command": _command,
    **dict.fromkeys(("time", "gtime"), wrapper("-f --format", writes="-o --output", plain=_OF_TIME)),
    "coproc": _coproc,
    **dict.fromkeys(("timeout", "gtimeout"), wrapper("-s -k --signal --kill-after", skip=1, plain=_OF_TIMEOUT)),
    "nice": wrapper("-n --adjustment", plain="-#"),
    "ionice": wrapper("-c -n --class --classdata", plain="-t --ignore"),
    "setsid": wrapper(plain="-w -c --wait --ctty"),
    "stdbuf": wrapper("-i -o -e --input --output --error"),
    "setarch": _setarch,
    "xvfb-run": wrapper("-n -w", writes="-e -f --error-file --auth-file", plain="-a --auto-servernum"),
    "caffeinate": wrapper("-t -w"),
    "direnv": or_status(
        launcher(
            "exec",
            wrap(skip=1, risk="MEDIUM", reason=_BY_SETTINGS),
            Spec("HIGH", Reason("runs when the directory is entered", Trait.RUNS), operands="text"),
        )
    ),
    "start-stop-daemon": wrapper(high="--start -S"),
    "flock": _flock,
    **dict.fromkeys(
        words(
            "ccache sccache distcc icecc catchsegv nocache eatmydata dumb-init tini catatonit with-contenv steam-run "
            "dbus-launch noglob nocorrect chronic linux32 linux64 i386 x86_64 uname26 builtin ! nohup unbuffer "
            "dbus-run-session busybox toybox coreutils winpty"
        ),
        wrapper(),
    ),
    "bear": wrapper(writes="-o --output"),
    "scan-build": wrapper(writes="-o", high="--use-cc --use-c++ --use-analyzer -load-plugin"),
    "fakeroot": wrapper("-b", writes="-s", high="-l --lib -f --faked"),
    "numactl": wrapper("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred"),
    "systemd-inhibit": wrapper("--what --who --why --mode"),
    "systemd-cat": wrapper(
        "-t -p --identifier --priority --stderr-priority --level-prefix", risk="MEDIUM", reason="writes to the log"
    ),
    "cpulimit": wrapper("-l --limit"),
    "cgexec": wrapper("-g"),
    "prlimit": wrapper("-p --pid -o --output"),
    "aa-exec": wrapper("-p -n --profile --namespace"),
    "schedtool": wrapper("-n -a -p"),
    "chpst": wrapper("-u -U -b -d -o -p -f -c -m -n"),
    "envdir": wrapper(skip=1, risk="MEDIUM", reason=_OF_A_FILE),
    **dict.fromkeys(words("envuidgid setlock repeat chrt taskset faketime"), wrapper(skip=1)),
    "multitime": wrapper("-n -s -I", commands="-i -o -r", writes="-b"),
    "retry": wrapper("-t -d -s -m -x -f --times --delay --until --while"),
    "rlwrap": wrapper("-f -b -p -P -C", writes="-H -l --history-filename --logfile", high="-z --filter"),
    "wait-for-it": wrapper("-t --timeout", skip=1),
    "dockerize": wrapper("-wait -timeout"),
    "cross-env": wrapper(sets=True),
    "env-cmd": wrapper("-f --file -e --environments", risk="MEDIUM", reason=_OF_A_FILE),
    "cross-env-shell": _strings,
    "arch": _arch,
    **dict.fromkeys(("gosu", "su-exec"), _ANOTHER),
}


_BY_DIRECTORY = wrap(risk="MEDIUM", reason=_BY_SETTINGS)
_WITH_FILE = wrap("-f -fk --env-file -e --env --procfile", risk="MEDIUM", reason=_OF_A_FILE)
_BUILD = Spec("MEDIUM", RUNS_PROJECT, operands="text")
_TOOLS = Spec("MEDIUM", Reason("installs or chooses tools", Trait.DOWNLOADS), operands="text")
_READS = Spec(operands="text")
_SECRETS = "gives stored secrets to a command"
_MOST_ARGUMENTS = 20

_LEAVES = dict.fromkeys(
    words(
        "uninstall|toolchain uninstall|toolchain remove|env remove|self uninstall|virtualenv-delete|implode|prune|"
        "purge|plugin remove|plugin uninstall|default remove",
        "|",
    ),
    Spec("HIGH", "removes tools or environments of this user", operands="text"),
)

_rustup = subcommands(
    {
        **dict.fromkeys(words("list ls current which where version show check doc"), _READS),
        **_LEAVES,
        "self": Spec("HIGH", Reason("changes the user's programs", Trait.RUNS), operands="text"),
    },
    _TOOLS,
)
_tools = subcommands(
    _LEAVES | dict.fromkeys(words("list ls current which where version versions info doctor"), _READS), _TOOLS
)


def _conda(call: Call) -> None:
    """Rate conda: HIGH if a word is a URL, because it installs from another source."""
    if any("://" in word.text for word in call.words):
        call.raise_to("HIGH", INSTALLS_ELSEWHERE)
    _conda_verb(call)


_ENVIRONMENT = wrap("-n --name -p --prefix --cwd -a --attach")


def _several(values: str, commands: str = "", writes: str = "", *, in_flags: bool = False) -> Rule:
    """Return a rule for programs whose operands are command lines; with `in_flags`, only flag values are.

    `values` are flags with any value, `commands` flags with a command line, and `writes` flags with a file to be
    written.
    """
    spec = Spec(values=words(values) | words(commands) | words(writes))
    runs, written = words(commands), words(writes)

    def rule(call: Call) -> None:
        """Rate each of the command lines."""
        call.raise_to("MEDIUM", REPEATS_COMMAND)
        options, operands = call.options(spec)
        for option in options:
            if option.value is not None and option.flag in runs:
                call.run_text(option.value)
            elif option.value is not None and option.flag in written:
                call.use(option.value, "write")
        for word in () if in_flags else operands:
            npm = word.text.startswith("npm:") and word.is_literal
            call.run_text(Word(f"npm run {word.text[4:]}", word.raw) if npm else word)

    return rule


def _watched(values: str, commands: str = "") -> Rule:
    """Return a rule for programs that run their remaining words as one command line when something changes.

    `values` are flags that take any value, `commands` flags that take a command line.
    """
    taking, runs = words(values), words(commands)

    def rule(call: Call) -> None:
        """Rate the command line."""
        call.raise_to("MEDIUM", REPEATS_COMMAND)
        rest = list(call.words)
        is_text = False
        while rest and rest[0].text.startswith("-"):
            flag = rest.pop(0).text
            if flag == "--":
                break
            if flag in runs and rest:
                is_text = True
                call.run_text(rest.pop(0))
            elif flag in taking and rest:
                rest.pop(0)
        if rest and not is_text:
            call.run_text(Word(" ".join(word.text for word in rest), call.text))

    return rule


def _entr(call: Call) -> None:
    """Rate entr, whose words are a command or, with `-s`, a command line."""
    call.raise_to("MEDIUM", REPEATS_COMMAND)
    rest = list(call.words)
    is_text = False
    while rest and rest[0].text.startswith("-"):
        is_text |= "s" in rest.pop(0).text
    if is_text and rest:
        call.run_text(rest[0])
    else:
        call.run_words(rest)


def _parallel(call: Call) -> None:
    """Rate parallel: a template, filled with each argument after `:::`, or otherwise with unknown input."""
    call.raise_to("MEDIUM", REPEATS_COMMAND)
    rest = list(call.words)
    taking = words("-j --jobs -N -n -a --arg-file --delay --timeout --retries --joblog --results --colsep -C -d -I -S")
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        if flag in {"-S", "--sshlogin", "--slf", "--transfer"}:
            call.raise_to("HIGH", "works on other machines")
        if flag in taking and rest:
            rest.pop(0)
    at = next((at for at, word in enumerate(rest) if word.text.startswith(":::")), len(rest))
    template, arguments = rest[:at], rest[at + 1 :]
    is_literal = bool(arguments) and rest[at].text == ":::" and all(word.is_literal for word in arguments)
    for word in arguments[:_MOST_ARGUMENTS] if is_literal else [Word(UNKNOWN, "…")]:
        _filled_in(call, template, word)


def _filled_in(call: Call, template: list[Word], word: Word) -> None:
    text = " ".join(each.text for each in template)
    put = text.replace("{}", word.text) if "{}" in text else f"{text} {word.text}".strip()
    if UNKNOWN not in put:
        call.run_text(Word(put, call.text))
    elif not template:
        call.raise_to("HIGH", Reason("runs commands only known at run time", Trait.RUNS | Trait.UNCERTAIN))
    else:
        call.run_words([each._replace(text=each.text.replace("{}", word.text)) for each in template] + [word])


def _script(call: Call) -> None:
    """Rate `script`, which records the output of a command, or starts a shell if none is given."""
    options, operands = call.options(Spec(values=words("-c --command -T -O -I -B -E -o -m -t")))
    strings = [option.value for option in options if option.flag in {"-c", "--command"} and option.value]
    for word in operands[:1]:
        call.use(word, "write")
    for text in strings:
        call.raise_to("MEDIUM", "records what a command prints")
        call.run_text(text)
    if operands[1:]:
        call.run_words(operands[1:])
    elif not strings:
        call.raise_to("HIGH", STARTS_SHELL_UNSEEN)


_mise = launcher(
    "x exec|x|exec|run|r",
    wrap(
        "-C --cd -E --env -j",
        dashes=True,
        commands="-c --command",
        risk="MEDIUM",
        reason=_BY_SETTINGS,
    ),
    _tools,
)


def _measured(call: Call) -> None:
    """Rate coverage, kernprof and similar programs, which run a script like Python."""
    rest = list(call.words)
    if call.name in {"coverage", "memray", "py-spy"}:
        verb = rest.pop(0).text if rest else ""
        if verb not in {"run", "record", "top", "dump"}:
            call.raise_to("LOW" if verb in {"report", "--version", "debug"} else "MEDIUM", "writes a report")
            return
    if call.name == "py-spy":
        created = wrapper("-r --rate -d --duration -f --format -s", writes="-o --output", high="-p --pid")
        call.words = rest
        created(call)
        return
    taking = words("--source --rcfile --include --omit --data-file -o --output --cpu-percent-threshold")
    while rest and rest[0].text.startswith("-") and rest[0].text not in {"-m", "-c"}:
        flag = rest.pop(0).text
        if flag in taking and rest:
            rest.pop(0)
    call.words = rest
    interpreter(call)


_TRACE = wrapper(
    "-e -s -S -u -E -a -I -O -P -X -b -A",
    plain="-f -c -C -t -tt -ttt -T -y -yy -v -q -r -i -k -w -n",
    writes="-o --output",
    high="-p --attach",
    high_reason=Reason("reads the memory or environment of a process", Trait.READS),
    risk="MEDIUM",
    reason="watches what a program does",
)
_TRACE_SETTING = lazy_pattern(r"-E|--env=(?=\w)")
_TRACE_PIPES = lazy_pattern(r"(?:-o|--output=)[|!]")


def _trace(call: Call) -> None:
    """Rate strace and ltrace, whose output may be piped to a command and which may set variables of the program."""
    for word, following in pairwise((*call.words, literal(""))):
        text = f"{word.text}{following.text}" if word.text in {"-o", "-E"} else word.text
        if _TRACE_PIPES.match(text):
            call.raise_to("HIGH", Reason("runs the value of an option", Trait.RUNS))
        elif setting := _TRACE_SETTING.match(text):
            name, _, value = text[setting.end() :].partition("=")
            call.raise_to(*rated_variable(name, value))
    _TRACE(call)


def _dotenv(call: Call) -> None:
    """Rate dotenv without `run`: it prints or changes variables in a file, or runs a command with them."""
    rest = [word.text for word in call.words if not word.text.startswith("-")]
    if rest[:1] and rest[0] in {"list", "get", "set", "unset"}:
        call.raise_to("HIGH", "prints or changes secrets")
    else:
        wrapper("-f -e -v -p -c", risk="MEDIUM", reason=_OF_A_FILE)(call)


_PERF = launcher(
    "stat|record|trace|bench|c2c record|mem record",
    wrap("-e -F -C -c -m -t --event -r -D -G", writes="-o --output", high="-p --pid -a --all-cpus", risk="MEDIUM"),
    Spec("MEDIUM", Reason("reads what was measured", Trait.READS), operands="text"),
)

_conda_verb = launcher("run", _ENVIRONMENT, _tools)

RULES |= {
    **dict.fromkeys(("strace", "ltrace"), _trace),
    "perf": _PERF,
    "valgrind": wrapper(
        writes="--log-file --xml-file",
        high="--db-command",
        risk="MEDIUM",
        reason=Reason("reads options from a file", Trait.READS),
    ),
    "heaptrack": wrapper(writes="-o --output", high="-p --pid"),
    "flamegraph": wrapper("-F -p", writes="-o --output", dashes=True),
    "samply": launcher("record", wrap("-r -d", writes="-o"), _BUILD),
    "rr": launcher("record", wrap(risk="MEDIUM", reason="records a program"), _BUILD),
    **dict.fromkeys(words("coverage kernprof scalene memray py-spy"), _measured),
    "mise": _mise,
    "rtx": _mise,
    **dict.fromkeys(words("asdf rbenv pyenv nodenv goenv jenv"), launcher("exec", _BY_DIRECTORY, _tools)),
    **dict.fromkeys(("nvm", "rustup"), launcher("exec|run", wrap(skip=1), _rustup)),
    **dict.fromkeys(("fnm", "volta"), launcher("exec|run", wrap("--using --node --npm --yarn"), _tools)),
    **dict.fromkeys(words("conda mamba micromamba"), _conda),
    **dict.fromkeys(("bundle", "bundler"), launcher("exec", _BY_DIRECTORY, sources)),
    **dict.fromkeys(("lerna", "nx"), launcher("exec", wrap("--scope --ignore --concurrency --projects"), _BUILD)),
    **dict.fromkeys(("foreman", "honcho"), launcher("run", _WITH_FILE, _BUILD, "-e --env -f --procfile -d")),
    "dotenv": launcher("run", _WITH_FILE, _dotenv, "-f --file -e"),
    **dict.fromkeys(("dotenvx", "godotenv"), launcher("run", _WITH_FILE, _dotenv)),
    **dict.fromkeys(
        ("doppler", "infisical"),
        or_status(
            launcher(
                "run", wrap("-p -c --project --config --env", risk="HIGH", reason=_SECRETS), Spec("HIGH", _SECRETS)
            )
        ),
    ),
    "sops": or_status(
        launcher("exec-env|exec-file", wrap("--user", 1, risk="HIGH", reason=_SECRETS), Spec("HIGH", _SECRETS))
    ),
    **dict.fromkeys(
        ("aws-vault", "chamber", "teller"),
        launcher("exec|run", wrap("-d --duration", 1, risk="HIGH", reason=_SECRETS), Spec("HIGH", _SECRETS)),
    ),
    "concurrently": _several(
        "-n --names -c --prefix-colors -p --prefix -m --max-processes --restart-tries -s --success"
    ),
    "hyperfine": _several(
        "-w --warmup -r --runs -m --min-runs -M --max-runs -L -P --parameter-list --style -S --shell -u -n -N",
        "-p --prepare -s --setup -c --cleanup --conclude",
        "--export-json --export-markdown --export-csv --export-asciidoc --export-orgmode --output",
    ),
    **dict.fromkeys(("bench", "poop", "start-server-and-test"), _several("-d --duration")),
    "watch": _watched("-n --interval -q --equexit -s --shotsdir"),
    "watchexec": _watched("-e --exts -w --watch -i --ignore -f --filter -d --debounce -s --signal -r"),
    "nodemon": _watched("-w --watch -e --ext -i --ignore --delay --signal", "-x --exec"),
    **dict.fromkeys(
        ("chokidar", "watchman-make"), _several("-p -d -t --debounce --pattern", "-c --command --run", in_flags=True)
    ),
    "onchange": wrapper("-e --exclude -d --delay", dashes=True, risk="MEDIUM", reason=REPEATS_COMMAND),
    "entr": _entr,
    **dict.fromkeys(("parallel", "sem"), _parallel),
    "script": _script,
}
