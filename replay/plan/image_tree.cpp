// SPDX-License-Identifier: Apache-2.0
#include "plan/image_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "plan/clones.hpp"

namespace fsr {

Spill::~Spill() {
  if (fd_ >= 0) close(fd_);
}

uint64_t Spill::append(std::string_view data) {
  if (fd_ < 0) {
    const char* folder = getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/var/tmp") + "/fsreplay-XXXXXX";
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
    unlink(path.c_str());
  }
  uint64_t at = size_;
  while (!data.empty()) {
    ssize_t n = pwrite(fd_, data.data(), data.size(), off_t(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::system_error(n ? errno : ENOSPC, std::generic_category(), "temporary file for captured content");
    data.remove_prefix(size_t(n));
    size_ += uint64_t(n);
  }
  return at;
}

void Spill::read(uint64_t at, char* to, size_t length) const {
  while (length) {
    ssize_t n = pread(fd_, to, length, off_t(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::system_error(n ? errno : EIO, std::generic_category(), "temporary file for captured content");
    to += n;
    at += uint64_t(n);
    length -= size_t(n);
  }
}

bool ImageObject::directory() const { return type == S_IFDIR; }

uint64_t ImageObject::size() const { return attr.valid & kAttrSize ? attr.size : read_end; }

bool ImageObject::holes() const { return attr.valid & kAttrBlocks && attr.blocks < size() / 512; }

uint64_t ImageObject::data_length() const {
  const uint64_t length = holes() ? attr.blocks * 512 : size();
  return length > kMostData ? 0 : length;
}

ObjectId ImageTree::object_id(ObjectId id, unsigned clone) const {
  return options.clones.all > 1 ? CloneSource::object_of(id, clone, options.clones.all) : id;
}
HandleId ImageTree::handle_id(HandleId id, unsigned clone) const {
  return options.clones.all > 1 ? CloneSource::object_of(id, clone, options.clones.all) : id;
}
ObjectId ImageTree::spare_object(unsigned index) const { return (next_object + 1) * options.clones.all + index; }
HandleId ImageTree::spare_handle(uint64_t index) const { return (next_handle + 1) * options.clones.all + index; }

}  // namespace fsr
