"""Detection of secret values that are assigned to names such as `password` or `API_KEY`.

It recognizes the syntaxes of configuration: INI, YAML, JSON, TOML, properties, shell variables, connection strings,
command options and URL queries. Source code contains the same names, so the value counts as well: identifiers, paths,
placeholders and types are not secrets.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

MARKS = ("pass", "pwd", "secret", "token", "cookie", "auth", "key", "bindpw", "rootpw", "psk")
"""Each name of a secret contains one of these, in any case."""

_LONGEST_HEAD = 400
"""How many characters of a line are examined before a name."""
_LONGEST_NAME = 100
_SET = re.compile(
    r"[\w.-]*(?:\\?[\"']?\]?[ \t]*(?::=|[=:](?!=)[=>]?)[ \t]*[^\s=(\[{]|>[^\s<]|[\"'],[ \t]*[\"']"
    r"|(?::[ \t]*|[ \t]+)[\w.<>&*]{1,40}[ \t]*=[ \t]*[\"']|[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:]"
    r"|[ \t]+(?:for[ \t]+\S{1,60}[ \t]+)?(?:is:?[ \t]+)?[\"']?(?=[^\s\"']{0,40}\d)[^\s\"'(){}<>=-][^\s\"'(){}<>]{5})"
)
"""A fast check whether a value is assigned to the name at all."""
_HEAD = re.compile(r"[\w.-]*\Z")
_NAME_END = re.compile(r"[\w.-]*")
_SIGN = re.compile(
    r"(?::(?:STRING|PATH|FILEPATH|INTERNAL|UNINITIALIZED)(?==)"
    r"|(?::[ \t]*|[ \t]+)(?:&?(?:'?\w+ )?str|string|(?:std::)?String|Optional\[str\]|Final(?:\[str\])?)"
    r"(?=[ \t]*=[ \t]*[\"']))?"
    r"\\?[\"']?\]?[ \t]*(?P<sign>=>|:=|=|:)(?!=)[ \t]*(?:[|>][+-]?[ \t]*\n[ \t]+)?|(?P<tag>>)"
    r"|(?P<pair>[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:][ \t]*)|(?P<defined>[\"'],[ \t]*(?=[\"']))",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"[ \t]+(?P<verb>for[ \t]+[^\s:]{1,60}(?::|[ \t]+is:?)[ \t]+|is:?[ \t]+)?(?=[\"']?[^\s\"'-])", re.IGNORECASE
)
"""The text between a name and its value if there is no operator."""
_DIRECTIVES = frozenset({"requirepass", "masterauth", "bindpw", "rootpw"})
"""Settings of Redis and LDAP that are written without a sign."""
_COMMAND = re.compile(
    r"(?:\b(?:ENV|SetEnv|fastcgi_param|uwsgi_param|setenv|setx"
    r"|(?:npm|user-secrets|git config)(?:[ \t]+--\w+)*(?:[ \t]+set)?|set(?:[ \t]+-\w+)+)"
    r"|\bconfig(?:ure)?[ \t]+set)[ \t]+[^\s=]*\Z"
)
"""Commands whose arguments are a name and its value."""
_PAIR = re.compile(
    r"(?:(?:--?[\w-]+|\b[\w-]+=[^\s,()]+|\b(?:write|put|set|login|create)\b[^\n(),=]*)[ \t]+|--[\w-]+=)\Z"
)
"""The text before `name=value` among the arguments of a command."""
_OPTION = re.compile(
    r"(?:^|[\s\"'])(?:-[DPeEX]|/[dp]:|--?(?:set(?:-[\w-]+)?|define|build-arg|(?:\w+[-_])?env(?:-vars?|-add)?|extra-vars"
    r"|var|arg|config|param(?:eter)?s?(?:-overrides)?|from-literal|secret|opt|property|\w+-props?))(?:[ \t]*|=)"
    r"[\"']?(?:[^\s\"',=]{1,80}=[^\s\"',]{0,80}(?:,| +)){0,20}[\w.\[\]/-]*\Z",
    re.IGNORECASE,
)
"""The text before `name=value` after an option that sets a variable: `-D`, `--set a=b,`, `--build-arg`, `-var`."""
_APART = re.compile(r"(?:\A|[^\w.-]|\d-)\Z")
"""The end of the text before an option or header that begins a word, also after the context line of grep."""
_HEADER = re.compile(r"(?:x(?:-[a-z]+)+|private-token|api-key|apikey)[\"']?:[ \t]", re.IGNORECASE)
"""Headers of HTTP that hold a secret."""
_SENTENCE = re.compile(r"(?:^|[\r\n\])>])[ \t]*(?:[A-Za-z]+[ \t]+){1,5}\Z")
_OPEN = re.compile(r"[\"']?,?[ \t]*\r?\Z|[\"']?[ \t]*:[ \t]*[|>][+-]?[ \t]*\r?\Z")
_PAIR_HEAD = re.compile(r"\b(?:name|key)[\"']?[ \t]*[=:][ \t]*[\"']?\Z", re.IGNORECASE)
"""The text before a name whose value follows in a separate `value` field, as in Kubernetes lists and XML."""
_DEFINES = re.compile(r"\bdefine\([ \t]*[\"']\Z")
"""The text before a constant's name in PHP, whose value follows after a comma."""
_VALUE = re.compile(
    r"\\?\"(?P<double>[^\"\n\\]{5,})\\?\"|'(?P<single>[^'\n]{5,})'|(?P<bare>(?!\$)(?:[^\s\"'`,;<>‹›(){}\[\]$|]|\$(?![({])){5,}(?![(\[{]))"
)
_LINE_END = re.compile(r"[\"']?,?[ \t]*(?:[#;].*|//.*)?\r?$", re.MULTILINE)
_VARIABLE_END = re.compile(r"[\s;&|)}`]|\Z")
_BEFORE_VARIABLE = frozenset(" \t:+->|;&({[`\"'=@/")
"""The characters before a variable that is set, as in `$(PGPASSWORD=x psql)` or `file:12:PGPASSWORD=x`."""
_NPM = frozenset({"_authToken", "_auth", "_password"})
"""Settings of npm that hold a secret; they are assigned like variables."""
_OF_CONTEXT = re.compile(r"(?:[\w.-]{0,200}-)?\d+-(?=[\w-])")
"""The prefix of a context line of grep: `file-12-line`, or `12-line`."""
_LINE_START = re.compile(
    r"(?:[^\s\"'=(]{0,200}?[:-]\d+[:-])?[ \t]*(?:\d+[:|\t ][ \t]*)?[+><|:-]?[ \t]*"
    r"(?:\$(?:env:)?|(?:\w+\.)?environ\[)?(?:(?:export|set|setx|env|arg|const|let|var|val|declare -x|mut|private"
    r"|public|protected|static|final|readonly|(?:std::)?string|auto)[ \t]+){0,6}[\"'@]?\Z",
    re.IGNORECASE,
)
_INLINE = re.compile(r"(?:[?&;#]|/:|[;\"'][ \t]*|(?<![^\s\"'])[-/][dp]:)\Z")
"""The text before an assignment within a line: in a query, connection string, npm registry, or MSBuild option."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORDS = frozenset({
    *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "token", "bearer", "cookie", "dsn"),
    *("credential", "credentials", "auth", "apikey", "authtoken", "accesstoken", "clientsecret", "identitytoken"),
    *("registrytoken", "authkey", "sshpass", "pw", "storepass", "keypass", "requirepass", "masterauth", "bindpw"),
    *("rootpw", "psk"),
})  # fmt: skip
_KEYS = frozenset({
    *("api", "access", "secret", "private", "account", "shared", "signing", "encryption", "encrypt", "master"),
    *("client", "auth", "service", "storage", "license", "deploy", "session", "app", "application", "consumer"),
    *("admin", "webhook", "hmac", "jwt", "subscription", "stream", "ssh", "rsa", "server", "data", "root", "host"),
    *("publishable", "restricted", "live", "preshared", "bot", "user", "project", "write"),
})  # fmt: skip
"""Words before `key` that make it a secret; most keys in programs are keys of a table."""
_JOINED = ("password", "passwd", "passphrase", "secret", "token", "apikey")
"""Words that may also be the end of a longer word, as in PGPASSWORD."""
_HUMAN = frozenset({"password", "passwd", "passphrase", "passcode", "pass", "pwd", "pw"})
"""Names of secrets that people choose, which may be short, plain, or only digits."""
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|an?|some|change|replace|insert|enter|put|use|set|new|old|same|no|not|is|has|get|example|sample|dummy"
    r"|fake|test|mock|foo|bar|baz|todo|none|null|nil|true|false|yes|default|optional|required|invalid|valid|missing"
    r"|unset|empty|unknown|string|bytes|redacted|hidden|masked|removed|placeholder|os|self|cls|env|process|config|settings"
    r"|args|params|options|request|response|data|context|ctx|this|await|async|lambda|return|function)(?![a-z0-9])"
    r"|.*(?:\.\.\.|…|\*\*\*|xxxx|\{\{|\$\{|%\(|\{\w*\}|(?<![a-z0-9])example|placeholder|change_?me|redacted|your[-_])",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|[A-Z][A-Za-z]+\d*(?:[A-Z][a-z0-9]*)+\Z"
    r"|[a-z]+(?:_[a-z0-9]+)+\Z|\d+(?:[._-]\d+)+\Z"
)
_PATH = re.compile(
    r"(?:~|\.{0,2})/(?:[\w.@ -]+/)*[\w.@ -]*\Z|[A-Za-z]:[\\/]|[\w-]+(?:/[\w.-]+)+\Z"
    r"|\S+\.(?:pem|key|crt|json|ya?ml|txt|py|js|ts|md|html?|toml|cfg|ini|env|sh|so|lock)\Z"
)
_TURNS = re.compile(r"\d(?=[A-Za-z])|[A-Za-z](?=\d)|[!@#$%^&*+](?=\w)")
_CLASSES = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"), re.compile(r"[^\w\s]"))


class Assignment(NamedTuple):
    """A secret value: its start and end offsets, and the name to which it is assigned."""

    start: int
    end: int
    name: str


def marks_in(lowered: str) -> list[str]:
    """Return the marks in a lower-case text."""
    return [mark for mark in MARKS if mark in lowered]


def settings_in(text: str, lowered: str, marks: Collection[str] = MARKS) -> list[Assignment]:
    """Return the assignments of secrets, in order; `lowered` is the text in lower case with the same length."""
    settings: list[Assignment] = []
    offsets = {offset for mark in marks for offset in _occurrences(lowered, mark) if _SET.match(lowered, offset)}
    for offset in sorted(offsets):
        if (not settings or offset >= settings[-1].end) and (setting := _setting_at(text, offset)):
            settings.append(setting)
    return settings


def lower_case(text: str) -> str:
    """Return the text in lower case with the same length, so that offsets stay valid."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("İ", "i").lower()


