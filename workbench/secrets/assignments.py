"""Values of settings whose names say that they hold a secret; used by `secrets` and `secret_stream`.

Read are the syntaxes of configuration: INI, YAML, JSON, TOML, properties, variables of shells, connection strings,
options of commands and queries of addresses. A program's text has the same names everywhere, so the value decides as
well: what reads like an identifier, a path, a placeholder or a type is no secret.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

MARKS = ("pass", "pwd", "secret", "token", "cookie", "auth", "key")
"""One of them, in lower case, stands in each name."""

_LONGEST_HEAD = 400
"""Characters of a line that are looked at in front of a name."""
_LONGEST_NAME = 100
_SET = re.compile(
    r"[\w.-]*(?:\\?[\"']?\]?[ \t]*[=:](?!=)[=>]?[ \t]*[^\s=(\[{]|>[^\s<]|[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:]"
    r"|[ \t]+(?:for[ \t]+\S{1,60}[ \t]+)?(?:is:?[ \t]+)?[\"']?(?=[^\s\"']{0,40}\d)[^\s\"'(){}<>=-][^\s\"'(){}<>]{5})"
)
"""Quick: whether anything is set at all."""
_HEAD = re.compile(r"[\w.-]*\Z")
_NAME_END = re.compile(r"[\w.-]*")
_SIGN = re.compile(
    r"\\?[\"']?\]?[ \t]*(?P<sign>=>|:=|=|:)(?!=)[ \t]*(?:[|>][+-]?[ \t]*\n[ \t]+)?|(?P<tag>>)"
    r"|(?P<pair>[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:][ \t]*)",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"[ \t]+(?P<verb>for[ \t]+[^\s:]{1,60}(?::|[ \t]+is:?)[ \t]+|is:?[ \t]+)?(?=[\"']?[^\s\"'-])", re.IGNORECASE
)
"""What stands between a name and its value where no sign does."""
_COMMAND = re.compile(
    r"(?:\b(?:ENV|setenv|setx|(?:npm|user-secrets|git config)(?:[ \t]+--\w+)*(?:[ \t]+set)?|set(?:[ \t]+-\w+)+)"
    r"|\bconfig(?:ure)?[ \t]+set)[ \t]+[^\s=]*\Z"
)
"""Commands whose words are a name and its value."""
_PAIR = re.compile(
    r"(?:(?:--?[\w-]+|\b[\w-]+=[^\s,()]+|\b(?:write|put|set|login|create)\b[^\n(),=]*)[ \t]+|--[\w-]+=)\Z"
)
"""What stands before `name=value` among words of a command."""
_SENTENCE = re.compile(r"(?:^|[\r\n\])>])[ \t]*(?:[A-Za-z]+[ \t]+){1,5}\Z")
_OPEN = re.compile(r"[\"']?,?[ \t]*\r?\Z|[\"']?[ \t]*:[ \t]*[|>][+-]?[ \t]*\r?\Z")
_PAIR_HEAD = re.compile(r"\b(?:name|key)[\"']?[ \t]*[=:][ \t]*[\"']?\Z", re.IGNORECASE)
"""What stands before a name whose value follows under a name of its own, as in lists of Kubernetes and of XML."""
_VALUE = re.compile(
    r"\\?\"(?P<double>[^\"\n\\]{5,})\\?\"|'(?P<single>[^'\n]{5,})'|(?P<bare>(?!\$)(?:[^\s\"'`,;<>‹›(){}\[\]$|]|\$(?![({])){5,}(?![(\[{]))"
)
_LINE_END = re.compile(r"[\"']?,?[ \t]*(?:[#;].*|//.*)?\r?$", re.MULTILINE)
_VARIABLE_END = re.compile(r"[\s;&|]|\Z")
_LINE_START = re.compile(
    r"(?:[^\s\"'=(]{0,200}?[:-]\d+[:-])?[ \t]*(?:\d+[:|\t ][ \t]*)?[+><|:-]?[ \t]*"
    r"(?:\$(?:env:)?|(?:\w+\.)?environ\[)?(?:(?:export|set|setx|env|arg|const|let|var|declare -x)[ \t]+)?[\"']?\Z",
    re.IGNORECASE,
)
_INLINE = re.compile(r"(?:[?&;#]|/:|[;\"'][ \t]*|(?<![^\s\"'])[-/][dp]:)\Z")
"""What may come before a setting in the middle of a line: a query, a connection string, an npm registry, an option that
sets a property of MSBuild."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORDS = frozenset({
    *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "token", "bearer", "cookie", "dsn"),
    *("credential", "credentials", "auth", "apikey", "authtoken", "accesstoken", "clientsecret", "identitytoken"),
    *("registrytoken", "authkey", "sshpass", "pw", "storepass", "keypass"),
})  # fmt: skip
_KEYS = frozenset({
    *("api", "access", "secret", "private", "account", "shared", "signing", "encryption", "encrypt", "master"),
    *("client", "auth", "service", "storage", "license", "deploy", "session", "app", "application", "consumer"),
    *("admin", "webhook", "hmac", "jwt", "subscription", "stream", "ssh", "rsa", "server", "data", "root", "host"),
    *("publishable", "restricted", "live", "bot", "user", "project", "write"),
})  # fmt: skip
"""What stands before `key` where the key is a secret; most keys of a program are those of a table."""
_JOINED = ("password", "passwd", "passphrase", "secret", "token", "apikey")
"""Words that also end another, as in PGPASSWORD."""
_HUMAN = frozenset({"password", "passwd", "passphrase", "passcode", "pass", "pwd", "pw"})
"""Names of what people choose: short, plain, or of digits alone."""
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
    """A secret value: its place and the name it is set to."""

    start: int
    end: int
    name: str


