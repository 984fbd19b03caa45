// SPDX-License-Identifier: Apache-2.0
// odd_calls DIR wait: waits for locks. odd_calls DIR map: makes page faults. odd_calls DIR: makes calls of many kinds in DIR,
// with errors, threads, io_uring, aio and other users, and prints how many operations of each kind a capture has to record: "KIND
// COUNT" a line. DIR is empty and on a file system with locks and extended attributes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct {
  const char* kind;
  int count;
} expected[64];

static void expect(const char* kind, int count) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  int i = 0;
  while (expected[i].kind && strcmp(expected[i].kind, kind) != 0) ++i;
  expected[i].kind = kind;
  expected[i].count += count;
  pthread_mutex_unlock(&mutex);
}

// Ends the program if a call did not come to the outcome that its count is for.
static long must(const char* what, long got, int error) {
  if ((error == 0) != (got >= 0) || (error != 0 && errno != error)) {
    printf("%s: returned %ld, %s; expected %s\n", what, got, got < 0 ? strerror(errno) : "success", strerror(error));
    exit(1);
  }
  return got;
}

#define OK(kind, call) (expect(kind, 1), must(#call, (long)(call), 0))
#define FAILS(kind, error, call) (expect(kind, 1), must(#call, (long)(call), error))
#define QUIET(call) must(#call, (long)(call), 0)

static void close_last(int fd) {
  expect("flush", 1);
  expect("release", 1);
  QUIET(close(fd));
}

static void names(void) {
  OK("mkdir", mkdir("d", 0700));
  OK("mkdir", mkdirat(AT_FDCWD, "d/e", 0755));
  const int dir = (int)OK("opendir", open("d", O_RDONLY | O_DIRECTORY));
  close_last((int)OK("create", openat(dir, "f", O_CREAT | O_EXCL | O_RDWR, 0640)));
  OK("link", linkat(dir, "f", dir, "g", 0));
  OK("symlink", symlinkat("f", dir, "s"));
  char target[8];
  OK("readlink", readlinkat(dir, "s", target, sizeof target));
  OK("rename", renameat(dir, "g", dir, "h"));
  OK("rename", syscall(SYS_renameat2, dir, "h", dir, "e", RENAME_EXCHANGE));
  OK("rename", syscall(SYS_renameat2, dir, "h", dir, "e", RENAME_EXCHANGE));
  must("renameat2", syscall(SYS_renameat2, dir, "h", dir, "nobody", RENAME_EXCHANGE),
       ENOENT);  // the lookup is marked as inferred
  FAILS("lookup", ENOENT, renameat(dir, "missing", dir, "j"));
  must("renameat2", syscall(SYS_renameat2, dir, "h", dir, "f", RENAME_NOREPLACE), EEXIST);  // refused before the file system
  OK("mknod", mknodat(dir, "fifo", S_IFIFO | 0600, 0));
  const int listener = (int)QUIET(socket(AF_UNIX, SOCK_STREAM, 0));
  const struct sockaddr_un address = {AF_UNIX, "socket"};
  OK("mknod", bind(listener, (const struct sockaddr*)&address, sizeof address));
  QUIET(close(listener));
  FAILS("rmdir", ENOTEMPTY, rmdir("d"));
  FAILS("lookup", ENOENT, unlinkat(dir, "nothing", 0));
  FAILS("lookup", ENOENT, open("d/nothing", O_RDONLY));
  FAILS("lookup", ENOENT, open("d/no/thing", O_RDONLY | O_CREAT, 0600));
  FAILS("lookup", ENOENT, access("nowhere", R_OK));
  OK("access", faccessat(dir, "f", R_OK, 0));
  OK("unlink", unlinkat(dir, "h", 0));
  OK("unlink", unlinkat(dir, "fifo", 0));
  OK("rmdir", unlinkat(dir, "e", AT_REMOVEDIR));
  char entries[4096];
  OK("readdir", syscall(SYS_getdents64, dir, entries, sizeof entries));
  OK("readdir", syscall(SYS_getdents64, dir, entries, sizeof entries));
  expect("releasedir", 1);
  QUIET(close(dir));
}

