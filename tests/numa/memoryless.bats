#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 on four-nodes
# shellcheck disable=SC2154 # bats sets them
# A NUMA node without memory, and one without CPUs.

load common

nr() {
	run --separate-stderr "$nodereclaim" "$@"
}

@test "the CPUs of the memoryless NUMA node are served by the nearest" {
	nr status --cpus "$(<$nodes/node2/cpulist)" --noheadings --raw --output NODE,SERVES
	[[ $status == 0 && $output == "1 2" ]]
}

@test "the NUMA node without CPUs serves none" {
	nr status --noheadings --raw --output NODE,CPUS,SERVES
	[[ $output == $'0 2 2\n1 2 4\n2 2 0\n3 0 0' ]]
}

@test "flush is for NUMA nodes with memory: by default all of them, another is an error" {
	nr flush --dry-run --json
	[[ $(jq -r '.nodes | map(.node) | join(" ")' <<<"$output") == "0 1 3" ]]
	nr flush --dry-run --nodes 2
	[[ $status == 2 && $stderr == *2*memory* ]]
}

@test "backends are told for NUMA nodes with memory" {
	nr backends --json
	[[ $(jq -r '.backends | map(.nodes) | unique | join(" ")' <<<"$output") == 0-1,3 ]]
}
