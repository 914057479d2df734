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
	"$nodereclaim" flush --nodes 0 "$size"
	count after
	((before[clean0] >= 150 * 1024)) || fail "only ${before[clean0]} kB could be freed"
	(($(lost cache0) <= 4096))
}

@test "a dry run plans for the NUMA nodes that are named, and frees nothing" {
	local last=${with_memory##*$'\n'} to_free
	count before
	"$nodereclaim" flush --dry-run --json --nodes "$last" >"$BATS_TEST_TMPDIR/json"
	count after
	[[ $(jq -r '.nodes | map(.node) | join(" ")' "$BATS_TEST_TMPDIR/json") == "$last" ]]
	to_free=$(($(jq '.nodes[0].to_free' "$BATS_TEST_TMPDIR/json") / 1024))
	((to_free >= 290 * 1024 && to_free <= ${before[clean$last]} + 8192)) || fail "$to_free kB are planned for"
	# shellcheck disable=SC2086 # words
	kept $with_memory
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
	local pid end=$((SECONDS + 60)) status=0 json=$BATS_TEST_TMPDIR/json
	count before
	# Half a second before each slice, so that the signal comes between two of them
	strace -D -f -qq -o "$json.trace" -e trace=none -e inject=sched_setaffinity:delay_enter=500000 \
		"$nodereclaim" flush --json --nodes 0 >"$json" 2>"$json.err" 3>&- &
	pid=$!
	until count after && (($(lost cache0) >= 8192)); do
		((SECONDS < end)) || fail "$(lost cache0) kB of cache went in a minute"
	done
	kill "$pid"
	wait "$pid" || status=$?
	count after
	cat "$json.err"
	jq -c '.nodes[0] | del(.before, .after)' "$json"
	[[ $status == 1 && $(<"$json.err") == *"signal 15"* && $(jq -r '.nodes[0].end' "$json") == cancelled ]]
	(($(jq '.nodes[0].freed' "$json") / 1024 * 100 >= $(lost cache0) * 90))
	((after[clean0] >= before[clean0] / 2)) || fail "only ${after[clean0]} kB are left"
}

@test "an ordinary user may not" {
	run --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$nodereclaim" flush --nodes 0
	[[ $status == 3 ]]
}
