"""Judges which names denote secrets, and which values look like secrets."""

from __future__ import annotations

import base64
import re

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.vocabulary import LABELS, TERMS

_PARTS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORDS = frozenset({
    *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "token", "bearer", "cookie", "dsn"),
    *("credential", "credentials", "auth", "apikey", "authtoken", "accesstoken", "clientsecret", "identitytoken"),
    *("registrytoken", "authkey", "sshpass", "pw", "storepass", "keypass", "requirepass", "masterauth", "bindpw"),
    *("rootpw", "psk", "salt"),
})  # fmt: skip
_KEYS = frozenset({
    *("api", "access", "secret", "private", "account", "shared", "signing", "encryption", "encrypt", "master"),
    *("client", "auth", "service", "storage", "license", "deploy", "session", "app", "application", "consumer"),
    *("admin", "webhook", "hmac", "jwt", "subscription", "stream", "ssh", "rsa", "server", "data", "root", "host"),
    *("publishable", "restricted", "live", "preshared", "bot", "user", "project", "write"),
})  # fmt: skip
"""Words that make a following `key` a secret; most other keys in programs are keys of a table."""
_JOINED = ("password", "passwd", "passphrase", "secret", "token", "apikey")
"""Words that may also be the end of a longer word, as in PGPASSWORD."""
PHRASES = frozenset({"password", "passwd", "passphrase", "passcode", "pwd", "psk"})
"""Names of secrets that may contain spaces."""
_HUMAN = PHRASES | {"pass", "pw"}
"""Names of secrets that humans choose, so that values may be short, plain words, or only digits."""
_OPEN = r"(?:\.\.\.|…|\*\*\*|xxxx|\{\{|\$\{|%\(|\{\w*\}|(?<![a-z0-9])example|placeholder|change_?me|redacted|your[-_])"
_TEMPLATE = lazy_pattern(_OPEN, re.IGNORECASE)
"""Text that marks a value as a placeholder."""
_PLACEHOLDER = lazy_pattern(
    r"(?:your|my|the|an?|some|change|replace|insert|enter|put|use|set|new|old|same|no|not|is|has|get|example|sample|dummy"
    r"|fake|test|mock|foo|bar|baz|todo|none|null|nil|true|false|yes|default|optional|required|invalid|valid|missing"
    r"|unset|empty|unknown|string|bytes|redacted|hidden|masked|removed|placeholder|os|self|cls|env|process|config|settings"
    rf"|args|params|options|request|response|data|context|ctx|this|await|async|lambda|return|function)(?![a-z0-9])|.*{_OPEN}",
    re.IGNORECASE,
)
_DOTTED = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|\d+(?:[._-]\d+)+\Z")
"""An attribute access such as `self.token`, or a version number."""
_IDENTIFIER = lazy_pattern(r"[A-Z][A-Za-z]+\d*(?:[A-Z][a-z0-9]*)+\Z|[a-z]+(?:_[a-z0-9]+)+\Z")
_QUALIFIED = lazy_pattern(r"[A-Za-z_]\w*(?:(?:\.|::|:|-)[A-Za-z_]\w*)*\Z")
_NUMBERED = frozenset({
    *("auth", "base", "sha", "md", "utf", "http", "v", "es", "hs", "rs", "ps", "rsa", "p", "ed", "x", "s", "k", "h"),
    *("int", "uint", "float", "argon", "pbkdf", "blake", "ip", "ntlm", "aes", "crc", "python", "tls", "ssl", "level"),
    *("web", "secp", "curve", "oauth", "ec", "py", "i", "u", "f", "b", "l", "n", "arm", "win", "rfc", "iso"),
})  # fmt: skip
"""Parts of identifiers that may precede a number, as in `OAuth2Token` and `Base64Secret`."""
_PATH = lazy_pattern(
    r"(?:~|\.{0,2})/(?:[\w.@ -]+/)*[\w.@ -]*\Z|[A-Za-z]:[\\/]|[\w-]+(?:/[\w.-]+)+\Z"
    r"|\S+\.(?:pem|key|crt|json|ya?ml|txt|py|js|ts|md|html?|toml|cfg|ini|env|sh|so|lock)\Z"
)
_PROSE = lazy_pattern(
    r"\b(?:an|any|are|as|at|be|been|by|can|cannot|could|do|does|for|from|has|have|if|in|is|it|its|least|may|most|must"
    r"|no|not|of|on|only|or|please|should|than|that|the|then|this|to|too|use|used|was|when|will|with|you|your"
    r"|characters?|confirm|current|digits?|enter|error|failed|field|forgot|forgotten|hash|incorrect|invalid|letters"
    r"|login|long|minimum|missing|new|old|reset|required|short|strength|strong|type|user|username|value|weak|wrong"
    r"|passwords?|passphrase|passwd|tokens?|keys?|tests?|skipped|passed)\b",
    re.IGNORECASE,
)
"""A word of sentences and labels that passphrases seldom contain."""
_MOST_WORDS = 8
_DICEWARE = lazy_pattern(r"[a-z]{3,}(?: [a-z]{3,}){3,}\Z")
"""A passphrase of four or more words."""
_REGULAR_EXPRESSION = lazy_pattern(r"\(\?|a-z|A-Z|0-9|\\[sdwbSDW]|%[sd]|\[\^")
_HUMPS = lazy_pattern(r"(?:[A-Z][a-z]+){3,}(?:\d{1,4}|[!?.])?\Z")
"""Three or more words, written as one in CamelCase."""
_TURNS = lazy_pattern(r"\d(?=[A-Za-z])|[A-Za-z](?=\d)|[!@#$%^&*+](?=\w)")
_CLASSES = (lazy_pattern("[a-z]"), lazy_pattern("[A-Z]"), lazy_pattern("[0-9]"), lazy_pattern(r"[^\w\s]"))


