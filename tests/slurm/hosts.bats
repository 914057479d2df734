#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# Four hosts of one job, all played by this machine: they find the same memory.

load common

setup_file() {
	lab_start --hosts 4 --conf DefMemPerNode=200 || return 0
	fill 2048
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 2048
}

# Each sees the others' work late, but none does all of it again
@test "four hosts at once" {
	step() { user srun -N4 -c"$cpus" --node-reclaim="$size" true; }
	frees 1024 step 1024
	check_hosts
}

@test "four hosts, all" {
	snap before
	user srun -N4 -c"$cpus" --node-reclaim=all true
	snap after
	check_all_freed
}

@test "each host says by name what is short" {
	local host
	user srun -N4 -c"$cpus" --node-reclaim=100T true 2>"$LAB/user/err"
	cat "$LAB/user/err"
	[[ $(wc -l <"$LAB/user/err") == 4 ]]
	for host in "${HOSTS[@]}"; do
		grep -q "node-reclaim: $host: " "$LAB/user/err"
	done
}

@test "a job of four hosts, of which the batch script's frees first" {
	batch() {
		job=$(user sbatch --parsable -N4 -c"$cpus" -o "$LAB/user/out" --node-reclaim="$size" \
			--wrap "srun -c$cpus echo ran")
		job_done "$job"
	}
	frees 512 batch 128
	[[ $(grep -cx ran "$LAB/user/out") == 4 ]]
	check_hosts
}
