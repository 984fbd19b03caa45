// SPDX-License-Identifier: Apache-2.0
// One stream of synthesized calls. Keeps the state of the stream's directory, and fills in the next operation for an action. Not
// thread-safe.
//
// Each call is one operation and, over NFS, one request. Names are made and removed, but their number stays about the same. An
// action that has nothing to work on must wait for other actions (see playable()).
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "op_source.hpp"
#include "util/random.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/share_dealer.hpp"
#include "workloads/sizes.hpp"
#include "workloads/transfer_places.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

class MixStream {
 public:
  // `files`, `sizes` and the counters of new ids, which the streams share, must outlive this. The plan's traits of reads and
  // writes have precedence over `sizes`.
  MixStream(const StreamFiles& files, const SizeModel& sizes, const MixPlan& plan, Random random, ObjectId& next_object,
            HandleId& next_handle);
  MixStream(const MixStream&) = delete;  // the parts refer to each other

  bool playable(Action action) const;
  // Fills in all of `op` except its number and time. Strings are copied to `arena`.
  void run(Action action, Op& op, Arena& arena);

 private:
  // Objects of one kind that calls make and remove. The oldest is removed first.
  struct SparePool {
    std::deque<Spare> there;
    size_t usual = 0;
    uint64_t last = 0;  // number in the newest name
    int64_t excess() const { return int64_t(there.size()) - int64_t(usual); }
  };
  struct Progress {  // progress of a transfer
    uint32_t file = 0;
    uint64_t at = 0, end = 0;
    uint32_t block = 0;
  };

  const WorkingFile& any_file() { return files_.files[random_.below(files_.files.size())]; }
  const WorkingFile& open_file() { return files_.files[random_.below(kOpenFiles)]; }
  void subject(Op& op, const WorkingFile& file);
  void transfer(Op& op, Progress& progress, bool writes);
  void transfer(Op& op, TransferPlaces& places, bool writes);
  void lookup(Op& op, Arena& arena);
  Progress begin(bool writes);
  void name(Op& op, Arena& arena, ObjectId parent, std::string_view text);
  void make(Op& op, Arena& arena, OpKind kind, SparePool& pool, ObjectId parent, std::string_view suffix);
  void create(Op& op, Arena& arena, bool open);
  void remove(Op& op, Arena& arena, bool directories);
  void remove_from(Op& op, Arena& arena, SparePool& pool, OpKind kind);
  void link(Op& op, Arena& arena);
  void rename(Op& op, Arena& arena);
  void open(Op& op, Arena& arena);
  ObjectId to_open();
  void close(Op& op);
  void list(Op& op, OpKind kind);
  void lock(Op& op, OpKind kind, uint32_t mode);
  uint64_t entries() const;
  int64_t all_excess() const;
  SparePool* fullest(bool directories);

  const StreamFiles& files_;
  const SizeModel& sizes_;
  const bool removes_;
  const bool past_cache_;
  Random random_;
  ObjectId& next_object_;
  HandleId& next_handle_;
  std::vector<uint32_t> by_size_;  // indices of files_.files that may be written, the smallest file first
  Progress reading_, writing_;
  // Used instead of reading_ and writing_ if the mix has traits.
  TransferPositions positions_;
  std::optional<TransferPlaces> read_places_, write_places_;
  std::optional<ShareDealer> lookups_;  // 0: lookup of an existing name, 1: of a missing one
  uint64_t missing_ = 0;                // number of lookups of missing names
  uint32_t written_ = 0;                // file of the last write
  uint64_t next_link_ = 0;              // next symlink to read; past a cache, each is read once
  SparePool spare_files_, links_, symlinks_, pipes_, directories_;
  struct OpenedFile {
    ObjectId object;
    HandleId handle;
  };
  std::deque<OpenedFile> opened_;
  bool renamed_ = false;  // the file has the name rename2 now
};

}  // namespace fsr
