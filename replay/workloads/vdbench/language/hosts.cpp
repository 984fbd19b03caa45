// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/hosts.hpp"

#include <unistd.h>

#include "workloads/vdbench/language/keyword.hpp"
#include "workloads/vdbench/language/sections.hpp"

namespace fsr::vdbench {

namespace {

const Keyword<Host> kHost[] = {
    {"system",
     [](Host& h, const Parameter& p) {
       h.system = single(p).text;
       h.system_position = p.values[0].position;
     }},
    {"vdbench", [](Host&, const Parameter& p) { single(p); }},
    {"shell",
     [](Host&, const Parameter& p) {
       one_of(single(p), {"rsh", "ssh", "vdbench"});
     }},
    {"user", [](Host&, const Parameter& p) { single(p); }},
    {"jvms", [](Host&, const Parameter& p) { whole(p, 1, 1000); }},
    {"clients", nullptr, "load comes from this host alone"},
    {"mount", nullptr, "not in this version"},
    {"master", [](Host&, const Parameter& p) { single(p); }},
};

bool is_this_host(const std::string& name) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  const std::string whole = own;
  return begins_word(name, "localhost") || name == "127.0.0.1" || name == "::1" || same_word(name, whole) ||
         same_word(name, whole.substr(0, whole.find('.')));
}

// True: `text` has the word.
bool replace_all(std::string& text, std::string_view word, const std::string& by) {
  bool found = false;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
    text.replace(at, word.size(), by);
    found = true;
  }
  return found;
}

}  // namespace

void Hosts::define(const Statement& statement) {
  const Parameter& first = statement.parameters[0];
  Host host = default_;
  host.name = single(first).text;
  for (size_t i = 1; i < statement.parameters.size(); ++i)
    apply(std::span<const Keyword<Host>>(kHost), host, statement.parameters[i], "hd=");
  const bool is_default = same_word(host.name, "default"), labelled = !host.system.empty();
  if (!is_this_host(labelled ? host.system : is_default ? "localhost" : host.name))
    throw ParameterError(labelled ? host.system_position : first.values[0].position,
                         "another host is refused: expected localhost or this machine's name");
  if (is_default)
    default_ = host;
  else
    names_.push_back(host.name);
}

std::vector<Statement> Hosts::repeat(const Statement& statement) const {
  const Section section = section_of(statement.parameters[0]);
  if (section <= Section::hosts) return {statement};
  const size_t first = names_.size() > 1, hosts = names_.size() - first;
  std::vector<Statement> all;
  bool repeats = true;
  for (size_t i = 0; i < hosts && repeats; ++i) {
    repeats = false;
    all.push_back(statement);
    for (Parameter& p : all.back().parameters)
      for (Value& value : p.values) {
        replace_all(value.text, "#hosts", std::to_string(hosts));
        if (section == Section::runs) continue;
        repeats |= replace_all(value.text, "$host", names_[first + i]);
        repeats |= replace_all(value.text, "!host", names_[first + i]);
        repeats |= replace_all(value.text, "#host", std::to_string(i));
      }
  }
  return all;
}

void Hosts::check(const Statement& statement) const {
  for (size_t i = 1; i < statement.parameters.size(); ++i) {
    const Parameter& p = statement.parameters[i];
    if (same_word(p.keyword, "host") || same_word(p.keyword, "hd")) resolve(p, names_, "host");
  }
}

}  // namespace fsr::vdbench
