// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/units.hpp"
#include "workloads/vdbench/files/java_random.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kMost = 128'000'000;  // limit of vdbench for the directories, and for the files, of an anchor
constexpr unsigned kMostTries = 1'000'000;

[[noreturn]] void too_many(const FileSystem& settings, const char* what) {
  throw ParameterError(settings.position, "fsd={}: expected at most {} {}", settings.name, kMost, what);
}

// Draws a size from half to one and a half of the mean. Larger sizes are rounded more.
uint64_t size_about(uint64_t mean, JavaRandom& random) {
  constexpr int kK = 1024, kM = 1024 * 1024;
  const auto wanted = int32_t(mean);
  const auto drawn = float(random.below(wanted) + wanted / 2);
  auto rounded = [&](int unit) { return uint64_t(std::floor(drawn / float(unit) + 0.5f)) * uint64_t(unit); };
  if (drawn >= 10 * kM) return rounded(kM);
  if (wanted >= kM) return rounded(100 * kK);
  if (wanted >= 100 * kK) return rounded(10 * kK);
  return rounded(kK);
}

uint64_t draw_size(const FileSystem& settings, JavaRandom& random) {
  if (settings.sizes.size() == 1)
    return settings.sizes[0].second == 0 ? size_about(settings.sizes[0].first, random) : settings.sizes[0].first;
  const int percent = random.below(100);
  double sum = 0;
  for (const auto& [size, share] : settings.sizes)
    if (percent < (sum += share)) return size;
  return settings.sizes.back().first;
}

}  // namespace

Structure::Structure(const FileSystem& settings)
    : width_(settings.width),
      in_directory_(settings.files),
      all_directories_(settings.all_directories),
      directory_mask_(settings.directory_mask.empty() ? "vdb.%d_%d.dir" : settings.directory_mask),
      file_mask_(settings.file_mask.empty() ? "vdb_f%04d.file" : settings.file_mask) {
  powers_ = {1};
  bases_ = {0};
  for (uint64_t d = 1; d <= settings.depth; ++d) {
    powers_.push_back(powers_.back() * width_);
    bases_.push_back(bases_.back() + powers_.back());
    if (bases_.back() > kMost) too_many(settings, "directories");
  }
  const uint64_t holding = all_directories_ ? directories() : powers_.back();
  if (in_directory_ != 0 && holding > kMost / in_directory_) too_many(settings, "files");
  JavaRandom random(0);
  sizes_.resize(holding * in_directory_);
  for (uint64_t& size : sizes_) bytes_ += size = draw_size(settings, random);
}

std::vector<uint32_t> Structure::chosen_by(const FileSystem& settings) const {
  std::vector<uint32_t> chosen(sizes_.size());
  std::iota(chosen.begin(), chosen.end(), 0u);
  auto asked = [&](uint64_t n, bool percent, uint64_t of) { return percent ? uint64_t(double(of) * double(n) / 100) : n; };
  uint64_t total = bytes_;
  if (settings.total) chosen = part(settings, chosen, total = asked(settings.total, settings.total_percent, bytes_), "totalsize");
  if (settings.working_set)
    chosen = part(settings, chosen, asked(settings.working_set, settings.working_set_percent, total), "workingsetsize");
  return chosen;
}

std::string Structure::text(const std::string& anchor) const {
  return fmt::format("Anchor size: anchor={}: dirs: {:>12}; files: {:>12}; bytes: {:>10} ({})", anchor,
                     format_count(directories()), format_count(files()), size_text(double(bytes())), format_count(bytes()));
}

// Chooses files at random until they have `bytes`, and returns them in their old order. The choice is always the same.
std::vector<uint32_t> Structure::part(const FileSystem& settings, const std::vector<uint32_t>& of, uint64_t bytes,
                                      const char* what) const {
  auto fail = [&](const std::string& why) {
    throw ParameterError(settings.position, "fsd={}: {}= {}", settings.name, what, why);
  };
  uint64_t all = 0;
  for (uint32_t file : of) all += sizes_[file];
  if (bytes > all) fail(fmt::format("asks for {} bytes, expected at most the {} that the files have", bytes, all));
  JavaRandom random(0);
  std::vector<bool> taken(of.size());
  unsigned tries = 0;
  for (uint64_t have = 0; have < bytes;) {
    const auto number = size_t(random.unit() * double(of.size()));
    if (!taken[number]) {
      taken[number] = true;
      have += sizes_[of[number]];
      tries = 0;
    } else if (++tries > kMostTries) {
      fail("is too near to the size of all files: make the value smaller, or leave it out");
    }
  }
  std::vector<uint32_t> part;
  for (size_t i = 0; i < of.size(); ++i)
    if (taken[i]) part.push_back(of[i]);
  return part;
}

unsigned Structure::depth_of(uint64_t directory) const {
  return unsigned(std::upper_bound(bases_.begin(), bases_.end(), directory) - bases_.begin());
}

// Within depth d, directory number w of its parent has the number w * width^(d-1) + r, if r is the rank of the parent's path.
uint64_t Structure::parent_of(uint64_t directory) const {
  const unsigned d = depth_of(directory);
  if (d == 1) return kAnchor;
  const uint64_t rank = (directory - bases_[d - 1]) % powers_[d - 1];
  return bases_[d - 2] + rank % width_ * powers_[d - 2] + rank / width_;
}

uint64_t Structure::child_of(uint64_t directory, uint64_t n) const {
  const unsigned d = depth_of(directory);
  const uint64_t at = directory - bases_[d - 1];
  const uint64_t rank = at % powers_[d - 1] * width_ + at / powers_[d - 1];
  return bases_[d] + n * powers_[d] + rank;
}

uint64_t Structure::directory_of(uint64_t file) const {
  return file / in_directory_ + (all_directories_ ? 0 : bases_[bases_.size() - 2]);
}

// Replaces the number formats of a mask, the first by `first`, the next by `second`.
std::string Structure::name(const std::string& mask, uint64_t first, uint64_t second) const {
  std::string text;
  uint64_t next = first;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != '%') {
      text += mask[i];
      continue;
    }
    const size_t end = mask.find('d', i);
    const std::string digits = mask.substr(i + 1, end - i - 1);
    const size_t width = digits.empty() ? 0 : size_t(std::stoul(digits));
    text += digits.starts_with('0') ? fmt::format("{:0{}}", next, width) : fmt::format("{:{}}", next, width);
    next = second;
    i = end;
  }
  return text;
}

std::string Structure::directory_name(uint64_t directory) const {
  const unsigned d = depth_of(directory);
  return name(directory_mask_, d, (directory - bases_[d - 1]) / powers_[d - 1] + 1);
}

std::string Structure::file_name(uint64_t file) const {
  return name(file_mask_, file % in_directory_ + 1, file % in_directory_ + 1);
}

std::string Structure::directory_path(uint64_t directory) const {
  std::string path = directory_name(directory);
  for (uint64_t d = parent_of(directory); d != kAnchor; d = parent_of(d)) path = directory_name(d) + "/" + path;
  return path;
}

std::string Structure::file_path(uint64_t file) const { return directory_path(directory_of(file)) + "/" + file_name(file); }

}  // namespace fsr::vdbench