static void attributes(void) {
  struct stat s;
  struct statfs fs;
  OK("getattr", stat("d/f", &s));
  OK("getattr", lstat("d/s", &s));
  OK("setattr", chmod("d/f", 0604));
  OK("setattr", chown("d/f", 12, 34));
  OK("setattr", truncate("d/f", 1000));
  OK("setattr", utimensat(AT_FDCWD, "d/f", NULL, 0));
  OK("statfs", statfs("d", &fs));
  OK("setxattr", setxattr("d/f", "trusted.a", "value", 5, 0));
  FAILS("setxattr", ENODATA, setxattr("d/f", "trusted.b", "value", 5, XATTR_REPLACE));
  char value[64];
  OK("getxattr", getxattr("d/f", "trusted.a", value, sizeof value));
  FAILS("getxattr", ENODATA, getxattr("d/f", "trusted.b", value, sizeof value));
  OK("listxattr", listxattr("d/f", value, sizeof value));
  OK("removexattr", removexattr("d/f", "trusted.a"));
  // u::rwx, u:7:r--, g::r-x, mask::r-x, o::---, as <linux/posix_acl_xattr.h> has it.
  const struct {
    unsigned version;
    struct {
      unsigned short tag, permissions;
      unsigned id;
    } entries[5];
  } list = {2, {{1, 7, -1u}, {2, 4, 7}, {4, 5, -1u}, {16, 5, -1u}, {32, 0, -1u}}};
  const char* const access_list = "system.posix_acl_access";
  OK("setxattr", setxattr("d/f", access_list, &list, sizeof list, 0));
  OK("getxattr", getxattr("d/f", access_list, value, sizeof value));
  OK("removexattr", removexattr("d/f", access_list));
  OK("setxattr", setxattr("d/f", access_list, &list, sizeof list, 0));
}

#ifdef __x86_64__
// readv(2) as a 32-bit program calls it, of 8 and 8002 bytes.
static long readv_of_32_bits(int fd) {
  char* low = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  QUIET(low == MAP_FAILED ? -1 : 0);
  unsigned* vectors = (unsigned*)low;  // struct compat_iovec of the kernel: address, length
  const unsigned address = (unsigned)(unsigned long)low + 4096;
  for (int i = 0; i < 2; ++i) vectors[2 * i] = address;
  vectors[1] = 8, vectors[3] = 8002;
  long result = 145;  // __NR_readv of <asm/unistd_32.h>
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(fd), "c"(vectors), "d"(2) : "memory", "r8", "r9", "r10", "r11");
  munmap(low, 12288);
  return result;
}
#endif

