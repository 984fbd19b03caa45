// SPDX-License-Identifier: Apache-2.0
// Makes operations of the records that the kernel's hooks send. Gives files, open instances and threads their numbers. Adds
// lookups, marked as inferred, for names that the trace has not shown yet.
//
// One thread. Memory follows the files that were seen and not removed, by whomever, at the time when they were most, and the
// threads that live.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "../ended_threads.hpp"
#include "op.hpp"
#include "op_sink.hpp"
#include "trace/slab.hpp"
#include "witness_record.h"

namespace fsr::shim {

class WitnessOps {
 public:
  // `root`: the captured directory. `epoch`: the trace's zero on CLOCK_MONOTONIC, ns.
  WitnessOps(witness_place root, int64_t epoch);

  // Numbers of the open instances of a record, which arrival has found out. `second`: of the second file; of an open: the
  // instance whose release was lost, because the kernel uses its address again.
  struct Handles {
    HandleId first = 0, second = 0;
  };
  // Called for each record in the order of arrival, in which the kernel's open files begin and end. True: it is an operation.
  bool arrived(const witness_record& record, Handles* handles);
  // Adds the operation of a record to `sink`, after those by which the trace learns of its file. Called in the order of starts.
  // `start`: not before record.start; later if an operation that started later was added already.
  void add(const witness_record& record, Handles handles, int64_t start, OpSink& sink);
  // Call this a few times per second. All records that ended before `now`, ns on CLOCK_MONOTONIC, were added.
  void forget_ended(int64_t now) {
    last_seen_ = nullptr;
    ended_.forget(threads_, no_mutex_, now);
  }

 private:
  struct Key {
    uint64_t number = 0, generation = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const { return size_t(k.number * 0x9e3779b97f4a7c15u ^ k.generation); }
  };
  struct Node {
    Key key;
    ObjectId id = kNoObject;
    bool shown = false;  // the trace has one of its names, or it is the root
    uint32_t opens = 0;
    bool gone = false;   // it has no name any more, or none yet
    std::string target;  // of a symbolic link, where known
    // Marks of names that the trace has shown. 0, null: none.
    uint64_t name = 0;
    std::unique_ptr<std::unordered_set<uint64_t>> more_names;
    bool learn(uint64_t mark);  // false: it was known
    void lose(uint64_t mark);
  };
  // Where the kernel said that a directory lies.
  struct Place {
    Key parent;
    std::string name;
    witness_inode inode;
    uint64_t told = 0;  // time of the record
  };
  struct Thread {
    uint64_t start = 0;
    char comm[16] = {};
    ThreadInfo info;  // its command lies in `comm`
    ThreadSeen seen;
    bool is(const witness_record& r) const {
      return info.id != 0 && info.tid == int32_t(r.tid) && start == r.task_start && info.pid == int32_t(r.pid);
    }
  };

  struct Open {
    uint64_t file = 0;
    HandleId handle = 0;
  };
  struct Instance {
    HandleId handle = 0;
    Node* node = nullptr;
    ObjectId id = kNoObject;
    bool directory = false;
    uint64_t cursor = 0;
  };

  static Key key(const witness_place& place) { return {place.number, place.generation}; }
  static Key key(const witness_inode& inode) { return {inode.number, inode.generation}; }
  Node* find(Key key);
  Node& node(Key key);  // finds or adds
  ObjectId id(Key key) { return key.number ? node(key).id : kNoObject; }
  static uint64_t mark(ObjectId parent, std::string_view name);
  // Returns the directory's number, kNoObject for none.
  ObjectId show_directory(Key directory, const Op& like, OpSink& sink);
  // Returns the numbers of the object and of its parent, kNoObject for none.
  std::pair<ObjectId, ObjectId> show(Key object, Key parent, std::string_view name, const witness_inode& inode, const Op& like,
                                     OpSink& sink);
  // Returns the object. Null: there is none.
  Node* bind(Key object, ObjectId parent, std::string_view name);
  void unbind(Key object, ObjectId parent, std::string_view name);
  void forget(Key object, uint64_t removed);
  void erase(Node& node);
  void learn_place(const witness_record& record);
  // Returns the open instance of the kernel's file, as of arrival. 0: not known.
  HandleId open_at(uint64_t file);
  Open* find_open(uint64_t file);
  // Returns an open instance, until it is closed. Null: not known.
  Instance* instance(HandleId handle);
  void close(HandleId handle);
  const ThreadInfo& thread_of(const witness_record& record);
  void fill_names(const witness_record& record, Op& op, OpSink& sink);
  void fill_open(const witness_record& record, HandleId handle, Op& op, OpSink& sink);

  const Key root_;
  const int64_t epoch_;
  ObjectId last_object_ = kRootObject;
  HandleId last_handle_ = 0;
  ThreadId last_thread_ = 0;
  uint64_t last_edition_ = 0;  // of a ThreadInfo
  Slab<Node> nodes_;
  Key last_directory_;  // the last one that was asked for and shown; number 0: none
  ObjectId last_directory_id_ = kNoObject;
  std::unordered_map<Key, Place, KeyHash> places_;  // of directories that the trace has not shown
  Slab<Open> open_;                                 // by the address of the kernel's open file; as of arrival
  Open last_open_;                                  // that of the last record; 0: none
  Slab<Instance> instances_;                        // as of the order of starts
  Instance* last_instance_ = nullptr;               // that of the last operation; null: none
  std::unordered_map<uint32_t, Thread> threads_;
  Thread* last_seen_ = nullptr;  // of the last operation; null: none, or it may be forgotten
  EndedThreads<std::unordered_map<uint32_t, Thread>> ended_;
  // Memory to which the operation in hand points.
  Attr attr_, set_;
  std::string acl_;
  struct {
    void lock() {}
    void unlock() {}
  } no_mutex_;
};

}  // namespace fsr::shim
