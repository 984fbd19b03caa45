// SPDX-License-Identifier: Apache-2.0
// One example of each kind of operation, and of each case of a kind that a target may treat in its own way because of an
// argument. For what is said about targets in general: the table of docs/operations.md, the conformance suite.
#pragma once

#include <span>

#include "op.hpp"

namespace fsr {

// What the examples are about. A user of the table puts ids of its own in their place.
constexpr ObjectId kShapeDirectory = 2, kShapeOtherDirectory = 3, kShapeFile = 4, kShapeOtherFile = 5, kShapeSymlink = 6;
constexpr ObjectId kShapeNew = 7;  // what the operation makes
constexpr HandleId kShapeFileHandle = 1, kShapeOtherHandle = 2, kShapeDirectoryHandle = 3;
constexpr HandleId kShapeNewHandle = 4;                     // what the operation opens
constexpr const char* kShapeName = "name";                  // a file in kShapeDirectory, kShapeFile
constexpr const char* kShapeDirectoryName = "directory";    // an empty directory in kShapeDirectory
constexpr const char* kShapeNewName = "new";                // in any directory, not there yet
constexpr const char* kShapeAttribute = "user.fsreplay.a";  // set on kShapeFile

struct OpShape {
  const char* label;  // "rename, to another directory"
  Op op;
};

// In the order of OpKind. Strings and attributes live forever.
std::span<const OpShape> op_shapes();

}  // namespace fsr
