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

# nearest NID: the NUMA node with memory that is nearest to it
nearest() {
	paste <(words "$(<$nodes/online)") <(tr ' ' '\n' <"$nodes/node$1/distance") |
		awk -v memory=" ${with_memory//$'\n'/ } " '
			index(memory, " " $1 " ") && (near == "" || $2 < best) { near = $1; best = $2 }
			END { print near }'
}

@test "each CPU is served by one NUMA node, by the kernel's distances" {
	local n near cpus
	local -A serves=()
	status
	for n in $(words "$(<$nodes/online)"); do
		cpus=$(words "$(<"$nodes/node$n/cpulist")" | wc -l)
		[[ $(of "$n" cpus) == "$cpus" ]]
		near=$(nearest "$n")
		serves[$near]=$((${serves[$near]-0} + cpus))
	done
	for n in $(words "$(<$nodes/online)"); do
		[[ $(of "$n" serves) == "${serves[$n]-0}" ]] || fail "NUMA node $n serves $(of "$n" serves) CPUs"
	done
}
