"""Cost of rating a command, which happens several times for each action before the user is asked."""

from __future__ import annotations

import argparse
import gc
import inspect
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure
from workbench.risk.cells import assess_cell
from workbench.risk.commands import assess_command
from workbench.risk.executed_files import executed_files
from workbench.risk.paths import PathContext

_CASES = Path(__file__).parent.parent / "risk/data/risk.jsonl"
_PLACES = PathContext("/home/u/proj", "/home/u")


def measures() -> list[Measure]:
    """Measure known commands, and long ones of several shapes, in milliseconds; the slowest counts."""
    gc.set_threshold(50_000)  # as in the engine
    assess_command("ls", _PLACES)  # the parser is loaded once
    lines = [line for line in _CASES.read_text().splitlines() if json.loads(line)["kind"] == "bash"]
    return [
        _measure("risk: a known command, median", statistics.median(map(_took, lines)), 0.2),
        _measure("risk: git in a repository with settings, median", statistics.median(_git_lines()), 0.2),
        _measure("risk: what a known command executes, median", statistics.median(_executed_in(lines)), 0.2),
        _measure("risk: 10 kB, the worst of its shapes", max(_took_command(text) for text in _shapes(9_990)), 5.0),
        _measure("risk: 10 kB of Python in a cell", _took_cell(), 5.0),
        _measure("risk: 1 MB, the worst of its shapes", max(_took_command(text) for text in _shapes(1_000_000)), 50.0),
    ]


def _took_cell() -> float:
    """Milliseconds for the start of a class of the standard library."""
    code = inspect.getsource(argparse.ArgumentParser)[:10_000].rpartition("\n\n    def ")[0]
    return _spent(partial(assess_cell, code, _PLACES))


_LONG = 100_000
"""The length from which a line is not analyzed, so its shape makes no difference."""


def _shapes(size: int) -> list[str]:
    pieces = (
        *("ls;", "a b ", "$(", "`x` ", "'x' ", "x | ", "a=b\n", "{ ", "cat <<E\nx\nE\n", "\\\n", "[[ a ]];", "("),
        *("ls -la src; ", '"a b" ', '"$x" ', '"$(x)" ', "/usr/bin/x ", "a[1]=2;", "$((x)) ", "ls a/b && ", "cd a; "),
    )
    dense = (
        *("a[a[a[a[1]]]]=1;", "$a[$b]", "a/../", "1+", "open(x);", "open('a','w')\n", "{a,b}", "f(", "[", "a[a["),
        *("$((1+1)) ", "cd ..;", "\"a\"'b'"),
    )
    fronts = ("", "let ", "rm ", "echo $((", "python3 -c '", "python3 - <<'E'\n", "'' ; let ")
    nested = [front + piece * ((size - 60) // len(piece)) for piece in dense for front in fronts if size < _LONG]
    nested += [text + "1" + "]" * 3 + "'" + "\nE" for text in nested if "python3" in text]
    recovering = ("'a' ", '\\" ', "'\"'\"' ", "$a ", "../", "\\/", " ", "find . -exec a \\;;", "${a##b} ", "x=$(a);")
    around = (("[[ ", " ]]"), ("(( ", " ))"), ("cat <<X\n", "\nX"), ("awk '", "'"), ("for ", "; do rm $i; done"))
    nested += [
        before + piece * ((size - 60) // len(piece)) + behind
        for piece in recovering
        for before, behind in around
        if size < _LONG
    ]
    nested += list(_numbered(size)) if size < _LONG else []
    plain = "echo '" + "x" * (size - 7) + "'"
    heredoc = "cat > f <<'E'\n" + "some words\n" * ((size - 18) // 11) + "E"
    few = "git log --oneline | head -5 && cat README.md > out.txt; " * 10
    return [
        *nested,
        plain,
        heredoc,
        few + "# " + "x" * (size - len(few) - 2),
        "".join(f"git log {at} > a{at}; " for at in range(32)),
        *(piece * (size // len(piece)) for piece in pieces),
    ]


_NUMBERED = (
    *(("frob", "'git log {}'"), ("frob", "'rm x{} y'"), ("frob", "'ls -la {}'"), ("frob", "--pre 'python -c x({})'")),
    *(("frob", "a/b{}/../c"), ("frob", "'drop table {}'"), ("frob", "--cmd='git log {}'"), ("frob", "find{} find")),
    *(
        ("concurrently", "'npm run a{}'"),
        ("npm-run-all", "a{}:delete"),
        ("just", "a{}:delete"),
        ("curl", "http://a{}.x/"),
    ),
    *(("cmake", "-DA{}=/x/y"), ("npm run x", "--script-shell{}=x"), ("ssh h", "-o 'ProxyCommand=nc x {}'")),
    *(("redis-server", "--loadmodule{} x_command="), ("openssl verify", "certs/a{}.pem"), ("nc", "-e 'sh -c {}'")),
)


def _numbered(size: int) -> Iterator[str]:
    """Yield lines of one command whose arguments all differ, so that no result can be used twice."""
    for front, form in _NUMBERED:
        text = front
        for at in itertools.count():
            piece = " " + form.format(at)
            if len(text) + len(piece) > size:
                break
            text += piece
        yield text


def _took(line: str) -> float:
    return _spent(partial(assess_command, str(json.loads(line)["input"]), _PLACES))


def _git_lines() -> list[float]:
    """Return the milliseconds for git command lines in this project's repository, whose settings are read each time."""
    context = PathContext(str(Path.cwd()), str(Path.home()))
    lines = ("git status", "git log --oneline -20", "git diff HEAD", "git show HEAD --stat")
    return [_spent(partial(assess_command, text, context), 25) for text in lines]


def _executed_in(lines: list[str]) -> list[float]:
    """Return the milliseconds of the search for the files that each command executes, in this project's directory."""
    directory, times = str(Path.cwd()), []
    for text in (str(json.loads(line)["input"]) for line in lines):
        parts = assess_command(text, PathContext(directory, "/home/u")).parts
        search = partial(executed_files, parts, directory, directory, text=text)
        times.append(_spent(search))
    return times


def _took_command(text: str) -> float:
    return _spent(partial(assess_command, text, _PLACES))


def _spent(rate: Callable[[], object], runs: int = 5) -> float:
    """Milliseconds of CPU in the quickest of several runs.

    The processor is shared: the median of the same code was between 0.18 and 0.31 ms in runs one minute apart, the
    minimum between 0.18 and 0.19.
    """
    times = []
    for _ in range(runs):
        start = time.process_time()
        rate()
        times.append((time.process_time() - start) * 1e3)
    return min(times)


def _measure(name: str, value: float, limit: float) -> Measure:
    return Measure(name, value, "ms", None, limit, value <= limit)
