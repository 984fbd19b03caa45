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

cat > columns.c <<'C'
#include <fsr_trace.h>
#include <stdio.h>
/* Without an argument behind the trace's name, every operation; otherwise those of this kind. */
int main(int count, char** names) {
  const char* error;
  uint8_t kind[100];
  uint32_t path[100];
  size_t rows, i;
  fsr_selection selection = FSR_SELECTION_ALL;
  fsr_columns columns = { sizeof(fsr_columns) };
  fsr_trace* trace = fsr_trace_open(names[1], &error);
  if (!trace) return 2;
  selection.kinds = (const char* const*)names + 2;
  selection.kind_count = (size_t)count - 2;
  columns.kind = kind;
  columns.path = path;
  if (fsr_trace_select(trace, &selection, &error) != 0) {
    fputs(error, stderr);
    return 2;
  }
  do {
    rows = fsr_trace_read_columns(trace, &columns, 100, &error);
    if (rows == FSR_FAILED) return 2;
    for (i = 0; i < rows; ++i) printf("%s %s\n", fsr_kind_name(kind[i]), fsr_trace_string(trace, path[i]));
  } while (rows == 100);
  fsr_trace_close(trace);
  return error ? 1 : 0;
}
C
check "a program that reads columns" cc -std=c99 -pedantic -Wall -Werror columns.c -I "$FSR_SOURCE/capture-formats/c-api" -L "$library" -lfsrtrace \
  -Wl,-rpath,"$library" -o columns
same() {  # NAME CONDITION KIND...: rows of the program and of fstrace sql
  ./columns second.zst "${@:3}" > c.rows
  fstrace sql --csv second.zst "select op || ' ' || path from ops $2" | tail -n +2 | tr -d '"\r' > sql.rows
  if [ -s c.rows ] && cmp -s c.rows sql.rows; then ok "$1"; else not_ok "$1" "$(diff c.rows sql.rows | head -n 4 | tr '\n' '|')"; fi
}
same "columns hold the same operations" ""
same "columns hold operations of selected kinds" "where op in ('read', 'open') order by seq" read open
check_status "a kind that does not exist is refused" 2 "'rread': no such kind of operation; did you mean read\\? There are null, lookup" ./columns second.zst rread
