// SPDX-License-Identifier: Apache-2.0
#include "workloads/postmark/copies_result.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "trace/bytes.hpp"

namespace fsr::postmark {

namespace {

constexpr int64_t Counts::*kCounts[] = {
    &Counts::created,        &Counts::created_alone, &Counts::deleted, &Counts::deleted_alone,
    &Counts::read,           &Counts::appended,      &Counts::seconds, &Counts::transaction_seconds,
    &Counts::create_seconds, &Counts::delete_seconds};
constexpr float Counts::*kBytes[] = {&Counts::bytes_read, &Counts::bytes_written};

}  // namespace

void CopiesResult::add(const CopiesResult& other) {
  counts.add(other.counts);
  tally.merge(other.tally);
  elapsed = std::max(elapsed, other.elapsed);
  transactions += other.transactions;
  out_of_files += other.out_of_files;
  stopped = stopped || other.stopped;
  add_errors(other.errors, other.error_count);
}

void CopiesResult::add_errors(const std::vector<std::string>& texts, uint64_t count) {
  const size_t room = kMostErrors - std::min(errors.size(), kMostErrors);
  errors.insert(errors.end(), texts.begin(), texts.begin() + std::min(texts.size(), room));
  error_count += count;
}

std::string CopiesResult::save() const {
  ByteWriter out;
  for (auto number : kCounts) out.svarint(counts.*number);
  for (auto bytes : kBytes) out.u32(std::bit_cast<uint32_t>(counts.*bytes));
  out.text(tally.save());
  out.svarint(elapsed);
  out.svarint(transactions);
  out.varint(out_of_files);
  out.u8(stopped);
  out.varint(error_count);
  for (const std::string& error : errors) out.text(error);
  return std::string(out.view());
}

CopiesResult CopiesResult::load(std::string_view saved) {
  ByteReader in(saved);
  CopiesResult result;
  for (auto number : kCounts) result.counts.*number = in.svarint();
  for (auto bytes : kBytes) result.counts.*bytes = std::bit_cast<float>(in.u32());
  const std::string_view tally = in.text();
  result.elapsed = in.svarint();
  result.transactions = in.svarint();
  result.out_of_files = in.varint();
  result.stopped = in.u8() != 0;
  result.error_count = in.varint();
  while (in.ok() && in.left() > 0) result.errors.emplace_back(in.text());
  if (!in.ok()) throw std::runtime_error("damaged results from another rank");
  result.tally = Tally::load(tally);
  return result;
}

}  // namespace fsr::postmark
