#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash offers to complete the programs' command lines with.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tools/completions/bash"

# offered WORD...: what completes the last of them.
offered() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _fsshim_programs "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
  echo "${COMPREPLY[*]}"
}
is() { check "$1" test "$(offered "${@:3}")" = "$2"; }

is 'an option of fsreplay' '--results' fsreplay --resu
is 'a subcommand' 'compare' fstrace comp
is 'its option' '--tolerance' fstrace compare --tol
is 'an option of a capture' '--permissions' fsshim capture /mnt --perm
is 'a subcommand beside options' 'report' fsreplay rep
is 'an option of that' '--what' fsreplay report --wh
is 'nothing for a foreign word: bash takes files' '' fsreplay app
for program in fsshim fsreplay fsbench fstrace; do
  wanted=$("$program" --help | grep -oE '^ +(-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--.*' | sort | tr '\n' ' ')
  check "every option of $program" test "$(offered "$program" -- | tr ' ' '\n' | grep -E '^--' | sort | tr '\n' ' ')" = "$wanted"
  check "$program is completed so" sh -c 'grep -q _fsshim_programs' <<<"$(complete -p "$program")"
done
