# How Troupe's own code is compiled: flags of this project only, never handed to a program that uses the library.

option(TROUPE_WERROR "Treat warnings as errors" OFF)
set(TROUPE_SANITIZE "" CACHE STRING "Sanitizers to compile everything with: address,undefined or thread; empty for none")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Warnings are for hand-written code; generated protobuf code does not link this target.
add_library(troupe_warnings INTERFACE)
target_compile_options(troupe_warnings INTERFACE -Wall -Wextra -Wpedantic)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in every optimised `"literal" + std::string` (its bug 105651).
  target_compile_options(troupe_warnings INTERFACE -Wno-restrict)
endif()
if(TROUPE_WERROR)
  target_compile_options(troupe_warnings INTERFACE -Werror)
endif()

if(TROUPE_SANITIZE)
  # Every object is compiled with the sanitizers, dependencies from packages excepted. CAF 0.17 binds references to
  # null storage inside its own templates, which -fsanitize=null would report in our objects.
  add_compile_options(-fsanitize=${TROUPE_SANITIZE} -fno-sanitize=null -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TROUPE_SANITIZE})
  # GCC reports more maybe-uninitialized values when it instruments, all of them false.
  target_compile_options(troupe_warnings INTERFACE -Wno-maybe-uninitialized)
endif()

# ccache is used when it is there: presets share what they can and a clean build of known sources takes seconds.
option(TROUPE_CCACHE "Compile through ccache where it is installed" ON)
if(TROUPE_CCACHE)
  find_program(TROUPE_CCACHE_PROGRAM ccache)
  mark_as_advanced(TROUPE_CCACHE_PROGRAM)
  if(TROUPE_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TROUPE_CCACHE_PROGRAM}")
  endif()
endif()
