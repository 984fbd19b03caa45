// SPDX-License-Identifier: Apache-2.0
// One stream of synthesized calls. Keeps the state of the stream's directory, and fills in the next operation for an action. Not
// thread-safe.
//
// Each call is one operation and, over NFS, one request. Names are made and removed, but their number stays about the same. An
// action that has nothing to work on must wait for other actions (see playable()).
//
// In a shared directory, all streams use the files that were there at the start. Names that a stream makes have numbers that no
// neighbour uses, and only this stream removes or renames them. So no outcome depends on a neighbour. A stream may take 2 KiB in
// all there (mix_run.cpp), so this class has no empty containers that hold memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "op.hpp"
#include "util/random.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/share_dealer.hpp"
#include "workloads/short_queue.hpp"
#include "workloads/sizes.hpp"
#include "workloads/transfer_places.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

// New ids of objects and handles.
struct NewIds {
  ObjectId object = kNoObject;  // the next one
  HandleId handle = 0;          // the next one
  uint64_t step = 1;            // between two ids
  ObjectId take_object() { return std::exchange(object, object + step); }
  HandleId take_handle() { return std::exchange(handle, handle + step); }
};

// Keeps the names of an operation for as long as the operation is used.
class NameRoom {
 public:
  virtual std::string_view copy(std::string_view name) = 0;

 protected:
  ~NameRoom() = default;
};

class MixStream {
 public:
  // The files of `place`, `sizes` and `ids`, which streams may share, must outlive this. The plan's traits of reads and writes
  // have precedence over `sizes`.
  MixStream(const StreamPlace& place, const SizeModel& sizes, const MixPlan& plan, Random random, NewIds& ids);
  MixStream(const MixStream&) = delete;  // the parts refer to each other

  bool playable(Action action) const;
  // Fills in all of `op` except its number and time. Names are copied to `room`.
  void run(Action action, Op& op, NameRoom& room);

 private:
  // Objects of one kind that calls make and remove. The oldest is removed first, so the numbers in their names are consecutive.
  struct SparePool {
    ShortQueue<ObjectId> there;
    uint32_t usual = 0;
    uint64_t made = 0;  // number of objects so far, those of the start included
    int64_t excess() const { return int64_t(there.size()) - int64_t(usual); }
  };
  // State of a stream whose mix says more about its calls than their shares.
  struct Traits {
    TransferPositions positions;
    std::optional<TransferPlaces> reads, writes;  // used instead of reading_ and writing_
    std::optional<ShareDealer> lookups;           // 0: lookup of an existing name, 1: of a missing one
    uint64_t missing = 0;                         // number of lookups of missing names
  };
  struct Progress {  // progress of a transfer
    uint32_t file = 0;
    uint64_t at = 0, end = 0;
    uint32_t block = 0;
  };

  const WorkingFile& any_file() { return files_.files[random_.below(files_.files.size())]; }
  const WorkingFile& open_file() { return files_.files[random_.below(kOpenFiles)]; }
  HandleId own(HandleId handle) const { return handle ? handle + handles_ : 0; }  // the instance that this stream uses
  ObjectId linked() const;
  uint64_t name_number(const SparePool& pool, size_t i) const;
  ObjectId parent_of(const SparePool& pool) const;
  void subject(Op& op, const WorkingFile& file);
  void transfer(Op& op, Progress& progress, bool writes);
  void transfer(Op& op, TransferPlaces& places, bool writes);
  void lookup(Op& op, NameRoom& room);
  Progress begin(bool writes);
  void name(Op& op, NameRoom& room, ObjectId parent, std::string_view text);
  std::string spare_name(const SparePool& pool, size_t i) const;
  void spare(Op& op, NameRoom& room, const SparePool& pool, size_t i);
  void make(Op& op, NameRoom& room, OpKind kind, SparePool& pool);
  void create(Op& op, NameRoom& room, bool open);
  void remove(Op& op, NameRoom& room, bool directories);
  void remove_from(Op& op, NameRoom& room, SparePool& pool, OpKind kind);
  void link(Op& op, NameRoom& room);
  void read_link(Op& op);
  void rename(Op& op, NameRoom& room);
  void open(Op& op, NameRoom& room);
  ObjectId to_open();
  void close(Op& op);
  void list(Op& op, OpKind kind);
  void lock(Op& op, OpKind kind, uint32_t mode);
  uint64_t entries() const;
  int64_t all_excess() const;
  SparePool* fullest(bool directories);

  const StreamFiles& files_;
  const SizeModel& sizes_;
  NewIds& ids_;
  const ThreadId thread_;
  const uint32_t index_, neighbours_;  // as in StreamPlace
  const HandleId handles_;             // as in StreamPlace
  const bool removes_;
  const bool past_cache_;
  const bool shared_;
  bool renamed_ = false;      // the file has the name rename2 now
  uint16_t most_excess_ = 0;  // names of a kind beyond the usual number
  uint16_t most_links_ = 0;   // hard links beyond the usual number
  uint32_t written_ = 0;      // file of the last write
  uint32_t next_link_ = 0;    // next symlink to read; past a cache, each is read once
  Random random_;
  Progress reading_, writing_;
  std::unique_ptr<Traits> traits_;  // null: the mix says nothing more
  SparePool spare_files_, links_, symlinks_, pipes_, directories_;
  struct OpenedFile {
    ObjectId object;
    HandleId handle;
  };
  ShortQueue<OpenedFile> opened_;
};

}  // namespace fsr
