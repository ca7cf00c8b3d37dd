"""Rate texts that a command line writes to files.

A text is rated as code if the same line runs the file. Even if the line does not run it, a text is HIGH if it downloads
code to run it or deletes the home directory.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.code import rated_statements
from workbench.risk.paths import within, words
from workbench.risk.reason import RUNS_UNKNOWN_SCRIPT, Reason, Trait
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from workbench.risk.shell.call import Call
    from workbench.risk.shell.scan import Scan

_LONGEST: Final = 20_000
_SHELL: Final = (
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:[\w./]*/)?(?:env\s+)?"
    r"(?:(?:ba|z|da|k|a|fi)?sh|python[\d.]*|perl|ruby|node|php)\b"
)
_DANGEROUS: Final = lazy_pattern(
    rf"\b(?:curl|wget|fetch|aria2c)\b[^\n|;&]{{0,300}}\|\s*{_SHELL}"
    r"|(?:\b(?:sh|bash|zsh|eval|source|exec)\b|(?<!\S)\.)[^\n]{0,30}(?:[<$]\(|`)\s*(?:curl|wget|fetch)\b"
    rf"|\bbase(?:64|32)\s+-\w*[dD]\w*[^\n]{{0,100}}\|\s*{_SHELL}"
    r"|/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n]{0,100}\s-\w*[ec]\s*\S*sh\b|\bbash\s+-i\b[^\n]{0,40}>&"
    r"|backend-path\s*=\s*\[?\s*[\"'](?:/|~|\.\.)|(?<=[\s\"'=:(\[])(?:/var)?/(?:tmp|dev/shm)/\.\w"
    r"|\brm\s+(?:-[\w-]+\s+)*-\w*[rR]\w*\s+(?:-[\w-]+\s+)*[\"']?(?:~|/|\$\{?HOME\}?)[\"']?/?\*?(?=[\s;&|\"')]|\Z)"
)
_MAY_BE_DANGEROUS: Final = lazy_pattern(
    r"curl|wget|fetch|aria2c|base(?:64|32)|/dev/|n(?:c|etcat)|>&|backend|/tmp/|/shm/|rm"
)
"""Matches any text that `_DANGEROUS` may match; ten times faster, because each alternative starts with a literal."""
_DOCUMENTS: Final = lazy_pattern(
    r"(?i).*(?:\.(?:md|markdown|rst|txt|adoc|html?|tex|org|log|csv)|dockerfile[\w.-]*|\.dockerfile|containerfile"
    r"|/readme|/install|/contributing)"
)
_PRINT: Final = words("echo printf")
_FEED: Final = words("cat tee sponge")
_EDIT: Final = words("sed gsed ed ex awk gawk perl ruby npm pnpm yarn jq")
WRITES_TEXT: Final = _EDIT | {"tee", "sponge"}
"""Programs that write their arguments, their input or an edited text to files."""
_REASON: Final = "writes a command into a file that downloads code to run it, or takes away what is there"
_FLAG: Final = lazy_pattern(r"-[neE]+|--")
_CODE_ENDINGS: Final = (
    ".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte", ".go", ".rs", ".rb", ".php",
    ".java", ".kt", ".scala", ".swift", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".sh", ".sql", ".lua", ".ex", ".exs",
    ".toml", ".yaml", ".yml", ".gradle", ".cmake", ".mk", ".tf", ".ipynb", "/Makefile", "/GNUmakefile", "/Dockerfile",
    "/Justfile", "/justfile", "/Rakefile", "/Gemfile", "/Procfile", "/CMakeLists.txt", "/package.json",
    "/tsconfig.json", "/composer.json", "/go.mod", "/go.sum", "/setup.cfg", "/tox.ini", "/requirements.txt",
    "/README.md", ".erl", ".hs", ".ml", ".dart", ".r", ".R", ".proto", ".css", ".scss",
    ".db", ".sqlite", ".sqlite3", ".duckdb", ".mdb", ".accdb", ".parquet", ".xlsx", ".ods", ".docx", ".odt", ".psd",
)  # fmt: skip
_STREAM: Final = words("sed gsed perl ruby")
_EMPTYING: Final = {
    "sed": lazy_pattern(r"(?:1,\$|\$!|\d+,\$|/\.\*?/|/\^/|/\$/|/\^\.\*\$?/)?\s*\{?d;?\}?|s/\^?\.\*\$?//[gs]*|Q"),
    "p": lazy_pattern(r"s/\^?\.\*\$?//[gs]*;?|\$_\s*=\s*(?:\"\"|'');?|undef\s*\(?\$_\)?;?"),
    "n": lazy_pattern(r""),
}
"""Scripts that empty a file: for `sed`, and for perl or ruby with each line printed (`-p`) or not (`-n`)."""
_OVER: Final = lazy_pattern(r"(?:1|&)?>(?![>&(])")
EMPTIES: Final = "empties a file with code or data"
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "%%": "%"}


def note_written(scan: Scan, call: Call, at: int) -> None:
    """Record which text a call writes to which files, and rate it; its redirects' parts start at index `at`."""
    targets = [path for part in scan.parts[at:] if not part.words for path in part.changes]
    if call.name in _PASS:
        targets += call.changes
    if call.name in _PRINT | _FEED and not targets:
        scan.printed = f"{scan.printed}{_passed(scan, call)}\n"[:_LONGEST]
    if not targets and call.name not in WRITES_TEXT:
        return
    if call.name in _STREAM:
        targets += [scan.absolute(word) or "" for word in call.words if word.text.endswith(_CODE_ENDINGS)]
    if _is_empty(call, targets) and any(is_code(scan, path) for path in targets):
        call.raise_to("HIGH", EMPTIES)
    if _reads_what_it_empties(scan, call, at):
        call.raise_to("HIGH", "empties a file before it is read")
    _note_text(scan, call, targets)


