"""Environment and shell variables that change the behavior of later commands, and their harmless values."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.reason import Reason, Trait
from workbench.risk.word import UNKNOWN, Word

MAKES_NAMEREFS: Final = frozenset({"declare", "typeset", "local"})
NAMEREF: Final = "makes a variable an alias of another one"

_POISON_BEGINNINGS = (
    r"LD_|DYLD_|GIT_|BASH_|npm_config_|NPM_|PIP_|PIPX_|PIPENV_|UV_|POETRY_|PDM_|HATCH_|CONDA_|GCONV_|"
    r"PERL(?:5|LIB|DB|IO|_)|RUSTC|RUSTUP_|XDG_|GUILE_|TCL(?:LIBPATH|_)|ERL_|ELIXIR_|ANSIBLE_|TF_CLI_|HELM_|YARN_|"
    r"COREPACK_|BUNDLE_|GEM_|RUBY(?:OPT|LIB|GEMS|SHELL)|CORECLR_|COMPlus_|DOTNET_|NIX_|GROFF_|TEXMF|RSYNC_|"
    r"OPENSSL_|GTK_|QT_|QEMU_|CMAKE_|PKG_CONFIG|CCACHE_|CGO_|GDK_|GIO_|LLVM_|PG(?!_)|MYSQL_|LUA_|AWK(?:PATH|LIB)|"
    r"HG(?!_)|SVN_|FZF_|LESS|TMUX|MAN(?:[A-Z]*OPT|PATH|PAGER|ROFF|LESS|SECT|WIDTH)|SYSTEMD_|DOCKER_|JAVA_|"
    r"JDK_|_JAVA|SSH_|SSL_|SUDO_|PYTHON[A-Z]|NODE_|ELECTRON_|MAIL(?:PATH|CHECK|RC)|HIST|"
    r"R_(?:PROFILE|ENVIRON|HOME|LIBS)|COVERAGE_(?:PROCESS|RCFILE|FILE)|BAT_|TERMINFO|JUPYTER_|GROOVY_|KOTLIN_|"
    r"ESLINT_|BABEL_|TS_NODE_|LYNX_|W3M_|TOX_|GCOV_|CARGO_(?!TERM_|INCREMENTAL|NET_OFF)"
)
_POISON_NAMES = (
    r"PATH|ENV|BASHOPTS|SHELLOPTS|POSIXLY_CORRECT|PROMPT_COMMAND|IFS|PS[0-4]|\w*PAGER|\w*EDITOR|VISUAL|\w*BROWSER|"
    r"HOME|SHELL|CDPATH|GLOBIGNORE|INPUTRC|histchars|MFLAGS|MAKE(?:FLAGS|FILES)?|GNUMAKEFLAGS|PROMPT_DIRTRIM|"
    r"EXECIGNORE|FIGNORE|TMOUT|ZDOTDIR|PWD|OLDPWD|DIRSTACK|TMPDIR|(?:https?|ftp|all|no)_proxy|(?:HTTPS?|FTP|ALL|NO)_PROXY|\w*_BASE_URL|"
    r"\w*_API_BASE|\w*_ENDPOINT(?:_URL\w*)?|\w*_CA_(?:BUNDLE|CERTS?)|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|"
    r"ACK_OPTIONS|ACKRC|LOCPATH|NLSPATH|TERMCAP|LIBPATH|SHLIB_PATH|KUBECONFIG|AWS_CONFIG_FILE|"
    r"AWS_SHARED_CREDENTIALS_FILE|GH_CONFIG_DIR|SSLKEYLOGFILE|CURL_HOME|WGETRC|SCREENRC|EXINIT|"
    r"VIM(?:INIT|RUNTIME)?|IPYTHONDIR|GDBHISTFILE|KRB5_CONFIG|GLIBC_TUNABLES|MALLOC_TRACE|GMON_OUT_PREFIX|"
    r"\w+SAN_OPTIONS|GZIP|BZIP2?|XZ_OPT|XZ_DEFAULTS|ZIPOPT|UNZIP|RSH|CVS_RSH|TAPE|CC|CXX|CPP|LD|AR|AS|NM|"
    r"(?:C|LD|CPP|CXX)FLAGS|LDSHARED|CPATH|\w*_INCLUDE_PATH|LIBRARY_PATH|COMPILER_PATH|"
    r"GCC_EXEC_PREFIX|CCC_OVERRIDE_OPTIONS|fish_\w+|[A-Z]+RC|BUILDKIT_HOST|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|RUSTFLAGS|RUST_TARGET_PATH|RUSTDOC|"
    r"GO(?:FLAGS|ROOT|TOOLCHAIN|PROXY|ENV|BIN|INSECURE|NOSUMDB|SUMDB|VCS)|CLASSPATH|PYTEST_ADDOPTS|PYTEST_PLUGINS|"
    r"MAVEN_OPTS|MAVEN_ARGS|GRADLE_OPTS|SBT_OPTS|ANT_OPTS|ANT_ARGS|JULIA_LOAD_PATH|PHPRC|PHP_INI_SCAN_DIR|"
    r"SHELLCHECK_OPTS|MOCHA_OPTIONS|DIFFPROG|VIEWER|ELINKS_CONFDIR|OCAMLRUNPARAM|OCAMLPATH|WINEPREFIX|WINEDEBUG|"
    r"USE_BAZEL_VERSION|FPATH|fpath|\w*ASKPASS|VIRTUAL_ENV"
)
_POISON = lazy_pattern(f"(?:{_POISON_BEGINNINGS}).*|{_POISON_NAMES}")
_SWITCH = r"[\w,:-]*"
_SWITCHES = """
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONFAULTHANDLER
    PYTHONASYNCIODEBUG PYTHONDEVMODE PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONTRACEMALLOC NODE_ENV NODE_NO_WARNINGS
    NODE_DEBUG MANWIDTH LESSCHARSET CGO_ENABLED DOCKER_BUILDKIT UV_NO_PROGRESS UV_OFFLINE UV_NO_CACHE UV_FROZEN
    UV_LINK_MODE UV_HTTP_TIMEOUT UV_SYSTEM_PYTHON PIP_NO_CACHE_DIR PIP_PROGRESS_BAR PIP_QUIET PIP_NO_INPUT
    PIP_DISABLE_PIP_VERSION_CHECK POETRY_VIRTUALENVS_CREATE RUSTC_BOOTSTRAP DOTNET_CLI_TELEMETRY_OPTOUT
    DOTNET_NOLOGO ANSIBLE_NOCOWS NPM_CONFIG_LOGLEVEL npm_config_loglevel NPM_CONFIG_COLOR npm_config_yes
    PERL_UNICODE PERL_HASH_SEED PGPORT PGCONNECT_TIMEOUT PGCLIENTENCODING CARGO_BUILD_JOBS GIT_TERMINAL_PROMPT
    GIT_OPTIONAL_LOCKS GIT_LFS_SKIP_SMUDGE HISTCONTROL
