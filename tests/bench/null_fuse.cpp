// SPDX-License-Identifier: Apache-2.0
// null_fuse MOUNTPOINT THREADS clone_fd|shared splice|copy [CPU|any] [uring]
//
// A FUSE file system in which every name is a file with 64 MiB of zeros that are not stored. The time that remains is the way of
// a request to a daemon and back. Entries are cached, attributes are not, and data is read directly. So each call makes one
// request, as in a capture.
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <sched.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct stat attributes_of(fuse_ino_t ino) {
  struct stat s = {};
  s.st_ino = ino;
  s.st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
  s.st_nlink = 1;
  s.st_size = 64 << 20;
  return s;
}

void init(void*, fuse_conn_info* conn) {
  conn->want &= ~unsigned(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

void init_splicing(void*, fuse_conn_info* conn) {
  conn->want |= (FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE) & conn->capable;
}

void lookup(fuse_req_t req, fuse_ino_t, const char* name) {
  fuse_entry_param entry = {};
  entry.ino = 2 + std::hash<std::string_view>()(name) % (1u << 30);
  entry.attr = attributes_of(entry.ino);
  entry.entry_timeout = 1000;
  fuse_reply_entry(req, &entry);
}

void getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  struct stat s = attributes_of(ino);
  fuse_reply_attr(req, &s, 0);
}

void open(fuse_req_t req, fuse_ino_t, fuse_file_info* file) {
  file->direct_io = 1;
  file->noflush = 1;
  fuse_reply_open(req, file);
}

void read(fuse_req_t req, fuse_ino_t, size_t size, off_t, fuse_file_info*) {
  static const std::vector<char> zeros(1 << 20);
  fuse_reply_buf(req, zeros.data(), size);
}

void write(fuse_req_t req, fuse_ino_t, const char*, size_t size, off_t, fuse_file_info*) { fuse_reply_write(req, size); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: null_fuse MOUNTPOINT THREADS clone_fd|shared splice|copy [CPU|any] [uring]\n");
    return 2;
  }
  if (argc > 5 && strcmp(argv[5], "any") != 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[5]), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  fuse_lowlevel_ops ops = {};
  ops.init = strcmp(argv[4], "splice") == 0 ? init_splicing : init;
  ops.lookup = lookup;
  ops.getattr = getattr;
  ops.open = open;
  ops.read = read;
  ops.write = write;
  std::string name = argv[0], options = argc > 6 ? "-oio_uring" : "-oallow_other";
  char* args_in[] = {name.data(), options.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(2, args_in);
  fuse_session* session = fuse_session_new(&args, &ops, sizeof ops, nullptr);
  if (!session || fuse_set_signal_handlers(session) != 0 || fuse_session_mount(session, argv[1]) != 0) return 1;
  int status;
  const unsigned threads = unsigned(atoi(argv[2]));
  if (threads == 1 && argc <= 6) {
    status = fuse_session_loop(session);
  } else {
    fuse_loop_config* config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_clone_fd(config, strcmp(argv[3], "clone_fd") == 0);
    fuse_loop_cfg_set_max_threads(config, threads);
    status = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  fuse_opt_free_args(&args);
  return status < 0;
}
