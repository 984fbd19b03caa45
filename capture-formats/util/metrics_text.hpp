// SPDX-License-Identifier: Apache-2.0
// Metrics in the text format of Prometheus, version 0.0.4, for the textfile collector of its node exporter. A file of them is
// always complete: its last line is the comment "# EOF". One thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  enum class Type { counter, gauge, summary, info };

  // Begins a metric, to which the samples that follow belong. The names of counters get "_total", those of infos "_info".
  void metric(std::string_view name, Type type, std::string_view help);
  // `suffix`: "_sum", "_count" of a summary.
  void sample(const Labels& labels, double value, std::string_view suffix = "");
  const std::string& text() const { return text_; }
  std::string finish();

 private:
  std::string name_, text_;
};

// Replaces the file at `path` atomically, following links. Appends to a file that can't be replaced: a device, a pipe, standard
// output. Returns the error, "FILE: why". Empty: none.
std::string replace_file(const std::string& path, std::string_view text);

}  // namespace fsr
