# Finds the C++ Actor Framework, whose Debian package ships no CMake configuration.
#
#   find_package(CAF 0.17.6 EXACT REQUIRED COMPONENTS core [io] [openssl])
#
# Defines CAF_VERSION and one imported target per component: CAF::core, CAF::io, CAF::openssl.
# CAF_ROOT names another prefix, for example a CAF built with a sanitizer.

if(NOT CAF_FIND_COMPONENTS)
  set(CAF_FIND_COMPONENTS core)
endif()

find_path(CAF_INCLUDE_DIR NAMES caf/config.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)

# caf/config.hpp holds one number: major * 10000 + minor * 100 + patch, without leading zeros.
unset(CAF_VERSION)
if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _caf_line REGEX "^#define CAF_VERSION [0-9]+")
  if(_caf_line MATCHES "CAF_VERSION ([0-9]+)")
    math(EXPR _caf_major "${CMAKE_MATCH_1} / 10000")
    math(EXPR _caf_minor "(${CMAKE_MATCH_1} / 100) % 100")
    math(EXPR _caf_patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION "${_caf_major}.${_caf_minor}.${_caf_patch}")
  endif()
endif()

set(_caf_headers_core caf/actor_system.hpp)
set(_caf_headers_io caf/io/middleman.hpp)
set(_caf_headers_openssl caf/openssl/manager.hpp)

foreach(_caf_component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${_caf_component}_LIBRARY NAMES caf_${_caf_component})
  mark_as_advanced(CAF_${_caf_component}_LIBRARY)
  if(CAF_INCLUDE_DIR AND CAF_${_caf_component}_LIBRARY
     AND EXISTS "${CAF_INCLUDE_DIR}/${_caf_headers_${_caf_component}}")
    set(CAF_${_caf_component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_INCLUDE_DIR CAF_VERSION
  VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE "Troupe is written for CAF 0.17.6: on Debian 12, apt-get install libcaf-dev.")

if(CAF_FOUND)
  foreach(_caf_component IN LISTS CAF_FIND_COMPONENTS)
    if(CAF_${_caf_component}_FOUND AND NOT TARGET CAF::${_caf_component})
      add_library(CAF::${_caf_component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${_caf_component} PROPERTIES
        IMPORTED_LOCATION "${CAF_${_caf_component}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
      if(NOT _caf_component STREQUAL "core")
        set_property(TARGET CAF::${_caf_component} PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
      endif()
    endif()
  endforeach()
endif()
