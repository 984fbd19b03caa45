#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The 9P target on servers of the older dialects, 9P2000.u on QEMU's and 9P2000 on one of the crate ninep: what every target must do
# alike, and a real application's trace, whose outcomes are as recorded where the dialect has the operation. The second server comes
# from crates.io: ninja tests/integration/ninep-server.stamp.
[ -n "${P9_URL:-}" ] || exec "$(dirname "$0")/../../servers/diod" "$0"
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

# serve PORT PROGRAM [OPTION]: starts a server of ./PORT, which ends with the namespace.
serve() {
  local port=$1 program=$2
  shift 2
  mkdir "$port"
  "$program" "$scratch/$port" "$port" "$@" >"$port.log" 2>&1 </dev/null &
  own_process $!
  for _ in $(seq 500); do
    (exec 3<>"/dev/tcp/$P9_HOST/$port") 2>/dev/null && return
    sleep 0.02
  done
  not_ok "server on port $port" "did not start: $(tail -n 3 "$port.log")"
}
# conform PORT REST: the cases of every target, and what the server said if one fails.
conform() {
  "$FSR_BUILD/tests/integration/target_conformance" "9p://$P9_HOST:$1$2" --privileged && return
  sed "s/^/# server on port $1: /" "$1.log"
  return 1
}

# replay APP PORT DIALECT IMPOSSIBLE: the kinds of operations that the dialect can't express (a python set) are counted, the rest have the
# recorded outcome, and the tree is the captured one.
replay() {
  local app=$1 port=$2 report=$1-$2.json
  fsreplay "$app.zst" "9p://$P9_HOST:$port$3" --timing asap -q --json >"$report" 2>"$report.err"
  check_report "$app: outcomes on port $port" "$report" 'r["violations"] == 0' 'r["differed"] == 0' 'r["matched"] == r["issued"] > 0' \
    'r["issued"] + sum(k["impossible"] + k["refused"] for k in r["kinds"].values()) == r["operations"]' \
    "set(k for k, v in r['kinds'].items() if v['impossible']) <= $4"
  check "$app: the tree on port $port is the captured one" "$apps/compare-trees" --content --ignore .fsreplay "$app" "$port"
}

serve 15650 "$FSR_SOURCE/tests/servers/qemu-9p"
serve 15651 "$FSR_SOURCE/tests/servers/qemu-9p" passthrough
for port in 15660 15661 15662; do serve $port "$FSR_BUILD/tests/integration/ninep-server/release/ninep-server"; done
unix="/?dialect=9p2000.u&aname=/" plan9="/?dialect=9p2000"
conform 15650 "$unix" &
conform 15660 "$plan9" || failures_=1
wait $! || failures_=1

"$FSR_SOURCE/tests/integration/targets/ninep_fallback.py" 15651 || failures_=1

"$apps/make-input" input || exit 1
for app in git sqlite; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
done
replay git 15651 "$unix" '{"getxattr"}'
replay sqlite 15661 "$plan9" '{"getxattr", "setlk", "setattr"}'
# What a file that can't be made is asked for afterwards.
mkdir nameless
fsshim capture nameless -o nameless.zst -- python3 -c '
import os
fd = os.open("nameless", os.O_TMPFILE | os.O_RDWR)
os.write(fd, b"text")
os.pread(fd, 4, 0)
os.mkdir("nameless/other")' 2>capture.err || not_ok "a file without a name captured" "$(cat capture.err)"
fsreplay nameless.zst "9p://$P9_HOST:15662$plan9" --timing asap -q --json >nameless.json
check_report "what follows from an operation that the target has not is told from what differs" nameless.json 'r["differed"] == 0' \
  'r["followed"] >= 2' 'r["kinds"]["tmpfile"]["impossible"] == 1' '"tmpfile" in r["followed_from"]' 'r["kinds"]["mkdir"]["matched"] == 1'
