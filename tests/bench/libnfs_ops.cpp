// SPDX-License-Identifier: Apache-2.0
// libnfs_ops HOST PORT MOUNTPORT EXPORT stat|read|read1m|write1m DEPTH SECONDS FILE: does the operations of target_ops with
// libnfs. Uses its raw asynchronous API of version 3 on one connection. FILE is in the export's root and has 64 MiB. Prints
// operations, seconds, and seconds of CPU.
#include <nfsc/libnfs.h>
// These headers depend on those above.
#include <nfsc/libnfs-raw.h>

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kFileBytes = 64 << 20;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void fail(const char* what) { throw std::runtime_error(std::string(what) + " failed"); }
void connected(rpc_context*, int status, void*, void* context);

struct Load {
  rpc_context* rpc = nullptr;
  bool ready = false;
  std::string handle, kind, data = std::string(1 << 20, 'x');
  double until = 0;
  uint64_t done = 0;
  unsigned under_way = 0;
  std::mt19937_64 random{1};

  nfs_fh3 file() { return {{u_int(handle.size()), handle.data()}}; }
  void next();
  void connect(const char* host, const char* port, int program) {
    ready = false;
    rpc = rpc_init_context();
    if (rpc_connect_port_async(rpc, host, atoi(port), program, 3, connected, this)) fail("connecting");
    while (!ready) serve();
  }
  void serve() {
    pollfd fd{rpc_get_fd(rpc), short(rpc_which_events(rpc)), 0};
    if (poll(&fd, 1, 1000) >= 0 && rpc_service(rpc, fd.revents) < 0) throw std::runtime_error(rpc_get_error(rpc));
  }
};

void connected(rpc_context*, int status, void*, void* context) {
  if (status != RPC_STATUS_SUCCESS) fail("connecting");
  static_cast<Load*>(context)->ready = true;
}

void mounted(rpc_context*, int status, void* data, void* context) {
  auto* result = static_cast<mountres3*>(data);
  if (status != RPC_STATUS_SUCCESS || result->fhs_status != MNT3_OK) fail("MOUNT");
  const auto& root = result->mountres3_u.mountinfo.fhandle;
  static_cast<Load*>(context)->handle.assign(root.fhandle3_val, root.fhandle3_len);
}

void looked_up(rpc_context*, int status, void* data, void* context) {
  auto* result = static_cast<LOOKUP3res*>(data);
  if (status != RPC_STATUS_SUCCESS || result->status != NFS3_OK) fail("LOOKUP");
  const auto& found = result->LOOKUP3res_u.resok.object.data;
  auto* load = static_cast<Load*>(context);
  load->handle.assign(found.data_val, found.data_len);
  load->ready = true;
}

// A request has completed. Every result begins with its status.
void answered(rpc_context*, int status, void* data, void* context) {
  if (status != RPC_STATUS_SUCCESS || *static_cast<nfsstat3*>(data) != NFS3_OK) fail("a request");
  auto* load = static_cast<Load*>(context);
  ++load->done;
  --load->under_way;
  load->next();
}

void Load::next() {
  if (now() >= until) return;
  ++under_way;
  int error = 0;
  if (kind == "stat") {
    GETATTR3args args{file()};
    error = rpc_nfs3_getattr_async(rpc, answered, &args, this);
  } else if (kind == "write1m") {
    const uint64_t offset = random() % (kFileBytes >> 20) << 20;
    WRITE3args args{file(), offset, u_int(data.size()), UNSTABLE, {u_int(data.size()), data.data()}};
    error = rpc_nfs3_write_async(rpc, answered, &args, this);
  } else {
    const uint64_t size = kind == "read" ? 4096 : 1 << 20;
    READ3args args{file(), random() % (kFileBytes / size) * size, count3(size)};
    error = rpc_nfs3_read_async(rpc, answered, &args, this);
  }
  if (error) fail("sending");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 9)
    throw std::runtime_error("usage: libnfs_ops HOST PORT MOUNTPORT EXPORT stat|read|read1m|write1m DEPTH SECONDS FILE");
  Load load;
  load.connect(argv[1], argv[3], MOUNT_PROGRAM);
  if (rpc_mount3_mnt_async(load.rpc, mounted, argv[4], &load)) fail("sending");
  while (load.handle.empty()) load.serve();
  load.connect(argv[1], argv[2], NFS_PROGRAM);
  load.ready = false;
  LOOKUP3args lookup{{load.file(), argv[8]}};
  if (rpc_nfs3_lookup_async(load.rpc, looked_up, &lookup, &load)) fail("sending");
  while (!load.ready) load.serve();
  load.kind = argv[5];
  const double begin = now(), cpu = cpu_seconds();
  load.until = begin + atof(argv[7]);
  for (int i = 0; i < atoi(argv[6]); ++i) load.next();
  while (load.under_way) load.serve();
  printf("%llu %.6f %.6f\n", (unsigned long long)load.done, now() - begin, cpu_seconds() - cpu);
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "libnfs_ops: %s\n", e.what()), 2;
}
