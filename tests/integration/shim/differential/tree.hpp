// SPDX-License-Identifier: Apache-2.0
// Trees as text, to compare them.
#pragma once

#include <ctime>
#include <string>

namespace differential {

// One line per file, by name: attributes, hard links, extended attributes, content. What can't be read is said in its place.
void describe_tree(const char* directory, time_t began, char* text, size_t size);

// Whatever flags and modes its files have. The first name that can't be removed and why, or nothing.
std::string remove_tree(const std::string& directory);
// The same for what is in it, but for mount points, which are emptied and get plain attributes again.
std::string empty_tree(const std::string& directory);

}  // namespace differential
