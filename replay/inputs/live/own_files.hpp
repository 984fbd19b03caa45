// SPDX-License-Identifier: Apache-2.0
// Tells apart what the preparations of a live replay have made on a target, and files of others. Changes of files of others end
// with ESTALE here, and never reach the target.
//
// Own is what a create made, as its reply says. If the reply was lost, an empty file of the right type is own, too: no data was
// written to it yet. A file of which a create was refused before is never own. One thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/target_layer.hpp"
#include "engine/prepare.hpp"
#include "plan/image_tree.hpp"

namespace fsr {

class BlockingSession;

class OwnFiles final : public TargetLayer {
 public:
  OwnFiles(Target& below, Clock& clock) : TargetLayer(below), clock_(clock) {}
  std::unique_ptr<TargetSession> open_session() override;

  void begin() { fates_.clear(); }                             // forgets what the preparation before has done
  void add(ObjectId object) { fates_[object].own = true; }     // an earlier preparation has made it
  void ask(ObjectId object) { fates_[object].last = Last(); }  // forgets whether it was found
  bool own(ObjectId object) const { return of(object).own; }
  // These tell what the last lookup or create of the object has shown.
  bool found(ObjectId object) const { return of(object).last == Last::found; }
  bool failed(ObjectId object) const { return of(object).last == Last::failed || exists(object); }
  bool exists(ObjectId object) const { return of(object).last == Last::exists; }

  // True after an attempt: names are there that an earlier attempt has made, or may have made. So another attempt is needed.
  bool again(const ImageTree& tree, const PresentNames& present) const;
  // Call before another attempt. Marks names that exist: own ones as ImageName::there, those of others as `present`. `exist`:
  // their indexes. The target knows the ids of their objects. `over`: true: the rest is left for later.
  void sort_out(ImageTree& tree, PresentNames& present, const std::unordered_set<size_t>& exist, BlockingSession& session,
                const std::function<bool()>& over);
  // Returns the failures of names that sort_out() has found to be of others.
  PrepareResult others() { return std::exchange(others_, {}); }

 private:
  class Session;
  enum class Last : uint8_t { none, found, exists, failed };
  struct Fate {
    bool own = false;
    bool lost = false;     // a create was sent and had no reply
    bool refused = false;  // a create failed because the name was there, and none was lost before
    Last last = Last::none;
  };

  Fate of(ObjectId object) const;
  bool spares(const Op& op) const;
  void ended(const Op& op, int error);

  Clock& clock_;
  std::unordered_map<ObjectId, Fate> fates_;
  PrepareResult others_;
};

}  // namespace fsr
