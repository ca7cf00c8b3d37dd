r"""The startup file of the shell, and the lines that pass it a command or ask for its result.

Nothing here is secret. A prompt only prints a hint, `ESC ]133;A BEL`, with an `E` after the `A` unless the line was
abandoned (a syntax error, C-c). Once it is confirmed that bash is waiting at its prompt (see `prompt`), `question_line`
makes the next prompt print the mark, `ESC ]133;D;NONCE;CODE;FOLDER US PATH US :SHELLOPTS:;NONCE BEL`. CODE is 1000
higher if the line was abandoned. After an open quote, bash shows its last prompt and takes the next line for the rest
of the open one, so an empty line is typed first.

A command is sent as one physical line, `builtin eval $'…'`, so that an open quote is an error and bash does not wait
for more. `__ohw_begin` before it restores the previous command's `$?` and options. FOLDER is the physical directory if
there is no /proc to read it from, because `$PWD` can be set like any other variable. `set -P` makes `cd ..` mean the
parent of the real directory, as a reader of the command expects.

`set -x` and `set -v` are off outside the command, and `__ohw_trace`, a first line of the evaluated text, turns them on
again. What follows the command would still be traced up to the `set +x`, so it runs in a group with redirected output:
bash traces to standard error or to the descriptor in BASH_XTRACEFD, and a redirection is the only thing that can change
both before the first traced command. `{BASH_XTRACEFD}>` assigns a descriptor of its own to the variable; the
here-string, expanded before, keeps the exit code and the former value in `__ohw_end`. The group also hides what a DEBUG
trap prints about our lines. If BASH_XTRACEFD is read-only, the part after `||` runs.

`__ohw_repair` in that group restores a prompt that the command changed (`source ~/.bashrc`); the prompt restores
standard error (`exec 2>file`). The prompt removes a DEBUG trap, which would see the lines typed here (it does so
outside functions, because bash restores the trap when a function returns), and a RETURN trap, which would run when
`__ohw_begin` returns. Typed input that the command did not read is discarded before the prompt, because the shell would
run it; input without an Enter is cleared by the key at the start of our line. A line that bash abandons (`set -u`,
`${x?}`) never comes to `__ohw_repair`, so the prompt records the options itself then.

Bash looks up functions before builtins, so our lines would call a function of the agent's named `builtin` or `unset`.
Only POSIX mode looks up special builtins (`unset`, `set`, `exit`, `trap`, `exec`) first, and assigning POSIXLY_CORRECT,
which needs no command, turns it on. So the shell is in POSIX mode from the end of one command to the start of the next.
The variable holds the values with which `__ohw_begin` restores the shell's options: exit code, `$-`, SHELLOPTS and
BASHOPTS, separated by colons. If the assignment did not turn POSIX mode on (`declare -n`, `readonly`), our functions do
nothing, and the SHELLOPTS in the mark show it. In POSIX mode a function named `builtin` can be removed reliably; from
then on `builtin` means the builtin. Words are quoted against aliases, our functions are read-only, and `enable`, which
could turn builtins off, is itself turned off.
"""

from __future__ import annotations

from workbench.lazy_pattern import lazy_pattern

LONGEST_LINE = 3500
"""Bytes; a terminal in line mode takes at most 4,095 a line, so longer commands go through a file."""

_PROMPT = (
    r'{ \__ohw_prompt ":$-:$SHELLOPTS:$BASHOPTS:" && \trap - DEBUG RETURN; } >/dev/null 2>&1'
    r" && { [[ -t 2 ]] || \exec 2>/dev/tty; }"
)
"""The value of PROMPT_COMMAND while a command runs."""

