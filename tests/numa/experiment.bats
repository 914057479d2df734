#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-nodes
# shellcheck disable=SC2154 # counters that count sets
# The experiment of 2005: NUMA node 0 is full of clean cache, as is node 1, node 3 has room; a program
# on node 0 touches 60 % of it. lab.bats has what the kernel does by itself.

load common

mb=880

# Short lists of free pages for each CPU: what is on them is neither free nor in use, and tens of MB
# come and go.
setup_file() {
	empty
	echo 100000 >/proc/sys/vm/percpu_pagelist_high_fraction
}

teardown_file() {
	echo 0 >/proc/sys/vm/percpu_pagelist_high_fraction
}

setup() {
	fill_node 0
	fill_node 1
	read_on 3 file3 50
	out=$BATS_TEST_TMPDIR/alloc
}

# alloc COMMAND...: by how much the counters rise meanwhile
alloc() {
	count before
	numactl --cpunodebind=0 "$@" $mb >"$out"
	count after
	paste -sd ' ' "$out"
}

# freed KB PERCENT: so much of node 0's cache is gone, or at most so many percent more, and 4 MB for
# page tables and the programs' own memory; no other NUMA node's, and nothing went to swap
freed() {
	local gone
	gone=$(lost cache0)
	echo "# $BATS_TEST_DESCRIPTION: $1 kB needed, $gone kB freed" >&3
	kept 1 3
	not_swapped
	((gone <= $1 * (100 + $2) / 100 + 4096)) || fail "$gone kB of cache are gone, $1 were needed"
}

flush_first() {
	local need free
	lru "$1"
	# Room for the program itself, and for what moves meanwhile
	read -r free _ < <(nid=0 allocatable_kb)
	need=$(((mb + 16) * 1024))
	count before
	"$nodereclaim" flush --nodes 0 $((mb + 16))M
	count after
	freed $((need - free)) 1
	alloc "$NR_TOOLS/alloc"
	(($(pages 0 "$out") == mb * 256))
	((after[cache0] - before[cache0] >= -256))
	kept 1 3
	not_swapped
}

# policy_local LRU PERCENT ARGUMENT...: of alloc
policy_local() {
	local free lists percent=$2
	lru "$1"
	shift 2
	read -r free lists < <(nid=0 allocatable_kb)
	alloc "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" "$@"
	(($(pages 0 "$out") * 1000 >= mb * 256 * 999)) || fail "$(pages 0 "$out") of $((mb * 256)) pages are local"
	grep -q 'policy=local=localreclaim' "$out"
	freed $((mb * 1024 - free + lists)) "$percent"
}

# policy_local_huge LRU THREADS: threads at work at once free a block each, so that there may be a few more
policy_local_huge() {
	policy_local "$1" 2 --threads "$2" --huge
	(($(sed -n 's/^huge=//p' "$out") * 100 >= mb * 256 * 95)) ||
		fail "$(sed -n 's/^huge=//p' "$out") of $((mb * 256)) pages are huge"
}

@test "flush first, then all of it is local: multi-gen LRU" { flush_first mglru; }
@test "flush first, then all of it is local: classic LRU" { flush_first classic; }
@test "policy=local, 1 thread, small pages: multi-gen LRU" { policy_local mglru 1 --threads 1 --small; }
@test "policy=local, 1 thread, small pages: classic LRU" { policy_local classic 1 --threads 1 --small; }
@test "policy=local, 8 threads, small pages: multi-gen LRU" { policy_local mglru 1 --threads 8 --small; }
@test "policy=local, 8 threads, small pages: classic LRU" { policy_local classic 1 --threads 8 --small; }
@test "policy=local, 1 thread, huge pages: multi-gen LRU" { policy_local_huge mglru 1; }
@test "policy=local, 1 thread, huge pages: classic LRU" { policy_local_huge classic 1; }
@test "policy=local, 8 threads, huge pages: multi-gen LRU" { policy_local_huge mglru 8; }
@test "policy=local, 8 threads, huge pages: classic LRU" { policy_local_huge classic 8; }

@test "programs that use libnuma keep the flag" {
	run "$NR_TOOLS/policy" local numactl --physcpubind=0 "$NR_TOOLS/alloc" 1
	[[ $output == *policy=local=localreclaim* ]]
}

@test "the flag is added to a policy that the task has, but to no interleaving" {
	run numactl --preferred=1 "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" 1
	[[ $output == *policy=prefer=localreclaim:1* ]]
	run numactl --membind=3 "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" 1
	[[ $output == *policy=bind=localreclaim:3* ]]
	run numactl --interleave=0,1 "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" 1
	[[ $output == *policy=interleave:0-1* ]]
}
