#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program in C that reads a part of a trace with libfsrtrace.
. "$(dirname "$0")/../harness/common.sh"

mkdir -p d/below
fsshim capture d -o whole.zst -- sh -c 'for i in $(seq 20); do echo $i >d/below/$i; done; sleep 0.5; cat d/below/*' >/dev/null 2>&1
check "the second half of a trace" fstrace cut --from 400ms whole.zst -o second.zst
cat > names.c <<'C'
#include <fsr_trace.h>
#include <stdio.h>
int main(int count, char** names) {
  const char* error;
  const fsr_op* op;
  fsr_trace* trace = fsr_trace_open(names[count - 1], &error);
  if (!trace) return 2;
  while ((op = fsr_trace_next(trace, &error))) puts(op->path);
  fsr_trace_close(trace);
  return error ? 1 : 0;
}
C
library=$FSR_BUILD/capture-formats/c-api
check "a program in C" cc names.c -I "$FSR_SOURCE/capture-formats/c-api" -L "$library" -lfsrtrace -Wl,-rpath,"$library" -o names
./names second.zst > c.names
fstrace sql --csv second.zst 'select path from ops' | tail -n +2 | tr -d '"\r' > sql.names
[ -s c.names ] && cmp -s c.names sql.names && ok "it gets the names from before the cut" ||
  not_ok "it gets the names from before the cut" "$(diff c.names sql.names | head -n 4 | tr '\n' '|')"
