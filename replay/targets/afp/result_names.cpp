// SPDX-License-Identifier: Apache-2.0
// Names of commands and results in Apple's reference.
#include "targets/afp/afp.hpp"

namespace fsr::afp {

namespace {

struct NamedCommand {
  Command command;
  const char* name;
};
constexpr NamedCommand kCommands[] = {
    {Command::none, "DSIOpenSession"},
    {Command::old_lock, "FPByteRangeLock"},
    {Command::close_fork, "FPCloseFork"},
    {Command::copy_file, "FPCopyFile"},
    {Command::create_dir, "FPCreateDir"},
    {Command::create_file, "FPCreateFile"},
    {Command::remove, "FPDelete"},
    {Command::old_enumerate, "FPEnumerate"},
    {Command::flush, "FPFlush"},
    {Command::flush_fork, "FPFlushFork"},
    {Command::get_fork_parms, "FPGetForkParms"},
    {Command::get_server_parms, "FPGetSrvrParms"},
    {Command::get_volume_parms, "FPGetVolParms"},
    {Command::login, "FPLogin"},
    {Command::login_cont, "FPLoginCont"},
    {Command::logout, "FPLogout"},
    {Command::move_and_rename, "FPMoveAndRename"},
    {Command::open_volume, "FPOpenVol"},
    {Command::open_fork, "FPOpenFork"},
    {Command::old_read, "FPRead"},
    {Command::set_file_parms, "FPSetFileParms"},
    {Command::set_fork_parms, "FPSetForkParms"},
    {Command::old_write, "FPWrite"},
    {Command::get_file_dir_parms, "FPGetFileDirParms"},
    {Command::set_file_dir_parms, "FPSetFileDirParms"},
    {Command::exchange_files, "FPExchangeFiles"},
    {Command::byte_range_lock, "FPByteRangeLockExt"},
    {Command::read, "FPReadExt"},
    {Command::write, "FPWriteExt"},
    {Command::get_session_token, "FPGetSessionToken"},
    {Command::disconnect_old_session, "FPDisconnectOldSession"},
    {Command::enumerate, "FPEnumerateExt"},
    {Command::enumerate2, "FPEnumerateExt2"},
    {Command::get_ext_attr, "FPGetExtAttr"},
    {Command::set_ext_attr, "FPSetExtAttr"},
    {Command::remove_ext_attr, "FPRemoveExtAttr"},
    {Command::list_ext_attr, "FPListExtAttrs"},
    {Command::sync_dir, "FPSyncDir"},
    {Command::sync_fork, "FPSyncFork"},
};

struct NamedResult {
  int32_t result;
  const char* name;
};
constexpr NamedResult kResults[] = {
    {kOk, "kFPNoErr"},
    {-5000, "kFPAccessDenied"},
    {kAuthContinue, "kFPAuthContinue"},
    {kBadUam, "kFPBadUAM"},
    {kBadVersion, "kFPBadVersNum"},
    {-5004, "kFPBitmapErr"},
    {-5005, "kFPCantMove"},
    {-5006, "kFPDenyConflict"},
    {-5007, "kFPDirNotEmpty"},
    {-5008, "kFPDiskFull"},
    {kEofError, "kFPEOFErr"},
    {kFileBusy, "kFPFileBusy"},
    {-5011, "kFPFlatVol"},
    {kItemNotFound, "kFPItemNotFound"},
    {kLockError, "kFPLockErr"},
    {kMiscError, "kFPMiscErr"},
    {-5015, "kFPNoMoreLocks"},
    {-5016, "kFPNoServer"},
    {kObjectExists, "kFPObjectExists"},
    {kObjectNotFound, "kFPObjectNotFound"},
    {kParamError, "kFPParamErr"},
    {-5020, "kFPRangeNotLocked"},
    {kRangeOverlap, "kFPRangeOverlap"},
    {-5022, "kFPSessClosed"},
    {kUserNotAuthenticated, "kFPUserNotAuth"},
    {-5024, "kFPCallNotSupported"},
    {kObjectTypeError, "kFPObjectTypeErr"},
    {-5026, "kFPTooManyFilesOpen"},
    {-5027, "kFPServerGoingDown"},
    {-5028, "kFPCantRename"},
    {-5029, "kFPDirNotFound"},
    {-5030, "kFPIconTypeErr"},
    {-5031, "kFPVolLocked"},
    {-5032, "kFPObjectLocked"},
    {-5033, "kFPContainsSharedErr"},
    {-5034, "kFPIDNotFound"},
    {-5035, "kFPIDExists"},
    {-5036, "kFPDiffVolErr"},
    {-5037, "kFPCatalogChanged"},
    {-5038, "kFPSameObjectErr"},
    {-5039, "kFPBadIDErr"},
    {-5040, "kFPPwdSameErr"},
    {-5041, "kFPPwdTooShortErr"},
    {-5042, "kFPPwdExpiredErr"},
    {-5043, "kFPInsideSharedErr"},
    {-5044, "kFPInsideTrashErr"},
    {-5045, "kFPPwdNeedsChangeErr"},
    {-5046, "kFPPwdPolicyErr"},
    {-5047, "kFPDiskQuotaExceeded"},
};

}  // namespace

const char* command_name(Command command) {
  for (const NamedCommand& c : kCommands)
    if (c.command == command) return c.name;
  return "an unknown command";
}

std::string result_name(int32_t result) {
  for (const NamedResult& r : kResults)
    if (r.result == result) return std::string(r.name) + " (" + std::to_string(result) + ")";
  return "AFP error " + std::to_string(result);
}

}  // namespace fsr::afp
