"""Detection of secret values that are assigned to names such as `password` or `API_KEY`.

It recognizes the syntaxes of configuration: INI, YAML, JSON, TOML, properties, shell variables, connection strings,
command options and URL queries. Source code contains the same names, so the value is examined too: identifiers, paths,
placeholders and types are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.values import PHRASES, is_chosen, is_key_of, is_random, looks_secret, names_itself, secret_word

MARKS = ("pass", "pw", "secret", "token", "cookie", "auth", "key", "salt", "psk")
"""Each name of a secret contains one of these, in any case."""

_LONGEST_HEAD = 400
"""The number of characters of a line that are examined before a name."""
_QUOTED = r"(?=(?:[rbfu@$]{0,2}|&)[\"'`])"
_HERE = r"<<[-~]?[\"']?\w{1,30}[\"']?[ \t]*\r?\n[ \t]*|(?:\"\"\"|''')\\?\s{0,20}|\\\r?\n[ \t]*"
"""The start of a value that continues on the next line: a here-document, a long string, or a continued line."""
_BRACKET = rf"[\[({{]\s{{0,40}}{_QUOTED}|(?:new[ \t]+)?[\w.:]{{1,40}}[(\[]{_QUOTED}"
"""The text that opens a list or the call of a constructor."""
_FIELD = r"[\"']?[ \t]*[:=]?[ \t]*\{[^{}]{0,300}?\b(?:default|value|plaintext|result)[\"']?[ \t]*[:=][ \t]*(?=[\"'])"
"""The text between a name and the field that contains its value, in a block as in Terraform."""
_ASSIGN = r"\\?[\"'`]?\]?[ \t]*(?:(?:=>|:=|:-|<-|->|=|:)(?!=)[ \t]*(?:&\w+[ \t]+)?|={2,3}[ \t]*(?=[\"'`]))"
_ELSE = rf"[\"'\])]{{0,3}}[ \t]*(?:\|\||\?\?|\bor\b)[ \t]*{_QUOTED}"
_NEXT_ELEMENT = r"</(?:key|name)>\s{0,40}<(?:string|value)>"
_LINK = lazy_pattern(
    rf"{_FIELD}|(?P<assign>{_ASSIGN})(?:(?P<here>{_HERE})|{_BRACKET})?|{_ELSE}"
    rf"|(?P<call>\([ \t]*{_QUOTED})|(?P<comma>[\"']?,[ \t]*{_QUOTED})"
    r"|(?P<cell>[ \t]*(?:[|│]|\.{3,})[ \t]*(?=[^\s|]))"
    rf"|(?P<tag>(?:[\"']?|[ \t][^<>\n]{{1,120}})>\s{{0,40}}(?:<!\[CDATA\[)?|{_NEXT_ELEMENT})"
)
"""The text between a name and a value in places where only a random value is a secret."""
_NEXT_ITEM = lazy_pattern(r"[\"'],\s{0,40}[\"'](?P<item>[^\s\"']{8,400})(?=[\"']\s{0,40}[,\])])")
_CALLEE = lazy_pattern(
    r"\b(?:get|env|getenv|setdefault|fetch|setenv|putenv|set|put|add|header|\w*(?:Header|Property|Env)|append|pair)"
    r"\(\s{0,40}[\"']\Z|[{\[(]:\Z",
    re.IGNORECASE,
)
"""The text before a name whose value is the next argument of a call, or the next item of a tuple in Elixir."""
_READS = lazy_pattern(
    r"(?i:get|fetch|read|load|find|is|has|check|validate|verify|parse|decode|test|with_?out)(?![a-z])"
)
_ROW = lazy_pattern(r"[ \t]*[|│]?[ \t]*\Z")
_GOES_ON = lazy_pattern(r"[\w(\[{.]")
_SHORTEST_BARE = 16
_LONGEST_NAME = 64
"""The maximum number of characters from a mark to the end of its name."""
_SET = lazy_pattern(
    rf"[\w.-]*(?:{_ASSIGN}(?:{_HERE}|{_BRACKET})|{_FIELD}|{_ELSE}|\([ \t]*{_QUOTED}|[\"']?,[ \t]*{_QUOTED}"
    r"|[ \t]*(?:[|│]|\.{3,})[ \t]*[^\s|]|(?:[\"']?|[ \t][^<>\n]{1,120})>\s{0,40}(?:<!\[|[^\s<])"
    rf"|{_NEXT_ELEMENT}|{_ASSIGN}[ \t]*[^\s=(\[{{]"
    r"|\\?[\"']?\]?[ \t]*(?::=|[=:](?!=)[=>-]?)[ \t]*[^\s=(\[{]"
    r"|(?::[ \t]*|[ \t]+)[\w.<>&*]{1,40}[ \t]*=[ \t]*[\"']|[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:]"
    r"|[ \t]+(?:(?:(?:is|was)[ \t]+\w+[ \t]+)?for[ \t]+\S{1,60}[ \t]+)?(?:is:?[ \t]+)?"
    r"[\"']?(?=[^\s\"']{0,40}\d)[^\s\"'(){}<>=-][^\s\"'(){}<>]{5})"
)
"""A quick check for whether a value is assigned to the name at all."""
_HEAD = lazy_pattern(r"[\w.-]*\Z")
_NAME_END = lazy_pattern(r"[\w.-]*")
_SIGN = lazy_pattern(
    r"(?::(?:STRING|PATH|FILEPATH|INTERNAL|UNINITIALIZED)(?==)"
    r"|(?::[ \t]*|[ \t]+)(?:&?(?:'?\w+ )?str|string|(?:std::)?String|Optional\[str\]|Final(?:\[str\])?)"
    r"(?=[ \t]*=[ \t]*[\"']))?"
    r"\\?[\"']?\]?[ \t]*(?P<sign>=>|:=|=|:)(?!=)[ \t]*(?:!!?\w+[ \t]+)?(?:[|>][+-]?[ \t]*\n[ \t]+)?|(?P<tag>>)"
    r"|(?P<pair>[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]*[=:][ \t]*)|(?P<defined>[\"'],[ \t]*(?=[\"']))",
    re.IGNORECASE,
)
_GAP = lazy_pattern(
    r"[ \t]+(?P<verb>(?:(?:is|was)[ \t]+\w+[ \t]+)?for[ \t]+[^\s:]{1,60}(?::|[ \t]+is:?)[ \t]+|is:?[ \t]+)?"
    r"(?=[\"']?[^\s\"'-])",
    re.IGNORECASE,
)
"""The text between a name and its value if there is no operator between them."""
_DIRECTIVES = frozenset({"requirepass", "masterauth", "bindpw", "rootpw"})
"""Settings of Redis and LDAP whose values follow without an operator."""
_DIRECTIVE_WORDS = frozenset({"password", "passwd", "passphrase"})
_COMMAND = lazy_pattern(
    r"(?:(?:\b|#[ \t]*)(?:ENV|SetEnv|define|fastcgi_param|uwsgi_param|setenv|setx"
    r"|(?:npm|user-secrets|git config)(?:[ \t]+--\w+)*(?:[ \t]+set)?|set(?:[ \t]+-\w+)+)"
    r"|\bconfig(?:ure)?[ \t]+set)[ \t]+[^\s=]*\Z"
)
"""Commands whose arguments are a name and its value."""
_PAIR = lazy_pattern(
    r"(?:(?:--?[\w-]+|\b[\w-]+=[^\s,()]+|\b(?:write|put|set|login|create)\b[^\n(),=]*)[ \t]+|--[\w-]+=)\Z"
)
"""The text before `name=value` where the pair is an argument of a command."""
_OPTION = lazy_pattern(
    r"(?:^|[\s\"'])(?:-[DPeEX]|/[dp]:|--?(?:set(?:-[\w-]+)?|define|build-arg|(?:\w+[-_])?env(?:-vars?|-add)?|extra-vars"
    r"|var|arg|config|param(?:eter)?s?(?:-overrides)?|from-literal|secret|opt|property|\w+-props?))(?:[ \t]*|=)"
    r"[\"']?(?:[^\s\"',=]{1,80}=[^\s\"',]{0,80}(?:,| +)){0,20}[\w.\[\]/-]*\Z",
    re.IGNORECASE,
)
"""The text before `name=value` after an option that sets a variable: `-D`, `--set a=b,`, `--build-arg`, `-var`."""
_APART = lazy_pattern(r"(?:\A|[^\w.-]|\d-)\Z")
"""The text just before an option or header, which must start a word, also after the prefix of a context line of
grep.
"""
_HEADER = lazy_pattern(r"(?:x(?:-[a-z]+)+|private-token|api-key|apikey)[\"']?:[ \t]", re.IGNORECASE)
"""HTTP headers whose value is a secret."""
_SENTENCE = lazy_pattern(r"(?:^|[\r\n\])>])[ \t]*(?:[A-Za-z]+[ \t]+){1,5}\Z")
_OPEN = lazy_pattern(
    r"[\"']?,?[ \t]*\r?\Z|[\"']?[ \t]*:[ \t]*(?:!\S+[ \t]+)?[|>][+-]?[ \t]*\r?\Z|</(?:key|name)>[ \t]*\r?\Z"
    rf"|{_ASSIGN}(?:[\[({{\\]|[\w. ]{{1,40}}\(|\"\"\"\\?|'''\\?|<<[-~]?[\"']?\w{{1,30}}[\"']?)[ \t]*\r?\Z"
)
"""The rest of a line after a name whose value is on the next line."""
_UNFINISHED = lazy_pattern(
    r"[\w.-]*[\"']?(?:[ \t]*[:=]?[ \t]*\{[^{}]{0,300}|>\s{0,40}[^\s<]{0,200}\s{0,40}(?:</?[\w.:-]*)?)\Z"
)
"""The text after a name that opens a block or an XML element, which the text cuts off."""
_PAIR_HEAD = lazy_pattern(r"\b(?:name|key)[\"']?[ \t]*[=:][ \t]*[\"']?\Z", re.IGNORECASE)
"""The text before a name whose value follows in a separate `value` field, as in Kubernetes lists and XML."""
_DEFINES = lazy_pattern(r"\bdefine\([ \t]*[\"']\Z")
"""The text before a constant's name in PHP, whose value follows after a comma."""
_VALUE = lazy_pattern(
    r"[rbfu@$]{0,2}(?:\\\"(?P<inner>[^\"\n\\]{5,})\\\"|\"(?P<double>(?:[^\"\n\\]|\\.){5,})\"|'(?P<single>[^'\n]{5,})'|`(?P<tick>[^`\n]{5,})`)"
    r"|(?P<bare>(?!\$)(?:[^\s\"'`,;<>‹›(){}\[\]$|\\]|\\.|\$(?![({])){5,}(?![(\[{]))"
)
SEPARATOR = "\n\0\n"
"""Joins texts so that one search finds the secrets in all: each text's lines stay its own, and `_ELEMENT` ends with
each.
"""
_ELEMENT = lazy_pattern(r"(?P<bare>(?:[^\s<\]]|\](?!\]>)){5,1000})(?=\s{0,40}(?:</|\]\]>|\0|\Z))")
"""The content of an XML element."""
_PHRASE = lazy_pattern(
    r"[^\s\"'`,;<>‹›(){}\[\]$|=:#]+(?: [^\s\"'`,;<>‹›(){}\[\]$|=:#]+){1,8}(?=[ \t]*(?:;|\r?$))", re.MULTILINE
)
"""Words with spaces between them, up to the end of a line or of a part of a connection string."""
_LINE_END = lazy_pattern(r"[\"']?,?[ \t]*(?:[#;].*|//.*)?\r?$", re.MULTILINE)
_VARIABLE_END = lazy_pattern(r"[\s;&|)}`]|\Z")
_BEFORE_VARIABLE = frozenset(" \t:+->|;&({[`\"'=@/")
"""The characters that may precede an assigned variable, as in `$(PGPASSWORD=x psql)` or `file:12:PGPASSWORD=x`."""
_NPM = frozenset({"_authToken", "_auth", "_password"})
"""Settings of npm whose value is a secret; they are assigned like variables."""
_OF_CONTEXT = lazy_pattern(r"(?:[\w.-]{0,200}-)?\d+-(?=[\w-])")
"""The prefix of a context line of grep: `file-12-line`, or `12-line`."""
_LINE_START = lazy_pattern(
    r"(?:[^\s\"'=(]{0,200}?[:-]\d+[:-])?[ \t]*(?:\d+[:|\t ][ \t]*)?[+><|:-]?[ \t]*"
    r"(?:\$(?:env:)?|(?:\w+\.)?environ\[)?(?:(?:export|set|setx|env|arg|const|let|var|val|declare -x|mut|private"
    r"|public|protected|static|final|readonly|(?:std::)?string|auto)[ \t]+){0,6}[\"'@]?\Z",
    re.IGNORECASE,
)
_INLINE = lazy_pattern(r"(?:[?&;#]|/:|[;\"'][ \t]*|(?<![^\s\"'])[-/][dp]:)\Z")
"""The text before an assignment within a line: in a query, connection string, npm registry, or MSBuild option."""


