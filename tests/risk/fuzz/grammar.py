# ruff: noqa: E501 - rows of pieces are easier to read when they are not broken
"""Random command lines of bash from a grammar: with everything that may be around, inside and after a command."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

NAMES = (
    "frob",
    "grep",
    "test-1",
    "curl",
    "a.b",
    "cat",
    "ls",
    "git",
    "rm",
    "sed",
    "awk",
    "sudo",
    "tool-x",
    "head",
    "sort",
    "wc",
    "env",
    "xargs",
)
PLAIN = (
    "a",
    "b.txt",
    "-n",
    "--flag",
    "x=1",
    "1",
    "src",
    "-rf",
    "then",
    "in",
    "é",
    "日本",
    "a:b",
    "+x",
    "%s",
    "-",
    "--",
    "~",
    "~/a",
    "=",
    "a=",
    "-x=~",
    "@",
    "do",
    "!",
    "]]",
    "a//b",
)
VARIABLES = ("x", "y", "z")
SUMS = ("1+2", "1<<2", "x", "(1)*2", "16#ff", "1 ? 2 : 3", "x = 1, y", "$(:)", "~1", "!x", "1#1", '"1"', "$x")
FILES = ("out1", "out2", "out3")


class Grammar:
    """Makes command lines; `room` limits their size."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._room = 0
        self._functions: list[str] = []

    def line(self) -> str:
        """Return a whole command line, sometimes with a syntax error."""
        self._room = self._random.choice((2, 3, 4, 6, 9, 14))
        self._functions = []
        text = self._list()
        if self._random.random() < 0.06:
            text = self._broken(text)
        return text

    def reckoning(self) -> str:
        """Return a line that stores a subscript with a command in a variable, and another one whose arithmetic
        evaluates it.
        """
        name, other = self._pick(VARIABLES), self._pick(VARIABLES)
        value = self._pick(
            ("'q[$(frob v)]'", '"q[\\$(frob v)]"', "'q['\\$'(frob v)]'", "$'q[\\x24(frob v)]'", "'q[`frob v`]'")
        )
        put = self._pick((
            f"{name}={value}", f"declare {name}={value}", f"export {name}={value}", f"{name}=({value})", f"{name}+={value}",
            f"read -r {name} <<< {value}", f"for {name} in {value}; do :; done", f": ${{{name}:={value}}}",
            f"set -- {value}; {name}=$1", f"printf -v {name} %s {value}", f"declare -i {name}={value}",
            f"mapfile -t {name} <<< {value}", f"read -r {name} <<'E'\nq[$(frob v)]\nE", f"{name}=1 {other}={value}",
        ))  # fmt: skip
        reckon = self._pick((
            f"echo $(({name}))", f"(({name}))", f"let {name}", f"[[ {name} -eq 1 ]]", f"a=abc; echo ${{a:{name}}}",
            f"for (({name}; 0; )); do :; done", f"echo ${{a[{name}]}}", f'[ -v "${name}" ]', f"declare -i z={name}",
            f'echo "${{{name}@P}}"', f"echo ${{!{name}}}", f"declare -n r=${name}; echo $r", f"echo $(( {name} + {other} ))",
        ))  # fmt: skip
        return self._pick(
            (f"{put}\n{reckon}", f"{put}\n{{ {reckon}; }}", f"{put}\n: $({reckon})", f"if :; then {put}\n{reckon}\nfi")
        )

    def _broken(self, text: str) -> str:
        at = self._random.randrange(len(text) + 1)
        piece = self._pick(
            ("'", '"', "`", "$(", ")", "}", "\\\n", "\n", "#", " # ", "\\", "<<E\n", "&", "|", ";;", "\t")
        )
        return text[:at] + piece + text[at + self._random.randrange(2) :]

    def _pick(self, choices: tuple[str, ...] | list[str]) -> str:
        return self._random.choice(choices)

    def _one_of(self, *makers: Callable[[], str]) -> str:
        return self._random.choice(makers)()

    def _list(self) -> str:
        parts = [self._statement()]
        while self._room > 0 and self._random.random() < 0.45:
            parts += [
                self._pick((";", " ; ", " && ", " || ", "\n", " & ", "&", "&&", " | ", "|", " |& ", "\n\n", " # c'(\n"))
            ]
            parts += [self._statement()]
        return "".join(parts)

    def _statement(self) -> str:
        self._room -= 1
        if self._room <= 0 or self._random.random() < 0.55:
            return self._simple()
        return self._one_of(
            self._simple, self._group, self._subshell, self._if, self._for, self._while, self._case, self._function,
            self._called, self._test, self._prefixed, self._heredoc, self._heredoc, self._eval, self._settings,
            self._c_for, self._arithmetic, self._continued, self._coprocess, self._two_heredocs, self._in_string,
        )  # fmt: skip

    def _simple(self) -> str:
        before = [self._assignment()] if self._random.random() < 0.12 else []
        if self._random.random() < 0.06:
            before += [self._redirect()]
        words = [self._name(), *(self._word() for _ in range(self._random.choice((0, 1, 1, 2, 3))))]
        if self._random.random() < 0.25:
            words.insert(self._random.randrange(1, len(words) + 1), self._redirect())
        if self._random.random() < 0.05:
            words += ["#", "it's", self._pick(NAMES)]
            return " ".join([*before, *words]) + "\n" + self._name()
        blank = self._pick((" ", " ", " ", "  ", "\t", " \\\n"))
        return blank.join([*before, *words])

    def _name(self) -> str:
        name = self._pick(NAMES)
        if self._random.random() < 0.1:
            half = len(name) // 2
            return self._pick((f"'{name}'", f'"{name}"', f"\\{name}", f"{name[:half]}\\\n{name[half:]}", f"$'{name}'"))
        return name

    def _word(self) -> str:
        if self._random.random() < 0.5:
            return self._pick(PLAIN)
        word = self._piece()
        while self._random.random() < 0.25:
            word += self._piece()
        return word

    def _piece(self) -> str:
        return self._one_of(
            lambda: self._pick(PLAIN), self._single, self._double, self._variable, self._substitution, self._ansi,
            lambda: self._pick(("\\ ", "\\'", '\\"', "\\$", "\\`", "\\;", "\\#", "\\<", "\\&", "\\~", "\\=", "\\a", "\\\n", "\\\\", "\\(", "\\|", "\\é")),
            lambda: self._pick(("{a,b}", "{1..3}", "{a,'b c'}", "a{,b}", "{a", "''", '""', "$''", "$", "a$", "-$", "[!a]*", "{,}", "*", "?x", "[ab]", "~", "!", "#x", "{}")),
            lambda: f"$(({self._pick(SUMS)}))",
            self._process, self._parameter,
        )  # fmt: skip

    def _single(self) -> str:
        return f"'{self._pick(('', 'a b', 'rm -rf', '$(rm)', '`rm`', chr(34), ';', chr(10), '#', chr(92), 'é'))}'"

    def _double(self) -> str:
        inner = [
            self._one_of(
                lambda: self._pick(
                    ("a b", "'", '\\"', "\\$", "\\\\", ";", "#", "\n", "`:`", "*", "(", "é", "!", "\\`")
                ),
                self._variable,
                self._substitution,
                self._parameter,
            )
            for _ in range(self._random.choice((0, 1, 1, 2, 3)))
        ]
        return self._pick(("", "", "", "$")) + '"' + "".join(inner) + '"'

    def _ansi(self) -> str:
        return f"$'{self._pick((chr(92) + 'n', chr(92) + chr(39), chr(92) + 'x41', 'a b', chr(92) + 'u00e9', chr(92) * 2, '`'))}'"

    def _variable(self) -> str:
        name = self._pick(VARIABLES)
        return self._pick((f"${name}", f"${{{name}}}", f'"${name}"', "$1", "$?", "$@", "$$", "${#x}", "$"))

    def _parameter(self) -> str:
        name, inner = self._pick(VARIABLES), self._inner()
        return self._pick((
            f"${{{name}:-{inner}}}", f"${{{name}:+{inner}}}", f"${{{name}#{inner}}}", f"${{{name}/a/{inner}}}",
            f"${{{name}//[ab]/}}", f"${{{name}:-'a b'}}", f'${{{name}:-"{inner}"}}', f"${{{name}^^}}", f"${{{name}:0:1}}",
            f"${{{name}:-}}", f"${{{name}@Q}}", f"${{{name}:=a b}}", f"${{{name}#[}}", f"${{{name}/#/{inner}}}", f"${{{name},,}}",
            f"${{{name}:-~}}", f"${{{name}:-<(:)}}", f"${{{name}//\\//x}}", f"${{#{name}}}", f"${{{name}[@]}}", f"${{{name}:(-1)}}",
            f"${{{name}:-${{y:-{inner}}}}}", f"${{{name}%%.*}}", f"${{{name}[0]}}", f"${{!{name}}}",
        ))  # fmt: skip

    def _inner(self) -> str:
        if self._room > 0 and self._random.random() < 0.6:
            return self._substitution()
        return self._pick(("a", "b*", "\\}", "'}'"))

    def _substitution(self) -> str:
        if self._room <= 0:
            return self._pick(("$(:)", "`:`", "$( frob )", "`frob a`", "$(echo a)", "$(<out1)"))
        self._room -= 1
        if self._random.random() < 0.3:
            inner = self._list().replace("\\", "\\\\").replace("`", "\\`")
            return f"`{inner}`"
        inner = self._list()
        blank = "" if not inner.startswith("(") and self._random.random() < 0.7 else " "
        end = "\n" if "#" in inner or "<<" in inner else self._pick(("", "", " ", "\n"))
        return f"$({blank}{inner}{end})"

    def _process(self) -> str:
        if self._room <= 0:
            return "<(frob p)"
        self._room -= 1
        inner = self._list()
        return f"{self._pick(('<(', '<( ', '>('))}{inner}{chr(10) if '#' in inner or '<<' in inner else ''})"

    def _assignment(self) -> str:
        name = self._pick(VARIABLES)
        return self._pick(
            (f"{name}={self._word()}", f"{name}+={self._piece()}", f"{name}=", f"{name}[0]={self._piece()}")
        )

    def _settings(self) -> str:
        declared = self._pick(("export", "declare", "declare -a", "readonly q1", "typeset", "local", "unset", "let"))
        return self._pick((
            self._assignment(),
            f"{self._assignment()} {self._assignment()}",
            f"{declared} {self._assignment()}",
            f"x=({self._word()} {self._word()})",
            f"x=(\n[0]={self._piece()} # c\n{self._word()}\n)",
            f"y[{self._substitution()}]=1",
            f"z=$(({self._substitution()} + 1))",
        ))  # fmt: skip

    def _redirect(self) -> str:
        target = self._pick(FILES)
        return self._pick((
            f"> {target}", f">{target}", f">> {target}", "2>&1", "2> /dev/null", f"< {target}", f"&> {target}", f">| {target}", f"&>> {target}", f"<> {target}", f"2>&1 > {target}", ">&-", "0<&-", f"> ./{target}",
            f">{self._piece()}", "<<< $ ", "<<<\\; ", f"<<< {self._process()}", f"<<<~{self._process()}", f"3<<< {self._piece()}",
            f"<<< {self._word()}", f"<<<{self._piece()}", f"3<> {target}", ">&2", "2>&-", f"{{fd}}> {target}", f'> "{target}"',
            f"1>'{target}'", f"< <({self._simple()})" if self._room > 0 else "< /dev/null",
        ))  # fmt: skip

    def _heredoc(self) -> str:
        mark, dash = self._pick(("E", "EOF", "END-1", "E.x")), self._pick(("", "", "-"))
        quoted = self._pick((mark, mark, f"'{mark}'", f'"{mark}"', f"\\{mark}", f"{mark[0]}'{mark[1:]}'"))
        tab = "\t" if dash and self._random.random() < 0.7 else ""
        lines = [
            self._one_of(
                lambda: self._pick(
                    ("text", "it's", 'a "b', "rm -rf ~", "$x", "\\$(rm)", "`:`", "# c", "", f" {mark}", "a\\")
                ),
                self._substitution,
                self._parameter,
            )
            for _ in range(self._random.choice((0, 1, 2, 3)))
        ]
        body = "".join(f"{tab}{line}\n" for line in lines)
        after = self._pick(
            ("", "", "", f" | {self._simple()}", f" && {self._name()} a", " > out1", f"; {self._name()}", " b c")
        )
        after = after if "\n" not in after and "<" not in after else ""
        name = f"{self._name()} {self._pick(PLAIN)}" if self._random.random() < 0.5 else self._pick(NAMES)
        return f"{name} <<{dash}{quoted}{after}\n{body}{tab}{mark}\n{self._simple()}"

    def _group(self) -> str:
        after = f" {self._redirect()}" if self._random.random() < 0.3 else ""
        return f"{{ {self._list()}\n}}{after}" if self._random.random() < 0.5 else f"{{ {self._simple()}; }}{after}"

    def _subshell(self) -> str:
        after = f" {self._redirect()}" if self._random.random() < 0.3 else ""
        inner = self._list()
        return f"({inner}{chr(10) if '#' in inner or '<<' in inner else ''}){after}"

    def _if(self) -> str:
        more = self._pick(("", f"else {self._statement()}\n", f"elif {self._statement()}\nthen {self._statement()}\n"))
        return f"if {self._statement()}\nthen {self._statement()}\n{more}fi"

    def _for(self) -> str:
        words = f"in {self._word()} {self._word()}" if self._random.random() < 0.85 else ""
        return f"for {self._pick(VARIABLES)} {words}{self._pick((';', chr(10)))} do {self._statement()}\ndone"

    def _c_for(self) -> str:
        return f"for ((i=0; i<2; i++)); do {self._statement()}\ndone"

    def _while(self) -> str:
        start = self._pick(("while", "until"))
        return f"{start} {self._statement()}\ndo {self._statement()}\nbreak; done {self._pick(('', '< out1', '<<< a', '| cat'))}"

    def _case(self) -> str:
        first = self._pick(("*)", "(*)", "a|b)", '"a b")', "[ab]*)", "esac)"))
        first = "*)" if first == "esac)" else first
        end = self._pick((";;", ";&", ";;&"))
        return f"case {self._word()} in\n{first} {self._statement()}\n{end}\n*) {self._statement()}\n;; esac"

    def _function(self) -> str:
        name = self._pick(("fn1", "fn2"))
        known, self._functions = self._functions, []  # a function that calls itself would never end
        start = self._pick((f"{name}() ", f"function {name} ", f"function {name}() ", f"{name} ()\n"))
        body = self._pick(
            (f"{{ {self._statement()}\n}}", f"( {self._statement()}\n)", f"if :; then {self._statement()}\nfi")
        )
        text = f"{start}{body}\n{name} {self._word()}"
        self._functions = [*known, name]
        return text

    def _called(self) -> str:
        return f"{self._pick(self._functions)} {self._word()}" if self._functions else self._simple()

    def _test(self) -> str:
        return self._pick((
            f"[[ {self._piece()} == {self._piece()} ]] {self._pick(('&&', '||'))} {self._simple()}",
            f"[[ -n {self._double()} && ! -f {self._piece()} ]] || {self._simple()}",
            f"[ -n {self._piece()} ] && {self._simple()}",
            f"[ {self._piece()} = {self._piece()} -o -n a ] || {self._simple()}",
            f"[[ {self._piece()} < b || ( a > {self._piece()} ) ]]\n{self._simple()}",
            f"[[ a -ef {self._piece()} ]] ; {self._simple()}",
            f"[[ a =~ ^(a|b)$ ]] && {self._simple()}",
            f"test {self._piece()} = {self._piece()} || {self._simple()}",
        ))  # fmt: skip

    def _arithmetic(self) -> str:
        return self._pick((
            f"(( {self._pick(('x = 1', 'x << 2', '1 > 0', 'x++', 'x # 1', '1 | 2', 'x ? 1 : 2'))} )) && {self._simple()}",
            f"(({self._pick(('x=1', '1&&2', '(1)+(2)', '$(:)', '${x:-1}'))})) || {self._simple()}",
            f"if ((1)); then {self._simple()}; fi",
            f"(( 1 )) {self._redirect()}\n{self._simple()}",
            f"( (:); {self._simple()} )",
        ))  # fmt: skip

    def _coprocess(self) -> str:
        return self._pick((
            f"coproc {self._simple()}", f"coproc C {{ {self._simple()}; }}", f"{{ {self._simple()}; }} | {self._simple()}",
            f"{{ {self._simple()}; }} {self._redirect()} && {self._simple()}", f"! {{ {self._simple()}; }}",
            f"time ( {self._simple()} )", f"{self._simple()} |& {self._simple()} &",
        ))  # fmt: skip

    def _two_heredocs(self) -> str:
        return self._pick((
            f"{self._name()} <<A <<B\n{self._substitution()}\nA\n$x\nB\n{self._simple()}",
            f"{self._name()} <<A; {self._name()} <<'B'\na\nA\n$(rm)\nB\n{self._simple()}",
            f"{self._name()} $({self._name()} <<A\n{self._parameter()}\nA\n) {self._word()}",
            f"{self._name()} <<A {self._word()} <<<b\nx\nA\n{self._simple()}",
            f"( {self._name()} <<A\n`frob h`\nA\n)\n{self._simple()}",
        ))  # fmt: skip

    def _in_string(self) -> str:
        inner = self._list()
        return self._pick((
            f'{self._name()} "a $({inner}\n) b"', f'{self._name()} "$(\n{inner}\n)"{self._piece()}',
            f'{self._name()} "${{x:-$({inner}\n)}}"', f'{self._name()} "`frob "a b"`" {self._word()}',
            f"{self._name()} $\"a {self._variable()}\" {self._word()}", f"{self._name()} $(( $({inner}\n) ))",
        ))  # fmt: skip

    def _prefixed(self) -> str:
        mark = self._pick(("!", "time", "time -p", "! time", "command", "exec", "builtin", "coproc", "! !", "nohup"))
        body = self._simple() if mark in {"command", "exec", "builtin", "nohup"} else self._statement()
        return f"{mark} {body}"

    def _eval(self) -> str:
        inner = self._list()
        quoted = "'" + inner.replace("'", "'\\''") + "'"
        return self._pick(
            (f"eval {quoted}", f"eval {inner}" if "\n" not in inner else f"eval {quoted}", f"trap {quoted} EXIT")
        )

    def _continued(self) -> str:
        return f"{self._simple()} \\\n  {self._word()} {self._pick(('&&', '|', '||'))}\n{self._simple()}"
