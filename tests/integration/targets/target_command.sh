#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `fsreplay target`: driving a target by hand, on a directory and on real servers; the table of operations.
. "$(dirname "$0")/../harness/common.sh"

# The same steps on any target: URL LABEL
by_hand() {
  local url=$1 label=$2
  seq 200000 >"$scratch/numbers"
  check "$label: stat" fsreplay target stat "$url"
  check "$label: mkdir" fsreplay target mkdir "$url" top
  check "$label: put a file" fsreplay target put "$url" top/numbers "$scratch/numbers"
  check_status "$label: put standard input" 0 '' bash -c 'printf hello | fsreplay target put "$1" top/hello' - "$url"
  check "$label: cat returns what was put" bash -c 'fsreplay target cat "$1" top/numbers | cmp - "$2"' - "$url" "$scratch/numbers"
  check "$label: put replaces a file" bash -c '
    printf other | fsreplay target put "$1" top/hello && [ "$(fsreplay target cat "$1" top/hello)" = other ]' - "$url"
  check_status "$label: ls" 0 '^-rw-r--r-- .* 1288895 .* numbers$' fsreplay target ls "$url" top
  check "$label: ls shows no more than there is" bash -c '[ "$(fsreplay target ls "$1" top | wc -l)" = 2 ]' - "$url"
  check_status "$label: stat of a path" 0 '^drwxr-xr-x .* top$' fsreplay target stat "$url" top
  check "$label: mv" fsreplay target mv "$url" top/hello moved
  check_status "$label: nothing is left where it was" 1 'top/hello: No such file or directory$' fsreplay target cat "$url" top/hello
  check_status "$label: rm of a directory that isn't empty" 1 'top: (Directory not empty|File exists)$' fsreplay target rm "$url" top
  check_status "$label: cat of a directory" 1 'top: Is a directory$' fsreplay target cat "$url" top
  check_status "$label: mkdir of what exists" 1 'top: File exists$' fsreplay target mkdir "$url" top
  check_status "$label: mkdir below nothing" 1 'nowhere/x: No such file or directory$' fsreplay target mkdir "$url" nowhere/x
  check "$label: rm" bash -c '
    fsreplay target rm "$1" top/numbers && fsreplay target rm "$1" top && fsreplay target rm "$1" moved' - "$url"
  check "$label: nothing is left" bash -c '[ -z "$(fsreplay target ls "$1")" ]' - "$url"
}

if [ -n "${FSR_BY_HAND:-}" ]; then  # within a server's environment
  by_hand "${!FSR_BY_HAND}" "$FSR_BY_HAND"
  exit
fi

mkdir "$scratch/dir"
by_hand "$scratch/dir" directory
for url in NFS_VFS_URL NFS4_VFS_URL; do
  FSR_BY_HAND=$url "$FSR_SOURCE/tests/servers/ganesha" "$0" || failures_=1
done
FSR_BY_HAND=P9_URL "$FSR_SOURCE/tests/servers/diod" "$0" || failures_=1
FSR_BY_HAND=AFP_URL "$FSR_SOURCE/tests/servers/netatalk" "$0" || failures_=1

check 'docs/operations.md is what the targets state (fsreplay target operations >docs/operations.md)' \
  bash -c 'fsreplay target operations | diff - <(sed "/^## Servers that were tried by hand/,\$d" "$FSR_SOURCE/docs/operations.md" | sed "\$d")'
check_status 'an input that stops is no file' 1 'input: Is a directory' fsreplay target put "$scratch/dir" x "$scratch"
check 'nothing is left of it' bash -c '[ -z "$(ls -A "$1")" ]' - "$scratch/dir"
check_status 'no such input' 1 '^fsreplay: /no/such: No such file or directory$' fsreplay target put "$scratch/dir" x /no/such
check_status 'a path that leads out' 1 "'\.\.': expected a name of a file" fsreplay target stat "$scratch/dir" ../etc
check_status 'no such directory' 2 'No such file or directory' fsreplay target stat "$scratch/no/such"
for url in "$scratch/missing" "file:$scratch/missing" "file:$scratch/missing?direct=1"; do
  for words in ls stat 'cat x'; do
    read -r action path <<<"$words"
    # shellcheck disable=SC2086
    check_status "$action: no such directory, $url" 2 'No such file or directory|unknown option' fsreplay target $action "$url" $path
  done
done
check 'none was made' test ! -e "$scratch/missing"
check_status 'no such kind of target' 2 'no such kind of target' fsreplay target stat gopher://x/
check_status 'no such server' 2 '^fsreplay: nfs: .*refused' fsreplay target stat 'nfs://127.0.0.1/x?nfsport=1&mountport=1'
check_status 'no action' 2 '^fsreplay target: ' fsreplay target
check_status 'an action that there is not' 2 '^fsreplay target: ' fsreplay target format "$scratch/dir"
check_status 'a path is missing' 2 '^fsreplay target: .*PATH' fsreplay target cat "$scratch/dir"
