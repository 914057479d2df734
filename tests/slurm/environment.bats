#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# The default from the environment: #SBATCH < environment < command line.

load common

setup_file() {
	lab_start --conf DefMemPerNode=200 || return 0
	fill 1024
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 1024
}

@test "SLURM_NODE_RECLAIM for srun" {
	step() { user env SLURM_NODE_RECLAIM="$size" srun -c"$cpus" true; }
	frees 512 step
}

@test "SBATCH_NODE_RECLAIM for sbatch" {
	batch() {
		local job
		job=$(user env SBATCH_NODE_RECLAIM="$size" sbatch --parsable -c"$cpus" -o /dev/null --wrap true)
		job_done "$job"
	}
	frees 512 batch
}

@test "SALLOC_NODE_RECLAIM for salloc" {
	steps() { user env SALLOC_NODE_RECLAIM="$size" salloc -c"$cpus" srun -c"$cpus" true; }
	frees 512 steps
}

@test "the command line overrides each of them" {
	local job
	snap before
	user env SLURM_NODE_RECLAIM=all srun --node-reclaim=1K true
	user env SALLOC_NODE_RECLAIM=all salloc --node-reclaim=1K srun true
	job=$(user env SBATCH_NODE_RECLAIM=all sbatch --parsable -o /dev/null \
		--node-reclaim=1K --wrap true)
	job_done "$job"
	snap after
	check_untouched
}

@test "the environment overrides #SBATCH" {
	local job
	printf '#!/bin/sh\n#SBATCH --node-reclaim=all\ntrue\n' >"$LAB/user/script"
	snap before
	job=$(user env SBATCH_NODE_RECLAIM=1K sbatch --parsable -o /dev/null script)
	job_done "$job"
	snap after
	check_untouched
}

@test "the last of several options counts" {
	snap before
	user srun --node-reclaim=all --node-reclaim=1K true
	snap after
	check_untouched
}

@test "a command inside salloc overrides what salloc was given" {
	snap before
	user salloc --node-reclaim=all srun --node-reclaim=1K true
	snap after
	check_untouched
}

@test "a bad default is refused like a bad option" {
	local id
	id=$(next_job)
	run ! user env SLURM_NODE_RECLAIM=nonsense srun true
	run ! user env SBATCH_NODE_RECLAIM=nonsense sbatch --wrap true
	run ! user env SALLOC_NODE_RECLAIM=nonsense salloc true
	[[ $(next_job) == "$id" ]]
}

@test "the default does not leak into the job's environment" {
	run -0 user env SLURM_NODE_RECLAIM=1K srun env
	[[ $output != *SLURM_SPANK__SLURM_SPANK_OPTION* ]]
}
