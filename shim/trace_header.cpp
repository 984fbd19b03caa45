// SPDX-License-Identifier: Apache-2.0
#include "trace_header.hpp"

#include <sys/utsname.h>

#include <string>

#include "fuse_session.hpp"
#include "util/environment.hpp"

namespace fsr::shim {

namespace {

std::string visible_with(CacheMode mode) {
  const char* calls = "";
  switch (mode) {
    case CacheMode::kAuto:
      calls = "cache auto: every call; of lookups: those that the kernel can't answer itself; not: ";
      break;
    case CacheMode::kNone:
      calls = "cache none: every call, and a lookup for each name of the path; not: ";
      break;
    case CacheMode::kAttr:
      calls = "cache attr: every read, write and change; not: lookups and stats that the kernel answers for a second, ";
      break;
    case CacheMode::kKernel:
      calls =
          "cache kernel: every write and change; not: lookups and stats that the kernel answers for a second, reads of cached "
          "pages, ";
      break;
  }
  return std::string(calls) +
         "lseek to a known offset, touches of mapped pages, syncfs; before Linux 6.6 files named *-shm are cached";
}

}  // namespace

TraceHeader describe(const CaptureOptions& options, const std::string& directory, const MountEntry& below,
                     const std::string& mappings) {
  utsname system = {};
  uname(&system);
  TraceHeader header;
  header.id = random_trace_id();
  header.clock_unit = options.clock_unit;
  header.program = "fsshim " FSR_VERSION;
  header.host = system.nodename;
  header.kernel = system.release;
  header.directory = directory;
  header.mount_source = below.source;
  header.mount_type = below.type;
  header.mount_options = below.options;
  header.command = command_text(options.command);
  header.content = content_name(options.content);
  header.filter = options.filter.text();
  header.visibility = visible_with(options.cache) + "; " + mappings;
  if (options.kernel_checks)
    header.visibility +=
        "; permissions kernel: the kernel requests attributes for each component of a path and at each open; not recorded: "
        "access, chdir";
  header.transport = transport_text(options.uring);
  if (options.awake) header.transport += "; processors kept from sleeping under load";
  header.nfs = nfs_counters_of(below.point);
  return header;
}

}  // namespace fsr::shim
