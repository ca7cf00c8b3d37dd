"""Options of any program that open a port, or run code from a directory to which every user of the machine can
write.
"""

from __future__ import annotations

import posixpath
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import within, words
from workbench.risk.reason import Reason, Trait, traits_of, with_traits
from workbench.risk.shell.call import Call
from workbench.risk.word import UNKNOWN, Word

SHARED: Final = ("/tmp/", "/var/tmp/", "/dev/", "/private/tmp/", "/proc/")
"""Directories in which every user of the machine can create files."""
_SHARED_CODE: Final = Reason("runs code from a directory that anybody can write to", Trait.RUNS)
OPEN_PORT: Final = "opens a port to other machines"
_LOADS: Final = lazy_pattern(
    r"(?i)-{1,2}(?:[\w.-]*-)?(?:require(?:-module)?|import|(?:pre)?load(?:er|-path)?|plugins?(?:-dir|-path)?|filter"
    r"|bootstrap|init(?:-file|-script|rc)?|config(?:uration)?(?:-file|-path)?|\w*rc(?:file)?|rules?-?dir|rules"
    r"|(?:node-)?modules?(?:-path|-dir)?|extensions?(?:-dir|-path)?|hooks?(?:-path|-dir)?|script|setup|setupfiles\w*"
    r"|reporters?|formatters?|transforms?|agent(?:path|lib)|javaagent|lib(?:rary)?(?:-path)?|class-?path|cp"
    r"|ini|engine|provider|(?:global|user)config|exec|command|interpreter|shell|app(?:-dir)?|python-?path"
    r"|resolve-plugins-relative-to|(?:make|gulp|grunt|task|just|rake|fab|jake|gem|build)file)"
)
"""Matches options whose value is code, a list of code, or a directory to search for code."""
_NO_CODE: Final = lazy_pattern(
    r"(?i)-o|-{1,2}(?:[\w-]*-)?(?:out|output\w*|outfile|log\w*|dest\w*|target|filename|std\w+|report\w*|cache\w*|save|write"
    r"|dump|record|trace|ignore|exclude|basetemp|tmp\w*|temp\w*|pid\w*|lock\w*|\w*profile|data\w*|input|env-?file"
    r"|(?:body|message|password|token|key|cert|secret)-?file)(?:-\w+)?"
)
"""Matches options whose value is data, whatever its name is."""
_CODE_FILE: Final = lazy_pattern(
    r"(?i).*\.(?:[cm]?[jt]sx?|rb|lua|php|py[cdw]?|pl|pm|sh|bash|zsh|fish|so|dylib|dll|jar|war|class|el|vim|gradle|kts|groovy"
    r"|awk|sed|sql|r|jl|tcl|scm|exs?|wasm|node|ps1|bat|mk)"
)
_DATA_FILE: Final = lazy_pattern(
    r"(?i).*\.(?:txt|jsonc?|ya?ml|toml|ini|cfg|conf|csv|tsv|xml|html?|md|rst|log|lock|png|jpe?g|svg|gz|tar|zip|pem|crt|diff|patch)"
)
_ATTACHED: Final = lazy_pattern(r"(--?\w[\w.-]*?)(?:=|:(?=[/~.]))(.*)|(-\w)((?:/|\.\./).*)", 0)
_OPENS: Final = lazy_pattern(
    r"--?(?:[\w.-]*[-_.])?(?:bind(?:[-_]\w+)?|listen(?:[-_]\w+)?|host(?:name)?|inspect(?:-\w+)?|debug|jdwp|addr(?:ess)?|ip|interface)"
)
"""Matches options whose value is the address on which a program listens."""
_EVERYWHERE: Final = lazy_pattern(r"(?:\w+://)?(?:0\.0\.0\.0|\[?::\]?|\*)(?::\d+)?\Z|0?:\d+\Z")
_DEBUGGER: Final = lazy_pattern(r"(?s).*jdwp\b.*\baddress=(?:\*|0\.0\.0\.0|\[?::\]?)(?::\d+)?(?![\w.])")
_RUNNERS: Final = words(
    "node nodejs deno bun ts-node tsx mocha jasmine ava tap tape jest vitest nyc c8 karma cypress nodemon pm2 newman"
    " ruby rspec rake irb cucumber minitest guard php phpunit pest behat psysh perl prove lua luajit busted"
    " python python3 pytest ipython behave locust fab invoke nox R Rscript julia octave java groovy scala clojure"
    " vi vim nvim emacs ex gdb lldb pandoc gcc g++ cc c++ clang clang++ ld awk gawk mawk psql mysql sqlite3 mongosh"
    " gulp grunt rollup webpack vite esbuild sed openssl redis-cli k6 tclsh expect guile racket"
    " make gmake ninja just task ansible-playbook"
)
"""Programs that run or load the file named after a one-letter option."""
_LONGEST: Final = 300
_ALL: Final = frozenset({"--bind_ip_all", "--bind-all", "--bind_all"})
_CLIENTS: Final = frozenset({"curl", "wget", "ping", "ssh", "psql", "mysql", "redis-cli", "mongosh", "docker"})


def raise_by_exposure(call: Call, original: list[Word]) -> None:
    """Raise a MEDIUM call to HIGH if an option opens a port or loads code from a directory that everyone can write
    to.
    """
    if call.risk != "MEDIUM":
        return
    # The unknown parts of the command stay unknown to the rules.
    unknown = traits_of(call.reason) & (Trait.UNCERTAIN | Trait.UNRECOGNIZED | Trait.DOWNLOADS)
    for at, word in enumerate(original):
        if word.text in _ALL or _DEBUGGER.match(word.text[:_LONGEST]):
            call.raise_to("HIGH", with_traits(OPEN_PORT, unknown))
        if not word.text.startswith("-"):
            continue
        attached = _ATTACHED.fullmatch(word.text[:_LONGEST])
        flag, value = (attached[1] or attached[3], attached[2] or attached[4] or "") if attached else (word.text, "")
        if not attached and at + 1 < len(original):
            value = original[at + 1].text
        if _OPENS.fullmatch(flag) and _EVERYWHERE.match(value) and call.name not in _CLIENTS:
            call.raise_to("HIGH", with_traits(OPEN_PORT, unknown))
        if any(_loads_shared(call, word, flag, part) for part in _paths(value)):
            call.raise_to("HIGH", with_traits(_SHARED_CODE, unknown))


def anybody_writes(call: Call, path: str) -> bool:
    """Return whether every user can write to the file's directory; False in a workspace, even if that is in /tmp."""
    context = call.scan.context
    return f"{posixpath.normpath(path)}/".startswith(SHARED) and not within(context.resolved(path), context.workspace)


def _paths(value: str) -> list[str]:
    """Return the paths in a value that may be a list: `/a:/b`, `/a,/b` or `NAME:/a`."""
    if UNKNOWN in value or "://" in value:
        return []
    return [part for part in value.replace(",", ":").replace("=", ":").split(":") if "/" in part or "." in part]


def _loads_shared(call: Call, word: Word, flag: str, value: str) -> bool:
    if _NO_CODE.fullmatch(flag):
        return False
    loads = _LOADS.fullmatch(flag) and not _DATA_FILE.fullmatch(value)
    runs = call.name in _RUNNERS and not flag.startswith("--") and _CODE_FILE.fullmatch(value)
    if not loads and not runs:
        return False
    path = call.scan.absolute(word._replace(text=value))
    return path is not None and path != "/dev/null" and not path.startswith("/dev/std") and anybody_writes(call, path)
