// SPDX-License-Identifier: Apache-2.0
#include "header.hpp"

#include <nlohmann/json.hpp>

#include "../util/units.hpp"
#include "frame.hpp"
#include "header_text.hpp"

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

std::string encode_header(const TraceHeader& h) {
  Json j = {{"format", "fsshim trace"},
            {"version", h.version},
            {"id", json_text(h.id)},
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
            {"visibility", json_text(h.visibility)},
            {"mountstats", json_text(h.mountstats)},
            {"not_seen", Json::array()}};
  for (const std::string& s : h.not_seen) j["not_seen"].push_back(json_text(s));
  return j.dump();
}

bool decode_header(std::string_view body, TraceHeader* h) {
  Json j = Json::parse(body.begin(), body.end(), nullptr, false);
  if (!j.is_object()) return false;
  get(j, "version", &h->version);
  get(j, "id", &h->id);
  get(j, "epoch", &h->epoch);
  get(j, "clock_unit", &h->clock_unit);
  get(j, "program", &h->program);
  get(j, "host", &h->host);
  get(j, "kernel", &h->kernel);
  get(j, "directory", &h->directory);
  get(j, "mount_source", &h->mount_source);
  get(j, "mount_type", &h->mount_type);
  get(j, "mount_options", &h->mount_options);
  get(j, "command", &h->command);
  get(j, "content", &h->content);
  get(j, "visibility", &h->visibility);
  get(j, "mountstats", &h->mountstats);
  if (auto it = j.find("not_seen"); it != j.end() && it->is_array())
    for (const Json& s : *it)
      if (s.is_string()) h->not_seen.push_back(bytes_of(s.get_ref<const std::string&>()));
  return h->clock_unit > 0 && h->clock_unit <= kMaxClockUnit;
}

std::string encode_closing(const TraceClosing& c) {
  Json kinds = Json::object();
  for (unsigned i = 0; i < kOpKinds; ++i)
    if (c.by_kind[i]) kinds[op_name(OpKind(i))] = c.by_kind[i];
  return Json({{"clean", c.clean},
               {"reason", json_text(c.reason)},
               {"end", c.end},
               {"operations", c.operations},
               {"dropped", c.dropped},
               {"waited", c.waited},
               {"out_of_order", c.out_of_order},
               {"by_kind", kinds},
               {"mountstats", json_text(c.mountstats)}})
      .dump();
}

bool decode_closing(std::string_view body, TraceClosing* c) {
  Json j = Json::parse(body.begin(), body.end(), nullptr, false);
  if (!j.is_object()) return false;
  get(j, "clean", &c->clean);
  get(j, "reason", &c->reason);
  get(j, "end", &c->end);
  get(j, "operations", &c->operations);
  get(j, "dropped", &c->dropped);
  get(j, "waited", &c->waited);
  get(j, "out_of_order", &c->out_of_order);
  get(j, "mountstats", &c->mountstats);
  if (auto it = j.find("by_kind"); it != j.end() && it->is_object())
    for (auto& [name, count] : it->items()) {
      OpKind kind;
      if (count.is_number_unsigned() && op_from_name(name, &kind)) c->by_kind[unsigned(kind)] = count.get<uint64_t>();
    }
  return true;
}

}  // namespace fsr
