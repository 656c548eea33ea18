# Finds UCX's UCP layer.
#
#   find_package(UCX 1.13 REQUIRED)
#
# Defines UCX_VERSION (that of the headers) and the imported targets ucx::ucs, ucx::uct and ucx::ucp, under the names of UCX's
# own CMake configuration. That file is not used: it hard-codes a prefix and sets variables in its caller's scope.
# pkg-config serves as a hint; UCX_ROOT names another prefix.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(_ucx_pc QUIET ucx)
endif()

find_path(UCX_INCLUDE_DIR NAMES ucp/api/ucp.h HINTS ${_ucx_pc_INCLUDE_DIRS})
find_library(UCX_ucp_LIBRARY NAMES ucp HINTS ${_ucx_pc_LIBRARY_DIRS})
find_library(UCX_uct_LIBRARY NAMES uct HINTS ${_ucx_pc_LIBRARY_DIRS})
find_library(UCX_ucs_LIBRARY NAMES ucs HINTS ${_ucx_pc_LIBRARY_DIRS})
mark_as_advanced(UCX_INCLUDE_DIR UCX_ucp_LIBRARY UCX_uct_LIBRARY UCX_ucs_LIBRARY)

unset(UCX_VERSION)
if(UCX_INCLUDE_DIR)
  file(STRINGS "${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h" _ucx_lines REGEX "^#define UCP_API_(MAJOR|MINOR) +[0-9]+")
  if(_ucx_lines MATCHES "UCP_API_MAJOR +([0-9]+)")
    set(UCX_VERSION "${CMAKE_MATCH_1}")
  endif()
  if(_ucx_lines MATCHES "UCP_API_MINOR +([0-9]+)")
    string(APPEND UCX_VERSION ".${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(UCX
  REQUIRED_VARS UCX_INCLUDE_DIR UCX_ucp_LIBRARY UCX_uct_LIBRARY UCX_ucs_LIBRARY UCX_VERSION
  VERSION_VAR UCX_VERSION
  REASON_FAILURE_MESSAGE "On Debian, apt-get install libucx-dev.")

if(UCX_FOUND)
  foreach(_ucx_part ucs uct ucp)
    if(NOT TARGET ucx::${_ucx_part})
      add_library(ucx::${_ucx_part} UNKNOWN IMPORTED)
      set_target_properties(ucx::${_ucx_part} PROPERTIES
        IMPORTED_LOCATION "${UCX_${_ucx_part}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${UCX_INCLUDE_DIR}")
      if(_ucx_part STREQUAL "ucp")
        set_property(TARGET ucx::ucp PROPERTY INTERFACE_LINK_LIBRARIES ucx::uct ucx::ucs)
      endif()
    endif()
  endforeach()
endif()
