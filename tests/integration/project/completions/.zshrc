# SPDX-License-Identifier: Apache-2.0
# With this folder as ZDOTDIR, an interactive zsh writes what it offers as the last word of $LINE into $OFFERED, and ends.
unsetopt GLOBAL_RCS
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -u -D
typeset -a found
compadd() {  # zshcompwid(1): -O fills an array with what matches, and adds nothing
  local -a matches
  builtin compadd -O matches "$@"
  found+=($matches)
}
offer() {
  BUFFER=$LINE CURSOR=$#LINE
  zle complete-word
  print -rl -- $found >$OFFERED
  exit
}
zle -N zle-line-init offer
