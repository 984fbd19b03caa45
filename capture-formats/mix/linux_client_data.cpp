// SPDX-License-Identifier: Apache-2.0
// The page cache: read-ahead, write gathering, COMMIT; and what mount options say.
#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "mix/linux_client.hpp"

namespace fsr {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostAtOnce = uint64_t(1) << 31;  // no system call reads or writes more
constexpr int64_t kDirtyExpire = 30'000'000'000;     // vm.dirty_expire_centisecs

uint64_t round_up(uint64_t n) { return n > UINT64_MAX - kPage ? UINT64_MAX / kPage * kPage : (n + kPage - 1) / kPage * kPage; }
uint64_t pieces(uint64_t bytes, uint64_t size) { return bytes / size + (bytes % size != 0); }

// Returns the first read-ahead window, in pages, as get_init_ra_size() and get_next_ra_size() do.
uint64_t first_window(uint64_t request, uint64_t most) {
  const uint64_t size = std::bit_ceil(std::min(request, most));
  if (size <= most / 32) return size * 4;
  if (size <= most / 4) return size * 2;
  return most;
}

uint64_t next_window(uint64_t size, uint64_t most) {
  if (size < most / 16) return size * 4;
  if (size <= most / 2) return size * 2;
  return most;
}

}  // namespace

// Reads what is missing of these pages, as far as the file goes.
void LinuxClient::fetch(Inode& i, uint64_t from_page, uint64_t pages) {
  const uint64_t end = std::min((from_page + pages) * kPage, round_up(i.size));
  i.cached.add(from_page * kPage, end,
               [&](uint64_t from, uint64_t to) { request(Wire::read, pieces(std::min(to, i.size) - from, options_.rsize)); });
}

// Follows ondemand_readahead() of Linux 6.1.
void LinuxClient::read(Inode& i, Handle& handle, uint64_t offset, uint64_t length) {
  if (length == 0 || offset > UINT64_MAX / 2) return;
  length = std::min(length, kMostAtOnce);
  i.size = std::max(i.size, offset + length);
  if (handle.flags & O_DIRECT) return request(Wire::read, pieces(length, options_.rsize));
  const uint64_t first = offset / kPage, last = (offset + length - 1) / kPage;
  for (uint64_t page = first; page <= last; ++page) {
    const uint64_t wanted = last - page + 1;
    uint64_t most = std::max<uint64_t>(options_.readahead / kPage, 1);
    if (wanted > most) most = std::max(most, std::min(wanted, options_.rsize / kPage));
    const uint64_t end = handle.window + handle.window_size;
    const bool mark = handle.ahead > 0 && page == end - handle.ahead;
    if (i.cached.covers(page * kPage, std::min((page + 1) * kPage, round_up(i.size)))) {
      if (!mark || end * kPage >= i.size) {
        // Whole stretches at once: a file may have very many pages.
        const auto stretch = std::prev(i.cached.ranges().upper_bound(page * kPage));
        uint64_t next = stretch->second / kPage;
        if (handle.ahead > 0 && end - handle.ahead > page) next = std::min(next, end - handle.ahead);
        page = std::max(page, next > 0 ? next - 1 : 0);
        continue;
      }
      handle.window = end;
      handle.window_size = handle.ahead = next_window(handle.window_size, most);
    } else if (page != 0 && handle.window_size > 0 && (mark || page == end)) {
      handle.window = end;
      handle.window_size = handle.ahead = next_window(handle.window_size, most);
    } else if (page == 0 || wanted > most || page == handle.previous || page == handle.previous + 1) {
      handle.window = page;
      handle.window_size = first_window(wanted, most);
      handle.ahead = handle.window_size > wanted ? handle.window_size - wanted : handle.window_size;
    } else {
      fetch(i, page, std::min(wanted, most));
      continue;
    }
    fetch(i, handle.window, handle.window_size);
    if (!i.cached.covers(page * kPage, std::min((page + 1) * kPage, round_up(i.size)))) fetch(i, page, 1);
  }
  handle.previous = last;
}

