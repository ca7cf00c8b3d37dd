"""Texts that a command line writes into files: rated as code where the same line runs the file, and HIGH at once where
they download something to run it, or take away the home directory, wherever they will be run; used by the walk.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from workbench.risk.paths import within, words
from workbench.risk.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from workbench.risk.shell.call import Call
    from workbench.risk.shell.scan import Scan

_LONGEST: Final = 20_000
_SHELL: Final = (
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:[\w./]*/)?(?:env\s+)?"
    r"(?:(?:ba|z|da|k|a|fi)?sh|python[\d.]*|perl|ruby|node|php)\b"
)
_DANGEROUS: Final = re.compile(
    rf"\b(?:curl|wget|fetch|aria2c)\b[^\n|;&]{{0,300}}\|\s*{_SHELL}"
    r"|(?:\b(?:sh|bash|zsh|eval|source|exec)\b|(?<!\S)\.)[^\n]{0,30}(?:[<$]\(|`)\s*(?:curl|wget|fetch)\b"
    rf"|\bbase(?:64|32)\s+-\w*[dD]\w*[^\n]{{0,100}}\|\s*{_SHELL}"
    r"|/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n]{0,100}\s-\w*[ec]\s*\S*sh\b|\bbash\s+-i\b[^\n]{0,40}>&"
    r"|backend-path\s*=\s*\[?\s*[\"'](?:/|~|\.\.)|(?<=[\s\"'=:(\[])(?:/var)?/(?:tmp|dev/shm)/\.\w"
    r"|\brm\s+(?:-[\w-]+\s+)*-\w*[rR]\w*\s+(?:-[\w-]+\s+)*[\"']?(?:~|/|\$\{?HOME\}?)[\"']?/?\*?(?=[\s;&|\"')]|\Z)"
)
_DOCUMENTS: Final = re.compile(
    r"(?i).*(?:\.(?:md|markdown|rst|txt|adoc|html?|tex|org|log|csv)|dockerfile[\w.-]*|\.dockerfile|containerfile"
    r"|/readme|/install|/contributing)"
)
_PRINT: Final = words("echo printf")
_FEED: Final = words("cat tee sponge")
_EDIT: Final = words("sed gsed ed ex awk gawk perl ruby npm pnpm yarn jq")
WRITES_TEXT: Final = _EDIT | {"tee", "sponge"}
"""Programs that write into files what stands in their words, or what they are fed."""
_REASON: Final = "writes a command into a file that downloads code to run it, or takes away what is there"
_FLAG: Final = re.compile(r"-[neE]+|--")
_CODE_ENDINGS: Final = (
    ".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte", ".go", ".rs", ".rb", ".php",
    ".java", ".kt", ".scala", ".swift", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".sh", ".sql", ".lua", ".ex", ".exs",
    ".toml", ".yaml", ".yml", ".gradle", ".cmake", ".mk", ".tf", ".ipynb", "/Makefile", "/GNUmakefile", "/Dockerfile",
    "/Justfile", "/justfile", "/Rakefile", "/Gemfile", "/Procfile", "/CMakeLists.txt", "/package.json",
    "/tsconfig.json", "/composer.json", "/go.mod", "/go.sum", "/setup.cfg", "/tox.ini", "/requirements.txt",
    "/README.md", ".erl", ".hs", ".ml", ".dart", ".r", ".R", ".proto", ".css", ".scss",
)  # fmt: skip
_STREAM: Final = words("sed gsed perl ruby")
_EMPTYING: Final = {
    "sed": re.compile(r"(?:1,\$|\$!|\d+,\$|/\.\*?/|/\^/|/\$/|/\^\.\*\$?/)?\s*\{?d;?\}?|s/\^?\.\*\$?//[gs]*|Q"),
    "p": re.compile(r"s/\^?\.\*\$?//[gs]*;?|\$_\s*=\s*(?:\"\"|'');?|undef\s*\(?\$_\)?;?"),
    "n": re.compile(r""),
}
"""Scripts that leave nothing of a file, by `sed`, and by whether perl or ruby print each line (`-p`) or not (`-n`)."""
_OVER: Final = re.compile(r"(?:1|&)?>(?![>&(])")
EMPTIES: Final = "empties a file with code"
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "%%": "%"}


def note_written(scan: Scan, call: Call, at: int) -> None:
    """Keep what a call writes into which files, and rate it; the parts of its redirects stand behind `at`."""
    if len(scan.parts) == at and call.name not in WRITES_TEXT:
        return
    targets = [path for part in scan.parts[at:] if not part.words for path in part.changes]
    if not targets and call.name not in WRITES_TEXT:
        return
    if call.name in {"tee", "sponge"}:
        targets += call.changes
    if call.name in _STREAM:
        targets += [scan.absolute(word) or "" for word in call.words if word.text.endswith(_CODE_ENDINGS)]
    if _is_empty(call, targets) and any(is_code(scan, path) for path in targets):
        call.raise_to("HIGH", EMPTIES)
    if _reads_what_it_empties(scan, call, at):
        call.raise_to("HIGH", "empties a file before it is read")
    _note_text(scan, call, targets)


def _reads_what_it_empties(scan: Scan, call: Call, at: int) -> bool:
    """Whether its output goes over a file that it reads, or that the program before it in a pipe reads."""
    emptied = {path for part in scan.parts[at:] if _OVER.match(part.text) and not part.words for path in part.changes}
    if call.piped and call.name in {"tee", "sponge"}:
        emptied |= set(call.changes) if call.name == "tee" else set()
    read = {path for path in call.paths if path not in call.changes}
    read |= {path for part in scan.parts[at:] if part.text.startswith("<") for path in part.paths}
    if call.piped:
        read |= {path for part in scan.parts[max(at - 2, 0) : at] if part.words for path in part.paths}
    return bool(emptied & read)


def note_emptied(scan: Scan, at: int) -> None:
    """Rate redirects without a command, whose parts stand behind `at`: they empty the files."""
    for number, part in enumerate(scan.parts[at:], at):
        if not part.text.lstrip("0123456789&").startswith(">>") and any(is_code(scan, path) for path in part.changes):
            scan.parts[number] = part._replace(risk="HIGH", reason=EMPTIES)


def is_code(scan: Scan, path: str) -> bool:
    """Whether a path is a file with code that holds something, as far as that can be known."""
    if not path.endswith(_CODE_ENDINGS) or path.endswith("/__init__.py"):
        return False
    real = scan.places.resolved(path)
    if not within(real, scan.places.workspace):
        return False
    try:
        return any(sign in path for sign in "*?[") or os.stat(real).st_size > 0  # noqa: PTH116 - a string comes in
    except (OSError, ValueError):
        return not os.path.isdir(os.path.dirname(real))  # noqa: PTH112, PTH120


def _is_empty(call: Call, targets: list[str]) -> bool:
    """Whether it prints nothing, so that what it is written to is empty afterwards; `tee` fills files alike, and an
    editor may delete all lines.
    """
    if call.name == "tee":
        return sum(path.endswith(_CODE_ENDINGS) for path in targets) > 1 and "-a" not in call.said
    if call.name in _STREAM:
        strings = [word.text for word in call.words]
        flags = "".join(text for text in strings if text.startswith("-"))
        script = _EMPTYING["sed" if call.name.endswith("sed") else "p" if "p" in flags else "n"]
        return "i" in flags and any(script.fullmatch(text) for text in strings)
    if any(">>" in redirect for redirect in call.redirects) or call.stdin:
        return False
    strings = [word.text for word in call.words if not _FLAG.fullmatch(word.text)]
    if call.name in _PRINT:
        return not any(strings)
    return call.name in {":", "true"} or (call.name == "cat" and strings == ["/dev/null"])


def _note_text(scan: Scan, call: Call, targets: list[str]) -> None:
    text = _text(call) if call.name in _PRINT | _FEED else ""
    if call.name in _EDIT and call.risk != "LOW":
        text = " ".join(word.text for word in call.words)
    elif not targets:
        return
    elif call.name == "tee" and call.piped and not text:
        text = scan.reader.source.decode(errors="replace")
    text = text[:_LONGEST]
    is_text = bool(targets) and all(_DOCUMENTS.fullmatch(path) for path in targets)
    if not is_text and _DANGEROUS.search(text):
        call.raise_to("HIGH", _REASON)
    for path in targets if call.name in _PRINT | _FEED else ():
        path = posixpath.normpath(path)
        scan.written[path] = f"{scan.written.get(path, '')}{text}\n"[:_LONGEST]


def _text(call: Call) -> str:
    """What echo, printf or cat print, as far as it is known."""
    if call.name in _FEED:
        return call.stdin or ""
    strings = [word.text for word in call.words if not _FLAG.fullmatch(word.text)]
    if call.name == "printf" and strings:
        form, *values = strings
        rest = iter(values)
        form = re.sub(r"%[-\d.]*[sqb]", lambda _: next(rest, ""), form)
        strings = [form, *rest]
    return re.sub(r"\\[nt\\]|%%", lambda match: _ESCAPES[match[0]], " ".join(strings))


def run_written(call: Call, path: str) -> None:
    """Rate the text that an earlier command of the line has written into the file that this one runs."""
    text = call.scan.written.pop(posixpath.normpath(path), "")
    if not text.strip():
        return
    first = text.lstrip().partition("\n")[0]
    program = f"{call.name} {first if first.startswith('#!') else ''}"
    if "python" in program or (path.endswith(".py") and "sh" not in program):
        call.runs_python(text)
    elif language := re.search(r"\b(?:node|bun|perl|ruby|lua)\b", program):
        code = f"{language[0]} -e {shlex.quote(text)}"
        call.run_text(Word(code, code))
    elif UNKNOWN in text:
        call.raise_to("HIGH", "runs a script that is not known before")
    else:
        call.run_text(Word(text, text))