class Assignment(NamedTuple):
    """A secret value: its start and end offsets, and the name to which it is assigned."""

    start: int
    end: int
    name: str


def marks_in(lowered: str) -> list[str]:
    """Return those `MARKS` that a lower-case text contains."""
    return [mark for mark in MARKS if mark in lowered]


def settings_in(text: str, lowered: str, marks: Collection[str] = MARKS) -> list[Assignment]:
    """Return the assignments of secrets, in order; `lowered` is the result of `lower_case`, and `marks` those to search
    for.
    """
    settings: list[Assignment] = []
    for offset in _assigned(lowered, marks):
        if (not settings or offset >= settings[-1].end) and (setting := _setting_at(text, offset)):
            settings += [setting, *_next_items(text, setting)]
    return settings


def _assigned(lowered: str, marks: Collection[str]) -> Iterator[int]:
    """Yield, in order, the offsets of marks in names to which a value is assigned.

    In a name of thousands of characters, such as encoded data, only the marks near its end are tried, because trying
    all of them would take quadratic time.
    """
    end = 0
    for offset in sorted({offset for mark in marks for offset in _occurrences(lowered, mark)}):
        if offset >= end and (name := _NAME_END.match(lowered, offset)):
            end = name.end()
        if end - offset <= _LONGEST_NAME and _SET.match(lowered, offset):
            yield offset


