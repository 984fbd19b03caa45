// SPDX-License-Identifier: Apache-2.0
// Runs a mix on a mounted NFS, past the caches of its client. Before the run, measures how many requests on the wire the calls of
// each procedure cost, and derives the shares of the calls from that. During the run, the mount's counters correct these shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/past_cache.hpp"
#include "base/target.hpp"
#include "engine/run.hpp"
#include "inputs/mix/mix_input.hpp"
#include "inputs/mix/stale_links.hpp"

namespace fsr {

namespace {

constexpr uint64_t kRehearsed = 16;  // calls of each procedure in the rehearsal that are counted

// Explains why no call makes the client send `procedure`, and which mount option would. `links`: reason why make_links_stale()
// failed.
std::string why_not(const std::string& procedure, const std::string& links) {
  if (procedure == "null" || procedure == "fsinfo" || procedure == "pathconf")
    return "clients send this procedure only when mounting";
  if (procedure == "readlink")
    return "this client caches the targets of links that no other client changes; " +
           (links.empty() ? "no mount option changes that" : links);
  if (procedure == "readdirplus") return "not sent by this mount: mount without nordirplus";
  return "the client answers from its caches: mount with noac,lookupcache=none";
}

}  // namespace

void MixInput::rehearse(Target& target, Clock& clock, const RunOptions& options) {
  const auto* cached = dynamic_cast<const PastCache*>(&target);
  if (!cached || !plan_.past_cache || options_.loads.empty()) return;
  make_source(planned_calls());
  steering_.emplace(plan_, target.requests());
  links_kept_.clear();
  if (plan_.share(Action::readlink) > 0) links_kept_ = make_links_stale(cached->server_url(), set_->directories(), clock);
  if (rank_ == 0) {
    auto perform = [&](size_t procedure, uint64_t calls) {
      RunOptions one = options;
      one.timing = Timing::asap;
      one.workers = 1;
      return fsr::run(*source_->rehearsal(procedure, calls), target, clock, one).issued();
    };
    const uint64_t streams = set_->streams();
    for (size_t i = 0; i < plan_.procedures.size(); ++i) {
      if (plan_.procedures[i].planned <= 0) continue;
      perform(i, streams);  // the first calls may cost more
      const ProcedureCounts at_first = target.requests();
      const uint64_t few = perform(i, streams);
      const ProcedureCounts before = target.requests();
      const uint64_t more = perform(i, streams + kRehearsed);
      // The difference of both runs is free of what a run costs by itself.
      if (more > few) steering_->learn(i, double(more - few), added(added(at_first, before), added(before, target.requests())));
    }
  }
  if (rank_ == 0) note_impossible();
}

void MixInput::note_impossible() {
  rehearsal_notes_.clear();
  for (const std::string& name : steering_->impossible()) rehearsal_notes_.push_back(name + ": " + why_not(name, links_kept_));
}

std::string MixInput::save_costs() const { return steering_ ? steering_->save_costs() : ""; }

void MixInput::take_costs(std::string_view saved, double part) {
  part_ = part;
  if (!steering_ || saved.empty() || rank_ == 0) return;
  steering_->load_costs(saved);
  note_impossible();
}

// Returns the requests of this round that count as those of this rank.
ProcedureCounts MixInput::own_requests() const {
  ProcedureCounts own = added(requests_before_, target_->requests());
  if (part_ < 1)
    for (auto& [name, count] : own) count = uint64_t(std::llround(double(count) * part_));
  return own;
}

// Converts load and number of calls, which count requests on the wire, to calls; makes the source correct its shares.
void MixInput::steer() {
  const double requests = steering_->requests_per_call(steering_->shares({}, {}, 0));
  const auto span = int64_t(double(calls_) / load() * 1e9);
  if (requests > 0) calls_ = std::max<uint64_t>(1, uint64_t(std::llround(double(calls_) / requests)));
  source_->set_calls(calls_, std::max<int64_t>(1, span));
  source_->steer(
      [this] {
        std::vector<double> made;
        for (const Dealt& of : source_->dealt()) made.push_back(double(std::accumulate(of.begin(), of.end(), uint64_t(0))));
        return steering_->shares(made, own_requests(), double(calls_ - source_->calls()));
      },
      {calls_ / 4, calls_ / 2, calls_ * 3 / 4});
}

}  // namespace fsr
