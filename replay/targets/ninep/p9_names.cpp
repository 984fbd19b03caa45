// SPDX-License-Identifier: Apache-2.0
// The names of 9P messages, for debug lines.
#include <fmt/format.h>

#include "targets/ninep/p9.hpp"

namespace fsr::ninep {

struct NamedRequest {
  Type type;
  const char* name;
};
constexpr NamedRequest kRequests[] = {
    {Type::statfs, "Tstatfs"},
    {Type::lopen, "Tlopen"},
    {Type::lcreate, "Tlcreate"},
    {Type::symlink, "Tsymlink"},
    {Type::mknod, "Tmknod"},
    {Type::rename, "Trename"},
    {Type::readlink, "Treadlink"},
    {Type::getattr, "Tgetattr"},
    {Type::setattr, "Tsetattr"},
    {Type::xattrwalk, "Txattrwalk"},
    {Type::xattrcreate, "Txattrcreate"},
    {Type::readdir, "Treaddir"},
    {Type::fsync, "Tfsync"},
    {Type::lock, "Tlock"},
    {Type::getlock, "Tgetlock"},
    {Type::link, "Tlink"},
    {Type::mkdir, "Tmkdir"},
    {Type::renameat, "Trenameat"},
    {Type::unlinkat, "Tunlinkat"},
    {Type::version, "Tversion"},
    {Type::auth, "Tauth"},
    {Type::attach, "Tattach"},
    {Type::flush, "Tflush"},
    {Type::walk, "Twalk"},
    {Type::open, "Topen"},
    {Type::create, "Tcreate"},
    {Type::read, "Tread"},
    {Type::write, "Twrite"},
    {Type::clunk, "Tclunk"},
    {Type::remove, "Tremove"},
    {Type::stat, "Tstat"},
    {Type::wstat, "Twstat"},
};

std::string P9Protocol::request_name(std::span<const uint8_t> head) const {
  for (const NamedRequest& request : kRequests)
    if (head.size() >= kHeadSize && request.type == Type(head[4])) return request.name;
  return "an unknown request";
}

std::string P9Protocol::reply_status(std::span<const uint8_t>, std::span<const uint8_t> message) const {
  const Type type = Type(message[4] - 1);
  if (type != Type::lerror && type != Type::error) return "ok";
  Reply reply;
  const bool sound = decode_reply(type, type == Type::lerror ? Dialect::l : Dialect::u, message, &reply);
  return sound ? fmt::format("errno {}", reply.error) : "error";
}

}  // namespace fsr::ninep
