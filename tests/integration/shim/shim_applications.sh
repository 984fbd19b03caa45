#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real applications under the shim: they succeed, leave what they leave without it, and the trace is whole.
. "$(dirname "$0")/../harness/common.sh"
apps=$FSR_SOURCE/tests/apps
"$apps/make-input" input >/dev/null || not_ok "input" "make-input failed"

for app in git make tar sqlite; do
  mkdir "$app"
  check "$app" fsshim capture "$app" -o "$app.zst" -- sh -c 'cd "$1" && exec "$2" "$3" "$4"' - "$app" "$apps/run" "$app" "$scratch/input"
  check "$app: the trace verifies" fstrace verify "$app.zst"
done
check "git: the repository is sound" git -C git/work fsck --full --strict
check "git: its tree is clean" eval '[ -z "$(git -C git/work status --short)" ]'
check "make: the program runs" make/build/prog
check "sqlite: the database is sound" eval '[ "$(sqlite3 sqlite/db.sqlite "pragma integrity_check")" = ok ]'

mkdir plain
(cd plain && "$apps/run" tar "$scratch/input" >/dev/null)
check "tar: the tree is the one made without the shim" diff -r --no-dereference plain tar

mkdir wal
check "sqlite with a write-ahead log" fsshim capture wal -o wal.zst -- sh -c '
  sqlite3 wal/db "pragma journal_mode=wal; create table t(n integer);" >/dev/null &&
  for i in 1 2 3 4; do (for j in $(seq 20); do sqlite3 -cmd ".timeout 20000" wal/db "insert into t values($i*100+$j)" || exit 1; done) & jobs="$jobs $!"; done
  for j in $jobs; do wait $j || exit 1; done
  test "$(sqlite3 wal/db "select count(*) from t")" = 80'
check "nobody else sees a difference" eval '[ "$(sqlite3 wal/db "select count(distinct n) from t; pragma integrity_check")" = "80
ok" ]'

mkdir busy
check "threads of work at once" fsshim capture busy -o busy.zst -- sh -c '
  for w in 1 2 3 4 5 6; do (mkdir busy/$w; for i in $(seq 60); do
    echo $i >busy/$w/a && cp busy/$w/a busy/$w/b && mv busy/$w/b busy/$w/c$i && ln busy/$w/c$i busy/$w/l$i && rm busy/$w/a || exit 1; done) & jobs="$jobs $!"; done
  for j in $jobs; do wait $j || exit 1; done'
check "all of it is there" eval '[ "$(find busy -type f | wc -l)" = 720 ]'
check "its trace verifies" fstrace verify busy.zst
check "its trace is in order of start" eval 'fstrace dump busy.zst | awk "{if (\$1 + 0 < last) exit 1; last = \$1 + 0}"'

# --- a directory that is read again from its beginning, on btrfs
truncate -s 300M btrfs.img && mkfs.btrfs -q btrfs.img >/dev/null && mkdir btrfs && mount -o loop btrfs.img btrfs && mkdir btrfs/d
cat >again.py <<'END'
import ctypes
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
stream = libc.opendir(b"btrfs/d")
open("btrfs/d/new", "w").close()
libc.rewinddir(stream)
names = 0
while libc.readdir(stream):
    names += 1
print(names)
END
check "rewinddir shows a file made since opendir" eval '[ "$(fsshim capture btrfs/d -o again.zst -- python3 again.py)" = 3 ]'
umount btrfs
