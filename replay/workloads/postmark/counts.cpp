// SPDX-License-Identifier: Apache-2.0
#include "workloads/postmark/counts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fsr::postmark {

void Counts::add(const Counts& other) {
  created += other.created;
  created_alone += other.created_alone;
  deleted += other.deleted;
  deleted_alone += other.deleted_alone;
  read += other.read;
  appended += other.appended;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  seconds = std::max(seconds, other.seconds);
  transaction_seconds = std::max(transaction_seconds, other.transaction_seconds);
  create_seconds = std::max(create_seconds, other.create_seconds);
  delete_seconds = std::max(delete_seconds, other.delete_seconds);
}

static std::string scaled(float bytes) {
  if (bytes > 1 << 20) return fmt::format("{:.2f} megabytes", double(bytes / (1 << 20)));
  if (bytes > 0) return fmt::format("{:.2f} kilobytes", double(bytes / (1 << 10)));
  return fmt::format("{:.6f} bytes", double(bytes));
}

static std::string verbose_report(const Counts& c, int64_t transactions) {
  const int64_t all = c.seconds, mixed = c.transaction_seconds;
  const int64_t created = c.created - c.created_alone, deleted = c.deleted - c.deleted_alone;
  std::string text = "Time:\n";
  text += fmt::format("\t{} seconds total\n", all);
  text += fmt::format("\t{} seconds of transactions ({} per second)\n", mixed, transactions / mixed);
  text += "\nFiles:\n";
  text += fmt::format("\t{} created ({} per second)\n", c.created, c.created / all);
  text += fmt::format("\t\tCreation alone: {} files ({} per second)\n", c.created_alone, c.created_alone / c.create_seconds);
  text += fmt::format("\t\tMixed with transactions: {} files ({} per second)\n", created, created / mixed);
  text += fmt::format("\t{} read ({} per second)\n", c.read, c.read / mixed);
  text += fmt::format("\t{} appended ({} per second)\n", c.appended, c.appended / mixed);
  text += fmt::format("\t{} deleted ({} per second)\n", c.deleted, c.deleted / all);
  text += fmt::format("\t\tDeletion alone: {} files ({} per second)\n", c.deleted_alone, c.deleted_alone / c.delete_seconds);
  text += fmt::format("\t\tMixed with transactions: {} files ({} per second)\n", deleted, deleted / mixed);
  text += "\nData:\n";
  text += fmt::format("\t{} read ({} per second)\n", scaled(c.bytes_read), scaled(c.bytes_read / float(all)));
  text += fmt::format("\t{} written ({} per second)\n", scaled(c.bytes_written), scaled(c.bytes_written / float(all)));
  return text;
}

static std::string terse_report(const Counts& c, int64_t transactions) {
  const float all = float(c.seconds), mixed = float(c.transaction_seconds);
  std::string text = fmt::format("{} {}", c.seconds, c.transaction_seconds);
  for (float rate : {float(transactions) / mixed, float(c.created) / all, float(c.created_alone) / float(c.create_seconds),
                     float(c.created - c.created_alone) / mixed, float(c.read) / mixed, float(c.appended) / mixed,
                     float(c.deleted) / all, float(c.deleted_alone) / float(c.delete_seconds),
                     float(c.deleted - c.deleted_alone) / mixed, c.bytes_read / all, c.bytes_written / all})
    text += fmt::format(" {:.2f}", double(rate));
  return text + "\n";
}

std::string report(const Counts& counts, int64_t transactions, bool verbose) {
  return verbose ? verbose_report(counts, transactions) : terse_report(counts, transactions);
}

}  // namespace fsr::postmark
