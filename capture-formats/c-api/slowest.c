/* SPDX-License-Identifier: Apache-2.0
 * The slowest operation of each trace. Build: cc slowest.c -o slowest $(pkg-config --cflags --libs fsrtrace)
 */
#include <fsr_trace.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const char* error;
    fsr_trace* trace = fsr_trace_open(argv[i], &error);
    char slowest[4096] = "";
    uint64_t operations = 0, failed = 0;
    int64_t longest = -1;
    for (const fsr_op* op; trace && (op = fsr_trace_next(trace, &error));) {
      ++operations;
      failed += op->error != 0;
      if (op->duration_ns <= longest) continue;
      longest = op->duration_ns;
      snprintf(slowest, sizeof slowest, "%s of %s by %s", op->kind, op->path, op->command);
    }
    if (trace)
      printf("%" PRIu64 " operations, %" PRIu64 " failed; the slowest: %s, %" PRId64 " ns\n", operations, failed, slowest,
             longest);
    if (error) fprintf(stderr, "%s: %s\n", argv[i], error);
    if (error) status = 1;
    fsr_trace_close(trace);
  }
  return status;
}