def begins_a_setting(line: str) -> bool:
    """Return whether an incomplete line may assign a secret, so the rest of the line must be awaited."""
    lowered = lower_case(line)
    return any(_SET.match(lowered, offset) for mark in MARKS for offset in _occurrences(lowered, mark))


def names_what_follows(line: str) -> bool:
    """Return whether a complete line ends with the name of a secret whose value is on the next line."""
    lowered = lower_case(line)
    ends = (_NAME_END.match(lowered, at) for mark in MARKS for at in _occurrences(lowered, mark))
    return any(end is not None and _OPEN.match(lowered, end.end()) for end in ends)


def _occurrences(text: str, mark: str) -> Iterator[int]:
    offset = text.find(mark)
    while offset >= 0:
        yield offset
        offset = text.find(mark, offset + 1)


def _setting_at(text: str, offset: int) -> Assignment | None:
    """Return the assignment whose name contains the mark at this offset, or None if there is none."""
    name_end = _ended(_NAME_END, text, offset)
    offset -= len(_HEAD.findall(text[max(0, offset - _LONGEST_NAME) : offset])[0])
    if context := _OF_CONTEXT.match(text, offset, name_end):
        offset = context.end()
    name = text[offset:name_end]
    word = _secret_word(name) or _word_of_two(text, offset, name)
    if not word:
        return None
    sign = _SIGN.match(text, name_end)
    value = _VALUE.match(text, sign.end()) if sign else None
    if sign is None or value is None:
        return _spaced(text, offset, name_end, word)
    kind = value.lastgroup or ""
    secret = value.group(kind)
    if kind == "bare" and text[offset - 1 : offset] in ("?", "&", "#"):
        secret = secret.partition("&")[0]
    is_option = sign["sign"] == "=" and bool(_OPTION.search(_line_up_to(text, name_end)))
    is_variable = is_option or ((name.isupper() or name in _NPM) and sign["sign"] == "=" and sign.group() == "=")
    if not is_option and not _stands(text, offset, sign, value, is_variable=is_variable):
        return _in_a_sentence(text, offset, name, sign, value)
    if not _looks_secret(secret, word, is_quoted=kind != "bare", is_variable=is_variable):
        return None
    return Assignment(value.start(kind), value.start(kind) + len(secret), _label(name))


