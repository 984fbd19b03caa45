// SPDX-License-Identifier: Apache-2.0
// The figures of a run, one row each: how parts of a run merge, and the name in reports. A new figure is a member of RunResult or
// KindResult and a row here. Workers, ranks, JSON, the results database and the text take it from its row.
//
// Names end in their unit (_ns, _per_s; bytes_ begins with it); others are numbers of things. No name: the figure is not reported
// as it is. Rows are in the order of the columns of the results database.
#pragma once

#include <array>
#include <tuple>

#include "engine/run.hpp"

namespace fsr::figures {

// Adds up.
template <class Owner, class Value>
struct Sum {
  const char* name;
  Value Owner::*member;
};
template <class Owner, class Value>
Sum(const char*, Value Owner::*) -> Sum<Owner, Value>;

// The longest part counts: a time that passes for all parts at once.
template <class Owner, class Value>
struct Longest {
  const char* name;
  Value Owner::*member;
};
template <class Owner, class Value>
Longest(const char*, Value Owner::*) -> Longest<Owner, Value>;

// True if it is true in any part.
template <class Owner>
struct Any {
  const char* name;
  bool Owner::*member;
};
template <class Owner>
Any(const char*, bool Owner::*) -> Any<Owner>;

// Calculated from other figures after all parts are merged. `value`: pointer to a member or to a function without arguments.
template <class Value>
struct Derived {
  const char* name;
  Value value;
};
template <class Value>
Derived(const char*, Value) -> Derived<Value>;

// Rows of a member that has figures of its own.
template <class Owner, class Member, class Rows>
struct Group {
  Member Owner::*member;
  Rows rows;
};
template <class Owner, class Member, class Rows>
Group(Member Owner::*, Rows) -> Group<Owner, Member, Rows>;

// Times that merge as distributions.
template <class Owner>
struct Distribution {
  const char* name;
  Histogram Owner::*member;
  const Histogram Owner::*lower_bounds = nullptr;  // its times that are lower bounds; null: none are
  bool in_text = true;                             // has a line in the text report
};

inline constexpr std::tuple kOfContent{
    Sum{"blocks_compared", &ContentCompared::blocks},
    Sum{"bytes_compared", &ContentCompared::bytes},
    Sum{"blocks_unknown", &ContentCompared::unknown},
};

inline constexpr std::tuple kOfRun{
    Sum{"workers", &RunResult::workers},
    Longest{"elapsed_ns", &RunResult::elapsed},
    Longest{"planned_ns", &RunResult::planned},
    Longest{"recorded_ns", &RunResult::recorded},
    Derived{"offered_per_s", &RunResult::offered},
    Derived{"achieved_per_s", &RunResult::achieved},
    Derived{"failed_per_s", &RunResult::failed_rate},
    Derived{"recorded_per_s", &RunResult::recorded_rate},
    Sum{"operations", &RunResult::operations},
    Derived{"issued", &RunResult::issued},
    Derived{"matched", &RunResult::matched},
    Derived{"differed", &RunResult::differed},
    Derived{"followed", &RunResult::followed},
    Derived{"followed_from", &RunResult::followed_from},
    Derived{"failed", &RunResult::failed},
    Sum{"unanswered", &RunResult::unanswered},
    Sum{"cancelled", &RunResult::cancelled},
    Sum{"unfinished", &RunResult::unfinished},
    Sum{"overdue", &RunResult::overdue},
    Sum{"unrecorded", &RunResult::unrecorded},
    Sum{"violations", &RunResult::violations},
    Sum{"edges", &RunResult::edges},
    Sum{"free_pairs", &RunResult::free_pairs},
    Sum{"window_full", &RunResult::window_full},
    Sum{"auxiliary", &RunResult::auxiliary},
    Group{&RunResult::content, kOfContent},
    Sum{"changed_listings", &RunResult::changed_listings},
    Sum{"streams", &RunResult::streams},
    Sum{"objects", &RunResult::objects},
    Sum{"bytes_read", &RunResult::bytes_read},
    Sum{"bytes_written", &RunResult::bytes_written},
    Derived{"limited_by", &RunResult::limit_text},
    Sum{"behind", &RunResult::behind},
    Longest{"behind_ns", &RunResult::behind_time},
    Sum{"waited", &RunResult::waited},
    Sum{"waited_own_thread", &RunResult::waited_own},
    Longest{"silent_ns", &RunResult::silent},
    Longest{"longest_silence_ns", &RunResult::longest_silence},
    Longest{"stood_still_ns", &RunResult::stood_still},
    Longest{"longest_stand_ns", &RunResult::longest_stand},
    Longest{"stolen_ns", &RunResult::stolen},
    Sum{nullptr, &RunResult::recorded_service},
    Sum{nullptr, &RunResult::think},
    Sum{nullptr, &RunResult::own_delay},
    Sum{nullptr, &RunResult::after_differences},
    Sum{nullptr, &RunResult::in_calls},
    Sum{nullptr, &RunResult::mismatches_total},
    Any{nullptr, &RunResult::stopped},
    Any{nullptr, &RunResult::stopped_on_error},
    Any{nullptr, &RunResult::stopped_on_difference},
};

inline constexpr std::tuple kOfKind{
    Sum{"issued", &KindResult::issued},         Sum{"ok", &KindResult::ok},
    Sum{"matched", &KindResult::matched},       Sum{"differed", &KindResult::differed},
    Sum{"followed", &KindResult::followed},     Sum{"permission", &KindResult::permission},
    Sum{"uncompared", &KindResult::uncompared}, Sum{"failed", &KindResult::failed},
    Sum{"awaited", &KindResult::awaited},       Sum{"approximate", &KindResult::approximate},
    Sum{"impossible", &KindResult::impossible}, Sum{"refused", &KindResult::refused},
    Sum{"bytes", &KindResult::bytes},
};

inline constexpr std::array<Distribution<RunResult>, 6> kTimesOfRun{{
    {"lateness", &RunResult::lateness},
    {"waiting", &RunResult::waiting},
    {"service", &RunResult::service},
    {"response", &RunResult::response, &RunResult::open},
    {"failing", &RunResult::failing},
    {"open", &RunResult::open, nullptr, false},
}};

inline constexpr std::array<Distribution<KindResult>, 2> kTimesOfKind{{
    {"service", &KindResult::service},
    {"recorded", &KindResult::recorded},
}};

template <class Act, class Row, class... Owner>
constexpr void visit(Act& act, const Row& row, Owner&... owners) {
  act(row, owners...);
}
template <class Act, class O, class Member, class Rows, class... Owner>
constexpr void visit(Act& act, const Group<O, Member, Rows>& group, Owner&... owners) {
  std::apply([&](const auto&... row) { (visit(act, row, owners.*group.member...), ...); }, group.rows);
}

// Calls `act` with each row, in order, and with what the row's member belongs to in each of `owners`.
template <class Rows, class Act, class... Owner>
constexpr void each(const Rows& rows, Act act, Owner&... owners) {
  std::apply([&](const auto&... row) { (visit(act, row, owners...), ...); }, rows);
}

}  // namespace fsr::figures
