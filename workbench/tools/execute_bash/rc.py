r"""The startup file of the shell, and the lines that pass it a command or ask for its result.

Nothing here is secret. A prompt only prints a hint, `ESC ]133;A BEL`, with `E` behind the `A` unless the line was
abandoned (a syntax error, C-c). When it is confirmed that bash waits at its prompt (see `prompt`), `question_line`
has the next prompt print the mark, `ESC ]133;D;NONCE;CODE;FOLDER US PATH;NONCE BEL`. CODE is 1000 more when the line
was abandoned. After an open quote bash shows its last prompt and takes the next line for a rest of the line, so that
an empty line is typed first.

A command travels as one physical line, `builtin eval $'…'`, so that an open quote is an error and no wait for more.
`__ohw_begin` in front of it gives it the `$?` of the command before, and its `set -x` and `set -v`, which are off in
between. FOLDER is the physical directory where there is no /proc to read it from: `$PWD` is a variable like any
other. `set -P` makes `cd ..` mean the parent of the real directory, which is what a reader of the command sees.

`__ohw_mend` behind it restores a prompt that the command changed (`source ~/.bashrc`, `exec 2>file`); the prompt
ends a DEBUG trap, which would see the lines typed here (not in a function: bash restores it behind those), and a RETURN
trap, which would run when `__ohw_begin` returns. Input that was typed for a command and that it did not read is thrown
away before the prompt, as the shell would run it otherwise; what has no Enter yet goes by the key in front of the line.

Functions go before builtins in bash, so that one of the agent's called `builtin` or `unset` would be called by our
lines. Only POSIX mode finds special builtins (`unset`, `set`, `exit`, `trap`, `exec`) first, and assigning
POSIXLY_CORRECT, which needs no command, switches it on. So from the end of a command to the start of the next the shell
is in POSIX mode; the variable holds what `__ohw_begin` needs to restore the user's options: exit code, `$-`, SHELLOPTS
and BASHOPTS, parted by colons. Where the assignment did not switch it on (`declare -n`, `readonly`) our functions do
nothing, and the mark, which holds SHELLOPTS, shows it. In POSIX mode a function called `builtin` can be removed for
certain; from then on `builtin` means itself. Words are quoted against aliases, our functions are read-only, and
`enable`, which could switch builtins off, is switched off itself.
"""

from __future__ import annotations

import re

LONGEST_LINE = 3500
"""Bytes; a terminal in line mode takes at most 4,095 a line, so that longer commands go through a file."""

_RC = r"""
__ohw_kept= __ohw_folder= __ohw_answer=:
__ohw_prompt() {
  [[ -o posix ]] || POSIXLY_CORRECT=1
  if [[ -o posix ]]; then
    set -- "$POSIXLY_CORRECT"
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
  unset -n PROMPT_COMMAND __ohw_kept
  PROMPT_COMMAND='\__ohw_prompt 2>/dev/null && \trap - DEBUG RETURN 2>/dev/null'
  set -- "$1" "$POSIXLY_CORRECT"
  case $2 in *:posix:*) ;; *) unset POSIXLY_CORRECT ;; esac
  case $2 in *:posix:* | *:inherit_errexit:*) ;; *) builtin shopt -u inherit_errexit ;; esac
  case $2 in 1 | *:expand_aliases:*) ;; *) builtin shopt -u expand_aliases ;; esac
  case $2 in *:shift_verbose:*) builtin shopt -s shift_verbose ;; *) builtin shopt -u shift_verbose ;; esac
  builtin set -- "$1" "${2#*:}"
  case ${2%%:*} in *v*) builtin set -v ;; esac
  case ${2%%:*} in *x*) builtin set -x ;; esac
  builtin return "$1"
}
__ohw_mend() {
  { POSIXLY_CORRECT=$?:$-:$SHELLOPTS:$BASHOPTS:; } 2>/dev/null
  if [[ -o posix ]]; then
    { set +xv; } 2>/dev/null
    unset -n __ohw_kept PROMPT_COMMAND 2>/dev/null
    unset PROMPT_COMMAND
    __ohw_kept=${POSIXLY_CORRECT%%:*}
    PROMPT_COMMAND='\__ohw_prompt 2>/dev/null && \trap - DEBUG RETURN 2>/dev/null'
    [[ -t 2 ]] || exec 2>/dev/tty
  fi
}
enable() { echo "enable: switched off in this shell, which relies on its builtins" >&2; return 1; }
readonly -f __ohw_prompt __ohw_begin __ohw_mend enable
builtin enable -n enable
set +H -P +o history
shopt -s checkwinsize expand_aliases
unset HISTFILE MAILCHECK
export -n PS1 PS0 PROMPT_COMMAND 2>/dev/null
__ohw_mend
"""

_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\']")


def rc_text() -> str:
    """Return the file that the shell reads at its start."""
    return _RC


def quoted(text: str) -> str:
    """Return the text as one word of bash on one line."""
    return "$'" + _ESCAPED.sub(lambda match: _escape(match.group()), text) + "'"


def _escape(character: str) -> str:
    return f"\\{character}" if character in "\\'" else "\\n" if character == "\n" else f"\\{ord(character):03o}"


def command_line(command: str, code: int) -> bytes:
    """Return the line that runs the command; `code` is the exit code of the command before."""
    return _typed(f"\\builtin eval {quoted(command)}".encode("utf-8", "replace"), code)


def file_line(path: str, code: int) -> bytes:
    """Return the line that runs the command in the file."""
    return _typed(f'\\builtin eval "$(< {quoted(path)})"'.encode("utf-8", "surrogateescape"), code)


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
    return f"\x15PROMPT_COMMAND=() {answered} {code} PS1={mark} __ohw_kept=\n".encode()


EMPTY_LINE = b"\x15\n"


def _typed(line: bytes, code: int) -> bytes:
    """Return the line preceded by a key that clears the input line; a failed part before `||` ends no `set -e`
    shell."""
    begin = f"\x15\\__ohw_begin {code} 2>/dev/null {'||' if code else '&&'} ".encode()
    return begin + line + b"; \\__ohw_mend\n"
