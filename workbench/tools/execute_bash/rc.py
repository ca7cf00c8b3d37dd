r"""What the shell reads at its start, and how a command is handed to it; used by `shell` and `prompt`.

Nothing here is secret. A prompt only prints a hint, `ESC ]133;A BEL`, with `E` behind the `A` unless the line was
abandoned (a syntax error, C-c). When it is confirmed that bash waits at its prompt (see `prompt`), `question_line`
has the next prompt print the mark, `ESC ]133;D;NONCE;CODE;FOLDER US PATH;NONCE BEL`. CODE is 1000 more when the line
was abandoned. After an open quote bash shows its last prompt and takes the next line for a rest of the line, so that
an empty line is typed first.

A command travels as one physical line, `builtin eval $'…'`, so that an open quote is an error and no wait for more.
`__ohw_begin` in front of it gives it the `$?` of the command before, and its `set -x` and `set -v`, which are off in
between. FOLDER is the physical directory where there is no /proc to read it from: `$PWD` is a variable like any
other. `set -P` makes `cd ..` mean the parent of the real directory, which is what a reader of the command sees.

`__ohw_mend` behind it brings back a prompt that the command took away (`source ~/.bashrc`, `exec 2>file`); the prompt
ends a DEBUG trap, which would see the lines typed here (not in a function: bash restores it behind those). Input that
was typed for a command and that it did not read is thrown away before the prompt, as the shell would run it
otherwise; what has no Enter yet goes by the key in front of the line.
"""

from __future__ import annotations

import re

LONGEST_LINE = 3500
"""Bytes; a terminal in line mode takes at most 4,095 a line, so that longer commands go through a file."""

_RC = r"""
__ohw_kept= __ohw_flags=
__ohw_prompt() {
  local REPLY __ohw_i=0
  [[ -t 0 ]] && while ((__ohw_i++ < 500)) && builtin read -t 0; do builtin read -r -t 0.01; done
  builtin shopt -s promptvars
  PS0= PS1='\e]133;A${__ohw_kept:+E}\a'
  __ohw_folder=$PWD
  [[ -e /proc/$$/cwd ]] || __ohw_folder=$(builtin pwd -P)
}
__ohw_begin() {
  PROMPT_COMMAND='{ \__ohw_prompt; \builtin trap - DEBUG; } 2>/dev/null'
  case $__ohw_flags in *v*) builtin set -v ;; esac
  case $__ohw_flags in *x*) builtin set -x ;; esac
  return "$1"
}
__ohw_mend() {
  { __ohw_kept=$? __ohw_flags=$-; builtin set +xv; } 2>/dev/null
  unset PROMPT_COMMAND
  PROMPT_COMMAND='{ \__ohw_prompt; \builtin trap - DEBUG; } 2>/dev/null'
  [[ -t 2 ]] || exec 2>/dev/tty
}
readonly -f __ohw_prompt __ohw_begin __ohw_mend
set +H -P +o history
shopt -s checkwinsize expand_aliases
unset HISTFILE MAILCHECK
export -n PS1 PS0 PROMPT_COMMAND 2>/dev/null
__ohw_mend
"""

_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\']")


def rc_text() -> str:
    """The file read at the start."""
    return _RC


def quoted(text: str) -> str:
    """The text as one word of bash on one line."""
    return "$'" + _ESCAPED.sub(lambda match: _escape(match.group()), text) + "'"


def _escape(sign: str) -> str:
    return f"\\{sign}" if sign in "\\'" else "\\n" if sign == "\n" else f"\\{ord(sign):03o}"


def command_line(command: str, code: int) -> bytes:
    """What to type to run the command; `code` is the exit code of the command before."""
    return _typed(f"\\builtin eval {quoted(command)}".encode("utf-8", "replace"), code)


def file_line(path: str, code: int) -> bytes:
    """What to type to run the command written in the file."""
    return _typed(f'\\builtin eval "$(< {quoted(path)})"'.encode("utf-8", "surrogateescape"), code)


def question_line(nonce: str) -> bytes:
    """What to type at the prompt to have it print the mark; `nonce` is a decimal number.

    Assignments only: no function, alias or command of the agent takes part, and no `PROMPT_COMMAND` runs behind it. One
    to a read-only variable ends the line before the prompt is set.
    """
    mark = f"'\\e]133;D;{nonce};'$__ohw_kept';${{__ohw_folder-}}\\037${{PATH-}};{nonce}\\a\\e]133;A\\a'"
    return f"\x15PROMPT_COMMAND=() __ohw_kept=${{__ohw_kept:-$((1000+$?))}} PS1={mark} __ohw_kept=\n".encode()


EMPTY_LINE = b"\x15\n"


def _typed(line: bytes, code: int) -> bytes:
    """Erase what may stand on the line, then the line; a failed part in front of `||` ends no `set -e` shell."""
    begin = f"\x15\\__ohw_begin {code} 2>/dev/null {'||' if code else '&&'} ".encode()
    return begin + line + b"; \\__ohw_mend\n"
