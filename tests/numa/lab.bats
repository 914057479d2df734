#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched stock-6.12 stock-6.1 on four-nodes
# shellcheck disable=SC2154 # counters that count sets
# The laboratory itself: the other tests count on this.

load common

@test "the kernel is the one that was asked for" {
	case $NR_NUMA_KERNEL in
	stock-*) [[ $(uname -r) == "${NR_NUMA_KERNEL#stock-}".* ]] ;;
	*) [[ -e /sys/kernel/mm/node_reclaim/abi_version ]] ;;
	esac
}

@test "the NUMA nodes are those of the topology" {
	[[ $(<$nodes/online) == 0-3 ]]
	[[ $(<$nodes/has_memory) == 0-1,3 ]]
	[[ $(<$nodes/has_cpu) == 0-2 ]]
	[[ $(<$nodes/node2/distance) == "26 21 10 31" ]]
}

@test "the control groups are version 2 and nothing else, with cpuset and memory" {
	[[ $(awk '$3 ~ /^cgroup/ { print $2, $3 }' /proc/mounts) == "/sys/fs/cgroup cgroup2" ]]
	[[ " $(</sys/fs/cgroup/cgroup.subtree_control) " == *" cpuset "*" memory "* ]]
}

@test "there is swap, and the host's files cannot be written" {
	grep -q '^/dev/vdb' /proc/swaps
	run ! touch "$NR_SRC/file"
	run ! touch /etc/file
}

@test "page cache is on the NUMA node that it is made on, and evenly on no other" {
	local n key
	for n in $with_memory; do
		count before
		read_on "$n" file 200
		count after
		for key in $with_memory; do
			if [[ $key == "$n" ]]; then
				(($(rose "cache$key") >= 200 * 1024 - 256)) || fail "node $key: $(rose "cache$key") kB"
			else
				(($(rose "cache$key") <= 8 * 1024)) || fail "node $key: $(rose "cache$key") kB"
			fi
		done
		rm $data/file
	done
}

# The experiment of 2005, as every kernel since has done it
@test "a NUMA node full of clean cache: the kernel goes elsewhere" {
	local lru
	for lru in $lrus; do
		lru "$lru"
		fill_node 0
		fill_node 1
		count before
		numactl --cpunodebind=0 "$NR_TOOLS/alloc" 880 >"$BATS_TEST_TMPDIR/alloc"
		count after
		cat "$BATS_TEST_TMPDIR/alloc"
		(($(local_percent 0 "$BATS_TEST_TMPDIR/alloc") < 15))
		not_swapped
	done
}
