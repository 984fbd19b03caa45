# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh by tests that start captures and end them.

mounted() { grep -q " $scratch/$1 fuse.fsshim " /proc/self/mounts; }
wait_for() {  # COMMAND...: up to 10 s
  local i
  for i in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
  return 1
}
gone() { ! kill -0 "$1" 2>/dev/null; }
closing() { fstrace info --json "$1" | grep -q "\"reason\": *\"$2\""; }
start() {  # DIR TRACE [OPTION...]: an over-mount capture in the background, pid in $capture
  local dir=$1 trace=$2
  shift 2
  # Of a script's background jobs, ^C is ignored.
  env --default-signal=INT fsshim capture "$dir" -o "$trace" "$@" 2>"$trace.err" &
  capture=$!
  own_process $capture
  wait_for mounted "$dir" || not_ok "start $dir" "$(cat "$trace.err")"
}
ends_with() {  # NAME STATUS: waits for $capture; not in a subshell, which has no children
  local status=0
  wait "$capture" || status=$?
  check "$1" test $status = "$2"
}
