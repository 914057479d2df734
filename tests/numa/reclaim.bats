#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-nodes movable
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# nodereclaim flush by the patched kernel, on one NUMA node, on all, many at once.

load common

setup() {
	local n
	for n in $with_memory; do
		read_on "$n" "file$n" 300
	done
}

# need MB NID: a SIZE that is this many MB above what is allocatable there
need() {
	local free
	read -r free _ < <(nid=$2 allocatable_kb)
	echo $((free + $1 * 1024))K
}

others() {
	# shellcheck disable=SC2086 # words
	printf '%s\n' $with_memory | grep -vx "$1"
}

@test "backends: the system call is there for each NUMA node with memory" {
	[[ $("$nodereclaim" backends --json | jq -r '.backends[] | select(.name == "syscall") | "\(.nodes) \(.usable)"') == \
		"$(<$nodes/has_memory) true" ]]
}

@test "each NUMA node in turn: what is missing, at most 1 % more, and no other's cache" {
	local n size gone
	for n in $with_memory; do
		size=$(need 200 "$n")
		count before
		"$nodereclaim" flush --json --nodes "$n" "$size" >"$BATS_TEST_TMPDIR/json"
		count after
		gone=$(lost "cache$n")
		echo "# $BATS_TEST_DESCRIPTION: $n: 204800 kB needed, $gone kB freed" >&3
		[[ $(jq -r '.nodes[0].backend' "$BATS_TEST_TMPDIR/json") == syscall ]]
		((gone >= 200 * 1024 * 97 / 100 && gone <= 200 * 1024 * 101 / 100))
		# shellcheck disable=SC2046 # words
		kept $(others "$n")
		not_swapped
	done
}

@test "again at once: nothing is freed" {
	local size
	size=$(need 100 0)
	"$nodereclaim" flush --nodes 0 "$size"
	count before
	"$nodereclaim" flush --nodes 0 "${size%K}K"
	count after
	(($(lost cache0) <= 4096))
}

@test "all of all NUMA nodes at once: no clean cache is left" {
	local n
	count before
	"$nodereclaim" flush
	count after
	for n in $with_memory; do
		((${after[clean$n]} <= ${before[clean$n]} / 50 + 2048)) || fail "node $n: ${after[clean$n]} kB are left"
	done
	not_swapped
}

@test "16 at once on one NUMA node free no more than one of them" {
	local i size gone pids=()
	size=$(need 200 0)
	count before
	for ((i = 0; i < 16; i++)); do
		"$nodereclaim" flush --nodes 0 "$size" >/dev/null 2>&1 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || true
	done
	count after
	gone=$(lost cache0)
	echo "# $BATS_TEST_DESCRIPTION: 204800 kB needed, $gone kB freed" >&3
	# The programs need memory themselves
	((gone >= 190 * 1024 && gone <= 260 * 1024))
	# shellcheck disable=SC2046 # words
	kept $(others 0)
	not_swapped
}

@test "a signal ends it, and what was freed is reported" {
	local pid
	fill_node 0
	"$nodereclaim" flush --json --nodes 0 >"$BATS_TEST_TMPDIR/json" 3>&- &
	pid=$!
	sleep 0.3
	kill "$pid"
	wait "$pid" || true
	jq -e '.nodes[0].end == "cancelled" or .nodes[0].end == "done"' "$BATS_TEST_TMPDIR/json" ||
		[[ ! -s $BATS_TEST_TMPDIR/json ]]
}

@test "an ordinary user may not" {
	run --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$nodereclaim" flush --nodes 0
	[[ $status == 3 ]]
}
