r"""What the shell reads at its start, and how a command is handed to it; used by `shell`.

The prompt is the only marker: `ESC ]133;D;NONCE;ID;CODE;FOLDER US PATH;NONCE0 BEL`. ID counts the lines the shell has
begun to run (PS0, bash 4.4 and later; 0 before), so that a prompt left over from an interrupt is not taken for the end
of the next command. The nonce is a variable that the prompt itself sets back to 0 after showing it: while a command
runs, no expansion of PS1 gives a valid marker. CODE begins with `a` when the line was abandoned (a syntax error, C-c).

A command travels as one physical line, `builtin eval $'…'`, so that an open quote is an error and no wait for more.
FOLDER is the physical directory where there is no /proc to read it from: `$PWD` is a variable like any other. `set -P`
makes `cd ..` mean the parent of the real directory, which is what a reader of the command sees.

`__ohw_mend` behind it brings back a prompt that the command took away (`source ~/.bashrc`, `exec 2>file`). Input that
was typed for a command and that it did not read is thrown away before the prompt, as the shell would run it otherwise;
what has no Enter yet goes by the key in front of the line.
"""

from __future__ import annotations

import re

LONGEST_LINE = 3500
"""Bytes; a terminal in line mode takes at most 4,095 a line, so that longer commands go through a file."""

_RC = r"""
__ohw_nonce=NONCE __ohw_n=0 __ohw_id=0 __ohw_kept=
readonly __ohw_nonce
__ohw_prompt() {
  __ohw_code=${__ohw_kept:-a$?}
  __ohw_kept=
  local REPLY __ohw_i=0
  [[ -t 0 ]] && while ((__ohw_i++ < 500)) && builtin read -t 0; do builtin read -r -t 0.01; done
  __ohw_n=$__ohw_nonce
  PS0='${__ohw_id:$((__ohw_id+=1)):0}'
  __ohw_folder=$PWD
  [[ -e /proc/$$/cwd ]] || __ohw_folder=$(builtin pwd -P)
  PS1='\e]133;D;${__ohw_n};${__ohw_id};${__ohw_code};${__ohw_folder}\037${PATH};${__ohw_n}$((__ohw_n=0))\a'
}
__ohw_mend() {
  { __ohw_kept=$?; local -; set +x; } 2>/dev/null
  unset PROMPT_COMMAND
  PROMPT_COMMAND='{ __ohw_prompt; } 2>/dev/null'
  [[ -t 2 ]] || exec 2>/dev/tty
  case $- in *e*) return 0 ;; esac
  return "$__ohw_kept"
}
readonly -f __ohw_prompt __ohw_mend
set +H -P +o history
shopt -s checkwinsize expand_aliases
unset HISTFILE MAILCHECK
export -n PS1 PS0 PROMPT_COMMAND 2>/dev/null
__ohw_mend
"""

_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\']")


def rc_text(nonce: str) -> str:
    """The file read at the start; `nonce` is a decimal number of at most 18 digits."""
    return _RC.replace("NONCE", nonce)


def quoted(text: str) -> str:
    """The text as one word of bash on one line."""
    return "$'" + _ESCAPED.sub(lambda match: _escape(match.group()), text) + "'"


def _escape(sign: str) -> str:
    return f"\\{sign}" if sign in "\\'" else "\\n" if sign == "\n" else f"\\{ord(sign):03o}"


def command_line(command: str) -> bytes:
    """What to type to run the command."""
    return _typed(f"\\builtin eval {quoted(command)}".encode("utf-8", "replace"))


def file_line(path: str) -> bytes:
    """What to type to run the command written in the file."""
    return _typed(f'\\builtin eval "$(< {quoted(path)})"'.encode("utf-8", "surrogateescape"))


def _typed(line: bytes) -> bytes:
    """Erase what may stand on the line, then the line."""
    return b"\x15" + line + b"; __ohw_mend\n"
