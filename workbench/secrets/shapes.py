"""What keys look like: each shape with the marks a text must hold before it is searched; used by `secrets`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

Words: TypeAlias = Literal["", "long", "dashed", "encoded"]
"""A part of a text: all of it, its words of LONG characters, those with a hyphen or underscore, those that are no URL.
"""


class Shape(NamedTuple):
    """A kind of secret; only the group `secret` of a match is hidden where there is one."""

    name: str
    marks: tuple[str, ...]
    """One of them stands in each match."""
    pattern: re.Pattern[str]
    words: Words = ""
    """A match holds no blank, so that its mark stands in one of these words."""
    sign: str = ""
    """A text that stands in each match, and seldom elsewhere: it is looked for first."""
    of_setting: str = ""
    """Which of the marks of settings stands in each match, in any case: those are looked for anyway."""
    begins: bool = False
    """A match begins with its mark."""
    names: frozenset[str] = frozenset()
    """One of them is a word of each text with a match; empty where that is not known."""
    holds: bool = True
    """Whether a line with a mark is shown only when it is whole; not where the last word of a match is the secret."""

    def may_stand_in(self, parts: Mapping[Words, str], setting_marks: Collection[str], names: AbstractSet[str]) -> bool:
        """Whether there can be a match at all in a text of these parts with these names."""
        if self.names and self.names.isdisjoint(names):
            return False
        if self.of_setting and self.of_setting not in setting_marks:
            return False
        text = parts[self.words]
        return self.sign in text and any(mark in text for mark in self.marks)

    def matches(self, text: str) -> list[re.Match[str]]:
        """All there are, none in another, in order."""
        if not self.begins:
            return list(self.pattern.finditer(text))
        found: list[re.Match[str]] = []
        for place in sorted(place for mark in self.marks for place in _places(text, mark)):
            if (match := self.pattern.match(text, place)) and (not found or place >= found[-1].end()):
                found.append(match)
        return found


LONG = 14
"""Characters of the shortest word in which a secret is looked for."""


def parts_of(text: str, every: Iterable[str]) -> dict[Words, str]:
    """The text and those of its words that may hold a secret, each once: most words of a text stand in it again."""
    words = {word for word in every if len(word) >= LONG}
    dashed = [word for word in words if "-" in word or "_" in word]
    encoded = [word for word in words if "://" not in word]
    return {
        "": text,
        "long": "\n".join(words),
        "dashed": "\n".join(dashed),
        "encoded": "\n".join(encoded),
    }


def names_in(text: str, every: Iterable[str]) -> AbstractSet[str]:
    """Which of the words of the text may be names of shapes; none where no option or statement stands in it."""
    if not any(hint in text for hint in _HINTS):
        return frozenset()
    return _NAMES.intersection(every)


_FREE = r"(?<![A-Za-z0-9])"


def _token(name: str, marks: str, rest: str, words: Words = "dashed") -> Shape:
    beginnings = marks.split()
    either = "|".join(re.escape(mark) for mark in beginnings)
    pattern = re.compile(f"{_FREE}(?:{either}){rest}")
    return Shape(name, _shortest(beginnings), pattern, words=words, begins=True)


def _shortest(marks: list[str]) -> tuple[str, ...]:
    """Those that begin with no other: where a longer one stands, the shorter is found."""
    return tuple(mark for mark in marks if not any(mark != other and mark.startswith(other) for other in marks))


def _places(text: str, mark: str) -> Iterator[int]:
    place = text.find(mark)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1)


_BEFORE = ("", '"', "'", "`", "(", "$(", ">", "+")
_IN = ("", "/usr/bin/", "/bin/", "/usr/sbin/", "/usr/local/bin/")
_CHOSEN = r"(?=[^\s\"']{0,200}[\d!@#%^&*+?~,])(?![-$<‹{(\[/])[^\s\"'‹<>|;()`]{6,200}"
"""A password that somebody chose, with more than letters in it."""


def _of_commands(programs: str, option: str) -> Shape:
    """The value of an option that is a password with these programs; others mean something else by it."""
    names = programs.split(",")
    either = "|".join(map(re.escape, names))
    pattern = rf"(?<![\w.-])(?:{either})\b[^\n|;&]{{0,300}}?(?<=\s){option}[\"']?(?P<secret>{_CHOSEN})"
    first = _as_words(name.split()[0] for name in names)
    return Shape("password", _shortest(names), re.compile(pattern), begins=True, names=first, holds=False)


def _as_words(names: Iterable[str]) -> frozenset[str]:
    """The names as words of a text: behind a quote or bracket, too, and by a usual path."""
    return frozenset(before + path + name for name in names for before in _BEFORE for path in _IN)


SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?P<secret>.*?)(?=-----END|\Z)", re.DOTALL),
        of_setting="key",
    ),
    _token("AWS key", "AKIA ASIA", r"[0-9A-Z]{16}(?![A-Za-z0-9])", "long"),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{30,}"),
    _token("GitLab token", "glpat- glrt- gldt- glcbt- glptt- glft- gloas- glsoat-", r"(?=[\w.-]{0,80}\d)[\w.-]{8,}"),
    _token(
        "API key",
        "sk- gsk_ xai- sk_live_ rk_live_ sk_test_ whsec_",
        r"(?=[\w-]{0,80}\d)[A-Za-z0-9_-]{20,}",
    ),
    _token("Google key", "AIza", r"[\w-]{35}", "long"),
    _token("Google secret", "GOCSPX-", r"[\w-]{20,}"),
    _token("Google token", "ya29.", r"[\w-]{30,}", "long"),
    _token("Slack token", "xox xapp-", r"(?:(?<=xox)[abprs]-|(?<=xapp-))[\w-]{10,}"),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w-]{50,}"),
    _token("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{40,45}", "encoded"),
    _token(
        "access token",
        "dop_v1_ shpat_ shpss_ shpca_ shppa_ dckr_pat_ lin_api_ figd_ sntrys_ sntryu_ glsa_ sbp_ pscale_tkn_ "
        "pscale_pw_ rubygems_ NRAK- tskey-",
        r"(?=[\w.=-]{0,80}\d)[\w.=-]{16,}",
    ),
    _token("access token", "ATATT3 hvs. dp.pt.", r"[\w.=-]{16,}", "encoded"),
    _token("access token", "secret_ r8_", r"(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]{32,}"),
    Shape(
        "Terraform token",
        (".atlasv1.",),
        re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
        words="encoded",
    ),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}", "encoded"),
    _token("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    _token("web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", "long"),
    Shape(
        "Slack hook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/services/(?P<secret>[\w/]{20,})"),
        words="long",
    ),
    Shape(
        "Azure secret",
        ("Q~",),
        re.compile(r"(?<![\w~.-])(?P<secret>[\w~.-]{3}[78]Q~[\w~.-]{31,34})(?![\w~.-])"),
        words="long",
        sign="~",
    ),
    Shape(
        "header",
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?"
            r"(?P<secret>(?:(?<=basic )(?=[\w+/-]*(?-i:[A-Z\d+/=]))|(?=[\w.~+/-]{16})(?=[\w.~+/-]{0,200}\d))"
            r"[\w.~+/-]{6,}=*)",
            re.IGNORECASE,
        ),
        of_setting="auth",
    ),
    Shape(
        "header",
        ("earer ",),
        re.compile(r"\bbearer\s+(?P<secret>(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,}=*)", re.IGNORECASE),
    ),
    Shape(
        "password",
        ("://",),
        re.compile(
            r"://(?:[^\s/:@\"']{0,100}:(?!(?i:password|passwd|pass|pwd|secret|token|pw)@)|(?=[\w-]{20,200}@)(?=[\w-]*\d))"
            r"(?P<secret>(?!\$)(?:[^\s/@\"'‹${}<>*]|\$(?![{(])){3,200})@(?=[\w\[-])"
        ),
        sign="@",
    ),
    Shape(
        "password",
        ("machine ", "default login"),
        re.compile(r"(?:\bmachine\s+\S+|\bdefault)(?:\s+(?:login|account)\s+\S+)*\s+password\s+(?P<secret>[^\s‹]{3,})"),
        of_setting="pass",
    ),
    Shape(
        "password",
        ("curl ",),
        re.compile(
            r"\bcurl [^\n]{0,400}?(?<=\s)(?:-u|-U|--user|--proxy-user)[ =]?[\"']?[^\s:\"'‹$]{1,80}:"
            r"(?P<secret>[^\s\"'‹]{4,200})"
        ),
        names=_as_words(("curl",)),
    ),
    # .pgpass: host:port:database:user:password
    Shape(
        "password",
        (":5432:", ":*:"),
        re.compile(r"^[ \t]*[\w.*/-]+:(?:\d{2,5}|\*):[\w*-]+:[\w.@-]+:(?P<secret>[^\s:‹]{4,})[ \t]*$", re.MULTILINE),
        words="encoded",
    ),
    Shape(
        "signature",
        ("ignature=", "sig="),
        re.compile(r"[?&;#](?:[\w-]{0,30}[Ss]ignature|sig)=(?P<secret>[^\s&\"'<>‹]{16,})"),
        words="long",
        sign="&",
        holds=False,
    ),
    Shape(
        "code",
        ("code=",),
        re.compile(r"[?&]code=(?P<secret>(?=[^\s&]{0,200}\d)[\w%/.~-]{16,})"),
        words="long",
        sign="&",
        holds=False,
    ),
    Shape(
        "Discord hook",
        ("/api/webhooks/",),
        re.compile(r"/api/webhooks/\d+/(?P<secret>[\w-]{40,})"),
        words="long",
    ),
    Shape("Telegram token", (":AA",), re.compile(r"(?<!\d)\d{8,10}:AA[\w-]{30,40}"), words="long"),
    _of_commands("mysql,mysqldump,mysqladmin,mysqlsh,mysqlimport,mariadb,mariadb-dump,7z,7za,7zr", "-p"),
    _of_commands("sshpass", "-p ?"),
    _of_commands("docker login,podman login,nerdctl login,skopeo login,registry login,oc login,az login", "-p "),
    _of_commands("twine,mongo,mongosh,mongodump,mongorestore,mongoexport,mongoimport,useradd,usermod", "-p "),
    _of_commands("zip,unzip,ssh-keygen", "-[PN] "),
    _of_commands("redis-cli", "-a "),
    _of_commands("ldapsearch,ldapadd,ldapmodify,ldapdelete,ldapwhoami,ldappasswd", "-w "),
    _of_commands("smbclient,rpcclient,smbmap", r"-U ?[\"']?[\w.\\/-]+%"),
    _of_commands("openssl", "(?:-k |pass:|-[a-z]+ pass:)"),
    _of_commands("htpasswd", r"-\w*b\w* +\S+ +\S+ +"),
    Shape(
        "password",
        ("sudo -S",),
        re.compile(rf"\b(?:echo|printf)(?: -\w)? [\"']?(?P<secret>{_CHOSEN})[\"']? \| sudo -S"),
        names=_as_words(("sudo",)),
        holds=False,
    ),
    Shape(
        "password",
        ("| chpasswd", "sudo chpasswd"),
        re.compile(rf"[\s\"'][\w.-]+:(?P<secret>{_CHOSEN})[\"']? \| (?:sudo )?chpasswd"),
        of_setting="pass",
        holds=False,
    ),
    Shape(
        "password",
        ("assword '", "ASSWORD '", "ASSWORD FOR "),
        re.compile(rf"\bpassword(?: for \S{{1,60}})?(?: =)? '(?P<secret>{_CHOSEN})'", re.IGNORECASE),
        of_setting="pass",
    ),
    Shape(
        "password",
        ("IDENTIFIED",),
        re.compile(rf"\bidentified by '(?P<secret>{_CHOSEN})'", re.IGNORECASE),
        names=_as_words(("IDENTIFIED",)),
    ),
    Shape(
        "password",
        ("auth=(",),
        re.compile(rf"auth=\(\s*[\"'][^\"'\n]{{1,100}}[\"'],\s*[\"'](?P<secret>{_CHOSEN})[\"']\s*\)"),
        of_setting="auth",
    ),
)

_NAMES = frozenset(name for shape in SHAPES for name in shape.names)
_HINTS = (" -", "DENTIFIED BY ")
