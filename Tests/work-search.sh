#!/usr/bin/env bash
# Looks for small inputs that cause much work in each reader (Tests/StrataCoreTests/Fuzz, WorkSearchTests). Prints the ten worst
# of each; fails where one ends the process or breaks what a trial says.
#
#     Tests/work-search.sh [seconds for each reader [folder for what is found]]
#
# STRATA_SEARCH_BUILD says where the build goes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export STRATA_CORE=1 SWIFT_BACKTRACE=enable=no LC_ALL=C.UTF-8 NO_COLOR=1
seconds=${1:-600}
build=${STRATA_SEARCH_BUILD:-.build-search}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ -n "${2:-}" ] && export STRATA_SEARCH_OUT=$2

swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path "$build" --disable-automatic-resolution >"$log" 2>&1 || {
  tail -n 20 "$log"
  exit 1
}
program=$(swift build -c release -Xswiftc -enable-testing --scratch-path "$build" --disable-automatic-resolution --show-bin-path)/StrataPackageTests.xctest
# What is freed goes back to the system, or the next input would find it there and seem to need none.
export MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=262144
# What takes more memory than this is a finding, too.
ulimit -v 4000000
STRATA_SEARCH_SECONDS=$seconds "$program" --testing-library swift-testing --filter 'WorkSearchTests/search' >"$log" 2>&1
status=$?
grep -E '^work: |^✘' "$log"
ran=$(grep -cE '^work: [a-z]+ [0-9]+ runs' "$log")
printf 'work search: %s readers, %s s each, exit %s\n' "$ran" "$seconds" "$status"
[ "$status" -eq 0 ] && [ "$ran" -gt 0 ]
