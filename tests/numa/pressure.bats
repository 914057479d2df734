#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 stock-6.1 on four-nodes
# shellcheck disable=SC2154,SC2034 # counters that count sets; coprocesses
# Backend pressure: processes take memory of the NUMA node until cache goes, and give it back.

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
	rm -f $data/full*
	read_on 1 file1 200
	read_on 3 file3 50
}

# A neighbour's memory on node 0: 62 MB of a mapped file and 200 MB of its own
neighbour() {
	read_on 0 mapped 62
	coproc MAPPED { exec numactl --cpunodebind=0 "$NR_TOOLS/hog" --map $data/mapped 62 3>&-; }
	read -r <&"${MAPPED[0]}"
	exec {mapped_end}>&"${MAPPED[1]}"
	coproc HOG { exec numactl --membind=0 "$NR_TOOLS/hog" "${1:-200}" 3>&-; } 2>/dev/null
	read -r <&"${HOG[0]}"
}

pressure() {
	"$nodereclaim" flush --json --backend pressure --nodes 0 "$1,timeout=120,verbose" >"$BATS_TEST_TMPDIR/json" && return
	local status=$?
	jq -c '.nodes[0] | del(.before, .after, .held_by)' "$BATS_TEST_TMPDIR/json"
	return $status
}

# need MB: a SIZE that is so much above what is allocatable on node 0
need() {
	local free
	read -r free _ < <(nid=0 allocatable_kb)
	echo $((free + $1 * 1024))K
}

# The others have what they had: cache of other NUMA nodes, mapped and anonymous memory, swap, also of
# pages of zeros, which pswpout leaves out; and nobody was killed for memory. $1: how many kB of mapped
# pages may be missing, 1 MB if not given.
unharmed() {
	kept 1 3
	not_swapped
	((before[SwapFree] - after[SwapFree] <= 64)) || fail "$(lost SwapFree) kB of swap are in use"
	(($(lost Mapped0) <= ${1:-1024})) || fail "$(lost Mapped0) kB of mapped pages went"
	(($(lost AnonPages0) <= 1024)) || fail "$(lost AnonPages0) kB of anonymous memory went"
	((after[oom_kill] == before[oom_kill]))
	((after[HugePages_Total0] == before[HugePages_Total0]))
}

# Not per NUMA node
count_all() {
	count "$1"
	eval "$1[SwapFree]=$(sed -n 's/^SwapFree: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
}

# Free memory in blocks of a huge page or more, in kB
blocks() {
	awk '$2 == "0," { kb += $(NF - 1) * 2048 + $NF * 4096 } END { print kb }' /proc/buddyinfo
}

# is_taking MB: wait until so much of node 0 is taken
is_taking() {
	local try
	for ((try = 0; try < 600; try++)); do
		(($(sed -n 's/^Node 0 Mlocked: *\([0-9]*\) kB/\1/p' $nodes/node0/meminfo) < $1 * 1024)) || return 0
		sleep 0.05
	done
	fail "nothing is taken"
}

# settle LRU: on that LRU; the classic one after a first small request, as it takes a few anonymous
# pages in its first pass after files were read again that it had dropped; see "files that came back".
settle() {
	lru "$1"
	neighbour "${2:-200}"
	fill_node 0
	[[ $1 == mglru ]] || "$nodereclaim" flush --backend pressure --nodes 0 "$(need 4),timeout=120" >/dev/null || true
}

# just_enough LRU
just_enough() {
	local size gone was
	settle "$1"
	size=$(need 400)
	was=$(blocks)
	count_all before
	pressure "$size"
	count_all after
	gone=$(lost cache0)
	echo "# $BATS_TEST_DESCRIPTION: 409600 kB needed, $gone kB freed, $(($(blocks) - was)) kB in huge-page blocks" >&3
	jq -e '.nodes[0] | .backend == "pressure" and .end == "done"' "$BATS_TEST_TMPDIR/json"
	# Once woken, kswapd goes on until it looks again: a sixth more at the most, see nodereclaim(8)
	((gone >= 400 * 1024 * 99 / 100 && gone <= 400 * 1024 * 7 / 6)) || fail "$gone kB went"
	unharmed
	(($(blocks) - was >= 400 * 1024 * 9 / 10))
}
@test "what is missing goes, and nothing of anybody else: multi-gen LRU" { just_enough mglru; }
@test "what is missing goes, and nothing of anybody else: classic LRU" { just_enough classic; }

