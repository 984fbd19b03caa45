// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/anchor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

Anchor::Anchor(std::string name, const FileSystem& settings, unsigned target_index)
    : name_(std::move(name)),
      structure_(settings),
      target_index_(target_index),
      files_(structure_.files()),
      directories_(structure_.directories()) {}

void Anchor::validate(const FileSystem& settings, uint64_t unit) {
  for (uint64_t file = 0; file < structure_.files(); ++file) unit = std::gcd(unit, structure_.size_of(file));
  if (unit % kSector) throw_error("fsd={}: expected sizes of files that are multiples of 512 for data validation", settings.name);
  row_ = std::make_unique<const FileRow>(structure_, unit);
  validated_ = std::make_unique<ValidatedStorage>(settings, row_->size(), unit);
  validated_->locate = [this](uint64_t offset) {
    const uint64_t file = row_->file_at(offset);
    return ErrorLocation{name_ + "/" + structure_.file_path(file), offset - row_->begin_of(file)};
  };
  validated_->place_text = [this](uint64_t offset) {
    if (offset >= row_->size()) return fmt::format("file=(none) lba={}", offset);
    const uint64_t file = row_->file_at(offset), lba = offset - row_->begin_of(file);
    return fmt::format("file={} lba={} ({:#x})", structure_.file_path(file), lba, lba);
  };
}

size_t Anchor::begin_run(uint64_t seed, const FileSystem& settings, const RankSlice& dealt) {
  chosen_ = structure_.chosen_by(settings);
  const size_t left = chosen_.size();
  std::erase_if(chosen_, [&](uint32_t file) { return !dealt.has(file); });
  existing_files_ = uint64_t(std::count_if(chosen_.begin(), chosen_.end(), [&](uint32_t file) { return files_[file].exists; }));
  next_file_ = next_directory_ = selected_ = 0;
  placed_ = false;
  random_ = Random(seed);
  for (File& file : files_) file.selected = file.copied = false, file.users = 0;
  for (Directory& directory : directories_) directory.busy = false;
  return left;
}

void Anchor::forget() {
  std::fill(files_.begin(), files_.end(), File());
  std::fill(directories_.begin(), directories_.end(), Directory());
  existing_files_ = existing_directories_ = 0;
  if (validated_) validated_->keys.forget(0, row_->size());
}

std::optional<uint32_t> Anchor::choose(const FileWorkload& how) {
  const std::vector<uint32_t>& used = chosen_;
  std::lock_guard lock(mutex_);
  if (used.empty()) return {};
  if (!how.random_files) {
    if (how.starts_at_any_file && !placed_) next_file_ = size_t(random_.below(used.size()));
    placed_ = true;
    if (how.once && selected_ >= used.size()) return {};
    ++selected_;
    if (next_file_ >= used.size()) next_file_ = 0;
    return used[next_file_++];
  }
  if (how.once) {
    while (selected_ < used.size()) {
      const uint32_t file = used[size_t(random_.below(used.size()))];
      if (files_[file].selected) continue;
      files_[file].selected = true;
      ++selected_;
      return file;
    }
    return {};
  }
  if (how.midpoint <= 0) return used[size_t(random_.below(used.size()))];
  // Exponentially distributed and wrapped around: with a midpoint of 3, half of the choices are in the first fifth of the files.
  const double at = std::floor(random_.exponential(double(used.size()) / how.midpoint));
  return used[size_t(std::fmod(at, double(used.size())))];
}

std::optional<uint64_t> Anchor::choose_directory(bool random) {
  std::lock_guard lock(mutex_);
  if (directories_.empty()) return {};
  if (random) return random_.below(directories_.size());
  if (next_directory_ >= directories_.size()) next_directory_ = 0;
  return next_directory_++;
}

bool Anchor::claim(uint32_t file, bool alone) {
  std::lock_guard lock(mutex_);
  uint32_t& users = files_[file].users;
  if (users == kExclusive || (alone && users != 0)) return false;
  users = alone ? kExclusive : users + 1;
  return true;
}

void Anchor::release(uint32_t file) {
  std::lock_guard lock(mutex_);
  uint32_t& users = files_[file].users;
  users = users == kExclusive ? 0 : users - 1;
}

bool Anchor::claim_directory(uint64_t directory) {
  if (directory == Structure::kAnchor) return true;
  std::lock_guard lock(mutex_);
  if (directories_[directory].busy) return false;
  return directories_[directory].busy = true;
}

void Anchor::release_directory(uint64_t directory) {
  if (directory == Structure::kAnchor) return;
  std::lock_guard lock(mutex_);
  directories_[directory].busy = false;
}

void Anchor::made(uint32_t file, ObjectId object) {
  std::lock_guard lock(mutex_);
  files_[file].object = object;
  if (files_[file].exists) return;
  files_[file].exists = true;
  ++directories_[structure_.directory_of(file)].files;
  ++existing_files_;
}

void Anchor::removed(uint32_t file) {
  std::lock_guard lock(mutex_);
  if (!files_[file].exists) return;
  if (validated_) validated_->keys.forget(base_of(file), structure_.size_of(file));
  files_[file].exists = false;
  files_[file].object = kNoObject;
  files_[file].current = files_[file].position = 0;
  --directories_[structure_.directory_of(file)].files;
  --existing_files_;
}

void Anchor::resized(uint32_t file, uint64_t bytes) { files_[file].current = bytes; }

void Anchor::made_directory(uint64_t directory, ObjectId object) {
  std::lock_guard lock(mutex_);
  if (!directories_[directory].exists) ++existing_directories_;
  directories_[directory].exists = true;
  directories_[directory].object = object;
}

void Anchor::removed_directory(uint64_t directory) {
  std::lock_guard lock(mutex_);
  if (directories_[directory].exists) --existing_directories_;
  directories_[directory].exists = false;
  directories_[directory].object = kNoObject;
}

bool Anchor::has_files(uint64_t directory) const {
  std::lock_guard lock(mutex_);
  return directories_[directory].files != 0;
}

bool Anchor::has_directories(uint64_t directory) const {
  if (structure_.depth_of(directory) >= structure_.depth()) return false;
  std::lock_guard lock(mutex_);
  for (uint64_t n = 0; n < structure_.width(); ++n)
    if (directories_[structure_.child_of(directory, n)].exists) return true;
  return false;
}

}  // namespace fsr::vdbench
