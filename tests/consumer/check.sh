#!/usr/bin/env bash
# check.sh BUILD_DIR CMAKE COMPILER: installs the build into a temporary prefix, builds the program beside this script
# against it, and lets two processes of it talk.
set -euo pipefail

build=$1 cmake=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=''
cleanup() {
  if [[ -n $server ]]; then
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
"$cmake" -S "$here" -B "$work/build" -G Ninja "-DCMAKE_PREFIX_PATH=$work/prefix" "-DCMAKE_CXX_COMPILER=$compiler" \
  -DCMAKE_BUILD_TYPE=Release >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/build"

# Nothing of the source or build tree may be needed any more.
if grep -rnF -e "$build" -e "$(cd "$here/../.." && pwd)" "$work/prefix/lib"*/cmake "$work/prefix/lib"*/*/cmake 2>/dev/null; then
  echo "the installed package names a path of the build"
  exit 1
fi
if [[ -x $work/prefix/bin/troupe ]]; then
  "$work/prefix/bin/troupe" --version || { echo "the installed troupe command failed"; exit 1; }
fi

program=$work/build/consumer
"$program" --listen 127.0.0.1:0 >"$work/server.log" 2>"$work/server.err" &
server=$!
port=''
for _ in $(seq 200); do
  port=$(sed -n 's/^listening on port //p' "$work/server.log")
  [[ -n $port ]] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.05
done
if [[ -z $port ]]; then
  echo "the server did not come up:"
  cat "$work/server.log" "$work/server.err"
  exit 1
fi
answer=$(timeout 20 "$program" --connect "127.0.0.1:$port")
if [[ $answer != "hello, ada" ]]; then
  echo "unexpected answer: '$answer'"
  exit 1
fi
kill -TERM "$server"
status=0
wait "$server" || status=$?
server=''
if [[ $status -ne 0 ]]; then
  echo "the server ended with status $status on SIGTERM:"
  cat "$work/server.err"
  exit 1
fi
echo "the installed package builds and runs a node"