# all_of_it LRU MB: asked for more than there is, and no more than that is left
all_of_it() {
	settle "$1"
	count_all before
	run ! pressure 1400M
	count_all after
	echo "# $BATS_TEST_DESCRIPTION: ${after[clean0]} kB of ${before[clean0]} kB are left" >&3
	# 32 MB are kept, as much again as is mapped, up to 64 MB, and what kswapd would free beside;
	# on the classic LRU that much is inactive, with what is mapped (least_inactive()). On a busy host
	# kswapd takes 30 MB more before it is looked at, which harms nobody yet.
	((after[clean0] >= 48 * 1024 && after[clean0] <= $2 * 1024))
	unharmed
}
@test "the last of the cache stays, and with it what is mapped: multi-gen LRU" { all_of_it mglru 160; }
@test "the last of the cache stays, and with it what is mapped: classic LRU" { all_of_it classic 240; }

@test "cache in use: the classic LRU would swap or unmap, so it stays" {
	lru classic
	neighbour
	fill_node 0
	numactl --membind=0 cat $data/full0 $data/full0 >/dev/null
	count_all before
	((before[Active_file_0] > 10 * before[Inactive_file_0]))
	run ! pressure "$(need 400)"
	swapoff -a
	run ! pressure "$(need 400)"
	swapon /dev/vdb
	count_all after
	unharmed
	(($(lost cache0) <= 20480))
}

@test "cache in use, and nothing to swap or unmap: it goes" {
	lru classic
	fill_node 0
	numactl --membind=0 cat $data/full0 $data/full0 >/dev/null
	swapoff -a
	count_all before
	pressure "$(need 400)"
	count_all after
	swapon /dev/vdb
	# Of the few MB that the shells have mapped the kernel takes what is idle; from 2 MB on it is noticed
	unharmed 2048
	(($(lost cache0) >= 400 * 1024 * 99 / 100))
}

# experiment LRU: see experiment.bats
experiment() {
	local out=$BATS_TEST_TMPDIR/alloc
	lru "$1"
	fill_node 0
	fill_node 1
	count_all before
	pressure $((mb + 16))M
	numactl --cpunodebind=0 "$NR_TOOLS/alloc" $mb >"$out"
	count_all after
	echo "# $BATS_TEST_DESCRIPTION: $(paste -sd ' ' "$out")" >&3
	(($(pages 0 "$out") * 1000 >= mb * 256 * 999))
	unharmed
}
@test "a program on the NUMA node then has all of its memory there: multi-gen LRU" { experiment mglru; }
@test "a program on the NUMA node then has all of its memory there: classic LRU" { experiment classic; }

# in_vain: NR_ROUNDS requests for more than there is
in_vain() {
	local i
	for ((i = 0; i < ${NR_ROUNDS:-2}; i++)); do
		! timeout 60 "$nodereclaim" flush --backend pressure --nodes 0 1400M,timeout=50 >/dev/null 2>&1 || return
	done
}

# hostile LRU
hostile() {
	settle "$1" 1200
	count_all before
	in_vain
	count_all after
	echo "# $BATS_TEST_DESCRIPTION: $(lost clean0) of ${before[clean0]} kB went" >&3
	unharmed
}
@test "next to no cache among others' memory: nothing of that goes: multi-gen LRU" { hostile mglru; }
@test "next to no cache among others' memory: nothing of that goes: classic LRU" { hostile classic; }

@test "files that came back after they were dropped: at most 1 MB is swapped" {
	lru classic
	neighbour
	fill_node 0
	pressure "$(need 300)"
	fill_node 0
	count_all before
	pressure "$(need 300)" || jq -e '.nodes[0].missing == 0' "$BATS_TEST_TMPDIR/json"
	count_all after
	echo "# $BATS_TEST_DESCRIPTION: $(rose pswpout) pages, $(lost SwapFree) kB" >&3
	((before[SwapFree] - after[SwapFree] <= 1200))
	(($(lost cache0) >= 300 * 1024 * 99 / 100))
}

# rounds LRU: NR_ROUNDS of them
rounds() {
	local i
	settle "$1"
	count_all before
	for ((i = 0; i < ${NR_ROUNDS:-4}; i++)); do
		# Read anew: what comes back soon after it went counts as in use
		rm -f $data/full0
		fill_node 0
		# Every other one asks for more than there is
		pressure "$(need $((i % 2 ? 2000 : 150)))" || ((i % 2))
	done
	count_all after
	echo "# $BATS_TEST_DESCRIPTION: $(rose pswpout) pages swapped, $(rose oom_kill) killed" >&3
}
@test "again and again: nobody is killed for memory, nothing swapped: multi-gen LRU" {
	rounds mglru
	unharmed
}
# Programs come back too, see "files that came back"
@test "again and again: nobody is killed for memory, at most 1 MB swapped: classic LRU" {
	rounds classic
	((after[oom_kill] == before[oom_kill]))
	((before[SwapFree] - after[SwapFree] <= 1200))
	kept 1 3
}

