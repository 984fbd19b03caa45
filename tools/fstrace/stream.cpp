// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "trace_output.hpp"
#include "util/stop_signals.hpp"

namespace fsr::fstrace {

constexpr int64_t kPatience = 1'000'000'000;  // ns for which an operation without an end holds back those behind it

std::unique_ptr<StreamReader> open_stream(const std::vector<std::string>& files, bool ends_by_signal) {
  if (files.size() != 1) return nullptr;
  const bool standard_input = files[0] == "-";
  struct stat s;
  if ((standard_input ? fstat(STDIN_FILENO, &s) : stat(files[0].c_str(), &s)) != 0) return nullptr;
  if (!S_ISFIFO(s.st_mode) && !(standard_input && S_ISSOCK(s.st_mode))) return nullptr;
  const int fd = standard_input ? dup(STDIN_FILENO) : open(files[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), files[0]);
  return std::make_unique<StreamReader>(fd, standard_input ? "standard input" : files[0], kPatience,
                                        ends_by_signal ? &count_stop_signals() : nullptr);
}

bool SelectedStream::next(OpBatch& batch) {
  batch.clear();
  while (!passed_end_ && reader_.next(batch)) {
    if (paths_ && !std::exchange(begun_, true)) learn(reader_.initial(), *paths_);
    auto& ops = batch.ops;
    const auto first = std::ranges::find_if(ops, [this](const Op& op) { return op.start >= selection_.from(); });
    if (paths_)
      for (auto op = ops.begin(); op != first; ++op) paths_->apply(*op);
    ops.erase(ops.begin(), first);
    const auto last = std::ranges::find_if(ops, [this](const Op& op) { return op.start >= selection_.to(); });
    passed_end_ = last != ops.end();
    ops.erase(last, ops.end());
    if (!ops.empty() || passed_end_) return !ops.empty();
  }
  return false;
}

int report_stream(const std::string& file, const StreamReader& reader) {
  if (!reader.damage().empty()) fmt::print(stderr, "fstrace: {}: {}\n", file, reader.damage());
  report_lacks(file, reader.closing());
  return reader.damage().empty() ? 0 : 1;
}

}  // namespace fsr::fstrace
