# Finds libibverbs (rdma-core) and defines the imported target IBVerbs::IBVerbs.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(_ibverbs_pc QUIET libibverbs)
endif()

find_path(IBVerbs_INCLUDE_DIR NAMES infiniband/verbs.h HINTS ${_ibverbs_pc_INCLUDE_DIRS})
find_library(IBVerbs_LIBRARY NAMES ibverbs HINTS ${_ibverbs_pc_LIBRARY_DIRS})
mark_as_advanced(IBVerbs_INCLUDE_DIR IBVerbs_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(IBVerbs
  REQUIRED_VARS IBVerbs_INCLUDE_DIR IBVerbs_LIBRARY
  REASON_FAILURE_MESSAGE "On Debian, apt-get install libibverbs-dev.")

if(IBVerbs_FOUND AND NOT TARGET IBVerbs::IBVerbs)
  add_library(IBVerbs::IBVerbs UNKNOWN IMPORTED)
  set_target_properties(IBVerbs::IBVerbs PROPERTIES
    IMPORTED_LOCATION "${IBVerbs_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${IBVerbs_INCLUDE_DIR}")
endif()
