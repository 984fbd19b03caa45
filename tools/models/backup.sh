# SPDX-License-Identifier: Apache-2.0
# Backup with rsync: a tree of 150 files is copied, then four times again after some of its files changed. Only the copy's side.
needs="rsync"
prepare() { mkdir "$scratch/from"; for i in $(seq 1 150); do mkdir -p "$scratch/from/d$((i % 12))"; seq "$i" $((i * 60)) > "$scratch/from/d$((i % 12))/f$i"; done; }
load() {
  for round in 1 2 3 4 5; do
    rsync -a --delete "$scratch/from/" copy/
    for i in $(seq "$round" 7 150); do echo "$round" >> "$scratch/from/d$((i % 12))/f$i"; done
    rm "$scratch/from/d$((round % 12))/f$((round + 12))"
  done
}
