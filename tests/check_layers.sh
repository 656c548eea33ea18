#!/usr/bin/env bash
# Checks what a reviewer would have to remember about the layers:
#   - includes point one way only: proto -> transport -> actors -> runtime -> samples, bench, tests;
#   - a room uses only the libraries it may use;
#   - every public header compiles alone.
#
#   tests/check_layers.sh [--build DIR] [--jobs N]     everything; DIR (default: the newest of build/*) is a configured
#                                                      and built tree, for its generated headers
#   tests/check_layers.sh --includes                   only what needs no compiler: takes a second
#   tests/check_layers.sh --header FILE [--build DIR]  one header compiles alone
#   tests/check_layers.sh --root DIR --includes        the same in another tree
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build='' jobs=2 header='' includes_only=no
usage() { sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?--build needs a directory}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --header) header=${2:?--header needs a file}; shift 2 ;;
    --root) root=$(cd "${2:?--root needs a directory}" && pwd); shift 2 ;;
    --includes) includes_only=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "check_layers: unknown argument '$1'; --help lists them" >&2; exit 2 ;;
  esac
done
cd "$root"

rooms=(proto transport actors runtime)
failures=0
fail() {
  echo "check_layers: $1"
  failures=$((failures + 1))
}

# complain TEXT PATTERN FILE...: each line of the files that matches is a failure.
complain() {
  local text=$1 pattern=$2 line
  shift 2
  [[ $# -gt 0 ]] || return 0
  while IFS= read -r line; do
    fail "$line: $text"
  done < <(grep -nHE -- "$pattern" "$@" || true)
}

# sources DIR...: the C++ files below, one a line.
sources() {
  local directory
  for directory in "$@"; do
    [[ -d $directory ]] && find "$directory" -type f \( -name '*.hpp' -o -name '*.cpp' \) | sort
  done
}

check_includes() {
  local inc='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' i later files
  for i in "${!rooms[@]}"; do
    local room=${rooms[$i]}
    mapfile -t files < <(sources "$room")
    later=$(IFS='|'; echo "${rooms[*]:$((i + 1))}")
    if [[ -n $later ]]; then
      complain "$room/ is below that layer" "${inc}troupe/(${later})/" "${files[@]}"
      mapfile -t room_tests < <(sources "tests/$room")
      complain "tests of $room/ use the layers up to it" "${inc}troupe/(${later})/" "${room_tests[@]}"
    fi
    complain "the library does not include from there" "${inc}([^>\"]*\.\./|(troupe/)?(tests|samples|bench)/)" "${files[@]}"
    complain "headers are included as <troupe/room/file.hpp>" \
      '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(proto|transport|actors|runtime)/)' "${files[@]}"

    # What a room must not use, by include prefix.
    local forbidden
    case $room in
      proto) forbidden='uc[pst]/|caf/|asio|openssl/|CLI/|spdlog/|fmt/|infiniband/' ;;
      transport) forbidden='caf/|CLI/|spdlog/|fmt/|infiniband/' ;;
      actors) forbidden='uc[pst]/|asio|openssl/|CLI/|spdlog/|fmt/|infiniband/|fstream>|filesystem>' ;;
      runtime) forbidden='' ;;
    esac
    if [[ -n $forbidden ]]; then
      complain "$room/ must not use that library" "${inc}(${forbidden})" "${files[@]}"
    fi
    complain "CAF's io module is what Troupe replaces" "${inc}caf/(io|openssl)/" "${files[@]}"
  done

  mapfile -t files < <(sources "${rooms[@]}" samples bench tests)
  complain "include CAF's headers one by one" "${inc}caf/all\.hpp" "${files[@]}"
  mapfile -t files < <(sources samples)
  complain "samples are built from public headers alone" "${inc}[^>\"]*(\.\./|tests/|bench/)" "${files[@]}"
  mapfile -t files < <(sources "${rooms[@]}" samples bench tests | grep '\.hpp$')
  local file
  for file in "${files[@]}"; do
    grep -q '^#pragma once$' "$file" || fail "$file: has no #pragma once"
  done
}

# compile_alone HEADER: its compiler messages, and failure when it does not compile as the only include of a source.
compile_alone() {
  local messages
  if ! messages=$(echo "#include <troupe/$1>" |
    "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -DASIO_STANDALONE -DASIO_NO_DEPRECATED \
      -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -I "$build/include" -isystem "$build/generated" -x c++ - 2>&1); then
    echo "check_layers: $1 does not compile alone:"
    echo "$messages" | head -n 12
    return 1
  fi
}

find_build() {
  if [[ -z $build ]]; then
    local candidate
    for candidate in build/*/; do
      [[ -f ${candidate}CMakeCache.txt ]] || continue
      [[ -z $build || ${candidate}CMakeCache.txt -nt $build/CMakeCache.txt ]] && build=${candidate%/}
    done
  fi
  if [[ -z $build || ! -d $build/include/troupe ]]; then
    echo "check_layers: no configured build tree${build:+ in $build}; run cmake --preset release first" >&2
    exit 2
  fi
}

if [[ -n $header ]]; then
  find_build
  header=$(realpath --relative-to="$root" "$header")
  compile_alone "$header"
  exit
fi

check_includes
if [[ $includes_only == no ]]; then
  find_build
  export build
  export -f compile_alone
  mapfile -t headers < <(sources "${rooms[@]}" | grep '\.hpp$')
  if [[ ${#headers[@]} -gt 0 ]]; then
    # shellcheck disable=SC2016 # the inner shell expands it
    printf '%s\0' "${headers[@]}" | xargs -0 -n 1 -P "$jobs" bash -c 'compile_alone "$1"' _ || failures=$((failures + 1))
  fi
fi

if [[ $failures -gt 0 ]]; then
  echo "check_layers: failed"
  exit 1
fi
if [[ $includes_only == yes ]]; then
  echo "check_layers: includes are in order"
else
  echo "check_layers: includes are in order, ${#headers[@]} headers compile alone"
fi
