#!/usr/bin/env bash
# Installs the Debian packages Troupe is built from, those that are missing; does nothing when all are there.
#
#   samples/setup.sh          install what is missing
#   samples/setup.sh --list   print the packages and exit
set -euo pipefail

packages=(
  # to build
  g++ cmake ninja-build pkg-config protobuf-compiler
  libucx-dev libibverbs-dev libcaf-dev libprotobuf-dev libasio-dev libssl-dev libcli11-dev libspdlog-dev libfmt-dev
  nlohmann-json3-dev
  # to test and measure
  libgtest-dev libgmock-dev libbenchmark-dev ucx-utils iproute2 nftables python3
)

if [[ ${1:-} == --list ]]; then
  printf '%s\n' "${packages[@]}"
  exit 0
elif [[ $# -gt 0 ]]; then
  echo "setup: unknown argument '$1'; the only one is --list" >&2
  exit 2
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not a Debian system; install by hand what provides: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  # pkg-config may be a virtual package: what counts is the command.
  if [[ $package == pkg-config ]] && command -v pkg-config >/dev/null; then
    continue
  fi
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  # -n: a script must not stop at a password prompt.
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    echo "setup: missing packages: ${missing[*]}" >&2
    echo "setup: neither root nor able to use sudo without a password; run this as root, then try again:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi

echo "setup: installing ${missing[*]}"
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}
if ! apt update --quiet=2; then
  echo "setup: apt-get update failed; trying with the package lists already here" >&2
fi
if ! apt install --yes --quiet=2 --no-install-recommends "${missing[@]}"; then
  echo "setup: apt-get could not install: ${missing[*]}; see its messages above" >&2
  exit 1
fi
