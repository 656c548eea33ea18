#!/usr/bin/env bash
# Plants one violation after the other in an empty tree and expects check_layers.sh to report each.
set -u

check=$(cd "$(dirname "$0")/.." && pwd)/check_layers.sh
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failures=0

# reset: a small tree without a violation.
reset() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{proto,transport,actors,runtime,samples/chat,bench,tests/transport}
  printf '#pragma once\n#include <cstdint>\n' >"$tree/proto/frame.hpp"
  printf '#include <troupe/proto/frame.hpp>\n#include <ucp/api/ucp.h>\n' >"$tree/transport/worker.cpp"
  printf '#include <caf/actor.hpp>\n#include <troupe/transport/worker.hpp>\n' >"$tree/actors/session.cpp"
  printf '#include <CLI/CLI.hpp>\n#include <troupe/actors/session.hpp>\n' >"$tree/runtime/node.cpp"
  printf '#include "room.hpp"\n#include <troupe/runtime/node.hpp>\n' >"$tree/samples/chat/main.cpp"
}

# expect FILE LINE: with that line in that file the check fails and names the file.
expect() {
  local output
  reset
  printf '%s\n' "$2" >>"$tree/$1"
  if output=$("$check" --root "$tree" --includes) || [[ $output != *"$1"* ]]; then
    echo "not reported: '$2' in $1"
    failures=$((failures + 1))
  fi
}

reset
if ! output=$("$check" --root "$tree" --includes); then
  echo "a tree without a violation was refused: $output"
  failures=$((failures + 1))
fi

expect proto/frame.hpp '#include <troupe/transport/errc.hpp>'
expect transport/worker.cpp '#include <troupe/actors/session.hpp>'
expect actors/session.cpp '#  include <troupe/runtime/node.hpp>'
expect tests/transport/worker_test.cpp '#include <troupe/actors/session.hpp>'
expect proto/frame.hpp '#include <ucp/api/ucp.h>'
expect transport/worker.cpp '#include <caf/error.hpp>'
expect actors/session.cpp '#include <asio/ip/tcp.hpp>'
expect actors/session.cpp '#include <fstream>'
expect runtime/node.cpp '#include <caf/io/middleman.hpp>'
expect runtime/node.cpp '#include <caf/all.hpp>'
expect runtime/node.cpp '#include "config.hpp"'
expect runtime/node.cpp '#include <tests/support/clock.hpp>'
expect samples/chat/main.cpp '#include "../../runtime/node.hpp"'
expect runtime/guardless.hpp 'int x;'

[[ $failures -eq 0 ]]
