#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: catch_cases.sh PROGRAM [FILTER]: runs each case of a Catch2 program by itself and prints "ok - name" or "not ok - name: why".
set -uo pipefail

failed=0 cases=0
while IFS= read -r name; do
  cases=$((cases + 1))
  if output=$("$1" "$name" 2>&1 </dev/null); then
    echo "ok - ${name//\\/}"
  else
    failed=1
    echo "not ok - ${name//\\/}: $(grep -vE '^[~.=-]*$' <<<"$output" | tail -n 30 | tr '\n' '|')"
  fi
done < <("$1" --list-test-names-only "${@:2}" | sed 's/\([,\[]\)/\\\1/g')
if [ $cases = 0 ]; then
  failed=1
  echo "not ok - $(basename "$1"): a case: none is ${2:-there}"
fi
exit $failed
