/* SPDX-License-Identifier: Apache-2.0
 * Reads traces of fsshim, from C or any language that calls C. Compile with: pkg-config --cflags --libs fsrtrace
 *
 * A trace is used by one thread at a time, several traces by several threads. Memory follows the number of files that the trace
 * names, not its length. The interface is stable: later versions only add functions, and members at the end of structures.
 *
 * `const char** error`: on failure *error points to one line that says why, valid until the next call of this library by this
 * thread; otherwise it is null. `error` may be null.
 */
#ifndef FSR_TRACE_H
#define FSR_TRACE_H

#include <stddef.h>
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
  uint32_t client;     /* number of the captured machine in a merged trace; 0 in other traces */
  uint32_t mode;       /* permissions of what is created, or what access, lseek, fallocate or a lock asks for */
  uint32_t open_flags; /* O_... of an open or create */
} fsr_op;

/* Opens a trace file, or all pieces of a series by its name. Returns null on failure. */
fsr_trace* fsr_trace_open(const char* file, const char** error);

/* Returns the next operation, valid until the next call with this trace. Returns null at the end, or on failure. At the end
 * *error names the first part of the trace that could not be read, or is null if the whole trace was read. */
const fsr_op* fsr_trace_next(fsr_trace* trace, const char** error);

/* Closes a trace. Null is allowed. */
void fsr_trace_close(fsr_trace* trace);

/* Which operations are read. All conditions must hold. Begin with FSR_SELECTION_ALL, which selects every operation. */
typedef struct fsr_selection {
  size_t size;              /* sizeof(fsr_selection) */
  int64_t from_ns, to_ns;   /* start_ns is at least from_ns, and less than to_ns */
  const char* const* kinds; /* names of kinds */
  size_t kind_count;        /* 0: every kind */
  const int32_t* pids;      /* processes */
  size_t pid_count;         /* 0: every process */
  const int32_t* tids;      /* threads */
  size_t tid_count;         /* 0: every thread */
  int without_paths; /* not 0: path and path2 stay empty, so that more of the trace can be left out and less is remembered */
} fsr_selection;

#define FSR_SELECTION_ALL \
  { sizeof(fsr_selection), INT64_MIN, INT64_MAX, 0, 0, 0, 0, 0, 0, 0 }

/* Selects operations and goes to the first of them. Parts of the trace without a selected operation are not unpacked; damage in
 * their operations is not noticed. Returns 0, or -1 on failure: the selection is not valid, and the one before it remains. */
int fsr_trace_select(fsr_trace* trace, const fsr_selection* selection, const char** error);

/* Arrays of the caller, an element for each operation. The members are those of fsr_op. Null: not wanted. */
typedef struct fsr_columns {
  size_t size; /* sizeof(fsr_columns) */
  uint64_t* number;
  int64_t* start_ns;
  int64_t* duration_ns;
  uint8_t* kind;   /* fsr_kind_name() has its name */
  uint32_t* path;  /* fsr_trace_string() has it */
  uint32_t* path2; /* fsr_trace_string() has it */
  int32_t* error;
  uint32_t* flags;
  uint64_t* object;
  uint64_t* handle;
  uint64_t* offset;
  uint64_t* length;
  uint64_t* result;
  uint32_t* uid;
  uint32_t* gid;
  int32_t* pid;
  int32_t* tid;
  uint32_t* command; /* fsr_trace_string() has it */
  uint32_t* client;
  uint32_t* mode;
  uint32_t* open_flags;
} fsr_columns;

#define FSR_FAILED ((size_t)-1)

/* Fills the arrays with the next operations, at most `most`. Returns their number, or FSR_FAILED. Fewer than `most`, also 0: the
 * end. At the end *error is set as by fsr_trace_next. */
size_t fsr_trace_read_columns(fsr_trace* trace, const fsr_columns* columns, size_t most, const char** error);

/* Returns a string that a column of this trace names, valid until the trace is closed. Null: no column has named it. */
const char* fsr_trace_string(const fsr_trace* trace, uint32_t number);

/* Returns the name of a kind. Kinds are numbered from 0; null: there are none from this number on. */
const char* fsr_kind_name(unsigned kind);

/* What a trace says about itself. */
typedef struct fsr_info {
  uint64_t operations;   /* according to the index; damaged parts are included as far as they are known */
  uint64_t dropped;      /* seen by the capture and not recorded */
  int64_t begin_ns;      /* 0, or the start of the first operation if earlier pieces of a series are not there */
  int64_t end_ns;        /* start of the last operation */
  int64_t epoch_ns;      /* Unix time of start_ns 0 */
  const char* id;        /* the same in all pieces of a series */
  const char* host;      /* captured machine */
  const char* directory; /* captured directory */
  const char* command;   /* captured command; "": none */
  const char* program;   /* what wrote the trace, with its version */
} fsr_info;

/* Returns what the trace says about itself, valid until it is closed. */
const fsr_info* fsr_trace_info(const fsr_trace* trace);

/* Returns one line about the part of the trace that could not be read, numbered from 0 in the order in which they were noticed,
 * valid until the next call with this trace. Null: as many have not been noticed so far. */
const char* fsr_trace_damage(const fsr_trace* trace, size_t number);

#ifdef __cplusplus
}
#endif

#endif
