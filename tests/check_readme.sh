#!/usr/bin/env bash
# Checks what README.md copies from the tree: the table of options, and the program of samples/hello/.
#
#   tests/check_readme.sh TROUPE             fails when one of them is out of date; TROUPE: the built `troupe` command
#   tests/check_readme.sh --update TROUPE    writes them into README.md
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
update=no
if [[ ${1:-} == --update ]]; then
  update=yes
  shift
fi
if [[ $# -ne 1 || $1 == -* ]]; then
  echo "check_readme: expected one argument, the built troupe command; --update before it rewrites README.md" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The table of defaults must not depend on where it is printed.
env -i PATH="$PATH" "$1" info --markdown >"$work/options"
{ echo '```cpp'; cat "$root/samples/hello/hello_main.cpp"; echo '```'; } >"$work/hello"

# part NAME: what stands between its markers in README.md, a line each of <!-- NAME --> and <!-- /NAME -->.
part() {
  sed -n "/^<!-- $1 -->\$/,/^<!-- \/$1 -->\$/{/^<!-- \/\{0,1\}$1 -->\$/!p}" "$root/README.md"
}

status=0
for name in options hello; do
  if [[ $(grep -cE "^<!-- /?$name -->\$" "$root/README.md") -ne 2 ]]; then
    echo "check_readme: README.md needs one line <!-- $name --> and one line <!-- /$name -->" >&2
    exit 1
  fi
  if part "$name" | cmp -s - "$work/$name"; then
    continue
  fi
  if [[ $update == yes ]]; then
    sed -i -e "/^<!-- $name -->\$/,/^<!-- \/$name -->\$/{/^<!-- \/\{0,1\}$name -->\$/!d}" \
      -e "/^<!-- $name -->\$/r $work/$name" "$root/README.md"
    echo "check_readme: wrote <!-- $name -->"
  else
    echo "check_readme: <!-- $name --> in README.md is out of date; tests/check_readme.sh --update $1 rewrites it:" >&2
    diff <(part "$name") "$work/$name" >&2 || true
    status=1
  fi
done
exit "$status"
