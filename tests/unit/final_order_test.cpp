// SPDX-License-Identifier: Apache-2.0
// Tests which changes of two threads are listed because only the final tree shows their order.
#include "plan/final_order.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "op_list.hpp"

namespace fsr::final_order_test {

TEST_CASE("pairs of changes are found whose order the final tree shows") {
  FinalOrder order;
  uint64_t seq = 0;
  auto after = [&](Op op) {  // returns the numbers of the operations that this one must follow
    op.seq = ++seq;
    const size_t known = order.pairs().size();
    order.add(op, op.thread);
    std::vector<uint64_t> earlier;
    for (size_t i = known; i < order.pairs().size(); ++i) {
      CHECK(order.pairs()[i].later == seq);
      earlier.push_back(order.pairs()[i].earlier);
    }
    return earlier;
  };
  auto writes = [](ThreadId thread, uint64_t offset, uint64_t length) {
    return io_op({0, 1, thread}, OpKind::write, 10, thread, offset, length);
  };
  using Numbers = std::vector<uint64_t>;
  CHECK(after(writes(1, 0, 100)) == Numbers{});
  CHECK(after(writes(1, 100, 100)) == Numbers{});
  CHECK(after(writes(2, 200, 100)) == Numbers{});                    // other bytes
  CHECK(after(writes(2, 150, 10)) == Numbers{2});                    // 2 stands for 1
  CHECK(after(writes(2, 160, 10)) == Numbers{});                     // follows 4
  CHECK(after(writes(1, 150, 5)) == Numbers{4});                     // 5 wrote other bytes
  CHECK(after(io_op({0, 1, 3}, OpKind::read, 10, 3)) == Numbers{});  // its outcome shows the order
  Attr size;
  size.valid = kAttrSize;
  Op cut = object_op({0, 1, 3}, OpKind::setattr, 10);
  cut.set = &size;
  Numbers all = after(cut);
  std::ranges::sort(all);
  CHECK(all == Numbers{5, 6});  // 5 stands for 3
  auto renames = [](ThreadId thread, std::string_view from) {
    Op op = name_op({0, 1, thread}, OpKind::rename, 1, from, 20 + thread);
    op.parent2 = 1;
    op.name2 = "x";
    return op;
  };
  CHECK(after(renames(1, "a")) == Numbers{});
  CHECK(after(renames(2, "b")) == Numbers{9});
  CHECK(after(name_op({0, 1, 3}, OpKind::unlink, 1, "x", 22)) == Numbers{10});
  CHECK(after(name_op({0, 1, 4}, OpKind::unlink, 1, "x", 22, ENOENT)) == Numbers{});
}

namespace {

// Returns "earlier>later" of each pair in `ops`, whose numbers are their places.
std::set<std::string> pairs_of(std::vector<Op> ops) {
  FinalOrder order;
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].seq = i;
    order.add(ops[i], ops[i].thread);
  }
  std::set<std::string> found;
  for (const FinalOrder::Pair& pair : order.pairs())
    found.insert(std::to_string(pair.earlier) + ">" + std::to_string(pair.later));
  return found;
}

Op rename_op(ThreadId thread, std::string_view from, std::string_view to, ObjectId object, ObjectId replaced = kNoObject) {
  Op op = name_op({0, 1, thread}, OpKind::rename, 1, from, object);
  op.parent2 = 1, op.name2 = to, op.object2 = replaced;
  return op;
}

Op opened(ThreadId thread, ObjectId object) { return object_op({0, 1, thread}, OpKind::open, object, 100 * thread + object); }

Op written(ThreadId thread, ObjectId object, uint64_t offset = 0, uint64_t length = 100) {
  return io_op({0, 1, thread}, OpKind::write, object, 100 * thread + object, offset, length);
}

Op attributes_op(ThreadId thread, const Attr& set) {
  Op op = object_op({0, 1, thread}, OpKind::setattr, 10);
  op.set = &set;
  return op;
}

using Pairs = std::set<std::string>;

}  // namespace

TEST_CASE("the final tree shows the order of appends, and of what they append to") {
  Op first = written(1, 10, 0, 100), second = written(2, 10, 100, 100);
  CHECK(pairs_of({first, second}).empty());
  second.op_flags = kOpAppend;
  CHECK(pairs_of({first, second}) == Pairs{"0>1"});
  first.op_flags = kOpAppend;
  CHECK(pairs_of({first, second}) == Pairs{"0>1"});
}

