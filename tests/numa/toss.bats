#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-full
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# The system call itself, without the library's lock: many callers at once, signals, memory that goes
# offline under them, and fork bombs. The kernel must not complain, which tests/numa/run looks for at
# the end. With --kernel debug it has more to complain of, and the last tests take two minutes or more each.

load common

seconds=10
[[ $NR_NUMA_KERNEL != debug ]] || seconds=120

setup() {
	local n
	for n in $with_memory; do
		read_on "$n" "file$n" 500
	done
	out=$BATS_TEST_TMPDIR/toss
}

# A test's processes that are left when it fails
teardown() {
	local pid
	for pid in $(jobs -p); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait
}

# Wait for all jobs of this test; false if one failed
all_well() {
	local pid bad=0
	for pid in $(jobs -p); do
		wait "$pid" || bad=1
	done
	return $bad
}

@test "16 callers on one NUMA node: each gets what it asked for, and no more goes" {
	local i sum=0 freed gone
	count before
	for i in {1..16}; do
		"$NR_TOOLS/toss" 1 20 >"$out$i" 3>&- &
	done
	all_well
	count after
	for i in {1..16}; do
		freed=$(<"$out$i")
		((freed >= 20 << 20)) || fail "caller $i got $freed bytes"
		sum=$((sum + freed / 1024))
	done
	gone=$(lost cache1)
	echo "they said $sum kB, $gone kB of cache went"
	(($(rose pgsteal_clean) * 4 == sum))
	((gone >= sum * 98 / 100 && gone <= sum * 102 / 100))
	kept 0 2 3
	not_swapped
}

@test "four callers on each of four NUMA nodes" {
	local n i gone
	count before
	for n in $with_memory; do
		for i in 1 2 3 4; do
			"$NR_TOOLS/toss" "$n" 40 >/dev/null 3>&- &
		done
	done
	all_well
	count after
	for n in $with_memory; do
		gone=$(lost "cache$n")
		((gone >= 150 * 1024 && gone <= 170 * 1024)) || fail "NUMA node $n: $gone kB"
	done
	not_swapped
}

@test "memory.min of a cgroup holds, also one of this moment" {
	local group=/sys/fs/cgroup/keep current
	mkdir $group
	# shellcheck disable=SC2016 # for the inner shell
	bash -c 'echo 0 >"$1"/cgroup.procs && exec numactl --membind=1 "$2" --ahead "$3" "$4"' \
		- $group "$NR_TOOLS/fill" $data/kept 300
	count before
	"$NR_TOOLS/toss" 1 1 >/dev/null
	echo 200M >$group/memory.min
	"$NR_TOOLS/toss" 1 1000 >/dev/null
	count after
	current=$(<$group/memory.current)
	rmdir $group
	rm $data/kept
	echo "$((current >> 10)) kB are left, $(lost cache1) kB went"
	# A CPU may have 64 pages charged in advance
	((current >= (200 << 20) - $(nproc) * 64 * 4096))
	(($(lost cache1) >= 590 * 1024))
}

@test "a caller with a signal ends, whatever there is to free" {
	local i pid
	for i in {1..20}; do
		"$NR_TOOLS/toss" 0 100000 1000 >/dev/null 3>&- &
		pid=$!
		sleep 0.0$((i % 10))
		kill -TERM $pid
		run ! wait $pid
	done
}

@test "memory that goes offline under the callers" {
	local n block end changed=0
	for n in 1 3; do
		"$NR_TOOLS/toss" "$n" 100000 $seconds >/dev/null 3>&- &
		"$NR_TOOLS/policy" local numactl --cpunodebind="$n" "$NR_TOOLS/forks" $seconds 12 4 >/dev/null 3>&- &
	done
	end=$((SECONDS + seconds))
	while ((SECONDS < end)); do
		for block in "$nodes/node3"/memory*; do
			# Some blocks hold what cannot be moved
			{ echo offline >"$block/state"; } 2>/dev/null || continue
			changed=$((changed + 1))
			echo online >"$block/state"
			((SECONDS < end)) || break
		done
	done
	all_well
	echo "$changed blocks went and came back"
	((changed > 0))
}

# What is free of it is gone before those who sleep on the way to it come there
@test "a zone that is emptied by hotplug while tasks allocate from it" {
	local block movable='' pid end gone=0 busy=()
	for block in "$nodes/node1"/memory*; do
		if { echo offline >"$block/state"; } 2>/dev/null; then
			movable=$block
			break
		fi
	done
	[[ $movable ]]
	echo online_movable >"$movable/state"
	fill_node 1 || true
	for _ in 1 2 3 4; do
		numactl --cpunodebind=1 bash -c 'while :; do :; done' 3>&- &
		busy+=($!)
		"$NR_TOOLS/policy" local nice -n 8 numactl --cpunodebind=1 "$NR_TOOLS/forks" $((2 * seconds)) 3 6 >/dev/null 3>&- &
	done
	end=$((SECONDS + 2 * seconds))
	while ((SECONDS < end)); do
		if { echo offline >"$movable/state"; } 2>/dev/null; then
			gone=$((gone + 1))
			echo online_movable >"$movable/state"
		fi
	done
	for pid in "${busy[@]}"; do
		kill $pid
		wait $pid || true
	done
	all_well
	# So that the zone is gone for the tests that follow; it may take more than one try
	for _ in {1..50}; do
		if { echo offline >"$movable/state"; } 2>/dev/null; then
			break
		fi
	done
	echo online >"$movable/state"
	echo "it was gone $gone times"
	((gone > 0))
}

@test "fork bombs under policy=local, with file readers beside them" {
	local n end
	rm -f $data/full*
	echo 1 >/proc/sys/vm/drop_caches
	for n in $with_memory; do
		fill_node "$n"
		"$NR_TOOLS/policy" local numactl --cpunodebind="$n" "$NR_TOOLS/forks" $seconds 24 8 >/dev/null 3>&- &
	done
	end=$((SECONDS + seconds))
	while ((SECONDS < end)); do
		for n in $with_memory; do
			# Not all of it fits beside them
			fill_node "$n" 2>/dev/null || true
		done
	done
	all_well
}
