// SPDX-License-Identifier: Apache-2.0
#include "targets/client_share.hpp"

#include <charconv>
#include <stdexcept>

#include "targets/client_limits.hpp"

namespace fsr {

ClientShare ClientShare::of(const wire::Url& url) {
  ClientShare share;
  const uint32_t all = uint32_t(url.number("clients", 1, kMostClients, 1));
  share.clients = all;
  const std::string* given = url.option("client-share");
  if (!given) return share;
  const char* end = given->data() + given->size();
  const auto [slash, error] = std::from_chars(given->data(), end, share.rank);
  const bool has_ranks = error == std::errc() && slash != end && *slash == '/';
  if (!has_ranks || std::from_chars(slash + 1, end, share.ranks).ptr != end || share.rank >= share.ranks)
    throw std::runtime_error("bad URL '" + url.text + "': client-share= is a rank and the number of ranks, such as 0/8");
  if (all < share.ranks)
    throw std::runtime_error("clients=" + std::to_string(all) + ": fewer than the " + std::to_string(share.ranks) +
                             " ranks, each of which needs one; use more clients or fewer ranks");
  share.clients = (all - share.rank + share.ranks - 1) / share.ranks;
  return share;
}

std::string with_client_share(const std::string& url, uint32_t rank, uint32_t ranks) {
  for (const char* begin : {"?clients=", "&clients="}) {
    const size_t at = url.find(begin);
    if (at == url.npos || url.find("://") > at) continue;
    const std::string_view value = std::string_view(url).substr(at + 9);
    if (value.substr(0, value.find('&')) == "1") return url;
    return url + "&client-share=" + std::to_string(rank) + "/" + std::to_string(ranks);
  }
  return url;
}

}  // namespace fsr