static void data(void) {
  char buffer[100] = "content";
  struct iovec two[] = {{buffer, 10}, {buffer, 20}};
  const int fd = (int)OK("open", open("d/f", O_RDWR | O_TRUNC));
  OK("write", write(fd, buffer, sizeof buffer));
  OK("write", pwrite(fd, buffer, 7, 1000));
  OK("write", writev(fd, two, 2));
  OK("write", pwritev(fd, two, 2, 500));
  OK("read", pread(fd, buffer, 7, 1000));
  OK("read", preadv(fd, two, 2, 500));
  OK("read", readv(fd, two, 2));
  struct iovec many[1000];
  for (int i = 0; i < 1000; ++i) many[i] = (struct iovec){buffer, 7};
  OK("write", pwritev(fd, many, 1000, 0));
  OK("read", preadv(fd, many, 1000, 6900));  // at the end of the file, so that the result does not tell the length
#ifdef __x86_64__
  QUIET(lseek(fd, 6900, SEEK_SET));
  OK("read", readv_of_32_bits(fd));
#endif
  OK("read", read(fd, buffer, sizeof buffer));
  QUIET(lseek(fd, 0, SEEK_SET));
  OK("lseek", lseek(fd, 0, SEEK_DATA));
  OK("fallocate", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
  OK("fsync", fsync(fd));
  OK("fsync", fdatasync(fd));
  const int other = (int)OK("create", open("copy", O_CREAT | O_RDWR, 0600));
  OK("copy_file_range", copy_file_range(fd, NULL, other, NULL, 100, 0));
  off_t from = 0;
  expect("read", 1);
  OK("write", sendfile(other, fd, &from, 50));
  // More than there is, and nothing.
  expect("read", 1);
  OK("write", sendfile(other, fd, &from, 9000));
  OK("read", sendfile(other, fd, &from, 9000));
  // From a file outside, on another file system or on this one. Beneath FUSE both are on another one.
  const int outside = (int)QUIET(open("/tmp", O_TMPFILE | O_RDWR, 0600));
  QUIET(pwrite(outside, buffer, 60, 0));
  must("copy_file_range", copy_file_range(outside, NULL, other, NULL, 9223372035781033984, 0), EXDEV);
  close(outside);
  const int beside = (int)QUIET(open("..", O_TMPFILE | O_RDWR, 0600));
  QUIET(pwrite(beside, buffer, 6, 0));
  off_t start = 0;
  if (copy_file_range(beside, NULL, other, &start, 9223372035781033984, 0) == 6) expect("write", 1);
  close(beside);
  const int appending = (int)OK("open", open("copy", O_WRONLY | O_APPEND));
  OK("write", write(appending, buffer, 30));
  close_last(appending);
  // A duplicate's close is a flush, and not the last close.
  const int copy = (int)QUIET(dup(other));
  expect("flush", 1);
  QUIET(close(copy));
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
  OK("setlk", fcntl(other, F_SETLK, &range));
  OK("getlk", fcntl(other, F_GETLK, &range));
  range = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_END, .l_start = 0, .l_len = 5};
  OK("setlk", fcntl(other, F_OFD_SETLK, &range));
  OK("flock", flock(other, LOCK_EX));
  OK("flock", flock(other, LOCK_UN));
  int ends[2];
  QUIET(pipe(ends));
  off_t at = 0;
  OK("read", splice(other, &at, ends[1], NULL, 20, 0));
  OK("write", splice(ends[0], NULL, other, &at, 20, 0));
  void* memory = (void*)QUIET(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, other, 0));
  munmap(memory, 4096);
  close_last(other);
  close_last(fd);
  // What goes through a FIFO does not reach the file system.
  OK("mknod", mkfifo("pipe", 0600));
  const int fifo = (int)QUIET(open("pipe", O_RDWR));
  QUIET(write(fifo, buffer, 5));
  QUIET(read(fifo, buffer, 5));
  QUIET(close(fifo));
  const int nameless = (int)OK("tmpfile", open(".", O_TMPFILE | O_RDWR, 0600));
  OK("write", write(nameless, buffer, 5));
  close_last(nameless);
}

static void* thread(void* name) {
  for (int i = 0; i < 50; ++i) {
    const int fd = (int)OK("create", open(name, O_CREAT | O_EXCL | O_WRONLY, 0644));
    OK("write", write(fd, name, 3));
    close_last(fd);
    OK("unlink", unlink(name));
  }
  return NULL;
}

