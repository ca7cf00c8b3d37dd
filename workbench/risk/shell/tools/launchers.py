"""Programs that run others in surroundings of their own (`poetry run`, `mise x`, `conda run`), measure them, or start
them again and again.
"""

from __future__ import annotations

from workbench.protocol.risk import Risk
from workbench.risk.shell.call import Call, Spec
from workbench.risk.shell.tools.cloud import or_status
from workbench.risk.shell.tools.interpreters import interpreter
from workbench.risk.shell.tools.packages import sources
from workbench.risk.shell.tools.rule import Rule, subcommands, words
from workbench.risk.shell.tools.wrapping import launcher, wrap, wrapper
from workbench.risk.shell.words import UNKNOWN, Word

_PLAIN = wrap()
_BUILD = Spec("MEDIUM", "runs code of the project", operands="text")
_TOOLS = Spec("MEDIUM", "installs or chooses tools", operands="text")
_LOOK = Spec(operands="text")
_AGAIN: tuple[Risk, str] = ("MEDIUM", "runs a command again and again")
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
        **dict.fromkeys(words("list ls current which where version show check doc"), _LOOK),
        **_LEAVES,
        "self": Spec("HIGH", "changes the programs of this person", operands="text"),
    },
    _TOOLS,
)
_tools = subcommands(
    _LEAVES | dict.fromkeys(words("list ls current which where version versions info doctor"), _LOOK), _TOOLS
)


def _conda(call: Call) -> None:
    """A channel that is an address is another source."""
    if any("://" in word.text for word in call.words):
        call.raise_to("HIGH", "installs from another source, or to another place")
    _conda_verb(call)


_ENVIRONMENT = wrap("-n --name -p --prefix --cwd -a --attach")


def _several(values: str, texts: str = "", writes: str = "", *, in_flags: bool = False) -> Rule:
    """A rule for programs each of whose operands is a command line; with `in_flags` only those in flags are."""
    spec = Spec(values=words(values) | words(texts) | words(writes))
    runs, written = words(texts), words(writes)

    def rule(call: Call) -> None:
        """Rate each command line."""
        call.raise_to(*_AGAIN)
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


def _watched(values: str, texts: str = "") -> Rule:
    """A rule for programs that start the rest of their words, as one command line, each time something changes."""
    taking, runs = words(values), words(texts)

    def rule(call: Call) -> None:
        """Rate the command line."""
        call.raise_to(*_AGAIN)
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
    """Its words are a command; with `-s` they are a command line."""
    call.raise_to(*_AGAIN)
    rest = list(call.words)
    is_text = False
    while rest and rest[0].text.startswith("-"):
        is_text |= "s" in rest.pop(0).text
    if is_text and rest:
        call.run_text(rest[0])
    else:
        call.run_words(rest)


def _parallel(call: Call) -> None:
    """A template, and behind `:::` what is put into it one by one; elsewhere what it reads."""
    call.raise_to(*_AGAIN)
    rest = list(call.words)
    taking = words("-j --jobs -N -n -a --arg-file --delay --timeout --retries --joblog --results --colsep -C -d -I -S")
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        if flag in {"-S", "--sshlogin", "--slf", "--transfer"}:
            call.raise_to("HIGH", "works on other machines")
        if flag in taking and rest:
            rest.pop(0)
    at = next((at for at, word in enumerate(rest) if word.text.startswith(":::")), len(rest))
    template, given = rest[:at], rest[at + 1 :]
    known = bool(given) and rest[at].text == ":::" and all(word.is_literal for word in given)
    for word in given[:_MOST_ARGUMENTS] if known else [Word(UNKNOWN, "…")]:
        _filled_in(call, template, word)


def _filled_in(call: Call, template: list[Word], word: Word) -> None:
    text = " ".join(each.text for each in template)
    put = text.replace("{}", word.text) if "{}" in text else f"{text} {word.text}".strip()
    if UNKNOWN not in put:
        call.run_text(Word(put, call.text))
    elif not template:
        call.raise_to("HIGH", "runs commands that are not known before")
    else:
        call.run_words([each._replace(text=each.text.replace("{}", word.text)) for each in template] + [word])


def _script(call: Call) -> None:
    """`script` records what a command prints; without one it starts a shell."""
    options, operands = call.options(Spec(values=words("-c --command -T -O -I -B -E -o -m -t")))
    texts = [option.value for option in options if option.flag in {"-c", "--command"} and option.value]
    for word in operands[:1]:
        call.use(word, "write")
    for text in texts:
        call.raise_to("MEDIUM", "records what a command prints")
        call.run_text(text)
    if operands[1:]:
        call.run_words(operands[1:])
    elif not texts:
        call.raise_to("HIGH", "starts a shell that nobody sees")


