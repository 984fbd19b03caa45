// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "actor.hpp"

namespace differential {

namespace {

const std::string kLongest(255, 'n'), kTooLong(256, 'n');

const std::vector<std::string>& paths() {
  static const std::vector<std::string> list = {
      "a",    "b",   "c",   "d",   "d/a",  "d/b",      "d/e",    "d/e/a",  "e",        "e/a",       "l",        "d/l", "f",
      "d/f",  ".",   "..",  "d/.", "d/..", "d/../a",   "a/",     "d/",     "l/",       "a/b",       "l/a",      "",    "/",
      "/d/a", "a//", "./a", "e/.", "d//a", "d/e/../a", kLongest, kTooLong, "\xff\n\\", "d/missing", "missing/a"};
  return list;
}

std::vector<Choice> path_choices() {
  std::vector<Choice> list;
  for (size_t i = 0; i < paths().size(); ++i) {
    int times = i < 14 ? 8 : 1;  // plain names more often
    for (int n = 0; n < times; ++n) list.push_back({int64_t(i), nullptr});
  }
  return list;
}

std::vector<Choice> numbers(int from, int to) {
  std::vector<Choice> list;
  for (int i = from; i < to; ++i) list.push_back({i, nullptr});
  return list;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    char code[8];
    snprintf(code, sizeof code, c > ' ' && c < 127 && c != '"' && c != '\\' ? "%c" : "\\x%02x", c);
    out += code;
  }
  return out + "\"";
}

}  // namespace

const Kind kNewSlot{"new", numbers(0, kSlots), {}, 0, Kind::Use::new_slot};
const Kind kSlot{"fd", numbers(0, kSlots), {}, 0, Kind::Use::slot};
const Kind kFromSlot{"from", numbers(0, kSlots), {}, 0, Kind::Use::slot};
const Kind kDirectory{"at", {{kWorkingDirectory, "cwd"}}, {}, 0, Kind::Use::directory};
const Kind kFromDirectory{"from-at", {{kWorkingDirectory, "cwd"}}, {}, 0, Kind::Use::directory};
const Kind kNewMap{"new", numbers(0, kMaps), {}, 0, Kind::Use::new_map};
const Kind kMap{"map", numbers(0, kMaps), {}, 0, Kind::Use::map};
const Kind kNewActor{"child", numbers(kRoles, kActors), {}, 0, Kind::Use::new_actor};
const Kind kPath{"path", path_choices()};
const Kind kMode{"mode",
                 {{0644, nullptr},
                  {0600, nullptr},
                  {0755, nullptr},
                  {0777, nullptr},
                  {0666, nullptr},
                  {0, nullptr},
                  {0700, nullptr},
                  {0711, nullptr},
                  {0444, nullptr},
                  {0222, nullptr},
                  {04755, nullptr},
                  {02755, nullptr},
                  {06777, nullptr},
                  {01777, nullptr},
                  {02644, nullptr},
                  {0770, nullptr},
                  {0705, nullptr}}};
const Kind kLength{"length",
                   {{0, nullptr},
                    {1, nullptr},
                    {5, nullptr},
                    {100, nullptr},
                    {511, nullptr},
                    {512, nullptr},
                    {4095, nullptr},
                    {4096, nullptr},
                    {4097, nullptr},
                    {8192, nullptr},
                    {10000, nullptr},
                    {65536, nullptr},
                    {131073, nullptr}}};
const Kind kSomeLength{"length", {kLength.one_of.begin() + 1, kLength.one_of.end()}};
const Kind kOffset{"offset",
                   {{0, nullptr},
                    {0, nullptr},
                    {0, nullptr},
                    {1, nullptr},
                    {7, nullptr},
                    {512, nullptr},
                    {4095, nullptr},
                    {4096, nullptr},
                    {5000, nullptr},
                    {8192, nullptr},
                    {65536, nullptr},
                    {100000, nullptr},
                    {1048576, nullptr},
                    {-1, nullptr}}};
