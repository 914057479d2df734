#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# With strict the job fails instead of starting with less than it asked for; the host stays fine.

load common

setup_file() {
	lab_start --hosts 2 --conf DefMemPerNode=200 || return 0
	mkdir "$LAB/helpers"
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
	check_hosts
	plugin_args
	rm -f "$LAB/user/ran"
}

teardown() {
	check_hosts
}

# The job fails, its command never ran, and one line says why.
job_fails() {
	run ! --separate-stderr user srun "$@" touch "$LAB/user/ran"
	echo "$stderr"
	[[ ! -e $LAB/user/ran ]] || fail "the command ran"
	[[ $(grep -c 'node-reclaim: ' <<<"$stderr") == 1 ]] || fail "not one line of ours"
	[[ $(squeue -h | wc -l) == 0 ]]
}

fake_helper() {
	{
		echo '#!/bin/bash'
		cat
	} >"$LAB/helpers/fake"
	chmod 755 "$LAB/helpers/fake"
	plugin_args "helper=$LAB/helpers/fake"
}

@test "the need is met: the job runs" {
	user srun --node-reclaim=1M,strict touch "$LAB/user/ran"
	[[ -e $LAB/user/ran ]]
}

@test "more than the NUMA node has" {
	job_fails --node-reclaim=100T,strict
}

@test "without strict the same job runs" {
	user srun --node-reclaim=100T touch "$LAB/user/ran"
	[[ -e $LAB/user/ran ]]
}

@test "a batch job fails" {
	local job
	job=$(user sbatch --parsable -o "$LAB/user/out" --node-reclaim=100T,strict \
		--wrap "touch $LAB/user/ran")
	job_done "$job"
	cat "$LAB/user/out"
	[[ ! -e $LAB/user/ran && $(job_field "$job" JobState) == FAILED ]]
}

@test "a job of several tasks on two hosts fails as a whole" {
	run ! --separate-stderr user srun -N2 -n4 --node-reclaim=100T,strict touch "$LAB/user/ran"
	echo "$stderr"
	[[ ! -e $LAB/user/ran ]]
	# One of ours from each host, not from each task
	[[ $(grep -c 'node-reclaim: ' <<<"$stderr") == 2 ]]
}

@test "the helper is missing" {
	plugin_args "helper=$LAB/helpers/missing"
	job_fails --node-reclaim=1M,strict
}

@test "the helper hangs" {
	fake_helper <<<'while :; do read -rt 1000 <> <(:); done'
	job_fails --node-reclaim=1M,strict,timeout=1
}

@test "the helper is killed" {
	fake_helper <<<'kill -KILL $$'
	job_fails --node-reclaim=1M,strict
}

@test "the helper prints garbage" {
	fake_helper <<<'head -c 100000 /dev/urandom'
	job_fails --node-reclaim=1M,strict
}

@test "the plugin is off for a bad argument" {
	plugin_args nonsense=1
	job_fails --node-reclaim=1M,strict
}

@test "a NUMA node outside of the job" {
	job_fails --node-reclaim=all,nodes=1000,strict
}