def _line_up_to(text: str, offset: int) -> str:
    return text[max(0, offset - _LONGEST_HEAD) : offset].rpartition("\n")[2]


def _label(name: str) -> str:
    return name.strip("-.")[-80:]


def _word_of_two(text: str, start: int, name: str) -> str:
    """Return "key" for names such as `API key`, which are written with a space, otherwise an empty string."""
    if name.lower() != "key":
        return ""
    before = text[max(0, start - 20) : start].split()
    return "key" if before and before[-1].lower() in _KEYS and text[start - 1 : start] == " " else ""


def _spaced(text: str, start: int, name_end: int, word: str) -> Assignment | None:
    """Return the assignment of a value after a space: of an option, in a command that sets a name, or in a sentence."""
    gap = _GAP.match(text, name_end)
    value = _VALUE.match(text, gap.end()) if gap else None
    if gap is None or value is None:
        return None
    kind, name = value.lastgroup or "", text[start:name_end]
    secret = value.group(kind)
    is_word = name.startswith("-") or _COMMAND.search(text[max(0, start - 60) : start]) or name in _DIRECTIVES
    if is_word and not gap["verb"]:
        if not _looks_secret(secret, word, is_quoted=kind != "bare", is_variable=False):
            return None
    else:
        secret = secret.rstrip(".:!?")
        if not (_is_random(secret) if gap["verb"] else _is_random(secret) and len(secret) >= 20):
            return None
    return Assignment(value.start(kind), value.start(kind) + len(secret), _label(name))