def secret_word(name: str) -> str:
    """Return the word that makes a name a secret's: its last word, or "key" after words such as "api"; otherwise ""."""
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


def is_key_of(word: str) -> bool:
    """Return whether this word followed by `key` is the name of a secret."""
    return word.lower() in _KEYS


def looks_secret(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether the value looks like a secret rather than a word, path, placeholder or source code.

    `word` is what `secret_word` returned for its name; `is_variable` means that the name is an environment variable's.
    """
    if len(value) < (6 if word in _HUMAN else 8) or "://" in value:
        return False
    if " " in value:
        is_phrase = word in PHRASES and _is_passphrase(value, is_quoted=is_quoted, is_variable=is_variable)
        return is_phrase or (is_quoted and _is_noise(value))
    if _is_in_camel_case(value) and (word in _HUMAN or is_variable):
        return True
    if _PLACEHOLDER.match(value) or _reads_like_code(value, word, is_quoted=is_quoted, is_variable=is_variable):
        return False
    return _mixes_characters(value, word, is_quoted=is_quoted, is_variable=is_variable)


def _mixes_characters(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether a value that is neither a placeholder nor code has the characters of a secret named by `word`."""
    lower, upper, digit, other = _classes(value)
    has_letters = lower or upper
    if word == "auth":
        return _is_a_login(value) or (digit and has_letters and not _is_identifier(value))
    if digit and has_letters:
        return True
    is_plain = value.replace("-", "").replace("_", "").isalpha()
    if is_plain and is_quoted and not upper:
        return word in _HUMAN and not LABELS.search(value)
    return word in _HUMAN and (is_variable or value.isdigit() or (other and has_letters and not is_plain))


def is_chosen(value: str, word: str) -> bool:
    """Return whether the value looks chosen as a secret: it is random, or a password in CamelCase (if `word` allows
    one).
    """
    return is_random(value) or (word in _HUMAN and _is_in_camel_case(value))


def names_itself(value: str, word: str) -> bool:
    """Return whether the value is an identifier that contains `word`, as in `password=get_password`."""
    return bool(_QUALIFIED.match(value)) and word in (part.lower() for part in _PARTS.findall(value))


def is_random(value: str) -> bool:
    """Return whether the value is no ordinary word or path: letters, digits and special characters alternate in it."""
    if len(value) < 8 or _PLACEHOLDER.match(value) or "://" in value or _PATH.match(value):
        return False
    if _REGULAR_EXPRESSION.search(value):
        return False
    return len(_TURNS.findall(value)) >= 2 and not _is_identifier(value)


def _classes(value: str) -> tuple[bool, ...]:
    """Return whether the value contains a lower-case letter, an upper-case letter, a digit, and another character."""
    return tuple(bool(each.search(value)) for each in _CLASSES)


def _is_in_camel_case(value: str) -> bool:
    """Return whether the value consists of three or more CamelCase words, none of which is usual in programs."""
    if not _HUMPS.match(value):
        return False
    parts = {part.lower() for part in _PARTS.findall(value)}
    return parts.isdisjoint(TERMS) and parts.isdisjoint(_WORDS)


def _is_a_class(value: str) -> bool:
    """Return whether the value is CamelCase with two or more words that are usual in programs, like a class name."""
    words = [part.lower() for part in _PARTS.findall(value)] if value.isalnum() and value[0].isupper() else []
    return sum(len(word) >= 4 and (word in TERMS or word in _WORDS) for word in words) >= 2


def _is_identifier(value: str) -> bool:
    return bool(_DOTTED.match(value) or _IDENTIFIER.match(value))


def _is_noise(value: str) -> bool:
    """Return whether a long value mixes letters, digits and many other characters, like the salts in a WordPress
    configuration.
    """
    others = sum(not sign.isalnum() and not sign.isspace() for sign in value)
    return len(value) >= 40 and all(_classes(value)) and others * 5 >= len(value) and not _TEMPLATE.search(value)


def _is_passphrase(value: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether words with spaces between them are a passphrase rather than a sentence or a label."""
    if len(value.split()) > _MOST_WORDS or _TEMPLATE.search(value) or _PROSE.search(value):
        return False
    has_digit = any(sign.isdigit() for sign in value)
    return has_digit or (is_quoted and is_variable) or bool(_DICEWARE.match(value))


def _reads_like_code(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether the value is a path, a quoted regular expression, or an identifier.

    A value of 20 characters or more that mixes cases and digits is only code if it is unquoted and looks like a class
    name.
    """
    if is_quoted and _REGULAR_EXPRESSION.search(value):
        return True
    if len(value) >= 20 and all(_classes(value)[:3]):
        return not is_quoted and _is_a_class(value)
    if _PATH.match(value):
        return True
    if is_quoted or value.isdigit():
        return False
    return bool(_DOTTED.match(value) or (_IDENTIFIER.match(value) and _names_something(value, word, is_variable)))


def _names_something(identifier: str, word: str, is_variable: bool) -> bool:
    """Return whether an identifier is a name in source code rather than a password, judging by its digits and words."""
    parts = [part.lower() for part in _PARTS.findall(identifier)]
    before = {parts[at - 1] if at else "" for at, part in enumerate(parts) if part.isdigit()}
    is_technical, has_word = before <= _NUMBERED, not _WORDS.isdisjoint(parts)
    if "_" not in identifier:
        return is_technical and not is_variable
    if is_technical:
        return has_word or not is_variable
    if word in _HUMAN or is_variable:
        return has_word
    return sum(sign.isdigit() for sign in identifier) < 3


def _is_a_login(value: str) -> bool:
    """Return whether the value is `user:password` in base64, as Docker and npm store it."""
    try:
        return b":" in base64.b64decode(value, validate=True)
    except ValueError:
        return False
