#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash, zsh and fish offer to complete the programs' command lines with.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tools/completions/bash"
mkdir zsh
cp "$FSR_SOURCE/tools/completions/zsh" zsh/_fsreplay
export HOME=$scratch  # fish writes into it
touch trace.zst

# offered_by_SHELL COMMAND-LINE: what completes its last word, one a line.
offered_by_bash() {
  read -ra COMP_WORDS <<<"$1"
  [[ $1 != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _fsshim_programs "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\n' "${COMPREPLY[@]}" | sort
}
offered_by_zsh() {
  COMPLETIONS=$PWD/zsh LINE=$1 OFFERED=$PWD/offered ZDOTDIR=$FSR_SOURCE/tests/integration/project/completions \
    script -qec 'zsh -i -d' terminal </dev/null >/dev/null
  sort -u offered
}
offered_by_fish() { fish --no-config -c "source '$FSR_SOURCE/tools/completions/fish'; complete -C '$1'" | cut -f 1; }

mkdir running
fsshim capture running -o running.zst --background 2>/dev/null
for shell in bash zsh fish; do
  is() { check "$shell: $1" test "$(offered_by_$shell "$3" | tr '\n' ' ')" = "$2 "; }
  is 'an option of fsreplay' '--results' 'fsreplay --resu'
  is 'a subcommand' 'compare' 'fstrace comp'
  is 'its option' '--tolerance' 'fstrace compare --tol'
  is 'an option of a capture' '--permissions' 'fsshim capture /mnt --perm'
  is 'an option of a subcommand beside options' '--what' 'fsreplay report --wh'
  is 'the values of an option' 'asap original think' 'fsreplay trace.zst null: --timing '
  is 'the one that was begun' 'strict' 'fsreplay trace.zst null: --order st'
  is 'a value of a subcommand' 'operations' 'fstrace stat --sort op'
  is 'a kind of operation' 'read readdir readdirplus readlink' 'fstrace dump --op read'
  is 'a value of a capture' 'kernel' 'fsshim capture /mnt --cache k'
  is 'a running capture' "$PWD/running" "fsshim stop $PWD/run"
  for program in fsshim fsreplay fsbench fstrace; do
    wanted=$("$program" --help | grep -oE '^ +(-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--.*' | sort | tr '\n' ' ')
    check "$shell: every option of $program" test "$(offered_by_$shell "$program --" | grep -E '^--' | sort | tr '\n' ' ')" = "$wanted"
  done
done

fsshim stop running >/dev/null

check 'bash: where nothing fits, files' grep -q -- '-o default .*_fsshim_programs' <<<"$(complete -p fsreplay)"
check 'zsh: files' test "$(offered_by_zsh 'fstrace info tra')" = trace.zst
check 'fish: files' test "$(offered_by_fish 'fstrace info tra')" = trace.zst
check 'fish: what an option does' test "$(fish --no-config -c "source '$FSR_SOURCE/tools/completions/fish'; complete -C 'fstrace info --js'")" = \
  "--json"$'\t'"$(fstrace info --help | sed -n 's/^ *--json *//p')"
