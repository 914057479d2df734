#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# auto without --mem, where Slurm gives jobs CPUs and no memory: the CPUs' share of the memory.

load common

setup_file() {
	lab_start --conf SelectTypeParameters=CR_Core || return 0
	fill 2048
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 2048
	cpus=$(sinfo -h -o %c)
	((cpus > 1)) || skip "with one CPU each job has the whole host"
}

@test "a job on one of the CPUs, and its share is free: nothing is freed" {
	snap before
	((before[allocatable] > before[MemTotal] / cpus)) || skip "the share of one CPU is not free"
	user srun -n1 --node-reclaim=auto true
	snap after
	check_untouched
}

@test "a job on all CPUs: room for a job as large as the host" {
	snap before
	((before[allocatable] < before[MemTotal] * 9 / 10)) || skip "nearly all memory is free"
	user srun -n1 -c"$cpus" --node-reclaim=auto true
	snap after
	((after[allocatable] - before[allocatable] >= 512 * 1024)) ||
		fail "allocatable rose from ${before[allocatable]} to ${after[allocatable]} kB only"
	check_no_harm
}