def _reads_what_it_empties(scan: Scan, call: Call, at: int) -> bool:
    """Return whether its output overwrites a file that it, or the previous command in the pipe, reads."""
    emptied = {path for part in scan.parts[at:] if _OVER.match(part.text) and not part.words for path in part.changes}
    if call.piped and call.name in {"tee", "sponge"}:
        emptied |= set(call.changes) if call.name == "tee" else set()
    read = {path for path in call.paths if path not in call.changes}
    read |= {path for part in scan.parts[at:] if part.text.startswith("<") for path in part.paths}
    if call.piped:
        read |= {path for part in scan.parts[max(at - 2, 0) : at] if part.words for path in part.paths}
    return bool(emptied & read)


def note_emptied(scan: Scan, at: int) -> None:
    """Rate redirects without a command, which empty files; their parts start at index `at`."""
    for number, part in enumerate(scan.parts[at:], at):
        if not part.text.lstrip("0123456789&").startswith(">>") and any(is_code(scan, path) for path in part.changes):
            scan.parts[number] = part._replace(risk="HIGH", reason=EMPTIES)


def is_code(scan: Scan, path: str) -> bool:
    """Return whether a path may be a nonempty code file in the workspace."""
    if not path.endswith(_CODE_ENDINGS) or path.endswith("/__init__.py"):
        return False
    real = scan.context.resolved(path)
    if not within(real, scan.context.workspace):
        return False
    if any(sign in path for sign in "*?["):
        return True
    is_empty = recorded_stat.is_empty(real)
    if is_empty is None:
        return not recorded_stat.is_directory(os.path.dirname(real))  # noqa: PTH120 - a string comes in
    return not is_empty


def _is_empty(call: Call, targets: list[str]) -> bool:
    """Return whether the call leaves its target files empty: it prints nothing, or its script deletes all lines.

    `tee` counts too if it writes the same text to several code files.
    """
    if call.name == "tee":
        return sum(path.endswith(_CODE_ENDINGS) for path in targets) > 1 and "-a" not in call.argv
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
    text = _passed(scan, call) if targets else ""
    if call.name in _EDIT and call.risk != "LOW":
        text = " ".join([*(word.text for word in call.words), text])
    elif not targets:
        return
    elif call.name == "tee" and call.piped and not text:
        text = scan.reader.source.decode(errors="replace")
    text = text[:_LONGEST]
    is_text = bool(targets) and all(_DOCUMENTS.fullmatch(path) for path in targets)
    if not is_text and _MAY_BE_DANGEROUS.search(text) and _DANGEROUS.search(text):
        call.raise_to("HIGH", _REASON)
    for path in targets if text and call.name not in _EDIT else ():
        path = posixpath.normpath(path)
        scan.written[path] = f"{scan.written.get(path, '')}{text}\n"[:_LONGEST]


