#!/usr/bin/env bash
# Kills processes that save to one store, one and two at a time, and that upgrade, prune, restore, back up and change the tables
# beside one that saves, many times (Tests/StrataStoreTests, StoreProcessTests).
# Prints what failed and one closing line; fails if anything failed or nothing ran.
#
#     Tests/store-simulation.sh [kills]
#
# To see a failure again:  STRATA_PROCESS_SEED=… STRATA_PROCESS_ROUNDS=… swift test --filter StoreProcessTests
# STRATA_PROCESS_BUILD says where the build goes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export STRATA_STORE=1 SWIFT_BACKTRACE=enable=no LC_ALL=C.UTF-8 NO_COLOR=1
kinds=7
rounds=$(((${1:-3000} + kinds - 1) / kinds))
build=${STRATA_PROCESS_BUILD:-.build-store-processes}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path "$build" >"$log" 2>&1 || {
  tail -n 20 "$log"
  exit 1
}
program=$(swift build -c release -Xswiftc -enable-testing --scratch-path "$build" --show-bin-path)/StrataPackageTests.xctest
STRATA_PROCESS_ROUNDS=$rounds "$program" --testing-library swift-testing --filter 'StoreProcessTests/kills' >"$log" 2>&1
status=$?
grep -E '^store: |^✘' "$log"
done=$(sed -nE 's/^store: ([0-9]+) kills.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
printf 'store simulation: %s kills, exit %s\n' "$done" "$status"
[ "$status" -eq 0 ] && [ "$done" -eq $((rounds * kinds)) ]