"""
"""Variables that only switch something on or off, or set an amount."""
_SETTINGS_FILES = """
    GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM BASH_ENV ENV KUBECONFIG NPM_CONFIG_USERCONFIG npm_config_userconfig
    NPM_CONFIG_GLOBALCONFIG npm_config_globalconfig PIP_CONFIG_FILE PYTHONSTARTUP RIPGREP_CONFIG_PATH AWS_CONFIG_FILE
    AWS_SHARED_CREDENTIALS_FILE INPUTRC COVERAGE_RCFILE WGETRC SCREENRC ACKRC
"""
"""Variables that name a file of settings or of startup commands; with `/dev/null` they name an empty one."""
_PROXIES = frozenset({f"{kind}_proxy" for kind in ("http", "https", "ftp", "all", "no")})
_FINE = {
    **dict.fromkeys([*_PROXIES, *map(str.upper, _PROXIES)], ""),
    **dict.fromkeys(["no_proxy", "NO_PROXY"], r"[\w.,:*/-]*"),
    **dict.fromkeys(_SWITCHES.split(), _SWITCH),
    **dict.fromkeys(["PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "AWS_PAGER", "GH_PAGER"], r"(?:cat)?"),
    **dict.fromkeys(["EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"], r"true|:|cat"),
    **dict.fromkeys(["GIT_TRACE", "GIT_TRACE_SETUP", "GIT_TRACE_PERFORMANCE", "GIT_TRACE_CURL"], r"[0-2]|true|false"),
    **dict.fromkeys(_SETTINGS_FILES.split(), "/dev/null"),
    **dict.fromkeys(["PGHOST", "MYSQL_HOST"], r"localhost|127\.0\.0\.1|db|postgres|mysql"),
    **dict.fromkeys(["PGUSER", "PGDATABASE", "PGPASSWORD", "MYSQL_PWD"], r"[^/]*"),
    **dict.fromkeys(["JAVA_HOME", "GOROOT"], r"(?:/usr|/opt|/Library)/(?:(?!\.\.)[\w./@+-])+"),
    **dict.fromkeys(["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"], r"(?:\w+=[\w-]+[:,]?)*"),
    **dict.fromkeys(
        ["CFLAGS", "LDFLAGS", "CPPFLAGS", "CXXFLAGS"],
        r"(?:-(?!fplugin|Wl,|Wp,|Wa,|fuse)[gOWfmD][\w=,+-]*|-std=[\w+]+|-l\w+|\s)*",
    ),
    "LESS": r"-?[FRXSQi]*",
    "HISTTIMEFORMAT": r"[%\w: -]*",
    "GOTOOLCHAIN": r"local|auto|go[\d.]+",
    "USE_BAZEL_VERSION": r"latest|[\d.]+",
    "GOPROXY": r"off|direct|https://proxy\.golang\.org(?:,direct)?",
    "RUSTFLAGS": r"(?:-[DWAF] ?[\w:-]+|"
    r"-C ?(?:debuginfo|opt-level|target-cpu|codegen-units|instrument-coverage)(?:=[\w-]+)?|\s)*",
    "NODE_OPTIONS": r"(?:--(?:max-old-space-size=\d+|experimental-vm-modules|no-warnings|trace-warnings|"
    r"trace-deprecation|enable-source-maps|openssl-legacy-provider|unhandled-rejections=\w+|no-deprecation|inspect)\s*)+",
    "GOFLAGS": r"(?:-(?:mod=\w+|count=\d+|race|v|buildvcs=\w+)\s*)+",
    "PYTEST_ADDOPTS": r"(?:-[vqxs]+|--tb=\w+|--color=\w+|\s)*",
    "PYTHONWARNINGS": r"(?:(?:ignore|error|default|always)(?:::\w+)?)?",
    "MAKEFLAGS": r"-?j\d*",
    "CC": r"cc|(?:gcc|clang)(?:-\d+)?",
    "CXX": r"c\+\+|(?:g|clang)\+\+(?:-\d+)?",
}
"""Variables among the above that are harmless if the value matches the pattern; passing one to a program can be
MEDIUM.
"""
_FINE_BEGINNINGS = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_SEARCHED = {"PYTHONPATH": "Python", "NODE_PATH": "node", "RUBYLIB": "ruby"}
"""Variables that list directories to search for code, with the program that searches them."""
_HERE = r"""(?:(?:\$PWD|\$\{PWD\}|\$\(pwd\)|\.)(?:/[\w.@+-]+)*|[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*)/?"""
_BEHIND = r"(?:/usr|/opt|/snap|/bin|/sbin|(?:\$HOME|\$\{HOME\}|~)/\.?[\w-]+)(?:/[\w.+-]+)*"


def poisons(name: str, value: str, command: str = "", *, here: bool = False) -> tuple[Risk, str] | None:
    """Return the risk and reason of setting a variable, or None if that does not affect what other commands do.

    `command` is the one command that gets the variable; if it is empty, all later commands get it. `here` means that
    they run inside the workspace.
    """
    name = name.partition("[")[0].removesuffix("+")
    if not _POISON.fullmatch(name) or (command and name == ("IFS" if command == "read" else "TMPDIR")):
        return None
    if name.startswith(_FINE_BEGINNINGS) or (name in _FINE and re.fullmatch(_FINE[name], value)):
        return None
    if here and name in _SEARCHED and ".." not in value and re.fullmatch(_searched(name), value):
        return "MEDIUM", f"{_SEARCHED[name]} searches the workspace for code first"
    if name == "PATH" and re.fullmatch(rf"\$(?:PATH|\{{PATH\}})(?::{_BEHIND})+", value) and ".." not in value:
        return "MEDIUM", "adds directories to the end of PATH"
    return "HIGH", Reason(f"sets {name}, which changes what other commands do", Trait.RUNS)


def makes_nameref(word: Word) -> bool:
    """Return whether a word of `declare` may contain the flag -n, which makes the variable an alias of another."""
    text = word.text
    return text.startswith((UNKNOWN, "-")) and (UNKNOWN in text or "n" in text)


def names_in(text: str) -> list[str]:
    """Return every string in a text that may be the name of a variable."""
    return re.findall(r"[A-Za-z_]\w*", text)


_HARMLESS = lazy_pattern(
    r"LANG|LANGUAGE|LC_\w+|TZ|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|PY_COLORS|COLORTERM|TERM|COLUMNS|"
    r"LINES|NODE_ENV|NODE_NO_WARNINGS|DEBUG|VERBOSE|PORT|HOST|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|"
    r"PYTHONIOENCODING|PYTHONUTF8|PYTHONHASHSEED|PYTHONFAULTHANDLER|RUST_BACKTRACE|RUST_LOG|CARGO_TERM_\w+|"
    r"LS_COLORS|GREP_COLORS?|JQ_COLORS|TIME_STYLE|BLOCK_SIZE|BLOCKSIZE|QUOTING_STYLE|MANWIDTH|DEBIAN_FRONTEND|"
    r"GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|(?:GIT_|MAN|SYSTEMD_|AWS_|GH_)?PAGER|LESS|LESSCHARSET|"
    r"PIP_DISABLE_PIP_VERSION_CHECK|PIP_NO_INPUT"
)
"""Variables that do not affect what a program reads, runs or writes."""
_HARMLESS_VALUE = lazy_pattern(r"(?!.*\.\.)[\w@.,:+=;* -]*|[A-Z]\w+/\w+(?:/\w+)?", re.ASCII)
_NO_LETTER = lazy_pattern(r"[^A-Za-z]")
_TELLS = lazy_pattern(r"[/\s$\0]|\A[-.]")
_ANY_VALUE = lazy_pattern(r"DEBUG|PORT|HOST|CI|GIT_(?:AUTHOR|COMMITTER)_\w+")


def _is_setting_of(name: str, value: str, command: str) -> bool:
    """Return whether the variable's name starts with that of the program that gets it, and it may name a file, option
    or host.
    """
    program = _NO_LETTER.sub("", command.rpartition("/")[2]).casefold()
    own = len(program) > 2 and name.replace("_", "").casefold().startswith(program)
    return own and bool(_TELLS.search(value)) and name not in _FINE and not is_harmless_name(name)


def is_harmless_name(name: str) -> bool:
    """Return whether a variable with this name is harmless to a program with most values."""
    return bool(_HARMLESS.fullmatch(name) or _ANY_VALUE.fullmatch(name))


def rated_variable(name: str, value: str, command: str = "") -> tuple[Risk, str]:
    """Return the risk and reason of passing a variable to a program: LOW if known to be harmless, otherwise at least
    MEDIUM.
    """
    result = poisons(name, value, command)
    if result:
        return result
    if _is_setting_of(name, value, command):
        return "HIGH", Reason(f"changes the settings of {command[:40]}", Trait.RUNS)
    if (
        name == "IFS"
        or name.lower() in _PROXIES
        or _ANY_VALUE.fullmatch(name)
        or (_HARMLESS.fullmatch(name) and _HARMLESS_VALUE.fullmatch(value))
    ):
        return "LOW", ""
    return "MEDIUM", f"gives a program a variable that is not known to be harmless: {name[:40]}"


@cache
def _searched(name: str) -> str:
    """Return a pattern for values of a variable that list only workspace directories and the variable's previous
    value.
    """
    before = rf"\$(?:{name}|\{{{name}(?::[-+][^}}]*)?\}})"
    return rf"(?:(?:{_HERE}|{before})(?::|\Z))+"
