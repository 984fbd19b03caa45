// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "base/target.hpp"
#include "targets/afp/afp_target.hpp"
#include "targets/file/file_target.hpp"
#include "targets/memory/memory_target.hpp"
#include "targets/nfs/nfs_target.hpp"
#include "targets/ninep/ninep_target.hpp"
#include "targets/null/null.hpp"
#include "targets/raw/raw_target.hpp"
#include "targets/scheme.hpp"

namespace fsr {

static constexpr const TargetPlugin* kPlugins[] = {
    &memory_plugin,     &file_plugin, &nfs_plugin, &nfs4_plugin, &ninep_plugin,
    &ninep_unix_plugin, &afp_plugin,  &raw_plugin, &null_plugin,
};

std::span<const TargetPlugin* const> target_plugins() { return kPlugins; }

std::unique_ptr<Target> open_target(const std::string& url, const TargetOptions& options) {
  refuse_near_url(url);
  if (const std::string_view scheme = scheme_of(url); !scheme.empty()) {
    std::string known;
    for (const TargetPlugin* plugin : kPlugins) {
      if (scheme == plugin->scheme) return plugin->open(url, options);
      known += std::string(known.empty() ? "" : ", ") + plugin->scheme + ":";
    }
    throw std::runtime_error(url + ": no such kind of target; there are " + known);
  }
  return file_plugin.open("file:" + url, options);
}

bool users_are_principals(const std::string& url) {
  const std::string_view scheme = scheme_of(url);
  for (const TargetPlugin* plugin : kPlugins)
    if (scheme == plugin->scheme) return plugin->users_are_principals && plugin->users_are_principals(url);
  return false;
}

}  // namespace fsr