TEST_CASE("the final tree shows whether a file was opened and changed before its name went to another") {
  CHECK(pairs_of({opened(1, 10), written(1, 10), rename_op(2, "new", "log", 11, 10)}) == Pairs{"0>2"});
  CHECK(pairs_of({opened(1, 10), written(1, 10), rename_op(2, "log", "log.1", 10)}) == Pairs{"0>2"});
  CHECK(pairs_of({opened(1, 10), written(1, 10), name_op({0, 1, 2}, OpKind::unlink, 1, "log", 10)}) == Pairs{"0>2"});
  CHECK(pairs_of({opened(1, 10), rename_op(2, "log", "log.1", 10)}).empty());  // nothing was changed
  Op link = object_op({0, 1, 1}, OpKind::link, 10);
  link.parent2 = 1, link.name2 = "snap";
  CHECK(pairs_of({link, rename_op(2, "new", "log", 11, 10)}) == Pairs{"0>1"});
  CHECK(pairs_of({rename_op(1, "new", "log", 11, 10), opened(2, 11), written(2, 11)}) == Pairs{"0>1"});
}

TEST_CASE("the final tree shows the order of changes of one attribute") {
  Attr times, mode, owner, set_id;
  times.valid = kAttrMtime;
  mode.valid = set_id.valid = kAttrMode, set_id.mode = 04755;
  owner.valid = kAttrUid;
  CHECK(pairs_of({written(1, 10), attributes_op(2, times)}) == Pairs{"0>1"});
  CHECK(pairs_of({written(1, 10), attributes_op(2, set_id)}) == Pairs{"0>1"});
  CHECK(pairs_of({written(1, 10), attributes_op(2, mode), attributes_op(3, owner)}).empty());
  CHECK(pairs_of({attributes_op(1, times), attributes_op(2, mode)}).empty());
  CHECK(pairs_of({attributes_op(1, mode), attributes_op(2, mode)}) == Pairs{"0>1"});
  Op acl = object_op({0, 1, 2}, OpKind::setxattr, 10);
  acl.name = "system.posix_acl_access";
  CHECK(pairs_of({attributes_op(1, mode), acl}) == Pairs{"0>1"});
}

TEST_CASE("bytes between those of another thread make no pair, however many there are") {
  std::vector<Op> ops;
  for (uint64_t block = 0; block < 400; ++block) ops.push_back(written(1 + block % 2, 10, block * 4096, 4096));
  CHECK(pairs_of(ops).empty());
  ops.push_back(written(2, 10, 0, 400 * 4096));
  CHECK(pairs_of(ops) == Pairs{"398>400"});
  ops = {written(1, 10, 0, 100), written(1, 10, 100, 100), written(2, 10, 0, 10)};
  CHECK(pairs_of(ops) == Pairs{"0>2"});  // not the next write of the thread
  Op room = object_op({0, 1, 2}, OpKind::fallocate, 10);
  room.offset = 4096, room.length = 4096;
  CHECK(pairs_of({written(1, 10), room}).empty());
}

TEST_CASE("a thread that moves what another moved to a new name makes no pair") {
  CHECK(pairs_of({rename_op(1, "t", "j", 10), rename_op(2, "j", "d", 10)}).empty());
  CHECK(pairs_of({rename_op(1, "t", "j", 10, 11), rename_op(2, "j", "d", 10)}) == Pairs{"0>1"});
  CHECK(pairs_of({rename_op(1, "t", "j", 10), rename_op(2, "u", "j", 11, 10)}) == Pairs{"0>1"});
}

TEST_CASE("memory of the pairs of changes stays limited if many ranges follow each other") {
  FinalOrder order;
  for (uint64_t block = 0; block < FinalOrder::kExact * 2; ++block) order.add(written(1, 10, block * 4096, 4096), 1);
  const size_t memory = order.memory();
  CHECK(memory < FinalOrder::kExact * 128);
  for (uint64_t block = 0; block < FinalOrder::kExact; ++block)
    order.add(written(1, 10, (2 * FinalOrder::kExact + block) * 4096, 4096), 1);
  CHECK(order.memory() < memory + 4096);
  order.add(written(2, 10, FinalOrder::kExact * 4096 * 3 / 2, 1), 2);
  CHECK(order.pairs().size() == 1);
}

}  // namespace fsr::final_order_test
