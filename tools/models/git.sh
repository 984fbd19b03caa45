# SPDX-License-Identifier: Apache-2.0
# A working copy under Git: files are changed, committed, and branches are switched, merged and logged.
needs="git"
prepare() {
  export HOME="$scratch"
  git config --global user.name x; git config --global user.email x@localhost; git config --global init.defaultBranch main
  git init -q .
  for i in $(seq 1 60); do mkdir -p "d$((i % 6))"; seq "$i" $((i * 20)) > "d$((i % 6))/f$i"; done
  git add .; git commit -qm first
}
load() {
  export HOME="$scratch"
  for i in $(seq 1 8); do
    git checkout -q -b "topic$i"
    for k in 1 2 3; do echo "$i $k" >> "d$((i % 6))/f$((i + k * 6))"; done
    git status -s > "$scratch/status"; git diff > "$scratch/diff"
    git commit -qam "topic $i"
    git checkout -q main; git merge -q --no-edit "topic$i"; git log --oneline > "$scratch/log"
  done
}
