#!/usr/bin/env bash
# fires.sh PROGRAM BUG TEXT: succeeds when PROGRAM, run with BUG, fails with TEXT in what it prints.
set -u
output=$("$1" "$2" 2>&1)
status=$?
if [[ $status -ne 0 && $output == *"$3"* ]]; then
  echo "reported, exit status $status: $3"
  exit 0
fi
echo "the sanitizer did not report '$3' (exit status $status); the program printed:"
echo "$output"
exit 1