def _passed(scan: Scan, call: Call) -> str:
    """Return the known output of a call: its arguments, or its input and the already written files that it reads."""
    if call.name in _PRINT:
        return _text(call)
    pieces = [call.stdin or (scan.printed if call.piped else "")]
    if scan.written:
        pieces += [scan.written.get(path, "") for path in {posixpath.normpath(path) for path in call.paths}]
    return "\n".join(text for text in pieces if text)


def _text(call: Call) -> str:
    """Return the known output of echo or printf."""
    strings = [word.text for word in call.words if not _FLAG.fullmatch(word.text)]
    if call.name == "printf" and strings:
        form, *values = strings
        rest = iter(values)
        form = re.sub(r"%[-\d.]*[sqb]", lambda _: next(rest, ""), form)
        strings = [form, *rest]
    return re.sub(r"\\[nt\\]|%%", lambda match: _ESCAPES[match[0]], " ".join(strings))


def written_text(call: Call, file: Word) -> Word | None:
    """Return, as a word, the text that an earlier command of the line wrote to a file, or None if there is none."""
    path = call.scan.absolute(file)
    text = text_written_to(call.scan, path) if path else ""
    return Word(text, text) if text else None


def text_written_to(scan: Scan, path: str) -> str:
    """Return the text that an earlier command of the line wrote to a file, as far as it is known."""
    return scan.written.get(_written_path(scan, path), "") if scan.written else ""


def _written_path(scan: Scan, path: str) -> str:
    """Return the path under which the text of a file is recorded: the path itself, or its real path."""
    path = posixpath.normpath(path)
    return path if path in scan.written else scan.context.resolved(path)


_REMOTE: Final = lazy_pattern(r"(?!file:)[a-z+]+://|[\w.-]+@[\w.-]+:|(?!/|\.)[\w.-]+:[^:]")


def note_fetched(call: Call, operands: Sequence[Word], *, is_short: bool = False) -> None:
    """Record the directory into which a call clones a repository; `is_short` says that it is named as OWNER/NAME."""
    if not operands or not (is_short or UNKNOWN in operands[0].text or _REMOTE.match(operands[0].text)):
        return
    name = re.sub(r"(?:\.git)?/*\Z", "", operands[0].text).rpartition("/")[2].rpartition(":")[2]
    path = call.scan.absolute(operands[1] if len(operands) > 1 else Word(name, name))
    call.scan.fetched.add(posixpath.normpath(path) if path is not None else "/")


def run_written(call: Call, path: str) -> None:
    """Rate the text that an earlier command of the line wrote, or fetched, to the file that this call runs."""
    if any(within(posixpath.normpath(path), directory) for directory in call.scan.fetched):
        call.raise_to("HIGH", Reason("runs what this line downloads", Trait.RUNS | Trait.DOWNLOADS))
    written = call.scan.written
    text = written.pop(_written_path(call.scan, path), "") if written else ""
    if not text.strip():
        return
    first = text.lstrip().partition("\n")[0]
    program = f"{call.name} {first if first.startswith('#!') else ''}"
    if "python" in program or (path.endswith(".py") and "sh" not in program):
        call.runs_python(text)
    elif language := re.search(r"\b(?:node|bun|perl|ruby|lua)\b", program):
        code = f"{language[0]} -e {shlex.quote(text)}"
        call.run_text(Word(code, code))
    elif call.name in _OTHER_LANGUAGES:
        _run_code(call, text, is_program=True)
    elif UNKNOWN in text:
        call.raise_to("HIGH", RUNS_UNKNOWN_SCRIPT)
    else:
        call.run_text(Word(text, text))


