#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#
#   tests/run.sh [--scale ci|nightly] [--preset release|asan|dev|all] [--werror]
#
# --scale    how much each test does: ci (default) is sized for a small machine, nightly takes hours
# --preset   all (default) is release, then asan
# --werror   treat compiler warnings as errors
#
# Further arguments for ctest, after --, apply to each run: tests/run.sh --preset dev -- -R transport
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
scale=${TROUPE_TEST_SCALE:-ci} preset=all werror=OFF ctest_arguments=()
usage() { sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --scale) scale=${2:-}; shift $(($# > 1 ? 2 : 1)) ;;
    --preset) preset=${2:-}; shift $(($# > 1 ? 2 : 1)) ;;
    --werror) werror=ON; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; ctest_arguments=("$@"); break ;;
    *) echo "run.sh: unknown argument '$1'; --help lists them" >&2; exit 2 ;;
  esac
done
case $scale in
  ci) timeout=120 excluded='nightly' ;;
  nightly) timeout=3600 excluded='' ;;
  *) echo "run.sh: --scale is ci or nightly, not '$scale'" >&2; exit 2 ;;
esac
case $preset in
  all) presets=(release asan) ;;
  release | asan | dev) presets=("$preset") ;;
  *) echo "run.sh: --preset is release, asan, dev or all, not '$preset'" >&2; exit 2 ;;
esac
export TROUPE_TEST_SCALE=$scale

jobs=$(nproc)
report=() failed=no started=$SECONDS

# step NAME COMMAND...: runs it and notes how it went and how long it took.
step() {
  local name=$1 begin=$SECONDS outcome=ok
  shift
  echo "== $name"
  "$@" || { outcome=FAILED; failed=yes; }
  report+=("$(printf '%-7s %5d s  %s' "$outcome" $((SECONDS - begin)) "$name")")
  [[ $outcome == ok ]]
}

configure() {
  cmake --preset "$1" "-DTROUPE_WERROR=$werror" "-DTROUPE_TEST_TIMEOUT=$timeout" >"build/$1.configure.log" 2>&1 ||
    { cat "build/$1.configure.log"; return 1; }
}

# -k 0: one broken file must not hide the results of the tests that do build.
build() { cmake --build "build/$1" -j "$jobs" -- -k 0; }

run_tests() {
  local skip=$excluded
  # Sanitized timings mean nothing, and an installed package is the release build's.
  [[ $1 == asan ]] && skip="bench|install${skip:+|$skip}"
  ctest --test-dir "build/$1" -j "$jobs" --output-on-failure --no-tests=error ${skip:+-LE "$skip"} \
    "${ctest_arguments[@]}" 2>&1 | tee "build/$1.ctest.log"
  return "${PIPESTATUS[0]}"
}

mkdir -p build
if step "packages" samples/setup.sh; then
  for each in "${presets[@]}"; do
    if step "$each: configure" configure "$each"; then
      step "$each: build" build "$each"
      if [[ $each == "${presets[0]}" ]]; then
        step "layers and headers" tests/check_layers.sh --build "build/$each" --jobs "$jobs"
      fi
      step "$each: tests" run_tests "$each"
    fi
  done
  if [[ $scale == nightly ]]; then
    step "other UCX versions" tests/nightly_ucx_headers.sh
  fi
fi

echo
echo "== summary (scale $scale, $((SECONDS - started)) s)"
printf '%s\n' "${report[@]}"
for each in "${presets[@]}"; do
  if [[ -f build/$each.ctest.log ]]; then
    echo
    echo "$each:"
    # From the list of what failed, where there is one, else ctest's one summary line.
    sed -n '/^The following tests FAILED:/,/^Errors while running/p' "build/$each.ctest.log" | grep -v '^Errors while' || true
    grep -E '^[0-9]+% tests passed' "build/$each.ctest.log" || echo "no test ran"
  fi
done
[[ $failed == no ]]
