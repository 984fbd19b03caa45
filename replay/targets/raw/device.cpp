// SPDX-License-Identifier: Apache-2.0
#include "targets/raw/device.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "targets/file/direct_io.hpp"

namespace fsr::raw {

namespace {

constexpr char kMagic[] = "fsreplay raw 1\n";
constexpr char kInUse[] = "; --force does not override this: end that use first";

[[noreturn]] void fail(const std::string& path, const std::string& why) { throw std::runtime_error(path + ": " + why); }
[[noreturn]] void fail(const std::string& path) { fail(path, strerror(errno)); }

uint64_t size_of(const Device& device, const struct stat& st) {
  if (S_ISREG(st.st_mode)) return uint64_t(st.st_size);
  uint64_t bytes = 0;
  if (ioctl(device.fd.get(), BLKGETSIZE64, &bytes) != 0) fail(device.path);
  return bytes;
}

// True: the file has other content than this target's header. A file made for another purpose may have no signature.
bool foreign_content(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char head[kHeaderBytes] = {};
  if (!fd || pread(fd.get(), head, sizeof head, 0) <= 0) return false;
  if (memcmp(head, kMagic, sizeof kMagic - 1) == 0) return false;
  return std::any_of(std::begin(head), std::end(head), [](char c) { return c != 0; });
}

}  // namespace

Device open_device(const std::string& path, bool force, Access access, bool whole) {
  const bool writes = access != Access::read_only;
  struct stat st;
  if (stat(path.c_str(), &st) != 0) fail(path);
  if (S_ISDIR(st.st_mode)) fail(path, "is a directory, expected a block device or a file (file:DIR replays into a directory)");
  if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode)) fail(path, "is neither a block device nor a file");
  const SignsOfUse signs = writes ? signs_of_use(path) : SignsOfUse();
  if (!signs.users.empty()) fail(path, signs.users + kInUse);
  if (!signs.content.empty() && !force) fail(path, signs.content + "; give --force to overwrite the device");
  if (S_ISREG(st.st_mode) && writes && !whole && !force && foreign_content(path))
    fail(path, "holds data of another program; give --force to overwrite the data");

  Device device;
  device.path = path;
  if (S_ISBLK(st.st_mode) && writes) {
    device.claim = UniqueFd(open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));  // fails if another user of the device has it
    if (!device.claim && errno == EBUSY)
      fail(path, std::string("is in use by a file system, a volume, a process or another rank") + kInUse);
  }
  const int how = !writes ? O_RDONLY : access == Access::read_write_synced ? O_RDWR | O_DSYNC : O_RDWR;
  device.fd = UniqueFd(open(path.c_str(), how | O_DIRECT | O_CLOEXEC));
  if (!device.fd && errno == EINVAL) fail(path, "is on a file system without O_DIRECT");
  if (!device.fd) fail(path);
  device.size = size_of(device, st);
  device.block = direct_block(device.fd.get());
  if (device.block == 0 || device.block > kHeaderBytes || (device.block & (device.block - 1)))
    fail(path, "requires blocks of " + std::to_string(device.block) + " bytes, expected at most 4096");
  device.size -= device.size % kHeaderBytes;
  if (device.size < 2 * kHeaderBytes) fail(path, "is too small: expected 8 KiB or more");
  return device;
}

void write_header(const Device& device) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kHeaderBytes, kHeaderBytes) != 0) fail(device.path, "no memory");
  std::unique_ptr<void, void (*)(void*)> block(memory, free);
  memset(memory, 0, kHeaderBytes);
  memcpy(memory, kMagic, sizeof kMagic - 1);
  ssize_t n = pwrite(device.fd.get(), memory, kHeaderBytes, 0);
  if (n < 0) fail(device.path);
  if (size_t(n) != kHeaderBytes) fail(device.path, "first block could not be written");
}

}  // namespace fsr::raw