def _in_a_sentence(text: str, start: int, name: str, sign: re.Match[str], value: re.Match[str]) -> Assignment | None:
    """Return the assignment of a value after a colon at the end of a sentence, as in `Generated password: …`."""
    before = text[max(0, start - _LONGEST_HEAD) : start]
    if sign["sign"] != ":" or value.lastgroup != "bare" or not _SENTENCE.search(before):
        return None
    if not (_is_random(value["bare"]) and _LINE_END.match(text, value.end())):
        return None
    return Assignment(value.start("bare"), value.end("bare"), _label(name))


def _is_random(value: str) -> bool:
    """Return whether the value is not an ordinary word: letters, digits or special characters alternate in it."""
    if len(value) < 8 or _PLACEHOLDER.match(value) or "://" in value or _reads_like_code(value, is_quoted=False):
        return False
    return len(_TURNS.findall(value)) >= 2


def _ended(pattern: re.Pattern[str], text: str, offset: int) -> int:
    match = pattern.match(text, offset)
    return match.end() if match else offset


def _stands(text: str, start: int, sign: re.Match[str], value: re.Match[str], *, is_variable: bool) -> bool:
    if sign["tag"]:
        return text[start - 1 : start] == "<" and text.startswith("</", value.end())
    if sign["defined"]:
        return bool(_DEFINES.search(text[max(0, start - 20) : start]))
    if sign["pair"]:
        return bool(_PAIR_HEAD.search(text[max(0, start - 20) : start]))
    return _stands_in_a_setting(text, start, value, sign["sign"], is_variable=is_variable)