_RC = r"""
__ohw_kept= __ohw_folder= __ohw_answer=: __ohw_trace= __ohw_end=0:
__ohw_prompt() {
  [[ -o posix ]] || POSIXLY_CORRECT=1
  if [[ -o posix ]]; then
    set +xv
    case ${POSIXLY_CORRECT-} in *:*:*) set -- "$POSIXLY_CORRECT" ;; esac
    unset POSIXLY_CORRECT || exit 1
    POSIXLY_CORRECT=$1
    builtin() { [[ x ]]; }
    unset -f builtin || exit 1
    unset -n PS0 PS1 __ohw_folder __ohw_answer
    builtin local REPLY __ohw_i=0
    [[ -t 0 ]] && while ((__ohw_i++ < 500)) && builtin read -t 0; do builtin read -r -t 0.01; done
    builtin shopt -s promptvars
    PS0= PS1='\e]133;A${__ohw_kept:+E}\a'
    __ohw_folder=$PWD
    [[ -e /proc/$$/cwd ]] || __ohw_folder=$(builtin pwd -P)
  fi
  [[ -o posix ]]
}
__ohw_begin() {
  builtin() { [[ x ]]; }
  unset -f builtin || exit 1
  unset -n PROMPT_COMMAND __ohw_kept __ohw_trace __ohw_end
  unset __ohw_trace __ohw_end
  PROMPT_COMMAND='PROMPT'
  set -- "$1" "$POSIXLY_CORRECT"
  case $2 in *:posix:*) POSIXLY_CORRECT=y ;; *) unset POSIXLY_CORRECT ;; esac
  case $2 in *:posix:* | *:inherit_errexit:*) ;; *) builtin shopt -u inherit_errexit ;; esac
  case $2 in *:expand_aliases:*) ;; *) builtin shopt -u expand_aliases ;; esac
  case $2 in *:shift_verbose:*) builtin shopt -s shift_verbose ;; *) builtin shopt -u shift_verbose ;; esac
  builtin set -- "$1" "${2#*:}"
  case ${2%%:*} in *v*) __ohw_trace=v ;; esac
  case ${2%%:*} in *x*) __ohw_trace+=x ;; esac
  __ohw_trace=${__ohw_trace:+\\builtin set -$__ohw_trace$'\n'}
  builtin return "$1"
}
__ohw_repair() {
  POSIXLY_CORRECT=${__ohw_end%%:*}:$-:$SHELLOPTS:$BASHOPTS:
  if [[ -o posix ]]; then
    set +xv
    unset -n __ohw_kept PROMPT_COMMAND
    unset PROMPT_COMMAND
    __ohw_kept=${POSIXLY_CORRECT%%:*}
    PROMPT_COMMAND='PROMPT'
    BASH_XTRACEFD=
    BASH_XTRACEFD=${__ohw_end#*:}
    [[ $BASH_XTRACEFD ]] || unset BASH_XTRACEFD
  fi
  [[ x ]]
}
enable() { echo "enable: switched off in this shell, which relies on its builtins" >&2; return 1; }
readonly -f __ohw_prompt __ohw_begin __ohw_repair enable
builtin enable -n enable
set +H -P +o history
shopt -s checkwinsize expand_aliases
unset MAILCHECK
history -c
HISTIGNORE='*__ohw_*'
export -n PS1 PS0 PROMPT_COMMAND 2>/dev/null
__ohw_repair
""".replace("PROMPT'", _PROMPT + "'")

_ESCAPED = lazy_pattern(r"[\x00-\x1f\x7f\\']")


def rc_text() -> str:
    """Return the content of the file that the shell reads at startup."""
    return _RC


def quoted(text: str) -> str:
    """Return the text as one word of bash on one line."""
    return "$'" + _ESCAPED.sub(lambda match: _escape(match.group()), text) + "'"


def _escape(character: str) -> str:
    return f"\\{character}" if character in "\\'" else "\\n" if character == "\n" else f"\\{ord(character):03o}"


def command_line(command: str, code: int) -> bytes:
    """Return the line that runs the command; `code` is the exit code of the previous command."""
    return _typed(f'\\builtin eval "$__ohw_trace"{quoted(command)}'.encode("utf-8", "replace"), code)


def file_line(path: str, code: int) -> bytes:
    """Return the line that runs the command in the file."""
    return _typed(f'\\builtin eval "$__ohw_trace$(< {quoted(path)})"'.encode("utf-8", "surrogateescape"), code)


def question_line(nonce: str, first: str) -> bytes:
    """Return the line that makes the prompt print the mark; `nonce` is a decimal number.

    `first` is the nonce of the first question about the same command. The shell stores the exit code that it reported
    under that nonce, so a repeated question gets the same answer, whether or not bash has read the first one.

    The line consists of assignments only: it runs no function, alias or command of the agent's, and no `PROMPT_COMMAND`
    follows it. If an assigned variable is read-only, the line ends before the prompt is set.
    """
    where = "${__ohw_folder-}\\037${PATH-}\\037:$SHELLOPTS:"
    mark = f"'\\e]133;D;{nonce};'$__ohw_kept';{where};{nonce}\\a\\e]133;A\\a'"
    answered = f"__ohw_kept=${{__ohw_kept:-${{__ohw_answer#:{first}:}}}} __ohw_kept=${{__ohw_kept##:*}}"
    code = f"__ohw_kept=${{__ohw_kept:-$((1000+$?))}} __ohw_answer=:{first}:$__ohw_kept"
    return f"\x15PROMPT_COMMAND=() {answered} {code} __ohw_trace= __ohw_end= PS1={mark} __ohw_kept=\n".encode()


# An error in the here-string ends the line, so it precedes the redirections, which bash would leave in effect.
_END = (
    b'; { { \\__ohw_repair; } {BASH_XTRACEFD}>/dev/null || \\__ohw_repair; } <<<"${__ohw_end:=$?:${BASH_XTRACEFD-}}"'
    b" >/dev/null 2>&1\n"
)
EMPTY_LINE = b"\x15\n"
MODES = "stty -echo -ixon -onlcr lnext undef 2>/dev/null; "
"""Sets the modes of a terminal in a container, for where they cannot be set from outside."""


def _typed(line: bytes, code: int) -> bytes:
    """Return the line, preceded by a key that clears the input line and by `__ohw_begin`, which sets `$?` to `code`.

    A failed part before `||` does not end a shell with `set -e`.
    """
    begin = f"\x15\\__ohw_begin {code} 2>/dev/null {'||' if code else '&&'} ".encode()
    return begin + line + _END
