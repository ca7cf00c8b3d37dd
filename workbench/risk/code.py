"""Rates code and statements in languages that are not parsed, by the words they contain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.paths import Rating, words
from workbench.risk.reason import RUNS_CODE, Reason, Trait
from workbench.secrets.secret_names import holds_secret

_NAMES = lazy_pattern(r"\w+")
_DANGEROUS_CODE = lazy_pattern(
    r"\b(?:system|popen\w*|exec[lv]?[pe]*|spawn\w*|fork|subprocess|execSync|execFile\w*|child_process|shell_exec|passthru|"
    r"rmtree|remove_tree|delete-(?:file|directory)|file\s+delete|rmSync|rm(?=!?\s*\()|File\.rm\w*|System\.cmd|removeSync|os\.execute|io\.popen|rmdirSync|unlink\w*|removedirs|rm_rf|rm_r|remove|chmod|chown|kill|eval|compile|__import__|getattr|"
    r"importlib|ctypes|cffi|pty|socket|urllib|requests|httpx|aiohttp|http\.client|HTTPServer|smtplib|ftplib|paramiko|fetch|"
    r"XMLHttpRequest|net\.\w+|Net::HTTP|LWP|open3|IO\.popen|Kernel|Process|b64decode|"
    r"fromCharCode|unhexlify|marshal|pickle|writeFile\w*|appendFile\w*|write_text|write_bytes|symlink|Function|DBI)\b|"
    r"\bBun\.\$|%x|qx|`|/dev/|/etc/|\.ssh|(?<!process)(?<!Deno)\.env\b|\.aws|~/|open\s*\([^)]*,\s*(?:mode\s*=\s*)?[\"'][rbt]*[wax+]|TCPSocket|\|\s*[\"']|"
    r"(?:\bos[:.]cmd|\bshell|\bprocess_create|\bSys\.(?:command|remove)|\bUnix\.\w+|\bRuntime\.\w+|\bDir\.(?:rm\w*|delete|unlink))"
    r"\s*[\"(]|\bFile\.(?:delete|rename|write|unlink)\b|\bProcessBuilder\b|\bsys\.process\b|\bopen\s*\(?\s*[\"']\||"
    r"\b(?:(?:delete|destroy)_all|deleteMany|dropDatabase|drop_(?:all|table|database)|truncate)\b|"
    r"[\"'\])]\.(?:!+|execute\s*\(|lazyLines)|\b(?:delete|remove|write|append)File\b|"
    r"\b(?:system2|run-program|callCommand|(?:call|read|create)Process|os/(?:execute|spawn|shell)|syscall)\b|"
    r"(?<![\w.])(?:unix|dos)\s*\(|(?<![\w.])(?:run|shell)\s*\(?\s*(?:Cmd\b|[\"'<])|"
    # a function or module whose name is put together while the code runs
    r"\b(?:import|require)\s*\(\s*(?![\"'][^\"']*[\"']\s*[,)]|\))|\b(?:mainModule|createRequire|dlopen)\b|"
    r"(?<=[\w\])])\[\s*[\"'][^\"'\]]*[\"']\s*(?:\+|\.\.|~)\s*[\"']|\$\w+\s*\(\s*[\"'$]",
)
_SURROUNDINGS = lazy_pattern(r"\b(?:environ|getenv|process\.env|Deno\.env|ENV)\b|\$_(?:ENV|SERVER)\b")


@lru_cache(maxsize=64)
def rated_code(code: str) -> Rating:
    """Return the risk and reason of code in any language, by the words it contains."""
    match = _DANGEROUS_CODE.search(code)
    if match:
        return "HIGH", Reason(f"runs code that uses {match[0].strip()[:20]}", Trait.RUNS)
    return printed_variables(code) if _SURROUNDINGS.search(code) else ("MEDIUM", RUNS_CODE)


def printed_variables(code: str) -> Rating:
    """Rate code that reads environment variables: HIGH if one is named like a secret, otherwise MEDIUM."""
    if any(map(holds_secret, _NAMES.findall(code))):
        return "HIGH", "prints a secret"
    return "MEDIUM", Reason("prints environment variables", Trait.PRINTS_VARIABLES)


REDIS_READS = words(
    "ping info get mget keys scan exists ttl pttl type dbsize llen lrange hget hgetall hkeys hlen smembers scard "
    "zrange zcard strlen time lastsave object memory latency slowlog"
)

_LOSES: Final = lazy_pattern(
    r"\b(?:drop|delete|truncate|update|alter|grant|revoke|attach|detach|copy|load_file|load_extension|replace|vacuum|reindex|"
    r"into\s+(?:out|dump)file|load\s+data|lo_import|lo_export|pg_\w+|writefile|readfile|edit|set\s+(?:global|role|session)|"
    r"do\s+\$|call|execute|create\s+(?:or\s+replace\s+)?(?:function|extension|trigger|user|role|server)|rename|"
    r"shutdown|kill|flush|reset|purge|install|import|export)\b|\$\(|`",
    re.I,
)
_META: Final = lazy_pattern(
    r"\s*(?:\\(?:!|i\b|ir\b|o\b|g\s*\S|gexec|w\b|copy|cd|setenv|s\b|e\b|ef|ev|lo_|password|T|P\b|R\b|\.)"
    r"|\.(?:sh|sys|read|imp|ou|on|sav|op|lo|ba|dump|exc|excel|clo|re|log|ar|che|cd|exp|w)\w*"
    r"|(?:system|source|tee|pager|edit|\\[.!TPe])\b|!|host\s|@{1,2}[\w./~])",
    re.I,
)
_PIPED: Final = lazy_pattern(r"\\g\w*\s*\||\|\s*\w")
_WRITES: Final = lazy_pattern(r"\b(?:insert|create|upsert|merge|with|begin|commit|rollback|savepoint)\b", re.I)


_REACHES: Final = lazy_pattern(
    r"\b(?:load_extension|writefile|edit|pg_read_\w*file|pg_ls_\w+|pg_stat_file|pg_write_file|lo_import|lo_export|dblink\w*|"
    r"xp_cmdshell|sys_(?:exec|eval))\s*\(|\b(?:into\s+dumpfile|(?:to|from)\s+program|force\s+install|"
    r"(?:install|load)\s+(?:'|\w+\s*(?:;|\Z|from\b)))|\A\s*\.(?:import|read|open|log|trace|output|once|excel)\s*[\"']?\|",
    re.I,
)


def reaches_beyond_data(statement: str) -> bool:
    """Return whether a statement or command for a database client runs code or accesses files of the system."""
    lines = statement.splitlines()
    return bool(_REACHES.search(statement)) or any(_META.match(line) and not _DUMPS.match(line) for line in lines)


_DUMPS: Final = lazy_pattern(r"\s*(?:\.(?:dump|read)\b(?!.*\|)|(?:system|source|tee|pager|edit)\b)", re.I)
"""Lines that match _META but only print, are understood only by mysql, or read a file that is rated elsewhere."""


def _sql(text: str) -> tuple[Risk, str]:
    if _META.match(text) or any(_META.match(line) for line in text.splitlines()) or re.search(r"\\!|\\g\S*\s*\|", text):
        return "HIGH", Reason("runs a command, or reads or writes a file", Trait.RUNS)
    if _LOSES.search(text) or _REACHES.search(text):
        return "HIGH", "changes or deletes data"
    return "MEDIUM", "changes data" if _WRITES.search(text) else "queries a database"


def _redis(text: str) -> tuple[Risk, str]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    reads = all(
        line[0].strip("\"'").casefold() in REDIS_READS | {"auth", "select", "quit", "exit", "help"} for line in lines
    )
    return ("MEDIUM", "queries a database") if reads else ("HIGH", "changes or deletes data")


_MONGO_LOSES: Final = lazy_pattern(
    r"(?:drop|delete|remove|update|insert|replace|rename|bulkWrite|findOneAnd|findAndModify|createUser|grant|revoke|"
    r"shutdown|eval|load|exec|process|require|import|adminCommand|runCommand|Function|constructor|mapReduce|"
    r"setProfiling|stop|kill|fsync|reconfig|stepDown)\w*\s*[\[(.\"'`]|\$(?:out|merge|where|function)\b|\[\s*['\"`]",
    re.I,
)


def _mongo(text: str) -> tuple[Risk, str]:
    return ("HIGH", "changes or deletes data") if _MONGO_LOSES.search(text) else ("MEDIUM", "queries a database")


_DEBUGS: Final = lazy_pattern(
    r"(?:bt|backtrace|where|info|i|thread|frame|f|up|down|list|l|run|r|quit|q|n|next|ni|s|step|si|c|continue|finish|until|"
    r"b|break|tbreak|delete|d|disable|enable|help|h|p|print|x|display|ptype|whatis|watch|y|n|yes|no)"
    r"(?:/\w+)?(?:\s+[\w\s.:*&>\[\]$+-]*)?"
)


def _debugger(text: str) -> tuple[Risk, str]:
    if all(_DEBUGS.fullmatch(line.strip()) for line in text.splitlines() if line.strip()):
        return "MEDIUM", "steers a debugger"
    return "HIGH", Reason("gives a debugger a command that may run anything", Trait.RUNS)


def _calculator(text: str) -> tuple[Risk, str]:
    if "!" in text or "execute" in text:
        return "HIGH", Reason("runs a command", Trait.RUNS)
    return "MEDIUM", "calculates"


_BY_KIND: Final[Mapping[Callable[[str], Rating], frozenset[str]]] = {
    _sql: words(
        "psql sqlite sqlite3 mysql mariadb duckdb sqlcmd clickhouse clickhouse-client cockroach pgcli mycli litecli "
        "sqlplus trino presto cqlsh isql usql"
    ),
    _redis: words("redis-cli valkey-cli keydb-cli"),
    _mongo: words("mongo mongosh"),
    _debugger: words("gdb lldb rust-gdb rust-lldb dlv jdb"),
    _calculator: words("bc dc"),
}
STATEMENTS: Final = {name: read for read, names in _BY_KIND.items() for name in names}
"""The function that rates the input of a database, debugger or calculator, by program name."""


def rated_statements(program: str, text: str) -> Rating:
    """Return the risk and reason of input to a database client, calculator or debugger; LOW for other programs."""
    read = STATEMENTS.get(program)
    return read(text) if read is not None else ("LOW", "")
