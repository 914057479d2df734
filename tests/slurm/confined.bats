#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# A cluster whose steps have no cpuset of their own: task/affinity alone binds tasks too late.

load common

setup_file() {
	lab_start --conf TaskPlugin=task/affinity --conf DefMemPerNode=200
	fill 512
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 512
}

@test "a job with a part of the host frees nothing and is told why" {
	((cpus > 1)) || skip "this host has one CPU"
	snap before
	user srun -n1 -c1 --node-reclaim=all true 2>"$LAB/user/err"
	snap after
	check_untouched before after
	cat "$LAB/user/err"
	[[ $(grep -c ConstrainCores "$LAB/user/err") == 1 ]]
	check_hosts
}

@test "with strict it fails, and the host stays fine" {
	((cpus > 1)) || skip "this host has one CPU"
	run ! user srun -n1 -c1 --node-reclaim=1K,strict true
	check_hosts
}

@test "a job with the whole host is served" {
	snap before
	user srun -n1 -c"$cpus" --node-reclaim=all true
	snap after
	((before[clean] - after[clean] >= 256 * 1024)) ||
		fail "clean cache fell from ${before[clean]} to ${after[clean]} kB only"
}