def _nix(call: Call) -> None:
    """`nix develop -c`, `nix shell … -c`, `nix-shell --run`: the command in surroundings that are declared."""
    texts = [word.text for word in call.words]
    verb = next((text for text in texts if not text.startswith("-")), "") if call.name == "nix" else "shell"
    call.raise_to("MEDIUM", "builds or enters declared surroundings")
    if verb in {"run", "profile", "upgrade-nix"}:
        call.raise_to("HIGH", "runs or installs a package that is not installed")
    for at, word in enumerate(call.words[:-1]):
        if word.text in {"--run", "--command", "-c"} and call.name == "nix-shell":
            call.run_text(call.words[at + 1])
        elif word.text in {"-c", "--command"}:
            call.run_words(call.words[at + 1 :])
            return


_mise = launcher(
    "x exec|x|exec|run|r",
    wrap(
        "-C --cd -E --env -j",
        dashes=True,
        texts="-c --command",
        risk="MEDIUM",
        reason="runs what the folder's settings say",
    ),
    _tools,
)


def _measured(call: Call) -> None:
    """coverage, kernprof and their kin: run a script as Python would."""
    rest = list(call.words)
    if call.name in {"coverage", "memray", "py-spy"}:
        verb = rest.pop(0).text if rest else ""
        if verb not in {"run", "record", "top", "dump"}:
            call.raise_to("LOW" if verb in {"report", "--version", "debug"} else "MEDIUM", "writes a report")
            return
    if call.name == "py-spy":
        made = wrapper("-r --rate -d --duration -f --format -s", writes="-o --output", high="-p --pid")
        call.words = rest
        made(call)
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
    high_reason="reads the memory or surroundings of a process",
    risk="MEDIUM",
    reason="watches what a program does",
)
_PERF = launcher(
    "stat|record|trace|bench|c2c record|mem record",
    wrap("-e -F -C -c -m -t --event -r -D -G", writes="-o --output", high="-p --pid -a --all-cpus", risk="MEDIUM"),
    Spec("MEDIUM", "reads what was measured", operands="text"),
)

_conda_verb = launcher("run", _ENVIRONMENT, _tools)

RULES: dict[str, Rule] = {
    **dict.fromkeys(("strace", "ltrace"), _TRACE),
    "perf": _PERF,
    "valgrind": wrapper(writes="--log-file --xml-file", high="--db-command"),
    "heaptrack": wrapper(writes="-o --output", high="-p --pid"),
    "flamegraph": wrapper("-F -p", writes="-o --output", dashes=True),
    "samply": launcher("record", wrap("-r -d", writes="-o"), _BUILD),
    "rr": launcher("record", _PLAIN, _BUILD),
    **dict.fromkeys(words("coverage kernprof scalene memray py-spy"), _measured),
    "mise": _mise,
    "rtx": _mise,
    **dict.fromkeys(words("asdf rbenv pyenv nodenv goenv jenv"), launcher("exec", _PLAIN, _tools)),
    **dict.fromkeys(("nvm", "rustup"), launcher("exec|run", wrap(skip=1), _rustup)),
    **dict.fromkeys(("fnm", "volta"), launcher("exec|run", wrap("--using --node --npm --yarn"), _tools)),
    **dict.fromkeys(words("conda mamba micromamba"), _conda),
    **dict.fromkeys(("bundle", "bundler"), launcher("exec", _PLAIN, sources)),
    **dict.fromkeys(("lerna", "nx"), launcher("exec", wrap("--scope --ignore --concurrency --projects"), _BUILD)),
    **dict.fromkeys(("foreman", "honcho"), launcher("run", wrap("-e --env -f --procfile"), _BUILD)),
    **dict.fromkeys(("nix", "nix-shell"), _nix),
    "dotenv": launcher("run", _PLAIN, wrapper("-f -e -v"), "-f --file -e"),
    "dotenvx": launcher("run", wrap("-f -fk --env-file -e --env"), Spec("MEDIUM", "works on variables of a file")),
    **dict.fromkeys(
        ("doppler", "infisical"),
        or_status(
            launcher(
                "run", wrap("-p -c --project --config --env", risk="HIGH", reason=_SECRETS), Spec("HIGH", _SECRETS)
            )
        ),
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
    "onchange": wrapper("-e --exclude -d --delay", dashes=True, risk="MEDIUM", reason=_AGAIN[1]),
    "entr": _entr,
    **dict.fromkeys(("parallel", "sem"), _parallel),
    "script": _script,
}
