#!/usr/bin/env bash
# Builds the release preset and measures Troupe beside raw UCX and CAF's io module on this machine.
#
#   bench/run.sh [--quick] [--json FILE] [--only CASE]...
#
# --quick   under 3 minutes (the build not counted) instead of about 15: shorter and fewer runs
# --json    writes the figures as an array of {case, transport, metric, unit, troupe, raw_ucx, caf_io}
# --only    rtt, rate, bulk, down, idle or memory; may be given several times; all if not given
#
# The table says which of the bars the figures meet. Exit status 0: everything was measured; 1: something could not
# be, or the build failed; 2: usage. Measure on a machine that does nothing else: both CPUs used are kept busy.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) arguments+=(--quick); shift ;;
    --json | --only)
      [[ $# -ge 2 ]] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      value=$2
      # The driver runs in another directory.
      [[ $1 == --json && $value != /* ]] && value=$PWD/$value
      arguments+=("$1" "$value"); shift 2 ;;
    -h | --help) sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; --help lists them" >&2; exit 2 ;;
  esac
done

cd "$root"
[[ -x samples/setup.sh ]] && samples/setup.sh
mkdir -p build
log=build/bench.build.log
if ! { cmake --preset release && cmake --build --preset release -j "$(nproc)" --target bench_driver bench_troupe bench_caf_io; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "run.sh: the build failed; all of its output is in $log" >&2
  exit 1
fi
exec build/release/bin/bench_driver "${arguments[@]}"
