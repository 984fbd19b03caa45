// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "workloads/vdbench/language/keyword.hpp"
#include "workloads/vdbench/language/statements.hpp"

namespace fsr::vdbench {

namespace {

const Keyword<Host> kHost[] = {
    {"system", [](Host& h, const Parameter& p) { h.system = single(p).text; }},
    {"vdbench", [](Host&, const Parameter& p) { single(p); }},
    {"shell",
     [](Host&, const Parameter& p) {
       one_of(single(p), {"rsh", "ssh", "vdbench"});
     }},
    {"user", [](Host&, const Parameter& p) { single(p); }},
    {"jvms", [](Host& h, const Parameter& p) { h.jvms = unsigned(whole(p, 1, 1000)); }},
    {"clients", [](Host& h, const Parameter& p) { h.clients = unsigned(whole(p, 1, 1000)); }},
    {"mount",
     [](Host& h, const Parameter& p) {
       for (const Value& value : p.values) h.mounts.push_back(value.text);
     }},
    {"master", [](Host&, const Parameter& p) { single(p); }},
};

constexpr const char* kLocal = "localhost";

bool replace_all(std::string& text, std::string_view word, const std::string& by) {
  bool found = false;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
    text.replace(at, word.size(), by);
    found = true;
  }
  return found;
}

}  // namespace

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  return {std::istream_iterator<std::string>(in), {}};
}

bool names_hosts(const Parameter& parameter) {
  return same_word(parameter.keyword, "host") || same_word(parameter.keyword, "hd");
}

std::optional<HostNumbers> common_hosts(const HostNumbers& a, const HostNumbers& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  HostNumbers both;
  std::ranges::copy_if(a, std::back_inserter(both), [&](size_t host) { return std::ranges::find(b, host) != b.end(); });
  return both.empty() ? std::nullopt : std::optional(both);
}

void Hosts::define(const Statement& statement, Mistakes& mistakes) {
  const Parameter& first = statement.parameters[0];
  Host host = default_;
  host.name = single(first).text;
  host.position = first.position;
  for (size_t i = 1; i < statement.parameters.size(); ++i)
    mistakes.attempt([&] { apply(std::span<const Keyword<Host>>(kHost), host, statement.parameters[i], "hd="); });
  if (same_word(host.name, "default"))
    default_ = host;
  else
    add(host);
}

// Adds a host, or its clients. The first client takes the host's place, and the others come after all hosts, as in 5.04.
void Hosts::add(const Host& host) {
  Host one = host;
  if (host.clients && host.system.empty()) one.system = host.name;
  for (unsigned i = 0; i < std::max(1u, host.clients); ++i) {
    if (host.clients) one.name = fmt::format("{}_cl{}", host.name, i);
    hosts_.insert(i == 0 ? hosts_.begin() + long(named_++) : hosts_.end(), one);
  }
}

void Hosts::check_remount() const {
  for (const Host& host : hosts_)
    for (const std::string& command : host.mounts)
      if (words_of(command).size() < 3 || command.find_first_of(kShellCharacters) != command.npos)
        throw ParameterError(host.position,
                             "hd={}: '{}': expected \"mount [OPTIONS] DEVICE DIRECTORY\", without characters "
                             "for the shell, for mount= of an RD",
                             host.name, command);
}

std::vector<std::string> Hosts::names() const {
  std::vector<std::string> names;
  for (const Host& host : hosts_) names.push_back(host.name);
  if (std::ranges::none_of(names, [&](const std::string& name) { return same_word(name, kLocal); })) names.emplace_back(kLocal);
  return names;
}

HostNumbers Hosts::numbers(const Parameter& parameter) const {
  HostNumbers numbers = resolve(parameter, names(), "host");
  // localhost without an hd= is all hosts.
  if (std::ranges::find(numbers, hosts_.size()) != numbers.end() || numbers.size() == hosts_.size()) return {};
  return numbers;
}

std::vector<std::pair<HostNumbers, std::string>> Hosts::take_luns(Statement& storage) const {
  std::vector<Parameter> hosts, names, rest = {storage.parameters[0]};
  for (size_t i = 1; i < storage.parameters.size(); ++i) {
    const Parameter& p = storage.parameters[i];
    (names_hosts(p) ? hosts : is_short_for(p, "lun") ? names : rest).push_back(p);
  }
  if (names.size() < 2 || hosts.size() != names.size()) return {};
  std::vector<std::pair<HostNumbers, std::string>> luns;
  for (size_t i = 0; i < names.size(); ++i) luns.emplace_back(numbers(hosts[i]), single(names[i]).text);
  rest.push_back(names[0]);
  storage.parameters = rest;
  return luns;
}

std::vector<Statement> Hosts::repeat(const Statement& statement) {
  const Section section = section_of(statement.parameters[0]);
  if (section <= Section::hosts) return {statement};
  if (hosts_.empty() && default_.clients) {
    default_.name = kLocal;
    add(default_);
  }
  const std::vector<std::string> all_names = names();
  const size_t hosts = std::max<size_t>(hosts_.size(), 1);
  std::vector<Statement> all;
  bool repeats = true;
  for (size_t i = 0; i < hosts && repeats; ++i) {
    repeats = false;
    all.push_back(statement);
    for (Parameter& p : all.back().parameters)
      for (Value& value : p.values) {
        replace_all(value.text, "#hosts", std::to_string(hosts));
        if (section == Section::runs) continue;
        repeats |= replace_all(value.text, "$host", all_names[i]);
        repeats |= replace_all(value.text, "!host", all_names[i]);
        repeats |= replace_all(value.text, "#host", std::to_string(i));
      }
  }
  return all;
}

}  // namespace fsr::vdbench