static void many(void) {
  pthread_t threads[4];
  static char names[4][16];
  for (int i = 0; i < 4; ++i) {
    snprintf(names[i], sizeof names[i], "thread%d", i);
    pthread_create(&threads[i], NULL, thread, names[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

// What another user may not do. The child's counts are those of the program.
static void others(void) {
  QUIET(chmod(".", 0755)), expect("setattr", 1);
  expect("create", 1);  // refused: it may not write here
  expect("open", 1);    // refused: it may not read
  expect("access", 1);  // refused: it may not search d
  expect("unlink", 1);
  const int made = (int)OK("create", open("secret", O_CREAT | O_WRONLY, 0600));
  close_last(made);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    QUIET(setgid(1000));
    QUIET(setuid(1000));
    must("create", open("new", O_CREAT | O_WRONLY, 0600), EACCES);
    must("open", open("secret", O_RDONLY), EACCES);
    must("search", open("d/f", O_RDONLY), EACCES);
    must("unlink", unlink("secret"), EACCES);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) exit(1);
}

// A ring of io_uring with eight entries, used by one request at a time.
static struct {
  int fd;
  unsigned *tail, *ended, *seen;
  struct io_uring_sqe* sqes;
  struct io_uring_cqe* cqes;
  unsigned mask;
} ring;

static void make_ring(void) {
  struct io_uring_params p = {0};
  ring.fd = (int)QUIET(syscall(SYS_io_uring_setup, 8, &p));
  char* memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
  ring.sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
  QUIET(memory == MAP_FAILED || (void*)ring.sqes == MAP_FAILED || !(p.features & IORING_FEAT_SINGLE_MMAP) ? -1 : 0);
  ring.tail = (unsigned*)(memory + p.sq_off.tail);
  ring.seen = (unsigned*)(memory + p.cq_off.head);
  ring.ended = (unsigned*)(memory + p.cq_off.tail);
  ring.cqes = (struct io_uring_cqe*)(memory + p.cq_off.cqes);
  ring.mask = p.cq_entries - 1;
  for (unsigned i = 0; i < 8; ++i) ((unsigned*)(memory + p.sq_off.array))[i] = i;
}

static long request(struct io_uring_sqe sqe) {
  ring.sqes[*ring.tail % 8] = sqe;
  __atomic_store_n(ring.tail, *ring.tail + 1, __ATOMIC_RELEASE);
  QUIET(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
  QUIET(__atomic_load_n(ring.ended, __ATOMIC_ACQUIRE) == *ring.seen ? -1 : 0);
  const int result = ring.cqes[*ring.seen & ring.mask].res;
  __atomic_store_n(ring.seen, *ring.seen + 1, __ATOMIC_RELEASE);
  errno = result < 0 ? -result : 0;
  return result < 0 ? -1 : result;
}

#define SQE(code, file, address, bytes, at) \
  .opcode = (code), .fd = (file), .addr = (unsigned long)(address), .len = (unsigned)(bytes), .off = (unsigned long)(at)

// In the thread itself, and by a worker of io_uring (IOSQE_ASYNC).
static void by_io_uring(void) {
  make_ring();
  char buffer[100] = "content";
  struct iovec two[] = {{buffer, 10}, {buffer, 20}};
  const int fd = (int)OK(
      "create", request((struct io_uring_sqe){SQE(IORING_OP_OPENAT, AT_FDCWD, "ring", 0600, 0), .open_flags = O_CREAT | O_RDWR}));
  for (unsigned flags = 0; flags <= IOSQE_ASYNC; flags += IOSQE_ASYNC) {
    OK("write", request((struct io_uring_sqe){SQE(IORING_OP_WRITE, fd, buffer, 77, 0), .flags = (unsigned char)flags}));
    OK("write", request((struct io_uring_sqe){SQE(IORING_OP_WRITEV, fd, two, 2, 77), .flags = (unsigned char)flags}));
    OK("read", request((struct io_uring_sqe){SQE(IORING_OP_READ, fd, buffer, 99, 8), .flags = (unsigned char)flags}));
    OK("read", request((struct io_uring_sqe){SQE(IORING_OP_READV, fd, two, 2, 100), .flags = (unsigned char)flags}));
    OK("fsync", request((struct io_uring_sqe){SQE(IORING_OP_FSYNC, fd, 0, 0, 0), .flags = (unsigned char)flags}));
  }
  for (int i = 0; i < 3; ++i) {
    static const char* const missing[] = {"gone-a", "gone-b", "gone-c"};
    FAILS("lookup", ENOENT, request((struct io_uring_sqe){SQE(IORING_OP_UNLINKAT, AT_FDCWD, missing[i], 0, 0)}));
  }
  OK("mkdir", request((struct io_uring_sqe){SQE(IORING_OP_MKDIRAT, AT_FDCWD, "by-ring", 0700, 0)}));
  expect("flush", 1), expect("release", 1);
  QUIET(request((struct io_uring_sqe){SQE(IORING_OP_CLOSE, fd, 0, 0, 0)}));
  OK("unlink", request((struct io_uring_sqe){SQE(IORING_OP_UNLINKAT, AT_FDCWD, "ring", 0, 0)}));
  close(ring.fd);
}

static void by_aio(void) {
  aio_context_t context = 0;
  char buffer[100] = "content";
  const int fd = (int)OK("create", open("aio", O_CREAT | O_RDWR, 0600));
  QUIET(syscall(SYS_io_setup, 4, &context));
  struct iovec two[] = {{buffer, 10}, {buffer, 20}};
  struct iocb cb[] = {
      {.aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (unsigned long)buffer, .aio_nbytes = 55},
      {.aio_fildes = (unsigned)fd,
       .aio_lio_opcode = IOCB_CMD_PREADV,
       .aio_buf = (unsigned long)two,
       .aio_nbytes = 2,
       .aio_offset = 40},
  };
  struct iocb* list[] = {&cb[0], &cb[1]};
  struct io_event events[2];
  OK("write", syscall(SYS_io_submit, context, 1, list));
  OK("read", syscall(SYS_io_submit, context, 1, list + 1));
  QUIET(syscall(SYS_io_getevents, context, 2, 2, events, NULL));
  QUIET(events[0].res == 55 && events[1].res == 15 ? 0 : -1);
  syscall(SYS_io_destroy, context);
  close_last(fd);
}

// Waits for locks that this process has, until it is killed: one of fcntl(2) on "range", one of flock(2) on "whole".
static void wait_for_locks(void) {
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 4};
  QUIET(fcntl((int)QUIET(open("range", O_CREAT | O_RDWR, 0600)), F_SETLK, &range));
  QUIET(flock((int)QUIET(open("whole", O_CREAT | O_RDWR, 0600)), LOCK_EX));
  if (fork() == 0) _exit(fcntl(open("range", O_RDWR), F_SETLKW, &range) == 0);
  if (fork() == 0) _exit(flock(open("whole", O_RDWR), LOCK_EX) == 0);
  pause();
}

// Prints the reads and writes that page faults are: "KIND OFFSET BYTES".
static void map_a_file(void) {
  const int fd = (int)QUIET(open("mapped", O_CREAT | O_RDWR, 0600));
  QUIET(ftruncate(fd, 20000));
  volatile char* shared = mmap(NULL, 20480, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  volatile char* own = mmap(NULL, 20480, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  QUIET(shared == MAP_FAILED || own == MAP_FAILED ? -1 : 0);
  QUIET(close(fd));
  shared[4096] = 1, shared[4097] = 2;
  puts("write 4096 4096");
  shared[16384] = 1;
  puts("write 16384 3616");
  own[8192] = 1;
  puts("read 8192 4096");
  // Copies of a copy are no reads of the file.
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) own[8192] = 2, _exit(0);
    QUIET(waitpid(child, NULL, 0));
    own[8192] = 3;
  }
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  if (argc == 3 && strcmp(argv[2], "wait") == 0) wait_for_locks();
  umask(022);
  if (argc == 3 && strcmp(argv[2], "map") == 0) return map_a_file(), 0;
  names();
  attributes();
  data();
  many();
  by_io_uring();
  by_aio();
  others();
  for (int i = 0; expected[i].kind; ++i) printf("%s %d\n", expected[i].kind, expected[i].count);
  return 0;
}