def run_named(call: Call, arguments: Sequence[Word], *, at_path: bool) -> None:
    """Rate texts written by earlier commands of the line that this call may run or read as commands.

    These are the files named in its words; all files, if it builds, tests or starts the project; and the compiled code,
    if the program is called by its path (`at_path`).
    """
    scan, name = call.scan, call.name
    if call.risk == "HIGH" or name in _ONLY_READS:
        return
    named = [path for path in scan.written if path and any(_names(word.text, path) for word in arguments)]
    if name in _COMPILES:
        sources = named or [path for path in scan.written if path.endswith(_CODE_ENDINGS)]
        scan.written[""] = "\n".join(scan.written[path] for path in sources)[:_LONGEST]
        if not (name in _BUILDS and arguments[:1] and arguments[0].text in _STARTS):
            return
    elif name in _BUILDS:
        named = [path for path in scan.written if path and not _DOCUMENTS.fullmatch(path)]
    elif at_path or name == "java":
        named += [""] if scan.written.get("") else []
    for path in named:
        text = scan.written.pop(path)
        _run_code(call, text, is_program=not path or name in _COMPILES)
        scan.written[path] = text


def _names(text: str, path: str) -> bool:
    """Return whether a word contains the file's name, alone or within a text or flag."""
    name = posixpath.basename(path)
    return name in text and bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text))


def _run_code(call: Call, text: str, *, is_program: bool) -> None:
    """Rate a text in any language by its commands and statements, and a program also by the files it changes."""
    if is_program and _HARMS.search(text) and _OUTSIDE.search(text):
        call.raise_to("HIGH", Reason("runs code that changes files outside the workspace", Trait.RUNS))
    if is_program and _RUNS_ANY.search(text):
        call.raise_to(
            "HIGH", Reason("runs code that runs a command only known at run time", Trait.RUNS | Trait.UNCERTAIN)
        )
    call.raise_to(*rated_statements(call.name, text))
    run_embedded(call, text)


def run_embedded(call: Call, text: str) -> None:
    """Rate the command lines in a text of any language; the ratings are used only if they are HIGH."""
    scan, budget = call.scan, call.scan.budget
    for command in () if call.risk == "HIGH" else dict.fromkeys(_commands(text)):
        if call.risk == "HIGH":
            break
        call.includes(scan.perhaps([Word(command, command)], is_line=True))
    scan.refund(budget)


def _commands(text: str) -> Iterator[str]:
    """Yield possible command lines in a text: lines after command markers, quoted strings, and lists of these."""
    if not _NAMES_COMMAND.search(text):
        return
    pieces = [_LEAD.sub("", line) for line in text.splitlines()]
    pieces += [match[2] for match in _QUOTED.finditer(text)]
    pieces += [match[1] for match in _BRACKETED.finditer(text)]
    pieces += [match[0] for match in _ANYWHERE.finditer(text)]
    pieces += [" ".join(each[2] for each in _QUOTED.finditer(match[0])) for match in _LISTED.finditer(text)]
    for piece in pieces:
        first, _, rest = piece.strip().partition(" ")
        if rest and first.rpartition("/")[2] in RUNNABLE and UNKNOWN not in piece:
            yield piece.strip()