def lower_case(text: str) -> str:
    """Return the text in lower case with the same length, so that offsets stay valid."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("İ", "i").lower()


def begins_a_setting(line: str) -> bool:
    """Return whether an incomplete line may assign a secret, so that its masking must wait for the rest of the line."""
    lowered = lower_case(line)
    return next(_assigned(lowered, MARKS), None) is not None


def names_what_follows(line: str) -> bool:
    """Return whether a complete line ends with the name of a secret whose value is on the next line."""
    lowered = lower_case(line)
    ends = (_NAME_END.match(lowered, at) for mark in MARKS for at in _occurrences(lowered, mark))
    return any(end is not None and _OPEN.match(lowered, end.end()) for end in ends)


def unfinished_block(text: str) -> int | None:
    """Return the start of the line in which a secret's name opens a block or XML element that the text cuts off, or
    None.
    """
    first = max(0, len(text) - _LONGEST_HEAD)
    tail = lower_case(text[first:])
    starts = [at for mark in MARKS for at in _occurrences(tail, mark) if _UNFINISHED.match(tail, at)]
    return text.rfind("\n", 0, first + min(starts)) + 1 if starts else None


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
    if text[offset - 1 : offset] == "\\" and text[offset] in "nrt":  # an escaped line break before the name
        offset += 1
    name = text[offset:name_end]
    word = secret_word(name) or _word_of_two(text, offset, name)
    if word and (setting := _in_configuration(text, offset, name_end, word)):
        return setting
    word = word or (secret_word(name[:-1]) if name.endswith("s") else "")
    return _anywhere(text, offset, name_end, word) if word else None


def _next_items(text: str, setting: Assignment) -> Iterator[Assignment]:
    """Yield the random values that follow a value in the same list."""
    end = setting.end
    while (item := _NEXT_ITEM.match(text, end)) and is_random(item["item"]):
        end = item.end("item")
        yield Assignment(item.start("item"), end, setting.name)


def _in_configuration(text: str, offset: int, name_end: int, word: str) -> Assignment | None:
    """Return the assignment in a line of configuration, or in a known part of a line such as a URL or an option, or
    None.
    """
    name = text[offset:name_end]
    sign = _SIGN.match(text, name_end)
    if sign and (phrase := _phrase(text, offset, word, sign)):
        return Assignment(*phrase.span(), _label(name))
    value = (_ELEMENT if sign["tag"] else _VALUE).match(text, sign.end()) if sign else None
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
    is_quoted = kind != "bare" or "\\ " in secret
    if not looks_secret(secret, word, is_quoted=is_quoted, is_variable=is_variable):
        return None
    return Assignment(value.start(kind), value.start(kind) + len(secret), _label(name))


def _anywhere(text: str, start: int, name_end: int, word: str) -> Assignment | None:
    """Return the assignment of a random value anywhere in source code or a table, or None."""
    link = _LINK.match(text, name_end)
    value = (_ELEMENT if link["tag"] else _VALUE).match(text, link.end()) if link else None
    if link is None or value is None:
        return None
    kind, name, before = value.lastgroup or "", text[start:name_end], text[max(0, start - 60) : start]
    if kind == "bare" and not _may_be_bare(text, before, link, value):
        return None
    if (link["comma"] and not _CALLEE.search(before)) or (link["call"] and _READS.match(name)):
        return None
    if not is_chosen(value[kind], word) or any(map(str.isspace, value[kind])) or names_itself(value[kind], word):
        return None
    return Assignment(value.start(kind), value.end(kind), _label(name))


def _may_be_bare(text: str, before: str, link: re.Match[str], value: re.Match[str]) -> bool:
    """Return whether a value without quotes may be a secret here: in an XML element, a table cell or a here-document,
    or a long one.
    """
    if link["tag"]:
        return before.endswith("<") or link["tag"][0] not in "> \t"
    if link["here"]:
        return True
    if link["cell"]:
        return bool(_ROW.match(before.rpartition("\n")[2]))
    is_apart = before[-1:] in ("", "\n", " ", "\t", ",", "{") or before.endswith(("${", "\\n", "\\r", "\\t"))
    return is_apart and _is_long(value["bare"]) and not _GOES_ON.match(text, value.end())


def _is_long(value: str) -> bool:
    """Return whether an unquoted value is too long for an identifier, or contains a character that identifiers cannot
    have.
    """
    return len(value) >= _SHORTEST_BARE or (len(value) >= 8 and any(sign in value for sign in "!@#%^&?~"))


def _phrase(text: str, start: int, word: str, sign: re.Match[str]) -> re.Match[str] | None:
    """Return the match of an unquoted passphrase with spaces at the start of a line or after a semicolon."""
    match = _PHRASE.match(text, sign.end()) if word in PHRASES and sign["sign"] in ("=", ":") else None
    if match is None or not looks_secret(match.group(), word, is_quoted=False, is_variable=False):
        return None
    before = _line_up_to(text, start)
    return match if before.endswith(";") or _LINE_START.match(before) else None


def _line_up_to(text: str, offset: int) -> str:
    return text[max(0, offset - _LONGEST_HEAD) : offset].rpartition("\n")[2]


def _label(name: str) -> str:
    return name.strip("-.")[-80:]


def _word_of_two(text: str, start: int, name: str) -> str:
    """Return "key" for names such as `API key`, which are written with a space, otherwise an empty string."""
    if name.lower() != "key":
        return ""
    before = text[max(0, start - 20) : start].split()
    return "key" if before and is_key_of(before[-1]) and text[start - 1 : start] == " " else ""


def _spaced(text: str, start: int, name_end: int, word: str) -> Assignment | None:
    """Return the assignment of a value after a space: for an option, in a command that sets a name, or in a
    sentence.
    """
    gap = _GAP.match(text, name_end)
    value = _VALUE.match(text, gap.end()) if gap else None
    if gap is None or value is None:
        return None
    kind, name = value.lastgroup or "", text[start:name_end]
    secret = value.group(kind)
    is_word = name.startswith("-") or _COMMAND.search(text[max(0, start - 60) : start]) or name in _DIRECTIVES
    if is_word and not gap["verb"]:
        if not looks_secret(secret, word, is_quoted=kind != "bare", is_variable=False):
            return None
    elif not (not gap["verb"] and word in _DIRECTIVE_WORDS and _is_a_line(text, start, value, kind)):
        secret = secret.rstrip(".:!?")
        if not (is_random(secret) if gap["verb"] else is_random(secret) and len(secret) >= 20):
            return None
    return Assignment(value.start(kind), value.start(kind) + len(secret), _label(name))


def _is_a_line(text: str, start: int, value: re.Match[str], kind: str) -> bool:
    """Return whether the line consists of a name and a password, as in a `.netrc` file or in a router's
    configuration.
    """
    has_digit = any(sign.isdigit() for sign in value[kind])
    if not (has_digit and _LINE_START.match(_line_up_to(text, start)) and _LINE_END.match(text, value.end())):
        return False
    return looks_secret(value[kind], "password", is_quoted=kind != "bare", is_variable=False)


def _in_a_sentence(text: str, start: int, name: str, sign: re.Match[str], value: re.Match[str]) -> Assignment | None:
    """Return the assignment of a value after a colon at the end of a sentence, as in `Generated password: …`."""
    before = text[max(0, start - _LONGEST_HEAD) : start]
    if sign["sign"] != ":" or value.lastgroup != "bare" or not _SENTENCE.search(before):
        return None
    if not (is_random(value["bare"]) and _LINE_END.match(text, value.end())):
        return None
    return Assignment(value.start("bare"), value.end("bare"), _label(name))


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