def _stands_in_a_setting(text: str, offset: int, value: re.Match[str], sign: str, *, is_variable: bool) -> bool:
    """Return whether the text around the name and value is a line of configuration, or a recognized part of a line."""
    first = max(0, offset - _LONGEST_HEAD)
    line = max(text.rfind("\n", first, offset), text.rfind("\r", first, offset), first - 1) + 1
    before, after = text[line:offset], value.end()
    is_bare = value.lastgroup == "bare"
    if before.endswith(('"', "'")) and not is_bare and sign == ":":
        return True
    if _is_option_or_header(text, offset, before, sign) or (sign == "=" and _INLINE.search(before)):
        return True
    if is_bare and _is_a_word(text, before, after, sign):
        return True
    if is_variable and (not before or before[-1] in _BEFORE_VARIABLE):
        return bool(_VARIABLE_END.match(text, after))
    if not (_LINE_START.match(before) and _LINE_END.match(text, after)):
        return False
    return not (is_bare and text[after : after + 1] == ",")


def _is_option_or_header(text: str, offset: int, before: str, sign: str) -> bool:
    if not _APART.search(before[-2:]):
        return False
    return text.startswith("-", offset) if sign == "=" else sign == ":" and bool(_HEADER.match(text, offset))


def _is_a_word(text: str, before: str, after: int, sign: str) -> bool:
    """Return whether the name and value form one argument of a command, or the whole content of quotes (a header)."""
    end, quote = text[after : after + 1], before[-1:]
    if quote and quote in "\"'`" and (end == quote or (sign == "=" and end == " ")):
        return True
    return sign == "=" and end in ("", " ", "\n", "\r", "'", '"') and bool(_PAIR.search(before))


def _secret_word(name: str) -> str:
    """Return the word that makes the name a secret's: its last word, or "key" after certain words; otherwise ""."""
    parts: list[str] = [part.lower() for part in _PARTS.findall(name)]
    while parts and (parts[-1].isdigit() or (len(parts) > 1 and parts[-1] in ("data", "base", "hash"))):
        parts.pop()
    if not parts:
        return ""
    if parts[-1] in _WORDS:
        return parts[-1]
    joined = next((word for word in _JOINED if parts[-1].endswith(word)), "")
    if joined:
        return joined
    if parts[-1] == "key" and ((len(parts) > 1 and parts[-2] in _KEYS) or (name.isupper() and "_" in name)):
        return "key"
    return ""


def _looks_secret(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether the value looks like a secret rather than a word, path, placeholder or source code."""
    lower, upper, digit, other = (bool(each.search(value)) for each in _CLASSES)
    has_letters, is_human = lower or upper, word in _HUMAN
    if len(value) < (6 if is_human else 8) or _PLACEHOLDER.match(value) or "://" in value:
        return False
    if " " in value and word != "passphrase":
        return False
    is_dense = lower and upper and digit and len(value) >= 20
    if not is_dense and _reads_like_code(value, is_quoted=is_quoted):
        return False
    if word == "auth":
        return _is_a_login(value) or (digit and has_letters and not _CODE.match(value))
    if digit and has_letters:
        return True
    is_plain = value.replace("-", "").replace("_", "").isalpha()
    return is_human and (is_variable or value.isdigit() or (other and has_letters and not is_plain))


def _reads_like_code(value: str, *, is_quoted: bool) -> bool:
    """Return whether the value is a path, or an unquoted identifier."""
    return bool(_PATH.match(value) or (not is_quoted and not value.isdigit() and _CODE.match(value)))


def _is_a_login(value: str) -> bool:
    """Return whether the value is `user:password` in base64, as Docker and npm store it."""
    try:
        return b":" in base64.b64decode(value, validate=True)
    except ValueError:
        return False
