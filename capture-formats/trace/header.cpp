// SPDX-License-Identifier: Apache-2.0
#include "header.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "../util/units.hpp"
#include "frame.hpp"
#include "header_text.hpp"
#include "op_limits.hpp"

namespace fsr {

using Json = nlohmann::json;

// Strings of the recorder's machine are bytes: json_text makes them JSON, bytes_of undoes it.
static std::string bytes_of(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    // U+F780 .. U+F7FF in UTF-8: EF 9E 80 .. EF 9F BF
    if (i + 2 < text.size() && uint8_t(text[i]) == 0xEF && (uint8_t(text[i + 1]) & 0xFC) == 0x9C) {
      out.push_back(char(uint8_t((uint8_t(text[i + 1]) & 3) << 6 | (uint8_t(text[i + 2]) & 0x3F))));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

static void get(const Json& j, const char* key, std::string* out) {
  auto it = j.find(key);
  if (it != j.end() && it->is_string()) *out = bytes_of(it->get_ref<const std::string&>());
}

template <class T>
static void get(const Json& j, const char* key, T* out) {
  auto it = j.find(key);
  if (it != j.end() && it->is_number_integer()) *out = it->get<T>();
}

static void get(const Json& j, const char* key, bool* out) {
  auto it = j.find(key);
  if (it != j.end() && it->is_boolean()) *out = it->get<bool>();
}

static void get(const Json& j, const char* key, std::vector<std::string>* out) {
  auto it = j.find(key);
  if (it == j.end() || !it->is_array()) return;
  for (const Json& s : *it)
    if (s.is_string()) out->push_back(bytes_of(s.get_ref<const std::string&>()));
}

static Json encode_inode(const InodeIdentity& inode) { return {inode.device, inode.inode, inode.born}; }

static bool get(const Json& j, InodeIdentity* out) {
  if (!j.is_array() || j.size() != 3 || !std::ranges::all_of(j, [](const Json& n) { return n.is_number_integer(); }))
    return false;
  *out = {.device = j[0].get<uint64_t>(), .inode = j[1].get<uint64_t>(), .born = j[2].get<int64_t>()};
  return true;
}

static void get(const Json& j, const char* key, DirectoryIdentity* out) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_object()) return;
  DirectoryIdentity identity;
  get(*it, "path", &identity.path);
  const auto self = it->find("self"), above = it->find("above");
  if (self == it->end() || !get(*self, &identity.self) || above == it->end() || !above->is_array()) return;
  for (const Json& inode : *above)
    if (InodeIdentity one; get(inode, &one)) identity.above.push_back(one);
  get(*it, "machine", &identity.machine);
  *out = std::move(identity);
}

std::string encode_header(const TraceHeader& h) {
  Json j = {{"format", "fsshim trace"},
            {"version", h.version},
            {"id", json_text(h.id)},
            {"piece", h.piece},
            {"epoch", h.epoch},
            {"clock_unit", h.clock_unit},
            {"program", json_text(h.program)},
            {"host", json_text(h.host)},
            {"kernel", json_text(h.kernel)},
            {"directory", json_text(h.directory)},
            {"mount_source", json_text(h.mount_source)},
            {"mount_type", json_text(h.mount_type)},
            {"mount_options", json_text(h.mount_options)},
            {"command", json_text(h.command)},
            {"content", json_text(h.content)},
            {"filter", json_text(h.filter)},
            {"visibility", json_text(h.visibility)},
            {"transport", json_text(h.transport)},
            {"mountstats", json_text(h.nfs.mountstats)},
            {"rpc_nfs", json_text(h.nfs.rpc)},
            {"mounts_below", Json::array()},
            {"not_seen", Json::array()}};
  if (h.monotonic) j["monotonic"] = h.monotonic;
  if (!h.identity.machine.empty()) {
    Json& identity = j["identity"] = {{"machine", json_text(h.identity.machine)},
                                      {"self", encode_inode(h.identity.self)},
                                      {"path", json_text(h.identity.path)},
                                      {"above", Json::array()}};
    for (const InodeIdentity& above : h.identity.above) identity["above"].push_back(encode_inode(above));
  }
  for (const std::string& s : h.mounts_below) j["mounts_below"].push_back(json_text(s));
  for (const std::string& s : h.not_seen) j["not_seen"].push_back(json_text(s));
  for (const std::string& s : h.edits) j["edits"].push_back(json_text(s));
  return j.dump();
}

bool decode_header(std::string_view body, TraceHeader* h) {
  Json j = Json::parse(body.begin(), body.end(), nullptr, false);
  if (!j.is_object()) return false;
  get(j, "version", &h->version);
  get(j, "id", &h->id);
  get(j, "piece", &h->piece);
  get(j, "epoch", &h->epoch);
  get(j, "monotonic", &h->monotonic);
  get(j, "clock_unit", &h->clock_unit);
  get(j, "program", &h->program);
  get(j, "host", &h->host);
  get(j, "kernel", &h->kernel);
  get(j, "directory", &h->directory);
  get(j, "identity", &h->identity);
  get(j, "mount_source", &h->mount_source);
  get(j, "mount_type", &h->mount_type);
  get(j, "mount_options", &h->mount_options);
  get(j, "command", &h->command);
  get(j, "content", &h->content);
  get(j, "filter", &h->filter);
  get(j, "visibility", &h->visibility);
  get(j, "transport", &h->transport);
  get(j, "mountstats", &h->nfs.mountstats);
  get(j, "rpc_nfs", &h->nfs.rpc);
  get(j, "mounts_below", &h->mounts_below);
  get(j, "not_seen", &h->not_seen);
  get(j, "edits", &h->edits);
  return h->clock_unit > 0 && h->clock_unit <= kMaxClockUnit;
}

static Json encode_kinds(const std::array<uint64_t, kOpKinds>& counts) {
  Json kinds = Json::object();
  for (unsigned i = 0; i < kOpKinds; ++i)
    if (counts[i]) kinds[op_name(OpKind(i))] = counts[i];
  return kinds;
}

static void get(const Json& j, const char* key, std::array<uint64_t, kOpKinds>* out) {
  auto it = j.find(key);
  if (it == j.end() || !it->is_object()) return;
  for (auto& [name, count] : it->items()) {
    OpKind kind;
    if (count.is_number_unsigned() && op_from_name(name, &kind)) (*out)[unsigned(kind)] = count.get<uint64_t>();
  }
}

std::string encode_closing(const TraceClosing& c) {
  Json j = {{"clean", c.clean},
            {"reason", json_text(c.reason)},
            {"end", c.end},
            {"operations", c.operations},
            {"dropped", c.dropped},
            {"waited", c.waited},
            {"out_of_order", c.out_of_order},
            {"by_kind", encode_kinds(c.by_kind)},
            {"filtered", encode_kinds(c.filtered)},
            {"mountstats", json_text(c.nfs.mountstats)},
            {"rpc_nfs", json_text(c.nfs.rpc)}};
  if (c.ring_time >= 0) j["ring_time"] = c.ring_time;
  for (const DroppedSpan& d : c.dropped_spans) j["dropped_spans"].push_back({d.from, d.to, d.operations});
  for (const std::string& s : c.mounts_below) j["mounts_below"].push_back(json_text(s));
  for (const std::string& s : c.not_seen) j["not_seen"].push_back(json_text(s));
  return j.dump();
}

std::string random_trace_id() {
  uint8_t b[16] = {};
  if (getrandom(b, sizeof b, 0) != ssize_t(sizeof b))
    throw std::system_error(errno, std::generic_category(), "can't get random numbers");
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  std::string out;
  for (size_t i = 0; i < sizeof b; ++i) out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
  return out;
}

static void get(const Json& j, const char* key, std::vector<DroppedSpan>* out) {
  auto it = j.find(key);
  if (it == j.end() || !it->is_array()) return;
  for (const Json& d : *it)
    if (d.is_array() && d.size() >= 3 && std::all_of(d.begin(), d.end(), [](const Json& n) { return n.is_number_integer(); }))
      out->push_back({d[0].get<int64_t>(), d[1].get<int64_t>(), d[2].get<uint64_t>()});
}

bool decode_closing(std::string_view body, TraceClosing* c) {
  if (body.size() < kTail || !body.ends_with(kEndMark)) return false;
  Json j = Json::parse(body.begin(), body.end() - kTail, nullptr, false);
  if (!j.is_object()) return false;
  get(j, "clean", &c->clean);
  get(j, "reason", &c->reason);
  get(j, "end", &c->end);
  c->end = std::clamp(c->end, -kMostTime, kMostTime);
  get(j, "operations", &c->operations);
  get(j, "dropped", &c->dropped);
  get(j, "dropped_spans", &c->dropped_spans);
  get(j, "waited", &c->waited);
  get(j, "ring_time", &c->ring_time);
  get(j, "mounts_below", &c->mounts_below);
  get(j, "not_seen", &c->not_seen);
  get(j, "out_of_order", &c->out_of_order);
  get(j, "mountstats", &c->nfs.mountstats);
  get(j, "rpc_nfs", &c->nfs.rpc);
  get(j, "by_kind", &c->by_kind);
  get(j, "filtered", &c->filtered);
  return true;
}

}  // namespace fsr
