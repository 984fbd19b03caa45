// SPDX-License-Identifier: Apache-2.0
#include "gzip_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace fsr {

constexpr size_t kInput = 256 << 10;  // bytes that one read(2) asks for
constexpr int kGzip = 15 + 16;        // windowBits of inflateInit2() for gzip with the largest window
constexpr unsigned char kMagic[] = {0x1f, 0x8b};

GzipFile::GzipFile(int fd) : fd_(fd), input_(kInput) {
  if (inflateInit2(&z_, kGzip) != Z_OK) throw std::bad_alloc();
}

GzipFile::~GzipFile() { inflateEnd(&z_); }

ssize_t GzipFile::more() {
  std::copy_n(z_.next_in, z_.avail_in, input_.data());
  z_.next_in = input_.data();
  ssize_t n;
  do n = ::read(fd_.get(), z_.next_in + z_.avail_in, kInput - z_.avail_in);
  while (n < 0 && errno == EINTR);
  if (n > 0) {
    z_.avail_in += unsigned(n);
    taken_ += uint64_t(n);
  }
  return n;
}

ssize_t GzipFile::read(char* out, size_t size) {
  while (!begun_ && z_.avail_in < sizeof kMagic) {
    const ssize_t n = more();
    if (n < 0) return n;
    if (n == 0) break;
  }
  if (!begun_) packed_ = z_.avail_in >= sizeof kMagic && memcmp(z_.next_in, kMagic, sizeof kMagic) == 0;
  begun_ = true;
  z_.next_out = reinterpret_cast<unsigned char*>(out);
  z_.avail_out = unsigned(size);
  if (packed_) return unpack(size);
  if (z_.avail_in == 0)
    if (const ssize_t n = more(); n <= 0) return n;
  const size_t n = std::min(size, size_t(z_.avail_in));
  memcpy(out, z_.next_in, n);
  z_.next_in += n;
  z_.avail_in -= unsigned(n);
  return ssize_t(n);
}

ssize_t GzipFile::unpack(size_t size) {
  while (z_.avail_out == size && damage_.empty()) {
    if (z_.avail_in == 0) {
      const ssize_t n = more();
      if (n < 0) return n;
      if (n == 0 && in_member_) damage_ = "unexpected end of file";
      if (n == 0) return 0;
    }
    // Zeros may fill up the space behind a member, as on tapes. An editor or a shell may have added a line end.
    for (; !in_member_ && z_.avail_in > 0 && memchr("\0\r\n", *z_.next_in, 3); --z_.avail_in) ++z_.next_in;
    if (z_.avail_in == 0) continue;
    if (!in_member_ && *z_.next_in != kMagic[0]) {
      damage_ = "not written by gzip";
      break;
    }
    if (!in_member_) inflateReset(&z_);
    const int state = inflate(&z_, Z_NO_FLUSH);
    in_member_ = state != Z_STREAM_END;
    if (in_member_ && state != Z_OK && state != Z_BUF_ERROR) damage_ = z_.msg ? z_.msg : zError(state);
  }
  return ssize_t(size - z_.avail_out);
}

}  // namespace fsr
