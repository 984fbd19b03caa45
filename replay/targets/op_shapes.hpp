// SPDX-License-Identifier: Apache-2.0
// One example of each kind of operation, and of each case that a target may treat differently because of an argument. Used by
// the table of docs/operations.md and by the conformance suite.
#pragma once

#include <span>

#include "op.hpp"

namespace fsr {

// Objects and names of the examples. Users of the table replace the ids with their own.
constexpr ObjectId kShapeDirectory = 2, kShapeOtherDirectory = 3, kShapeFile = 4, kShapeOtherFile = 5, kShapeSymlink = 6;
constexpr ObjectId kShapeNew = 7;  // the object that the operation creates
constexpr HandleId kShapeFileHandle = 1, kShapeOtherHandle = 2, kShapeDirectoryHandle = 3;
constexpr HandleId kShapeNewHandle = 4;                     // the open instance that the operation makes
constexpr const char* kShapeName = "name";                  // name of kShapeFile in kShapeDirectory
constexpr const char* kShapeDirectoryName = "directory";    // an empty directory in kShapeDirectory
constexpr const char* kShapeNewName = "new";                // a name that no directory has yet
constexpr const char* kShapeAttribute = "user.fsreplay.a";  // set on kShapeFile

struct OpShape {
  const char* label;  // for example "rename, to another directory"
  Op op;
};

// Returns the examples in the order of OpKind. Their strings and attributes live until the program ends.
std::span<const OpShape> op_shapes();

}  // namespace fsr
