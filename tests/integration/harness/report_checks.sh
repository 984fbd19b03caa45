# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh by tests that read fsreplay's JSON report.

# check_report NAME REPORT EXPRESSION...: one case, passed when each python expression holds; r is the report, info what
# `fstrace info --json` said, if info.json is there.
check_report() {
  local name=$1 report=$2 why
  shift 2
  if why=$(python3 - "$report" "$@" 2>&1 <<'P'
import json, os, sys
r = json.load(open(sys.argv[1]))
info = json.load(open("info.json")) if os.path.exists("info.json") else None
bad = [e for e in sys.argv[2:] if not eval(e)]
if bad:
    sys.exit(f"{bad}: issued {r['issued']} matched {r['matched']} differed {r['differed']} violations {r['violations']} "
             f"elapsed {r['elapsed_ns']} not clean {r['not_clean']} {r['mismatches'][:3]}")
P
  ); then ok "$name"; else not_ok "$name" "$(tail -n 2 <<<"$why" | tr '\n' '|')"; fi
}
