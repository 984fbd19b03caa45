// SPDX-License-Identifier: Apache-2.0
// Formats of other tools that fstrace export writes: one source file, one line each in the table of ../export.cpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

#include "op.hpp"
#include "trace/header.hpp"
#include "trace/paths.hpp"

namespace fsr::fstrace {

// Part of an operation that a format expresses.
enum class Exported {
  whole,
  partly,    // the format can't express all of it
  no,        // the format has no word for it
  unneeded,  // it follows from others in that format
};

// Returns a number for a process or thread that no other client has: Linux gives none from 2^22 on.
inline int64_t number_among_clients(const ThreadInfo& who, int32_t number) { return number + (int64_t(who.client) << 22); }

class ExportFormat {
 public:
  virtual ~ExportFormat() = default;
  virtual void begin(fmt::memory_buffer&) {}
  // Operations in order of start; `paths` as they were when it began, with its own names.
  virtual Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) = 0;
  virtual void end(fmt::memory_buffer&) {}
};

struct Exporter {
  const char* name;
  const char* what;
  std::unique_ptr<ExportFormat> (*make)(const TraceHeader& header);
};

extern const Exporter kFioExporter, kFioJobExporter, kStraceExporter, kCsvExporter, kJsonExporter, kDbenchExporter,
    kChromeExporter, kBlkparseExporter, kVdbenchExporter;

}  // namespace fsr::fstrace
