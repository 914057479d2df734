#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-nodes
# shellcheck disable=SC2154 # counters that count sets
# The experiment of 2005: NUMA node 0 is full of clean cache, as is node 1, node 3 has room; a program
# on node 0 touches 60 % of it. lab.bats has what the kernel does by itself.

load common

mb=880

setup_file() {
	empty
	short_lists
}

teardown_file() {
	usual_lists
}

setup() {
	fill_node 0
	fill_node 1
	read_on 3 file3 50
	out=$BATS_TEST_TMPDIR/alloc
}

teardown() {
	unshare_all
	rmdir /sys/fs/cgroup/elsewhere 2>/dev/null || true
}

# alloc COMMAND...: by how much the counters rise meanwhile, and what is left to be allocated, while the
# memory is held. Not in zone DMA: its 10 MB are the last that the kernel gives, after any cache.
alloc() {
	local pid
	count before
	mkfifo "$out.fifo"
	numactl --cpunodebind=0 "$@" --hold $mb <"$out.fifo" >"$out" 3>&- &
	pid=$!
	exec 7>"$out.fifo"
	while kill -0 $pid && ! grep -q ^pswpout= "$out"; do
		sleep 0.1
	done
	count after
	read -r left _ < <(nid=0 without=DMA allocatable_kb)
	exec 7>&-
	wait $pid
	rm "$out.fifo"
	paste -sd ' ' "$out"
}

# freed KB PERCENT: at most so many percent more than that of node 0's cache is gone; no other NUMA
# node's, and nothing went to swap
freed() {
	local gone
	gone=$(lost cache0)
	echo "# $BATS_TEST_DESCRIPTION: $1 kB needed, $gone kB freed" >&3
	kept 1 3
	not_swapped
	((gone <= $1 * (100 + $2) / 100)) || fail "$gone kB of cache are gone, $1 were needed"
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

# What alloc got: on NUMA node 0, and in huge pages
all_local() {
	(($(pages 0 "$out") * 1000 >= mb * 256 * 999)) || fail "$(pages 0 "$out") of $((mb * 256)) pages are local"
}
all_huge() {
	local huge
	huge=$(sed -n 's/^huge=//p' "$out")
	((huge * 100 >= mb * 256 * 95)) || fail "$huge of $((mb * 256)) pages are huge"
}

# What alloc had freed for it and did not take: 1 % at most. No other NUMA node lost cache.
no_more_freed() {
	echo "# $BATS_TEST_DESCRIPTION: $(lost cache0) kB freed, $left kB were not needed" >&3
	((left <= mb * 1024 / 100)) || fail "$left kB were freed beyond need"
	kept 1 3
	not_swapped
}

# policy_local LRU ARGUMENT...: of alloc
policy_local() {
	lru "$1"
	alloc "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" "${@:2}"
	all_local
	grep -q 'policy=local=localreclaim' "$out"
	no_more_freed
}

policy_local_huge() {
	policy_local "$1" --threads "$2" --huge
	all_huge
}

@test "flush first, then all of it is local: multi-gen LRU" { flush_first mglru; }
@test "flush first, then all of it is local: classic LRU" { flush_first classic; }
@test "policy=local, 1 thread, small pages: multi-gen LRU" { policy_local mglru --threads 1 --small; }
@test "policy=local, 1 thread, small pages: classic LRU" { policy_local classic --threads 1 --small; }
@test "policy=local, 8 threads, small pages: multi-gen LRU" { policy_local mglru --threads 8 --small; }
@test "policy=local, 8 threads, small pages: classic LRU" { policy_local classic --threads 8 --small; }
@test "policy=local, 1 thread, huge pages: multi-gen LRU" { policy_local_huge mglru 1; }
@test "policy=local, 1 thread, huge pages: classic LRU" { policy_local_huge classic 1; }
@test "policy=local, 8 threads, huge pages: multi-gen LRU" { policy_local_huge mglru 8; }
@test "policy=local, 8 threads, huge pages: classic LRU" { policy_local_huge classic 8; }

@test "policy=local and several preferred NUMA nodes: small and huge pages" {
	local size
	for size in small huge; do
		fill_node 0
		fill_node 1
		alloc numactl --preferred-many=0,1 "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" --$size
		grep -q 'policy=prefer(many)=localreclaim:0-1' "$out"
		(($(pages 0 "$out") + $(pages 1 "$out") == mb * 256))
		kept 1 3
		not_swapped
	done
	all_local
	all_huge
}

# Shared memory of other programs counts as mapped, which clean cache is not
@test "policy=local beside mapped shared memory" {
	local mb=560 free
	"$nodereclaim" flush --nodes 0 >/dev/null
	shared 0 600
	hog --map /mnt/tmpfs/file 600
	read -r free _ < <(nid=0 allocatable_kb)
	read_on 0 full0 $((free / 1024 - 32))
	alloc "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" --small
	all_local
	no_more_freed
}

@test "huge pages come from elsewhere when there is no room: on a full NUMA node, outside a cpuset" {
	local mb=200 free small group=/sys/fs/cgroup/elsewhere
	mkdir -p $group
	echo 3 >$group/cpuset.mems
	# shellcheck disable=SC2016 # for the inner shell
	alloc bash -c 'echo 0 >"$1"/cgroup.procs && exec "${@:2}"' - $group \
		"$NR_TOOLS/policy" local "$NR_TOOLS/alloc" --huge
	rmdir $group
	(($(pages 3 "$out") == mb * 256))
	all_huge
	"$nodereclaim" flush --nodes 0 >/dev/null
	read -r free _ < <(nid=0 allocatable_kb)
	# Not all: it must not be killed for memory
	coproc HOG { exec numactl --membind=0 "$NR_TOOLS/hog" $((free / 1024 - 32)) 3>&-; }
	read -r <&"${HOG[0]}"
	alloc "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" --huge
	kill -0 "$HOG_PID"
	# The 32 MB, and what is on the lists of CPUs and in zone DMA: the last of it as small pages
	(($(pages 0 "$out") < mb * 256 / 2))
	small=$((mb * 256 - $(sed -n 's/^huge=//p' "$out")))
	((small <= $(pages 0 "$out"))) || fail "$small pages are small, $(pages 0 "$out") local"
	not_swapped
}

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
