// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/afp_target.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/link_copies.hpp"
#include "targets/afp/ops.hpp"
#include "targets/afp/settings.hpp"
#include "targets/blocking_session.hpp"
#include "targets/wire/url.hpp"

namespace fsr::afp {

namespace {

template <bool xattrs>
Fidelity fidelity_in(const Op& op, bool privileged) {
  return afp_fidelity(op, {xattrs, privileged});
}

constexpr OpMapping kMappings[] = {{"AFP 3.2-3.4", fidelity_in<true>, afp_requests},
                                   {"AFP 3.0, 3.1", fidelity_in<false>, afp_requests}};

class AfpTarget final : public Target, public LinkCopies {
 public:
  AfpTarget(std::string name, const Settings& s) : name_(std::move(name)), shared_(std::make_shared<Shared>(s)) {}

  // Releases the open instances of files with hidden names, so that these are removed.
  ~AfpTarget() override { release_all(*this, *shared_->client.settings.clock, shared_->tree.hidden_opens()); }

  std::string name() const override { return name_; }

  Fidelity fidelity(const Op& op) const override {
    const AfpClient& c = shared_->client;
    return afp_fidelity(op, {c.has_xattrs(), c.settings.privileged});
  }

  const OpMapping* mapping() const override { return &kMappings[shared_->client.has_xattrs() ? 0 : 1]; }

  void forget_name(ObjectId object, ObjectId parent, std::string_view name) override {
    std::lock_guard lock(shared_->mutex);
    shared_->tree.taken_away(object, parent, name);
  }

  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<AfpSession>(shared_); }

  std::vector<std::string> outdated_copies() const override {
    std::lock_guard lock(shared_->mutex);
    return shared_->tree.outdated_copies();
  }

  Space space() override {
    const auto [total, free] = shared_->client.space();
    return {total, free};
  }

  uint32_t number_of_clients() const override { return shared_->number_of_clients(); }
  std::vector<ClientFigures> client_figures() override { return shared_->figures(); }
  const EndedOverTime* ended_over_time() const override { return shared_->ended_over_time(); }

  bool empty() override { return root_is_empty(*this, *shared_->client.settings.clock); }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    const Counters& c = shared_->client.counters;
    auto all = c.named();
    all.insert(all.end(), {{"sessions that the server went on with", c.resumed},
                           {"notices from the server", c.notices},
                           {"symbolic links kept as files", c.plain_links},
                           {"hard links made as copies", c.copied_links}});
    return all;
  }

 private:
  std::string name_;
  std::shared_ptr<Shared> shared_;
};

std::unique_ptr<Target> open_afp(const std::string& text, const TargetOptions& options) {
  try {
    // Check for a password before a message may print the URL.
    const size_t begin = std::min(text.find("//"), text.size());
    const std::string authority = text.substr(begin, text.find('/', std::min(begin + 2, text.size())) - begin);
    const std::string user = authority.substr(0, authority.rfind('@') + 1);
    if (user.find(':') != std::string::npos)
      throw std::runtime_error("a password is not allowed in a URL: use AFP_PASSWORD, password-file= or the prompt");
    const Settings s = settings_of(wire::parse_url(text), options);
    const std::string name = text.substr(0, text.find('?'));
    try {
      return std::make_unique<AfpTarget>(name, s);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(name.substr(name.find("//") + 2) + ": " + e.what());
    }
  } catch (const std::runtime_error& e) {
    throw std::runtime_error("afp: " + std::string(e.what()));
  }
}

}  // namespace

}  // namespace fsr::afp

namespace fsr {

const TargetPlugin afp_plugin{
    "afp", "afp://[user@]host[:port]/Volume?version=3.4    a volume of an AFP server, by fsreplay's own client", afp::open_afp,
    afp::kMappings};

}  // namespace fsr
