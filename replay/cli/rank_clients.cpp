// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_clients.hpp"

#include <memory>

#include "report/clients_section.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

constexpr uint64_t ClientFigures::*kCounts[] = {&ClientFigures::reconnects, &ClientFigures::lost_leases, &ClientFigures::failed};
constexpr int64_t RestartFigures::*kTimes[] = {&RestartFigures::first, &RestartFigures::last, &RestartFigures::old_rate};

const ClientsSection* section_of(const ReportSection& section) { return dynamic_cast<const ClientsSection*>(&section); }

}  // namespace

RankClients::RankClients(const Report& report, unsigned ranks) : ranks_(ranks) {
  for (const auto& section : report.sections)
    if (const ClientsSection* ours = section_of(*section)) {
      clients_ = ours->clients();
      restart_ = ours->restart();
    }
  for (uint32_t k = 0; k < clients_.size(); ++k) numbers_.push_back(k * ranks_);
}

std::string RankClients::save() const {
  ByteWriter out;
  out.varint(restart_.clients);
  out.varint(restart_.back);
  for (auto time : kTimes) out.svarint(restart_.*time);
  out.varint(clients_.size());
  for (const ClientFigures& client : clients_) {
    out.svarint(client.set_up);
    for (auto count : kCounts) out.varint(client.*count);
    out.u8(client.is_down);
    for (const uint32_t times : client.times.counts()) out.varint(times);
  }
  return std::string(out.view());
}

bool RankClients::merge(std::string_view saved, unsigned rank) {
  ByteReader in(saved);
  RestartFigures restart;
  restart.clients = in.varint();
  restart.back = in.varint();
  for (auto time : kTimes) restart.*time = in.svarint();
  restart_.add(restart);
  const uint64_t clients = in.varint();
  for (uint32_t k = 0; in.ok() && k < clients; ++k) {
    ClientFigures client;
    client.set_up = in.svarint();
    for (auto count : kCounts) client.*count = in.varint();
    client.is_down = in.u8() != 0;
    CoarseTimes::Counts counts;
    for (uint32_t& times : counts) times = uint32_t(in.varint());
    client.times = CoarseTimes::of(counts);
    clients_.push_back(client);
    numbers_.push_back(k * ranks_ + rank);
  }
  return in.ok() && in.left() == 0;
}

void RankClients::give_to(Report& report) const {
  if (clients_.empty()) return;
  std::erase_if(report.sections, [](const auto& section) { return section_of(*section) != nullptr; });
  report.sections.push_back(std::make_shared<ClientsSection>(clients_, report.result.elapsed, restart_, numbers_));
}

}  // namespace fsr