const Kind kAtFlags{"flags",
                    {{0, "0"}, {0, "0"}, {0, "0"}},
                    {{AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {AT_EMPTY_PATH, "AT_EMPTY_PATH"}},
                    25};

const char* path_text(int64_t index) { return paths()[size_t(index) % paths().size()].c_str(); }

int64_t Kind::pick(Random& random) const {
  int64_t value = one_of[random.below(one_of.size())].value;
  for (const Choice& bit : any_of) {
    if (random.chance(percent)) value |= bit.value;
  }
  return value;
}

std::string Kind::show(int64_t value) const {
  if (this == &kPath) return quoted(path_text(value));
  const Choice* best = nullptr;  // the one with the most bits of those that leave only bits of any_of
  int64_t all = 0;
  for (const Choice& bit : any_of) all |= bit.value;
  for (const Choice& c : one_of) {
    bool fits =
        c.text != nullptr && (any_of.empty() ? c.value == value : (value & c.value) == c.value && (value & ~c.value & ~all) == 0);
    if (fits && (best == nullptr || __builtin_popcountll(uint64_t(c.value)) > __builtin_popcountll(uint64_t(best->value))))
      best = &c;
  }
  char number[32];
  snprintf(number, sizeof number, this == &kMode ? "0%llo" : "%lld", static_cast<long long>(value));
  if (best == nullptr) return number;
  std::string text = best->text;
  int64_t rest = value & ~best->value;
  for (const Choice& bit : any_of) {
    if ((rest & bit.value) != bit.value) continue;
    text += std::string("|") + bit.text;
    rest &= ~bit.value;
  }
  if (rest != 0) return number;
  return text.starts_with("0|") ? text.substr(2) : text;
}

bool Kind::read(const std::string& text, int64_t* value) const {
  if (this == &kPath) {
    for (size_t i = 0; i < paths().size(); ++i) {
      if (quoted(paths()[i]) == text) return *value = int64_t(i), true;
    }
    return false;
  }
  char* end = nullptr;
  *value = strtoll(text.c_str(), &end, 0);
  bool number = end != text.c_str() && *end == '\0';
  for (const Choice& c : one_of) {
    if (c.text != nullptr && (text == c.text || text.starts_with(std::string(c.text) + "|"))) {
      std::string rest = text.substr(std::min(text.size(), strlen(c.text) + 1));
      int64_t bits = c.value;
      if (add_bits(rest, &bits)) return *value = bits, true;
    }
  }
  int64_t bits = 0;
  if (!number && add_bits(text, &bits)) return *value = bits, true;
  return number;
}

bool Kind::add_bits(const std::string& text, int64_t* value) const {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '|');) {
    auto bit = std::find_if(any_of.begin(), any_of.end(), [&](const Choice& c) { return word == c.text; });
    if (bit == any_of.end()) return false;
    *value |= bit->value;
  }
  return true;
}

void Result::add(const void* data, size_t size) { hash = XXH3_64bits_withSeed(data, size, hash + 1); }

void Result::say(const std::string& s) {
  size_t used = strnlen(text.data(), text.size());
  memcpy(text.data() + used, s.data(), std::min(s.size(), text.size() - used));
  add(s.data(), s.size());
}

const std::vector<Call>& calls() {
  static const std::vector<Call> list = [] {
    std::vector<Call> all;
    for (auto* add : {add_file_calls, add_data_calls, add_name_calls, add_attribute_calls, add_xattr_calls, add_mapping_calls,
                      add_lock_calls, add_process_calls, add_socket_calls, add_ring_calls}) {
      add(all);
    }
    return all;
  }();
  return list;
}

int find_call(const std::string& name) {
  for (size_t i = 0; i < calls().size(); ++i) {
    if (name == calls()[i].name) return int(i);
  }
  return -1;
}

std::string show(const Op& op) {
  const Call& call = calls()[op.call];
  std::string line = actor_name(op.actor) + " " + call.name;
  for (size_t i = 0; i < call.kinds.size(); ++i)
    line += std::string(" ") + call.kinds[i]->name + "=" + call.kinds[i]->show(op.args[i]);
  return line;
}

bool parse(const std::string& line, Op* op) {
  std::istringstream words(line);
  std::string actor, name, word;
  words >> actor >> name;
  int who = find_actor(actor), what = find_call(name);
  if (who < 0 || what < 0) return false;
  *op = Op{uint8_t(who), uint8_t(what), {}};
  const Call& call = calls()[op->call];
  for (size_t i = 0; i < call.kinds.size(); ++i) {
    size_t equals;
    if (!(words >> word) || (equals = word.find('=')) == std::string::npos) return false;
    if (!call.kinds[i]->read(word.substr(equals + 1), &op->args[i])) return false;
  }
  return true;
}

std::string show(const Result& r) {
  if (r.skipped) return "skipped";
  std::string line = std::to_string(r.value);
  if (r.error != 0) line += std::string(" ") + strerrorname_np(r.error);
  size_t used = r.fields.size();
  while (used > 0 && r.fields[used - 1] == 0) --used;
  for (size_t i = 0; i < used; ++i) line += (i == 0 ? " {" : ", ") + std::to_string(r.fields[i]) + (i + 1 == used ? "}" : "");
  if (r.text[0] != 0) line += " " + quoted(std::string(r.text.data(), strnlen(r.text.data(), r.text.size())));
  char hash[32] = "";
  if (r.hash != 0) snprintf(hash, sizeof hash, " #%016llx", static_cast<unsigned long long>(r.hash));
  return line + hash;
}

}  // namespace differential
