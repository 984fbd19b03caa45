// SPDX-License-Identifier: Apache-2.0
#include "capture_setup.hpp"

#include <unistd.h>

#include <algorithm>

#include "backing.hpp"
#include "capture_error.hpp"
#include "trace_header.hpp"
#include "util/memory.hpp"
#include "util/page_size.hpp"

namespace fsr::shim {

namespace {

// Bytes of the rings before a load is known: for 80,000 operations a second, more than two processors serve.
constexpr size_t kExpectedLoad = 32 << 20;
constexpr size_t kMostPages = 256;  // of a request's data: libfuse's FUSE_DEFAULT_MAX_PAGES_LIMIT

RingSize ring_size(const CaptureOptions& options) {
  RingSize size{.time = options.ring};
  if (options.content == Content::full) size.chunk = std::max(size.chunk, 2 * kMostPages * page_size());
  size.limit = memory_budget() / 4;
  size.start = std::min(size_t(double(kExpectedLoad) * double(options.ring) / 1e9), size.limit);
  return size;
}

// Makes the header, and adds what the capture will not see or not allow, which it also prints.
TraceHeader header_of(const CaptureSetup& setup) {
  const MappingChoice& mappings = setup.mappings;
  TraceHeader header = describe(setup.options, setup.directory(), setup.captured.below,
                                mappings_text(mappings.how, mappings.why_seen, mappings.why_no_faults));
  header.identity = directory_identity(setup.captured.root.get());
  report_limits(setup.captured, header, mappings.why_seen, setup.options.force);
  report_sockets(setup.directory(), header);
  return header;
}

}  // namespace

MappingChoice::MappingChoice(const CaptureOptions& options, const std::string& fs_type)
    : how(choose_mappings(options, fs_type, &why_seen)), faults(watch_faults(how, &why_no_faults)) {}

CaptureSetup::CaptureSetup(CaptureOptions& o)
    : options(o),
      parent(go_to_background(options.background, !options.command.empty())),
      root_user(geteuid() == 0),
      original(leave_surroundings()),
      rings(ring_size(options)),
      thread_limits(waiting_limits()),
      page_bases(std::min(kMostPageBases, memory_budget() / 16)),
      captured(find_captured(o)),
      way(captured.root.get()),
      output(options.output, captured.path, captured.root.get(), options.rotate != 0, options.background),
      mappings(options, captured.below.type),
      header(header_of(*this)),
      fields{{"directory", captured.path}, {"trace", output.full_name()}, {"command", header.command}},
      control(fields) {
  if (!options.force) need_memory();
  tell_processor_time_limit("applications get errors then");
}

}  // namespace fsr::shim
