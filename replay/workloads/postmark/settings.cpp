// SPDX-License-Identifier: Apache-2.0
#include "workloads/postmark/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr::postmark {

namespace {

std::string scaled(int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.2f} megabytes", double(bytes) / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.2f} kilobytes", double(bytes) / (1 << 10));
  return fmt::format("{} bytes", bytes);
}

std::string current_directory() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? path : ".";
}

constexpr int64_t Settings::*kNumbers[] = {
    &Settings::size_low,       &Settings::size_high,  &Settings::files,       &Settings::transactions, &Settings::seed,
    &Settings::subdirectories, &Settings::read_block, &Settings::write_block, &Settings::bias_read,    &Settings::bias_create};

}  // namespace

std::string Settings::save() const {
  ByteWriter out;
  for (auto number : kNumbers) out.svarint(this->*number);
  out.u8(buffered);
  out.u8(verbose);
  for (const Location& location : locations) {
    out.text(location.name);
    out.svarint(location.weight);
  }
  return std::string(out.view());
}

Settings Settings::load(std::string_view saved) {
  ByteReader in(saved);
  Settings settings;
  for (auto number : kNumbers) settings.*number = in.svarint();
  settings.buffered = in.u8() != 0;
  settings.verbose = in.u8() != 0;
  while (in.ok() && in.left() > 0) {
    Location& location = settings.locations.emplace_back();
    location.name = in.text();
    location.weight = in.svarint();
  }
  if (!in.ok()) throw std::runtime_error("damaged settings from another rank");
  return settings;
}

std::string Settings::text_above() const {
  std::string text = "Current configuration is:\n";
  text += fmt::format("The base number of files is {}\nTransactions: {}\n", files, transactions);
  text += size_low == size_high ? fmt::format("Files are {} in size\n", scaled(size_low))
                                : fmt::format("Files range between {} and {} in size\n", scaled(size_low), scaled(size_high));
  if (locations.empty()) return text + fmt::format("Working directory: {}\n", current_directory());
  return text + (locations.size() == 1 ? "Working directory: \n" : "Working directories: \n");
}

std::string Settings::text_locations() const {
  std::string text;
  for (const Location& location : locations) text += fmt::format("\t{} (weight={})\n", location.name, location.weight);
  return text;
}

std::string Settings::text_below() const {
  std::string text;
  if (subdirectories > 0)
    text += fmt::format("{} {} will be used\n", subdirectories, subdirectories == 1 ? "subdirectory" : "subdirectories");
  text += fmt::format("Block sizes are: read={}, write={}\n", scaled(read_block), scaled(write_block));
  text += fmt::format("Biases are: read/append={}, create/delete={}\n", bias_read, bias_create);
  text += buffered ? "Using Unix buffered file I/O\n" : "Not using Unix buffered file I/O\n";
  text += fmt::format("Random number generator seed is {}\nReport format is {}.\n", seed, verbose ? "verbose" : "terse");
  return text;
}

}  // namespace fsr::postmark
