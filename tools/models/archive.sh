# SPDX-License-Identifier: Apache-2.0
# Software packages: an archive of 120 files is unpacked, packed again, and the tree removed, three times.
needs="tar"
prepare() {
  mkdir -p "$scratch/source/a/b" "$scratch/source/c"
  for i in $(seq 1 120); do at=c; [ $((i % 3)) = 0 ] && at=a/b; seq "$i" $((i * 40)) > "$scratch/source/$at/file$i"; done
  tar cf "$scratch/source.tar" -C "$scratch" source
}
load() { for i in 1 2 3; do tar xf "$scratch/source.tar"; tar cf "$i.tar" source; mv source "s$i"; rm -r "s$i"; done; }
