#!/usr/bin/env bash
# Runs many rounds of two clients and a server (Tests/StrataRemoteTests/Refresh/SyncSimulation.swift), in several processes. Prints what
# failed and one closing line; fails if anything failed or nothing ran.
#
#     Tests/refresh-simulation.sh [rounds [first seed]]
#
# To see a failure again:  STRATA_SYNC_SEED=… STRATA_SYNC_ROUNDS=1 STRATA_SYNC_TRACE=1 swift test --filter SyncSimulationTests
# STRATA_SYNC_JOBS says how many processes there are, and STRATA_SYNC_BUILD where the build goes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export STRATA_REMOTE=1 SWIFT_BACKTRACE=enable=no LC_ALL=C.UTF-8 NO_COLOR=1
rounds=${1:-1000}
first=${2:-$((RANDOM * 32768 + RANDOM))}
jobs=${STRATA_SYNC_JOBS:-$(getconf _NPROCESSORS_ONLN)}
build=${STRATA_SYNC_BUILD:-.build-remote}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

swift build --build-tests --scratch-path "$build" --disable-automatic-resolution >"$work/build.log" 2>&1 || {
  tail -n 20 "$work/build.log"
  exit 1
}
program=$(swift build --build-tests --scratch-path "$build" --disable-automatic-resolution --show-bin-path)/StrataPackageTests.xctest

# Short runs, so that a crash or a hang loses little.
run=50
share=$(((rounds + jobs - 1) / jobs))
for ((job = 0; job < jobs; job++)); do
  (
    end=$(((job + 1) * share))
    [ "$end" -gt "$rounds" ] && end=$rounds
    for ((at = job * share; at < end; at += run)); do
      count=$((end - at < run ? end - at : run))
      log=$work/$at.log
      STRATA_SYNC_SEED=$((first + at)) STRATA_SYNC_ROUNDS=$count timeout 1200 "$program" --testing-library swift-testing \
        --filter SyncSimulationTests >"$log" 2>&1
      code=$?
      [ "$code" -gt 1 ] && printf 'ended with %s: seeds from %s, %s rounds\n' "$code" $((first + at)) "$count" >>"$log"
    done
  ) &
done
wait

grep -hE '^✘ Test .* recorded an issue|^↳|^ended with' "$work"/*.log | head -n 40
ran=$(sed -nE 's/^refreshing: ([0-9]+) rounds.*/\1/p' "$work"/*.log | awk '{ sum += $1 } END { print sum + 0 }')
failures=$(grep -hcE '^✘ Test .* recorded an issue|^ended with' "$work"/*.log | awk '{ sum += $1 } END { print sum + 0 }')
printf 'refresh simulation: %s rounds, seeds %s…%s, %s failures\n' "$ran" "$first" $((first + rounds - 1)) "$failures"
[ "$ran" -eq "$rounds" ] && [ "$failures" -eq 0 ]
