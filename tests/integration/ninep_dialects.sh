#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The 9P target on servers of the older dialects: what every target must do alike. 9P2000.u is QEMU's, 9P2000 that of the crate ninep.
# Takes minutes, so it is run by hand, after
#   cargo build --release --locked --manifest-path tests/servers/ninep-server/Cargo.toml --target-dir "$FSR_BUILD/ninep-server"
[ -n "${P9_URL:-}" ] || exec "$(dirname "$0")/../servers/diod" "$0"
. "$(dirname "$0")/common.sh"

# serve PORT PROGRAM...: starts a server of ./PORT, which ends with the namespace.
serve() {
  local port=$1 i
  shift
  mkdir "$port"
  "$@" "$scratch/$port" "$port" >"$port.log" 2>&1 </dev/null &
  own_process $!
  for i in $(seq 500); do
    (exec 3<>"/dev/tcp/$P9_HOST/$port") 2>/dev/null && return
    sleep 0.02
  done
  not_ok "server on port $port" "did not start: $(tail -n 3 "$port.log")"
}
# conform CASES URL...: the server itself fails at CASES (an extended regular expression), and at nothing else.
conform() {
  local known=$1 output
  shift
  output=$("$FSR_BUILD/tests/integration/target_conformance" "$@" 2>&1)
  grep -aEv "^not ok - .*: ($known): " <<<"$output"
  if ! grep -aEq "^(not )?ok - .*: concurrent sessions" <<<"$output"; then not_ok "$1" "did not come to its end"; fi
  if grep -a "^not ok" <<<"$output" | grep -aEvq ": ($known): "; then failures_=1; fi
}

# QEMU looks at the name for a file's attributes, also where the file is open, and its Tcreate does not mind what is there already.
serve 15650 "$FSR_SOURCE/tests/servers/qemu-9p"
conform "unlink while open|concurrent sessions" "9p://$P9_HOST:15650/?dialect=9p2000.u&aname=/" --privileged

# The crate ends the connection for a name that is not UTF-8.
serve 15660 "$FSR_BUILD/ninep-server/release/ninep-server"
conform "odd names" "9p://$P9_HOST:15660/?dialect=9p2000" --privileged
