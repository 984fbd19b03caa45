/* SPDX-License-Identifier: Apache-2.0
 * Reads traces of fsshim, from C or any language that calls C. Compile with: pkg-config --cflags --libs fsrtrace
 *
 * A trace is used by one thread at a time, several traces by several threads. Memory follows the number of files that the trace
 * names, not its length. The interface is stable: later versions only add functions, and members at the end of fsr_op.
 */
#ifndef FSR_TRACE_H
#define FSR_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fsr_trace fsr_trace;

/* Bits of fsr_op.flags. */
#define FSR_OP_KERNEL 1u     /* issued by the kernel on its own: release, read-ahead or write-back */
#define FSR_OP_UNFINISHED 2u /* the capture ended before the reply: error, duration_ns and result are not known */

/* One operation and its outcome. Strings end with a NUL and are never null; names are bytes, not always UTF-8. */
typedef struct fsr_op {
  uint64_t number;     /* within the trace, from 0, in order of starts */
  int64_t start_ns;    /* since the start of the capture, monotonic */
  int64_t duration_ns; /* until the reply */
  const char* kind;    /* "read", "rename": as fstrace dump names them */
  const char* path;    /* below the captured directory, which is "."; "#12": the trace does not contain the name of object 12 */
  const char* path2;   /* new name of a rename or link; other operations: "" */
  int32_t error;       /* errno, positive; 0: success */
  uint32_t flags;      /* FSR_OP_... */
  uint64_t object;     /* identity of the file within the trace, kept across renames; 0: not known */
  uint64_t handle;     /* the open instance, from open to release; 0: none */
  uint64_t offset;     /* in bytes, if the operation reads, writes, locks or allocates */
  uint64_t length;     /* requested bytes */
  uint64_t result;     /* bytes that were read or written, or entries that were listed */
  uint32_t uid, gid;   /* user and group of the caller */
  int32_t pid, tid;    /* process and thread of the caller; 0: not known */
  const char* command; /* name of the calling thread, at most 15 bytes */
} fsr_op;

/* Opens a trace file, or all pieces of a series by its name. Returns null on failure. Then *error points to one line that says why,
 * valid until the next call of this library by this thread. On success *error is null. `error` may be null. */
fsr_trace* fsr_trace_open(const char* file, const char** error);

/* Returns the next operation, valid until the next call with this trace. Returns null at the end. Then *error points to one line
 * that names the first part of the trace that could not be read, or is null if the whole trace was read. */
const fsr_op* fsr_trace_next(fsr_trace* trace, const char** error);

/* Closes a trace. Null is allowed. */
void fsr_trace_close(fsr_trace* trace);

#ifdef __cplusplus
}
#endif

#endif
