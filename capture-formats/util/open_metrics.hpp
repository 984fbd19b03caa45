// SPDX-License-Identifier: Apache-2.0
// OpenMetrics text, and a file of it that is always whole. One thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

class OpenMetrics {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  enum class Type { counter, gauge, summary, info };

  // What follows belongs to that metric, until the next.
  void metric(std::string_view name, Type type, std::string_view help);
  // `suffix`: "_sum", "_count" of a summary; counters and infos get theirs by themselves.
  void sample(const Labels& labels, double value, std::string_view suffix = "");
  std::string finish();

 private:
  std::string name_, text_;
  Type type_ = Type::gauge;
};

// Replaces the file at `path`, behind links, at once; appends to what can't be replaced: a device, a pipe, standard output.
// Returns why that failed, "FILE: why", or nothing.
std::string replace_file(const std::string& path, std::string_view text);

}  // namespace fsr