RUNNABLE: Final = words(
    "rm sudo doas su dd mkfs shred sh bash zsh dash fish python python3 perl ruby node php curl wget nc ncat ssh scp "
    "rsync chmod chown git find sed awk tar mv cp tee ln kubectl docker podman psql mysql xargs env timeout nohup eval "
    "kill pkill crontab systemctl truncate unlink"
)
"""Program names that make a line of text look like a command line."""
_NAMES_COMMAND: Final = lazy_pattern(rf"(?<!\w)(?:{'|'.join(sorted(RUNNABLE))})(?!\w)")
_PASS: Final = words("tee sponge cp gcp install ginstall mv gmv ln link dd rsync")
"""Programs that copy their input, or the files they read, to the files they write."""
_OTHER_LANGUAGES: Final = words(
    "php Rscript osascript julia groovy scala elixir erl ghci tclsh wish expect guile racket sbcl clojure clj jshell "
    "ts-node irb swipl octave deno"
)
_COMPILES: Final = words(
    "gcc g++ cc c++ clang clang++ tcc rustc go javac kotlinc ghc ocamlc ocamlopt ocamlfind nim zig crystal dmd gdc "
    "ldc2 gfortran fpc swiftc mcs csc nasm as ld valac dart cargo dotnet"
)
_STARTS: Final = words("run test r t bench")
_BUILDS: Final = words(
    "make gmake remake ninja samu meson cmake ctest just task rake ant mvn mvnw gradle gradlew bazel buck npm pnpm "
    "yarn bun npx jest vitest mocha pytest py.test tox nox cargo go dotnet zig dart nim crystal swift mix rebar3 "
    "stack cabal sbt lein bundle rspec composer phpunit invoke inv pre-commit tcc runghc"
)
"""Programs that run commands given in the project's files."""
_ONLY_READS: Final = words(
    "cat bat nl tac head tail less more wc grep egrep fgrep rg ag chmod chown chgrp touch stat file diff cmp cksum "
    "md5sum sha1sum sha256sum sha512sum cp gcp mv gmv ln link install rm rmdir unlink trash mkdir cd pushd echo "
    "printf git gh glab hg svn sed gsed awk gawk mawk nawk tee sponge dd sort uniq cut tr column jq yq tree rev od "
    "xxd hexdump strings test [ basename dirname realpath readlink du df find fd code subl nano vim vi nvim ruff "
    "black isort mypy pyright pylint flake8 eslint prettier biome tsc shellcheck shfmt hadolint yamllint gofmt "
    "rustfmt clang-format clang-tidy cppcheck markdownlint codespell typos tar zip gzip gunzip zcat true false : "
    "sleep date pwd which type ls open xdg-open sh bash zsh dash ksh mksh ash fish python pypy export set local "
    "declare read split csplit truncate shred patch ."
)
"""Programs that do not run the files named in their words, or whose own rule rates the files they run."""
_HARMS: Final = lazy_pattern(
    r"\b(?:unlink(?:at)?|remove\w*|Remove(?:All)?|rmdir|rename|truncate|nftw|deleteRecursively|[Dd]elete\w*|File\.WriteAllText|"
    r"WriteFile|fs::write|File::create|fopen\s*\([^,]{0,200},\s*\"[wa]|ofstream|rmtree|file_put_contents)"
)
_OUTSIDE: Final = lazy_pattern(
    r"[\"'`](?:~|\.\./|/(?!tmp/|dev/(?:null|std)|usr/(?:include|bin/env)))[\w./~*]"
    r"|\b(?:getenv|Getenv|env::var|UserHomeDir|getProperty|home_dir|GetEnvironmentVariable|GetFolderPath)\b"
)
_RUNS_ANY: Final = lazy_pattern(r"\b(?:system|popen)\s*\(\s*(?![\s\"'])[^)\s]")
_LEAD: Final = lazy_pattern(
    r"\A[\s@+\-:!.\\%>$*&|/]*(?:(?:shell|system|sys|sh|run|exec|execute|entrypoint|cmd|script|command|local|spawn)\b[:=\s\[]*)?"
    r"(?:[\w.-]+\s*[:=]\s*)?",
    re.IGNORECASE,
)
_ANYWHERE: Final = lazy_pattern(
    r"(?<![\w./-])(?:sudo|rm|shred|dd|mkfs|truncate|chmod|chown)[ \t]+[^\n\"'`()\[\]{}]{1,400}"
)
_QUOTED: Final = lazy_pattern(r"""(["'`])((?:\\.|(?!\1)[^\\\n]){1,400})\1""")
_BRACKETED: Final = lazy_pattern(r"[({]([^(){}\n]{1,400})[)}]")
_LISTED: Final = lazy_pattern(r"""(?:["'][^"'\n]{1,200}["']\s*,\s*)+["'][^"'\n]{1,200}["']""")
