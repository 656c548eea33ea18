#!/usr/bin/env bash
# Compiles transport/ against the UCX headers of newer Debian releases (trixie, sid), without installing them and
# without touching the system's package sources: everything happens below a temporary directory.
#
#   tests/nightly_ucx_headers.sh [SUITE...]    default: trixie sid
#
# Ends non-zero when something does not compile, and also when the packages cannot be fetched: then nothing was
# checked, and it says so.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
suites=("$@")
[[ ${#suites[@]} -gt 0 ]] || suites=(trixie sid)

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# apt drops to the user _apt for downloads.
chmod 755 "$work"

not_checked() {
  echo "######################################################################" >&2
  echo "## NOT CHECKED against UCX of $1: $2" >&2
  echo "######################################################################" >&2
}

# The Debian archive this system is configured with: its mirror for the running release's main component.
find_mirror() {
  local codename
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$codename" '$2 == suite && $3 == "main" { print $1; exit }'
}

# fetch SUITE MIRROR: unpacks libucx-dev and libucx0 of that suite into $work/SUITE/root.
fetch() {
  local suite=$1 mirror=$2 here=$work/$1
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed_by=''
  [[ -f $keyring ]] && signed_by="[signed-by=$keyring] "
  mkdir -p "$here"/{state/lists/partial,cache/archives/partial,root,debs}
  : >"$here/status"
  echo "deb ${signed_by}${mirror} ${suite} main" >"$here/sources.list"
  local private=(
    -o "Dir::Etc::SourceList=$here/sources.list" -o "Dir::Etc::SourceParts=/dev/null"
    -o "Dir::Etc::Preferences=/dev/null" -o "Dir::Etc::PreferencesParts=/dev/null"
    -o "Dir::State=$here/state" -o "Dir::State::status=$here/status" -o "Dir::Cache=$here/cache"
    -o "APT::Sandbox::User=root" -o "Acquire::Languages=none" -o "Acquire::Retries=3" -o "APT::Update::Error-Mode=any"
  )
  if ! {
    apt-get "${private[@]}" --quiet=2 update &&
      (cd "$here/debs" && apt-get "${private[@]}" --quiet=2 download libucx-dev libucx0)
  } >"$here/log" 2>&1; then
    tail -n 5 "$here/log" >&2
    return 1
  fi
  local deb
  for deb in "$here"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$here/root" || return 1
  done
}

# The include directory of the tree, links and generated protobuf headers, made here so that no build is needed.
mkdir -p "$work/include/troupe" "$work/generated"
for room in proto transport; do
  ln -s "$root/$room" "$work/include/troupe/$room"
done
for file in "$root"/proto/*.proto; do
  [[ -e $file ]] || continue
  protoc "--proto_path=$work/include" "--cpp_out=$work/generated" "$work/include/troupe/proto/$(basename "$file")" || exit 1
done

# compile_all SUITE: checks every source of transport/; those that do not use UCX take little time.
compile_all() {
  local headers=$work/$1/root/usr/include file bad=0 count=0 version
  if [[ ! -f $headers/ucp/api/ucp.h ]]; then
    not_checked "$1" "libucx-dev holds no ucp/api/ucp.h"
    return 1
  fi
  version=$(echo '#include <ucp/api/ucp_version.h>' | "${CXX:-g++}" -isystem "$headers" -E -dM -x c++ - |
    awk '$2 == "UCP_API_MAJOR" { major = $3 } $2 == "UCP_API_MINOR" { minor = $3 } END { print major "." minor }')
  for file in "$root"/transport/*.cpp; do
    count=$((count + 1))
    "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -DASIO_STANDALONE -DASIO_NO_DEPRECATED \
      -isystem "$headers" -I "$work/include" -isystem "$work/generated" "$file" || bad=$((bad + 1))
  done
  echo "UCX $version ($1): $count files of transport/, $bad did not compile"
  [[ $bad -eq 0 && $count -gt 0 ]]
}

mirror=$(find_mirror 2>/dev/null)
result=0
for suite in "${suites[@]}"; do
  if [[ -z $mirror ]]; then
    not_checked "$suite" "this system has no Debian mirror configured for its own release"
    result=1
  elif ! fetch "$suite" "$mirror"; then
    not_checked "$suite" "its packages could not be fetched from the configured Debian mirror"
    result=1
  else
    compile_all "$suite" || result=1
  fi
done
exit $result
