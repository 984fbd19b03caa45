// SPDX-License-Identifier: Apache-2.0
// The names of 9P messages, for debug lines.
#include <fmt/format.h>

#include "targets/ninep/p9.hpp"

namespace fsr::ninep {

static const char* type_name(Type type) {
  switch (type) {
    case Type::lerror:
      return "lerror";
    case Type::statfs:
      return "statfs";
    case Type::lopen:
      return "lopen";
    case Type::lcreate:
      return "lcreate";
    case Type::symlink:
      return "symlink";
    case Type::mknod:
      return "mknod";
    case Type::rename:
      return "rename";
    case Type::readlink:
      return "readlink";
    case Type::getattr:
      return "getattr";
    case Type::setattr:
      return "setattr";
    case Type::xattrwalk:
      return "xattrwalk";
    case Type::xattrcreate:
      return "xattrcreate";
    case Type::readdir:
      return "readdir";
    case Type::fsync:
      return "fsync";
    case Type::lock:
      return "lock";
    case Type::getlock:
      return "getlock";
    case Type::link:
      return "link";
    case Type::mkdir:
      return "mkdir";
    case Type::renameat:
      return "renameat";
    case Type::unlinkat:
      return "unlinkat";
    case Type::version:
      return "version";
    case Type::auth:
      return "auth";
    case Type::attach:
      return "attach";
    case Type::error:
      return "error";
    case Type::flush:
      return "flush";
    case Type::walk:
      return "walk";
    case Type::open:
      return "open";
    case Type::create:
      return "create";
    case Type::read:
      return "read";
    case Type::write:
      return "write";
    case Type::clunk:
      return "clunk";
    case Type::remove:
      return "remove";
    case Type::stat:
      return "stat";
    case Type::wstat:
      return "wstat";
  }
  return "unknown";
}

std::string P9Protocol::request_name(std::span<const uint8_t> head) const {
  return head.size() < kHeadSize ? "no request" : fmt::format("T{}", type_name(Type(head[4])));
}

std::string P9Protocol::reply_status(std::span<const uint8_t>, std::span<const uint8_t> message) const {
  const Type type = Type(message[4] - 1);
  if (type != Type::lerror && type != Type::error) return "ok";
  Reply reply;
  const bool sound = decode_reply(type, type == Type::lerror ? Dialect::l : Dialect::u, message, &reply);
  return sound ? fmt::format("errno {}", reply.error) : "error";
}

}  // namespace fsr::ninep
