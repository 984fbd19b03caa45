# SPDX-License-Identifier: Apache-2.0
# Sourced by every integration test written in bash, after which the test stands in a fresh scratch directory with the built
# programs on its PATH. Whatever way the script ends, what it mounted below the scratch directory is unmounted, the processes
# it named with own_process are ended, and the directory is removed.
set -uo pipefail

FSR_SOURCE=${FSR_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
FSR_BUILD=${FSR_BUILD:-$FSR_SOURCE/build}
PATH=$FSR_BUILD/shim:$FSR_BUILD/replay:$FSR_BUILD/tools:$PATH
export PATH FSR_SOURCE FSR_BUILD

failures_=0
processes_=()
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fsshim-test.XXXXXX")

ok() { echo "ok - $1"; }
not_ok() {  # NAME WHY
  failures_=$((failures_ + 1))
  echo "not ok - $1: ${2:-}"
}

# check NAME COMMAND...: one case, passed when the command ends with 0.
check() {
  local name=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  [ $status != 1 ] || ! stood_still "$output" || status=0
  if [ $status = 0 ]; then ok "$name"; else not_ok "$name" "$* ended with $status: $(tail -n 5 <<<"$output" | tr '\n' '|')"; fi
}

# stood_still OUTPUT: a replay was not clean, for the only reason that this machine stood still, which says nothing of what is tested.
stood_still() {
  local reasons
  reasons=$(grep '^not clean: ' <<<"$1") && ! grep -qv ': the load generator itself stood still' <<<"$reasons"
}

# traced FILE CALLS COMMAND...: what our own programs call. Leaks can't be looked for meanwhile.
traced() {
  local file=$1 calls=$2
  shift 2
  ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -y -o "$file" -e "trace=$calls" "$@"
}

# check_status NAME STATUS PATTERN COMMAND...: one case, passed when the command ends with STATUS and prints, on either stream, a
# line that matches the extended regular expression PATTERN ('' = does not matter).
check_status() {
  local name=$1 wanted=$2 pattern=$3 output status=0
  shift 3
  output=$("$@" 2>&1) || status=$?
  [ "$status$wanted" != 10 ] || ! stood_still "$output" || status=0
  if [ $status != "$wanted" ]; then
    not_ok "$name" "$* ended with $status, not $wanted: $(tail -n 5 <<<"$output" | tr '\n' '|')"
  elif [ -n "$pattern" ] && ! grep -Eq -- "$pattern" <<<"$output"; then
    not_ok "$name" "$* printed no line that matches '$pattern': $(tail -n 5 <<<"$output" | tr '\n' '|')"
  else
    ok "$name"
  fi
}

own_process() { processes_+=("$1"); }

finish_() {
  local status=$? pid dir
  trap - EXIT
  cd /
  for pid in ${processes_[@]+"${processes_[@]}"}; do kill "$pid" 2>/dev/null; done
  awk -v top="$scratch" 'index($2, top) == 1 {print $2}' /proc/self/mounts | sort -r | while read -r dir; do umount -l "$dir"; done
  for pid in ${processes_[@]+"${processes_[@]}"}; do wait "$pid" 2>/dev/null; done
  rm -rf --one-file-system "$scratch"
  [ "$failures_" = 0 ] || exit 1
  exit $status
}
trap finish_ EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$scratch" || exit 1
