#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 stock-6.1 on four-nodes
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# Kernels that cannot be asked to free one NUMA node's cache: everything runs, says so and does no harm.
# How it is freed all the same: files.bats, pressure.bats.

load common

setup() {
	# NUMA nodes that have something to lose
	read_on 0 file0 200
	read_on 1 file1 200
}

nr() {
	run --separate-stderr "$nodereclaim" "$@"
}

@test "backends says what is missing" {
	nr backends
	[[ $status == 0 ]]
	[[ $output == *syscall*0-1,3*no*"no /sys/kernel/mm/node_reclaim"* ]]
	[[ $output == *sysfs*0-1,3*no*"Linux 6.17"* ]]
	[[ $output == *pressure*0-1,3*yes*node* ]]
}

@test "flush by what the kernel lacks frees nothing, says why and exits with 1" {
	count before
	nr flush --backend sysfs --nodes 0
	count after
	printf '%s\n' "$output" "$stderr"
	[[ $status == 1 && $stderr == *"NUMA node 0: no backend"* && $stderr == *"Linux 6.17"* ]]
	kept 0 1 3
	not_swapped
}

@test "flush frees the NUMA node's cache, and no other's" {
	count before
	nr flush --json --nodes 0 all,timeout=120
	count after
	printf '%s\n' "$output" "$stderr"
	# 32 MB stay, some 10 MB for what is mapped, and 20 MB that kswapd might free beside
	(($(lost cache0) >= 130 * 1024)) || fail "$(lost cache0) kB went"
	kept 1 3
	not_swapped
}

@test "flush of what is free already is met" {
	nr flush --nodes 0 10M
	printf '%s\n' "$output" "$stderr"
	[[ $status == 0 && -z $stderr ]]
}

@test "no program makes a system call that this kernel did not announce" {
	local n=0 trace=$BATS_TEST_TMPDIR/trace
	strace -f -o "$trace.flush" "$nodereclaim" flush --nodes 0 || true
	strace -f -o "$trace.backends" "$nodereclaim" backends
	strace -f -o "$trace.status" "$nodereclaim" status
	strace -f -o "$trace.policy" "$NR_TOOLS/policy" local true
	for n in flush backends status policy; do
		grep -q exit_group "$trace.$n"
		[[ -z $(unknown_calls "$trace.$n") ]] || fail "$n: $(unknown_calls "$trace.$n")" || return
	done
}

@test "policy=local says that the kernel cannot, and the program runs as ever" {
	run --separate-stderr "$NR_TOOLS/policy" local "$NR_TOOLS/alloc" 10
	[[ $status == 0 && $output == *policy=default* && $stderr == *"not supported"* ]]
}
