#!/usr/bin/env bash
# Three nodes chat over UCX on this machine: ada's has the room, ben's is reached over shared memory, cleo's over TCP.
# Then cleo is killed, and the others are told. Installs and builds what is missing first.
#
#   samples/demo.sh [--bin DIR]    DIR: a directory with a built troupe-chat; nothing is installed or built then
#
# Ends with 0 when every line that should have arrived did.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin=''
if [[ $# -eq 2 && $1 == --bin ]]; then
  bin=$2
elif [[ $# -gt 0 ]]; then
  echo "demo: unknown argument '$1'; the only one is --bin DIR" >&2
  exit 2
fi

if [[ -z $bin ]]; then
  "$root/samples/setup.sh"
  cd "$root"
  echo "demo: building (a few minutes the first time)"
  cmake --preset release >/dev/null
  cmake --build build/release --target troupe-chat
  bin=$root/build/release/bin
fi

work=$(mktemp -d)
declare -A pids=()
cleanup() {
  local name
  for name in "${!pids[@]}"; do
    kill -KILL "${pids[$name]}" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# start NAME ARGUMENT...: troupe-chat as NAME, its output shown with the name in front and kept in $work/NAME.log.
start() {
  local name=$1
  shift
  "$bin/troupe-chat" "$@" --as "$name" --script "$work/$name.script" \
    > >(while IFS= read -r line; do
      printf '%-5s| %s\n' "$name" "$line"
      printf '%s\n' "$line" >>"$work/$name.log"
    done) 2>&1 &
  pids[$name]=$!
  touch "$work/$name.log"
}

# wait_for NAME TEXT: until that line is in what NAME printed; 20 seconds at most.
wait_for() {
  local _
  for _ in $(seq 400); do
    grep -qF -e "$2" "$work/$1.log" && return 0
    sleep 0.05
  done
  echo "demo: $1 did not show '$2' within 20 seconds" >&2
  return 1
}

cat >"$work/ada.script" <<'END'
wait-for ben has joined
wait-for cleo has joined
say welcome to the room
wait-for cleo: glad to be here
wait-for ben: same here
wait-for cleo's connection was lost
say what happened to cleo?
wait-for ben: killed, it seems
wait-for ben has left
END
cat >"$work/ben.script" <<'END'
wait-for cleo has joined
wait-for cleo: glad to be here
say same here
wait-for cleo's connection was lost
wait-for ada: what happened to cleo?
say killed, it seems
END
cat >"$work/cleo.script" <<'END'
wait-for ada: welcome to the room
say glad to be here
wait-for ben: same here
stay
END

start ada serve --listen 127.0.0.1:0
wait_for ada "the room is open at "
address=$(sed -n 's/^\* the room is open at //p' "$work/ada.log")
start ben join --transport shm --connect "$address"
wait_for ada "ben has joined"
start cleo join --transport tcp --connect "$address"
wait_for cleo "ben: same here"

echo "demo: killing cleo's process (SIGKILL)"
kill -KILL "${pids[cleo]}"
wait "${pids[cleo]}" 2>/dev/null || true
unset 'pids[cleo]'

failed=no
for name in ben ada; do
  status=0
  # A script gives up by itself when a line does not arrive; this is for a process that hangs.
  timeout 60 tail --pid="${pids[$name]}" -f /dev/null || { echo "demo: $name does not end" >&2; kill -KILL "${pids[$name]}"; }
  wait "${pids[$name]}" || status=$?
  unset "pids[$name]"
  if [[ $status -ne 0 ]]; then
    echo "demo: $name ended with status $status" >&2
    failed=yes
  fi
done

# expect NAME TEXT: that line must have been shown.
expect() {
  if ! wait_for "$1" "$2"; then
    failed=yes
  fi
}
expect ben "over shared memory (shm)"
expect cleo "over tcp"
for name in ada ben cleo; do
  expect "$name" "ada: welcome to the room"
  expect "$name" "cleo: glad to be here"
  expect "$name" "ben: same here"
done
for name in ada ben; do
  expect "$name" "cleo's connection was lost"
  expect "$name" "ada: what happened to cleo?"
  expect "$name" "ben: killed, it seems"
done

if [[ $failed == yes ]]; then
  echo "demo: FAILED"
  exit 1
fi
echo "demo: every line arrived"
