// SPDX-License-Identifier: Apache-2.0
// The files a capture writes: the trace, whole or in pieces, and the mixfile beside it. Or standard output, which gets the trace
// alone.
#pragma once

#include <array>
#include <string>

#include "op.hpp"
#include "trace_sink.hpp"

namespace fsr::shim {

// The files are opened before the mount, and removed again unless keep() is called. Throws CaptureError if a file exists, can't
// be created, or would lie inside the captured directory.
//
// A trace becomes a series with its second piece at the latest: NAME.zst is then renamed to NAME.0001.zst.
class CaptureOutput final : public PieceFiles {
 public:
  // `trace`: empty for the default name in the working directory; "-" for standard output, which is then a pipe or an
  // empty file. Printed text goes to standard error instead. `root_fd`: the captured directory. `series`: the first file is named
  // as a piece from the start. `log`: with a file for messages.
  CaptureOutput(const std::string& trace, const std::string& directory, int root_fd, bool series, bool log);
  ~CaptureOutput() override;
  CaptureOutput(const CaptureOutput&) = delete;
  CaptureOutput& operator=(const CaptureOutput&) = delete;

  int open_piece(unsigned number) override;
  void remove_piece(unsigned number) override;

  bool is_stream() const { return trace_ == "-"; }
  const std::string& trace() const { return trace_; }  // of a series, the name that stands for all pieces
  std::string full_name() const;                       // of the trace, from the root
  int take_trace_fd();                                 // the caller closes it
  int log_fd() const { return log_fd_; }
  std::string log_name() const;  // from the root
  void keep() { keep_ = true; }
  void write_mix(const std::array<uint64_t, kOpKinds>& counts);

 private:
  std::string first_file() const;

  void remove_files();
  std::string full_name_of(const std::string& file) const;

  std::string trace_, mix_, log_;
  int directory_fd_ = -1, trace_fd_ = -1, mix_fd_ = -1, log_fd_ = -1;
  bool keep_ = false, series_ = false, trace_taken_ = false;
};

}  // namespace fsr::shim