def marks_in(lowered: str) -> list[str]:
    """Return which of the marks stand in a text in lower case."""
    return [mark for mark in MARKS if mark in lowered]


def settings_in(text: str, lowered: str, marks: Collection[str] = MARKS) -> list[Assignment]:
    """Each setting of a secret, in order; `lowered` is the text in lower case, as long as it."""
    found: list[Assignment] = []
    places = {place for mark in marks for place in _places(lowered, mark) if _SET.match(lowered, place)}
    for place in sorted(places):
        if (not found or place >= found[-1].end) and (setting := _setting_at(text, place)):
            found.append(setting)
    return found


def lower_case(text: str) -> str:
    """The text in lower case, each sign in its place: what would become two stays one."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("İ", "i").lower()


def begins_a_setting(line: str) -> bool:
    """Whether an unfinished line may contain a setting of a secret, so that its value has to be waited for."""
    lowered = lower_case(line)
    return any(_SET.match(lowered, place) for mark in MARKS for place in _places(lowered, mark))


def names_what_follows(line: str) -> bool:
    """Whether a whole line names a secret that stands on the next one."""
    lowered = lower_case(line)
    ends = (_NAME_END.match(lowered, at) for mark in MARKS for at in _places(lowered, mark))
    return any(end is not None and _OPEN.match(lowered, end.end()) for end in ends)


def _places(text: str, mark: str) -> Iterator[int]:
    place = text.find(mark)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1)


def _setting_at(text: str, place: int) -> Assignment | None:
    """The setting in whose name the mark at this place stands."""
    name_end = _ended(_NAME_END, text, place)
    place -= len(_HEAD.findall(text[max(0, place - _LONGEST_NAME) : place])[0])
    name = text[place:name_end]
    word = _secret_word(name) or _word_of_two(text, place, name)
    if not word:
        return None
    sign = _SIGN.match(text, name_end)
    value = _VALUE.match(text, sign.end()) if sign else None
    if sign is None or value is None:
        return _spaced(text, place, name_end, word)
    kind = value.lastgroup or ""
    found = value.group(kind)
    if kind == "bare" and text[place - 1 : place] in ("?", "&", "#"):
        found = found.partition("&")[0]
    is_variable = name.isupper() and sign["sign"] == "=" and sign.group() == "="
    if not _stands(text, place, sign, value, is_variable=is_variable):
        return _in_a_sentence(text, place, name, sign, value)
    if not _looks_secret(found, word, is_quoted=kind != "bare", is_variable=is_variable):
        return None
    return Assignment(value.start(kind), value.start(kind) + len(found), _label(name))


def _label(name: str) -> str:
    return name.strip("-.")[-80:]


def _word_of_two(text: str, start: int, name: str) -> str:
    """`key` of `API key`, which is written with a space."""
    if name.lower() != "key":
        return ""
    before = text[max(0, start - 20) : start].split()
    return "key" if before and before[-1].lower() in _KEYS and text[start - 1 : start] == " " else ""


def _spaced(text: str, start: int, name_end: int, word: str) -> Assignment | None:
    """A value after a space: of an option, of a command that sets one, or in a sentence."""
    gap = _GAP.match(text, name_end)
    value = _VALUE.match(text, gap.end()) if gap else None
    if gap is None or value is None:
        return None
    kind, name = value.lastgroup or "", text[start:name_end]
    secret = value.group(kind)
    is_word = name.startswith("-") or _COMMAND.search(text[max(0, start - 60) : start])
    if is_word and not gap["verb"]:
        if not _looks_secret(secret, word, is_quoted=kind != "bare", is_variable=False):
            return None
    else:
        secret = secret.rstrip(".:!?")
        if not (_is_random(secret) if gap["verb"] else _is_random(secret) and len(secret) >= 20):
            return None
    return Assignment(value.start(kind), value.start(kind) + len(secret), _label(name))


def _in_a_sentence(text: str, start: int, name: str, sign: re.Match[str], value: re.Match[str]) -> Assignment | None:
    """`Generated password: …` at the end of a line."""
    before = text[max(0, start - _LONGEST_HEAD) : start]
    if sign["sign"] != ":" or value.lastgroup != "bare" or not _SENTENCE.search(before):
        return None
    if not (_is_random(value["bare"]) and _LINE_END.match(text, value.end())):
        return None
    return Assignment(value.start("bare"), value.end("bare"), _label(name))


def _is_random(value: str) -> bool:
    """Whether it is nothing that stands in a sentence: letters and digits in turn, or with other signs."""
    if len(value) < 8 or _PLACEHOLDER.match(value) or "://" in value or _reads_like_code(value, is_quoted=False):
        return False
    return len(_TURNS.findall(value)) >= 2


def _ended(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _stands(text: str, start: int, sign: re.Match[str], value: re.Match[str], *, is_variable: bool) -> bool:
    if sign["tag"]:
        return text[start - 1 : start] == "<" and text.startswith("</", value.end())
    if sign["pair"]:
        return bool(_PAIR_HEAD.search(text[max(0, start - 20) : start]))
    return _stands_in_a_setting(text, start, value, sign["sign"], is_variable=is_variable)


def _stands_in_a_setting(text: str, place: int, value: re.Match[str], sign: str, *, is_variable: bool) -> bool:
    """Whether what stands around name and value is a line of configuration, or a part of one that is known."""
    first = max(0, place - _LONGEST_HEAD)
    line = max(text.rfind("\n", first, place), text.rfind("\r", first, place), first - 1) + 1
    before, after = text[line:place], value.end()
    is_bare = value.lastgroup == "bare"
    if before.endswith(('"', "'")) and not is_bare and sign == ":":
        return True
    if sign == "=" and ((text.startswith("-", place) and before[-1:] in "\t ") or _INLINE.search(before)):
        return True
    if is_bare and _is_a_word(text, before, after, sign):
        return True
    if is_variable and (not before or before[-1] in " \t:+-"):
        return bool(_VARIABLE_END.match(text, after))
    if not (_LINE_START.match(before) and _LINE_END.match(text, after)):
        return False
    return not (is_bare and text[after : after + 1] == ",")


def _is_a_word(text: str, before: str, after: int, sign: str) -> bool:
    """Whether name and value are one word of a command, or all that stands in quotes: a header, for example."""
    end, quote = text[after : after + 1], before[-1:]
    if quote and quote in "\"'`" and (end == quote or (sign == "=" and end == " ")):
        return True
    return sign == "=" and end in ("", " ", "\n", "\r", "'", '"') and bool(_PAIR.search(before))


def _secret_word(name: str) -> str:
    """What says that the name is that of a secret: its last word, or `key` behind one that makes it one."""
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
    """Whether the value reads like a secret and not like a word, a path, a placeholder or a part of a program."""
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
    """Whether it is a path, or bare and a name of a program."""
    return bool(_PATH.match(value) or (not is_quoted and not value.isdigit() and _CODE.match(value)))


def _is_a_login(value: str) -> bool:
    """Whether it is `user:password` in base64, as Docker and npm keep it."""
    try:
        return b":" in base64.b64decode(value, validate=True)
    except ValueError:
        return False
