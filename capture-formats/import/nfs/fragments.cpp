// SPDX-License-Identifier: Apache-2.0
#include "fragments.hpp"

namespace fsr::capture {

constexpr size_t kLongestDatagram = 65535;
constexpr size_t kMostPackets = 256;  // under way: older ones have lost a fragment

void Fragments::lose(std::map<Key, Packet>::iterator it) {
  sink_.note(ImportNotes::lost, "incomplete sets of IP fragments", it->second.pieces.size());
  packets_.erase(it);
}

bool Fragments::add(const Piece& piece, std::string* whole) {
  const size_t end = piece.offset + piece.bytes.size();
  if (piece.bytes.empty() || end > kLongestDatagram) {
    sink_.note(ImportNotes::lost, "damaged packets", 1);
    return false;
  }
  const Key key{piece.addresses, piece.id, piece.protocol};
  auto [it, first] = packets_.try_emplace(key);
  Packet& packet = it->second;
  if (first) order_.push_back(key);
  if (packet.pieces.emplace(piece.offset, piece.bytes).second) packet.held += piece.bytes.size();
  if (!piece.more) packet.size = end;
  if (packet.size && packet.held >= packet.size) {
    whole->clear();
    for (const auto& [offset, bytes] : packet.pieces)
      if (offset == whole->size()) *whole += bytes;
    if (whole->size() == packet.size) {
      packets_.erase(it);
      return true;
    }
  }
  while (packets_.size() > kMostPackets || order_.size() > 2 * kMostPackets) {
    if (const auto oldest = packets_.find(order_.front()); oldest != packets_.end()) lose(oldest);
    order_.pop_front();
  }
  return false;
}

void Fragments::finish() {
  while (!packets_.empty()) lose(packets_.begin());
}

}  // namespace fsr::capture
