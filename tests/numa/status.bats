#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 on four-nodes eight-nodes movable
# shellcheck disable=SC2154 # counters that count sets
# What the commands say about several NUMA nodes, and that looking changes nothing.

load common

# close A B NAME: two sizes in kB, read in moments that are not the same: meanwhile pages come to the
# lists of CPUs and go
close() {
	(($1 - $2 <= 16384 && $2 - $1 <= 16384)) || fail "$3: $1 kB and $2 kB"
}

status() {
	"$nodereclaim" status --json >"$BATS_TEST_TMPDIR/json"
}

# of NID MEMBER
of() {
	jq -r ".nodes[] | select(.node == $1) | .$2" "$BATS_TEST_TMPDIR/json"
}

@test "status has each NUMA node as the kernel has it" {
	local n free lists
	for n in $with_memory; do
		read_on "$n" "file$n" $((50 + 10 * n))
	done
	status
	count after
	[[ $(jq '.nodes | map(.node) | join(" ")' -r "$BATS_TEST_TMPDIR/json") == "$(words "$(<$nodes/online)" | xargs)" ]]
	for n in $with_memory; do
		((${after[MemTotal$n]} * 1024 == $(of "$n" total)))
		close "${after[MemFree$n]}" $(($(of "$n" free) / 1024)) free
		close "${after[clean$n]}" $(($(of "$n" clean) / 1024)) clean
		read -r free lists < <(nid=$n allocatable_kb)
		close $((free - lists)) $(($(of "$n" allocatable) / 1024)) allocatable
	done
}

@test "each CPU is served by one NUMA node, by the kernel's distances" {
	local n
	status
	for n in $(words "$(<$nodes/online)"); do
		[[ $(of "$n" cpus) == "$(words "$(<"$nodes/node$n/cpulist")" | wc -l)" ]]
	done
	[[ $(jq '.nodes | map(.serves) | add' "$BATS_TEST_TMPDIR/json") == "$(getconf _NPROCESSORS_ONLN)" ]]
}

@test "a dry run plans for the NUMA nodes that are named, and touches nothing" {
	local last=${with_memory##*$'\n'}
	read_on "$last" "file$last" 100
	count before
	"$nodereclaim" flush --dry-run --json --nodes "$last" >"$BATS_TEST_TMPDIR/json"
	count after
	[[ $(jq -r '.nodes | map(.node) | join(" ")' "$BATS_TEST_TMPDIR/json") == "$last" ]]
	close $(($(jq '.nodes[0].to_free' "$BATS_TEST_TMPDIR/json") / 1024)) "${before[clean$last]}" to_free
	# shellcheck disable=SC2086 # words
	kept $with_memory
}