// Follows nfs_write_begin(), nfs_flush_incompatible() and nfs_updatepage().
void LinuxClient::write(Inode& i, const Handle& handle, uint64_t offset, uint64_t length, int64_t now) {
  if (length == 0 || offset > UINT64_MAX / 2) return;
  length = std::min(length, kMostAtOnce);
  i.mine_until = now + kSettling;
  const uint64_t end = offset + length, size = std::max(i.size, end);
  if (handle.flags & O_DIRECT) {
    const uint64_t n = pieces(length, options_.wsize);
    request(Wire::write, n);
    if (n > 1) request(Wire::commit);
    i.size = size;
    return;
  }
  if (!i.dirty.empty() && now - i.dirty_since >= kDirtyExpire) write_dirty(i, false, now);
  if (i.dirty.empty()) i.dirty_since = now;
  uint64_t from = offset, to = end;
  for (const uint64_t page : {offset / kPage * kPage, (end - 1) / kPage * kPage}) {
    const uint64_t page_end = std::min(page + kPage, round_up(size));
    const bool whole = offset <= page && (end >= page_end || end >= i.size);
    if (!whole && !i.cached.covers(page, page_end)) {
      if ((handle.flags & O_ACCMODE) == O_RDWR && page < i.size) {
        fetch(i, page / kPage, 1);
        i.cached.add(page, page_end);
      } else if (page >= i.size) {
        i.cached.add(page, page_end);
      }
    }
    if (i.cached.covers(page, page_end)) {  // the whole page is written
      from = std::min(from, page);
      to = std::max(to, std::min(page_end, size));
    } else if (!whole) {
      // A second, separate piece of a page that isn't up to date: the first one is written before.
      const auto behind = i.dirty.ranges().lower_bound(page);
      const bool other = behind != i.dirty.ranges().end() && behind->first < page + kPage &&
                         (behind->second < std::max(offset, page) || behind->first > end);
      if (other) {
        request(Wire::write);
        i.unstable = true;
        i.dirty.erase(page, page + kPage);
      }
    }
  }
  // The cache gets the pages that the write covers completely.
  const uint64_t whole_from = round_up(offset), whole_to = end >= i.size ? round_up(end) : end / kPage * kPage;
  i.cached.add(whole_from, whole_to);
  i.dirty.add(from, to);
  i.size = size;
  if (handle.flags & (O_SYNC | O_DSYNC)) write_back(i, now);
}

// Follows nfs_writepages(): adjacent ranges are sent together, up to wsize; one request alone is written FILE_SYNC, several are
// committed. Written in the background (not waited for), they are committed at the next occasion.
void LinuxClient::write_dirty(Inode& i, bool wait, int64_t now) {
  uint64_t requests = 0;
  for (const auto& [from, to] : i.dirty.ranges()) requests += pieces(to - from, options_.wsize);
  if (requests > 0) {
    request(Wire::write, requests);
    i.dirty.clear();
    i.mine_until = now + kSettling;
    refresh(i, now);
  }
  if (!wait) {
    i.unstable = i.unstable || requests > 0;
  } else if (requests > 1 || i.unstable) {
    request(Wire::commit);
    i.unstable = false;
  }
}

void LinuxClient::truncate(Inode& i, uint64_t size) {
  i.dirty.erase(size, UINT64_MAX);
  i.cached.erase(round_up(size), UINT64_MAX);
  i.size = size;
}

void LinuxClientOptions::apply_mount_options(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string option = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    uint64_t value = 0;
    if (equals != std::string::npos) {
      const char* last = option.data() + option.size();
      const auto [stop, error] = std::from_chars(option.data() + equals + 1, last, value);
      if (error != std::errc() || (stop != last && *stop != '.')) continue;
    }
    constexpr uint64_t kMostSeconds = 1'000'000'000;
    const auto seconds = int64_t(std::min(value, kMostSeconds)) * 1'000'000'000;
    const uint64_t bytes = std::clamp<uint64_t>(value, 1024, 1 << 30);
    if (name == "rsize") rsize = bytes;
    if (name == "wsize") wsize = bytes;
    if (name == "acregmin") acregmin = seconds;
    if (name == "acregmax") acregmax = seconds;
    if (name == "acdirmin") acdirmin = seconds;
    if (name == "acdirmax") acdirmax = seconds;
    if (name == "actimeo") acregmin = acregmax = acdirmin = acdirmax = seconds;
    if (name == "noac") acregmin = acregmax = acdirmin = acdirmax = 0;
    if (name == "nocto") close_to_open = false;
    if (name == "vers" && value >= 2 && value <= 4) nfs_version = unsigned(value);
  }
}

}  // namespace fsr
