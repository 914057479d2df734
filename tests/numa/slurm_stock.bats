#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 on four-nodes
# shellcheck disable=SC2154 # counters that count sets
# srun --node-reclaim where the kernel cannot be asked to free one NUMA node's cache.

load slurm

setup() {
	read_on 0 file0 200
	read_on 1 file1 200
}

@test "each allocation has the CPUs of one NUMA node" {
	check_allocations
}

@test "the step has its memory on its NUMA node, and no other loses cache" {
	local out=$LAB/user/out
	fill_node 0
	count before
	step 0 --node-reclaim=616M "$NR_TOOLS/alloc" 600 >"$out" 2>"$LAB/user/err"
	count after
	cat "$LAB/user/err"
	paste -sd ' ' "$out"
	[[ ! -s $LAB/user/err ]]
	(($(pages 0 "$out") * 1000 >= 600 * 256 * 999)) || fail "$(pages 0 "$out") pages are local"
	(($(lost cache0) <= 640 * 1024))
	kept 1 3
	not_swapped
	((after[oom_kill] == before[oom_kill]))
	check_up
}

@test "strict fails the step that is short, and nothing else" {
	run ! step 0 --node-reclaim=3000M,strict echo ran
	[[ $output != *ran* ]]
	check_up
}

@test "policy=local says once that the kernel cannot, and the step runs" {
	step 0 -n2 -c1 --node-reclaim=10M,policy=local echo ran >"$LAB/user/out" 2>"$LAB/user/err"
	cat "$LAB/user/err"
	[[ $(grep -cx ran "$LAB/user/out") == 2 && $(grep -c 'policy=local' "$LAB/user/err") == 1 ]]
}

@test "no process of slurmd makes a system call that this kernel did not announce" {
	local strace trace=$BATS_TEST_TMPDIR/trace try
	strace -f -o "$trace" -p "$(cat "$LAB"/run/slurmd-*.pid)" 3>&- 2>"$trace.err" &
	strace=$!
	for ((try = 0; try < 100; try++)); do
		! grep -q attached "$trace.err" || break
		sleep 0.1
	done
	step 0 --node-reclaim=all,policy=local true
	kill "$strace"
	wait "$strace" || true
	grep -q 'execve(.*nodereclaim-step' "$trace"
	[[ -z $(unknown_calls "$trace") ]] || fail "$(unknown_calls "$trace")"
}
