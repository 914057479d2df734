#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 stock-6.1 on four-nodes
# shellcheck disable=SC2154 # counters that count sets
# srun --node-reclaim where the kernel cannot be asked to free one NUMA node's cache.

load slurm

boost=/proc/sys/vm/watermark_boost_factor

setup() {
	plugin_args max_timeout=120 # a busy host makes guests slow
	# For each huge page that it makes of other memory kswapd frees some more cache
	boost_before=$(<$boost)
	echo 0 >$boost
	read_on 0 file0 200
	read_on 1 file1 200
}

teardown() {
	echo "$boost_before" >$boost
}

@test "each allocation has the CPUs of one NUMA node" {
	check_allocations
}

# experiment LRU: see experiment.bats
# experiment LRU PAGES: at most so many are swapped out
experiment() {
	local out=$LAB/user/out
	lru "$1"
	rm -f $data/full0
	fill_node 0
	count before
	step 0 --node-reclaim=616M,timeout=120 "$NR_TOOLS/alloc" 600 >"$out" 2>"$LAB/user/err"
	count after
	cat "$LAB/user/err"
	paste -sd ' ' "$out"
	[[ ! -s $LAB/user/err ]]
	echo "# $BATS_TEST_DESCRIPTION: $(pages 0 "$out") of 153600 pages, $(lost cache0) kB freed" >&3
	(($(pages 0 "$out") * 1000 >= 600 * 256 * 999)) || fail "$(pages 0 "$out") pages are local"
	# Once woken, kswapd goes on until it looks again: a sixth more at the most, see nodereclaim(8)
	(($(lost cache0) <= 616 * 1024 * 7 / 6)) || fail "$(lost cache0) kB of cache are gone"
	kept 1 3
	(($(rose pswpout) <= $2)) || fail "$(rose pswpout) pages were swapped out"
	((after[oom_kill] == before[oom_kill]))
	check_up
}
@test "the step has its memory on its NUMA node, and no other loses cache: multi-gen LRU" { experiment mglru 0; }
# See backend_pressure.c on why it may swap
@test "the same on the classic LRU, but for 1 MB that may be swapped" { experiment classic 256; }

@test "strict fails the step that is short, and nothing else" {
	run ! step 0 --node-reclaim=3000M,strict echo ran
	[[ $output != *ran* ]]
	check_up
}

# By a setting of the whole host, and nothing is freed before
local_step() {
	lru "$1"
	plugin_args max_timeout=120 allow_host_policy=always
	fill_node 0
	count before
	step 0 --node-reclaim=1K,policy=local "$NR_TOOLS/alloc" --small 600 >"$out" 2>"$LAB/user/err"
	count after
	cat "$LAB/user/err"
	paste -sd ' ' "$out"
}

@test "policy=local by vm.zone_reclaim_mode, and back after the step: classic LRU" {
	local out=$LAB/user/out try
	local_step classic
	[[ ! -s $LAB/user/err ]]
	# One reclaims at a time, and who comes meanwhile goes elsewhere: 98.4 to 99.5 % were seen
	(($(local_percent 0 "$out") >= 97)) || fail "$(local_percent 0 "$out") % are local"
	(($(rose pswpout) == 0)) || fail "$(rose pswpout) pages were swapped out"
	for ((try = 0; try < 100 && $(</proc/sys/vm/zone_reclaim_mode); try++)); do sleep 0.1; done
	[[ $(</proc/sys/vm/zone_reclaim_mode) == 0 && ! -e /run/nodereclaim/ledger ]]
}

@test "policy=local with the multi-gen LRU: the kernel cannot, and nothing is changed" {
	local out=$LAB/user/out
	[[ $lrus == *mglru* ]] || skip "this kernel has the classic LRU only"
	local_step mglru
	[[ $(<"$LAB/user/err") == *"policy=local: this kernel cannot do that: with the multi-gen LRU"*"the job runs without" ]]
	[[ $(</proc/sys/vm/zone_reclaim_mode) == 0 && ! -e /run/nodereclaim/ledger ]]
}

@test "policy=local says once that the job has a part of the host, and the step runs" {
	lru classic
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
