"""Judge which names are those of secrets, and which values look like secrets."""

from __future__ import annotations

import base64
import re

from workbench.lazy_pattern import lazy_pattern

_PARTS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
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
PHRASES = frozenset({"password", "passwd", "passphrase", "passcode", "pwd", "psk"})
"""Names of secrets that may contain blanks."""
_HUMAN = PHRASES | {"pass", "pw"}
"""Names of secrets that people choose, which may be short, plain, or only digits."""
_OPEN = r"(?:\.\.\.|…|\*\*\*|xxxx|\{\{|\$\{|%\(|\{\w*\}|(?<![a-z0-9])example|placeholder|change_?me|redacted|your[-_])"
_TEMPLATE = lazy_pattern(_OPEN, re.IGNORECASE)
"""A part of a value that something else is to replace."""
_PLACEHOLDER = lazy_pattern(
    r"(?:your|my|the|an?|some|change|replace|insert|enter|put|use|set|new|old|same|no|not|is|has|get|example|sample|dummy"
    r"|fake|test|mock|foo|bar|baz|todo|none|null|nil|true|false|yes|default|optional|required|invalid|valid|missing"
    r"|unset|empty|unknown|string|bytes|redacted|hidden|masked|removed|placeholder|os|self|cls|env|process|config|settings"
    rf"|args|params|options|request|response|data|context|ctx|this|await|async|lambda|return|function)(?![a-z0-9])|.*{_OPEN}",
    re.IGNORECASE,
)
_DOTTED = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|\d+(?:[._-]\d+)+\Z")
"""An attribute, or a version."""
_IDENTIFIER = lazy_pattern(r"[A-Z][A-Za-z]+\d*(?:[A-Z][a-z0-9]*)+\Z|[a-z]+(?:_[a-z0-9]+)+\Z")
_NUMBERED = frozenset({
    *("auth", "base", "sha", "md", "utf", "http", "v", "es", "hs", "rs", "ps", "rsa", "p", "ed", "x", "s", "k", "h"),
    *("int", "uint", "float", "argon", "pbkdf", "blake", "ip", "ntlm", "aes", "crc", "python", "tls", "ssl", "level"),
    *("web", "secp", "curve", "oauth", "ec", "py", "i", "u", "f", "b", "l", "n", "arm", "win", "rfc", "iso"),
})  # fmt: skip
"""Parts of identifiers that precede a number, as in `OAuth2Token` and `Base64Secret`."""
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
"""A word of a sentence or label, which a passphrase seldom has."""
_MOST_WORDS = 8
_DICEWARE = lazy_pattern(r"[a-z]{3,}(?: [a-z]{3,}){3,}\Z")
"""A passphrase of four or more words."""
_TURNS = lazy_pattern(r"\d(?=[A-Za-z])|[A-Za-z](?=\d)|[!@#$%^&*+](?=\w)")
_CLASSES = (lazy_pattern("[a-z]"), lazy_pattern("[A-Z]"), lazy_pattern("[0-9]"), lazy_pattern(r"[^\w\s]"))


def secret_word(name: str) -> str:
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


def is_key_of(word: str) -> bool:
    """Return whether `key` after this word is the name of a secret."""
    return word.lower() in _KEYS


def looks_secret(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether the value looks like a secret rather than a word, path, placeholder or source code."""
    if len(value) < (6 if word in _HUMAN else 8) or "://" in value:
        return False
    if " " in value:
        return word in PHRASES and _is_passphrase(value, is_quoted=is_quoted, is_variable=is_variable)
    if _PLACEHOLDER.match(value) or _reads_like_code(value, word, is_quoted=is_quoted, is_variable=is_variable):
        return False
    lower, upper, digit, other = _classes(value)
    has_letters = lower or upper
    if word == "auth":
        return _is_a_login(value) or (digit and has_letters and not _is_identifier(value))
    if digit and has_letters:
        return True
    is_plain = value.replace("-", "").replace("_", "").isalpha()
    return word in _HUMAN and (is_variable or value.isdigit() or (other and has_letters and not is_plain))


def is_random(value: str) -> bool:
    """Return whether the value is not an ordinary word: letters, digits or special characters alternate in it."""
    if len(value) < 8 or _PLACEHOLDER.match(value) or "://" in value or _PATH.match(value):
        return False
    return len(_TURNS.findall(value)) >= 2 and not _is_identifier(value)


def _classes(value: str) -> tuple[bool, ...]:
    """Return whether the value contains a lower-case letter, an upper-case letter, a digit, and another character."""
    return tuple(bool(each.search(value)) for each in _CLASSES)


def _is_identifier(value: str) -> bool:
    return bool(_DOTTED.match(value) or _IDENTIFIER.match(value))


def _is_passphrase(value: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether words with blanks between them are a passphrase rather than a sentence or a label."""
    if len(value.split()) > _MOST_WORDS or _TEMPLATE.search(value) or _PROSE.search(value):
        return False
    has_digit = any(sign.isdigit() for sign in value)
    return has_digit or (is_quoted and (is_variable or bool(_DICEWARE.match(value))))


def _reads_like_code(value: str, word: str, *, is_quoted: bool, is_variable: bool) -> bool:
    """Return whether the value is a path, or an unquoted identifier; a long value with digits and both cases is not."""
    if len(value) >= 20 and all(_classes(value)[:3]):
        return False
    if _PATH.match(value):
        return True
    if is_quoted or value.isdigit():
        return False
    return bool(_DOTTED.match(value) or (_IDENTIFIER.match(value) and _names_something(value, word, is_variable)))


def _names_something(identifier: str, word: str, is_variable: bool) -> bool:
    """Return whether an identifier is a name of source code rather than a password: its digits belong to a term."""
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
