#!/usr/bin/env bash
# Runs many rounds of the simulations of merging (Tests/StrataCoreTests/Merge/Simulation), in release mode and in several
# processes. Prints what failed and one closing line; fails if anything failed or nothing ran.
#
#     Tests/merge-simulation.sh [rounds [first seed]]
#
# To see a failure again:  STRATA_MERGE_SEED=… swift test --filter Simulation
# STRATA_MERGE_JOBS says how many processes there are, and STRATA_MERGE_BUILD where the build goes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export STRATA_CORE=1 SWIFT_BACKTRACE=enable=no LC_ALL=C.UTF-8 NO_COLOR=1
rounds=${1:-100000}
first=${2:-$((RANDOM * 32768 * 32768 + RANDOM * 32768 + RANDOM))}
jobs=${STRATA_MERGE_JOBS:-$(getconf _NPROCESSORS_ONLN)}
build=${STRATA_MERGE_BUILD:-.build-simulation}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path "$build" --disable-automatic-resolution >"$work/build.log" 2>&1 || {
  tail -n 20 "$work/build.log"
  exit 1
}
program=$(swift build -c release -Xswiftc -enable-testing --scratch-path "$build" --disable-automatic-resolution --show-bin-path)/StrataPackageTests.xctest

# Short runs, one after the other in each process, so that a crash loses little and memory stays small.
run=2000
share=$(((rounds + jobs - 1) / jobs))
for ((job = 0; job < jobs; job++)); do
  (
    start=$((job * share)) end=$(((job + 1) * share))
    [ "$end" -gt "$rounds" ] && end=$rounds
    for ((at = start; at < end; at += run)); do
      count=$((end - at < run ? end - at : run))
      log=$work/$at.log
      STRATA_MERGE_FIRST=$((first + at)) STRATA_MERGE_ROUNDS=$count STRATA_MERGE_STORIES=${STRATA_MERGE_STORIES:-2} \
        "$program" --testing-library swift-testing --filter 'SimulationTests/rounds' >"$log" 2>&1
      code=$?
      # A test that fails makes 1; anything else is a crash.
      [ "$code" -gt 1 ] && printf 'crashed with %s: seeds from %s, %s rounds\n' "$code" $((first + at)) "$count" >>"$log"
    done
  ) &
done
wait

grep -hE '^  [0-9]+ × ' "$work"/*.log | sed -E 's/, seed [0-9]+$//' |
  awk '{ n = $1; $1 = ""; counts[$0] += n } END { for (name in counts) print counts[name] name }' | sort -rn | head -n 40
grep -hE '^crashed' "$work"/*.log
# The first stories are enough; the seeds of the others stand above them in their logs.
cat "$work"/*.log | awk '/STRATA_MERGE_SEED=/ { shown++; inside = shown <= 12 } /^(✘|✔|◇)/ { inside = 0 } inside'
read -r ran failures < <(
  grep -hE '^(simulation|graphs): ' "$work"/*.log |
    sed -E 's/^[a-z]+: ([0-9]+) rounds,.* ([0-9]+) failures.*/\1 \2/' |
    awk '{ rounds += $1; failures += $2 } END { print rounds + 0, failures + 0 }')
crashes=$(grep -hcE '^crashed' "$work"/*.log | awk '{ sum += $1 } END { print sum + 0 }')
others=$(grep -hE '^✘ Test .* recorded an issue' "$work"/*.log | grep -vcE 'SimulationTests\.swift')
printf 'merge simulation: %s rounds of documents and graphs, seeds %s…%s, %s failures, %s crashes\n' \
  "$ran" "$first" $((first + rounds - 1)) "$failures" "$crashes"
[ "$ran" -eq $((2 * rounds)) ] && [ "$failures" -eq 0 ] && [ "$crashes" -eq 0 ] && [ "$others" -eq 0 ]