# after_kill COMMAND...: with the process and its children as arguments, in the middle of the work
after_kill() {
	local pid children
	fill_node 0
	echo 7 >$nodes/node0/hugepages/hugepages-2048kB/nr_hugepages
	count_all before
	"$nodereclaim" flush --backend pressure --nodes 0 >/dev/null 2>&1 3>&- &
	pid=$!
	is_taking 100
	read -ra children <"/proc/$pid/task/$(ls "/proc/$pid/task" | tail -n 1)/children"
	"$1" "$pid" "${children[@]}"
	wait $pid || true
	for pid in "${children[@]}"; do
		for ((try = 0; try < 100; try++)); do
			[[ -e /proc/$pid ]] || break
			sleep 0.1
		done
		[[ ! -e /proc/$pid ]] || return
	done
	count_all after
	((after[Mlocked0] <= before[Mlocked0] && after[MemFree0] >= before[MemFree0])) || return
	unharmed || return
	((after[HugePages_Total0] == 7))
	echo 0 >$nodes/node0/hugepages/hugepages-2048kB/nr_hugepages
}
kill_parent() { kill -KILL "$1"; }
kill_children() { kill -KILL "${@:2}"; }
kill_all() { kill -KILL "$@"; }
term_all() { kill -TERM "$@"; }
@test "killed in the middle: no memory stays taken, and the site's huge pages are as they were" {
	local how
	for how in kill_parent kill_children kill_all term_all; do
		after_kill $how || fail "$how" || return
	done
}

@test "stopped for good: what is taken goes back after the time limit" {
	local pid
	fill_node 0
	count_all before
	"$nodereclaim" flush --backend pressure --nodes 0 timeout=6 >/dev/null 2>&1 3>&- &
	pid=$!
	is_taking 50
	kill -STOP $pid
	sleep 9
	count_all after
	kill -KILL $pid
	((after[Mlocked0] <= before[Mlocked0]))
	unharmed
}

@test "two at once free no more than one of them" {
	local size gone pids=()
	fill_node 0
	size=$(need 200)
	count_all before
	"$nodereclaim" flush --backend pressure --nodes 0 "$size,timeout=120" >/dev/null 3>&- &
	pids+=($!)
	"$nodereclaim" flush --backend pressure --nodes 0 "$size,timeout=120" >/dev/null 3>&- &
	pids+=($!)
	wait "${pids[0]}"
	wait "${pids[1]}"
	count_all after
	gone=$(lost cache0)
	echo "# $BATS_TEST_DESCRIPTION: 204800 kB needed, $gone kB freed" >&3
	((gone >= 200 * 1024 * 97 / 100 && gone <= 200 * 1024 + 30720))
	unharmed
}

@test "the limit of a memory control group is not touched" {
	local group=/sys/fs/cgroup/small
	fill_node 0
	mkdir -p $group
	echo 64M >$group/memory.max
	count_all before
	(echo "$BASHPID" >$group/cgroup.procs && exec "$nodereclaim" flush --backend pressure --nodes 0 "$(need 200),timeout=120")
	count_all after
	cat $group/memory.events
	grep -qx 'max 0' $group/memory.events
	rmdir $group
	(($(lost cache0) >= 200 * 1024 * 97 / 100))
	unharmed
}

@test "all of the cache is dirty: nothing is begun" {
	empty
	neighbour
	echo 90 >/proc/sys/vm/dirty_ratio
	echo 80 >/proc/sys/vm/dirty_background_ratio
	echo 360000 >/proc/sys/vm/dirty_writeback_centisecs # 0 would wake the flusher now
	timeout 60 numactl --membind=0 dd if=/dev/zero of=$data/dirty bs=1M count=200 status=none
	count_all before
	in_vain
	count_all after
	echo 20 >/proc/sys/vm/dirty_ratio
	echo 10 >/proc/sys/vm/dirty_background_ratio
	echo 500 >/proc/sys/vm/dirty_writeback_centisecs
	unharmed
	((after[Dirty0] >= before[Dirty0] / 2))
	rm $data/dirty
}
