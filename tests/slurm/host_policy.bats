#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what bats sets
# policy=local on kernels that cannot do it for one task: vm.zone_reclaim_mode of this host.

load common

mode=/proc/sys/vm/zone_reclaim_mode
local=--node-reclaim=1K,policy=local

setup_file() {
	lab_start --conf DefMemPerNode=200 || return 0
	mkdir "$LAB/helpers"
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
	[[ -e $mode ]] || skip "this kernel has no vm.zone_reclaim_mode"
	[[ ! -e /sys/kernel/mm/node_reclaim ]] || skip "this kernel can do it for one task"
	! grep -q '[1357]$' /sys/kernel/mm/lru_gen/enabled 2>/dev/null || skip "this kernel uses the multi-gen LRU"
	[[ $(<$mode) == 0 ]] || skip "vm.zone_reclaim_mode is in use here"
	plugin_args
	rm -f "$LAB"/user/{out,err,go*,up*}
}

teardown() {
	if [[ -z ${LAB_SKIP-} ]]; then
		touch "$LAB/user/go" "$LAB/user/go1" "$LAB/user/go2"
		check_hosts
		"$NR_STAGE/sbin/nodereclaim" restore --all >/dev/null 2>&1
		echo 0 >$mode
	fi
}

# soon COMMAND...: true within 10 s
soon() {
	local try
	for ((try = 0; try < 200; try++)); do
		! "$@" || return 0
		sleep 0.05
	done
	fail "not within 10 s: $*"
}

# mode_is N: at once, or as soon as the step's slurmstepd has ended
mode_is() {
	soon grep -qx "$1" $mode || fail "vm.zone_reclaim_mode is $(<$mode)"
}

nothing_held() {
	mode_is 0
	[[ ! -e /run/nodereclaim/ledger ]]
}

# A step of which the user notes what the setting is.
step() {
	user srun "$@" cat $mode >"$LAB/user/out" 2>"$LAB/user/err"
	cat "$LAB/user/out" "$LAB/user/err"
}

# step_waits N SRUN-OPTION...: in the background, until there is a file goN; returns when it runs
step_waits() {
	local n=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	user srun "$@" bash -c 'touch up"$0"; until [[ -e go"$0" ]]; do sleep 0.1; done' "$n" 3>&- 4>&- \
		2>"$LAB/user/err$n" &
	soon test -e "$LAB/user/up$n"
}

one_step_is_left() {
	[[ $(squeue -h | wc -l) == 1 && $(stepd | wc -l) == 1 ]]
}

stepd() {
	pgrep -f '^slurmstepd: \[[0-9]+\.0\]'
}

@test "a job that has the whole host: while its step runs, and without a word" {
	step -c"$cpus" $local
	[[ $(<"$LAB/user/out") == 1 && ! -s $LAB/user/err ]]
	nothing_held
}

@test "verbose says how" {
	step -c"$cpus" $local,verbose
	[[ $(grep -c 'policy=local: by vm.zone_reclaim_mode=1 of the whole host' "$LAB/user/err") == 1 ]]
	nothing_held
}

@test "without policy=local nothing of it" {
	step -c"$cpus" --node-reclaim=1K
	[[ $(<"$LAB/user/out") == 0 ]]
}

@test "a job that has a part of the host runs without, and says why" {
	((cpus > 1)) || skip "one CPU: each job has the whole host"
	step -c1 $local
	[[ $(<"$LAB/user/out") == 0 ]]
	[[ $(<"$LAB/user/err") == *"policy=local: this kernel can do that for the whole host only, and the job has 1 of its $cpus CPUs, the job runs without" ]]
}

@test "allow_host_policy=never" {
	plugin_args allow_host_policy=never
	step -c"$cpus" $local
	[[ $(<"$LAB/user/out") == 0 ]]
	grep -q 'the site does not allow it (allow_host_policy=never), the job runs without' "$LAB/user/err"
}

@test "allow_host_policy=always: two jobs share it, the last restores" {
	((cpus > 1)) || skip "one CPU: there is no room for two jobs"
	plugin_args allow_host_policy=always
	step_waits 1 -c1 $local
	step_waits 2 -c1 $local
	[[ $(<$mode) == 1 ]]
	[[ $("$NR_STAGE/sbin/nodereclaim" ledger --json | jq '.ledger | length') == 2 ]]
	touch "$LAB/user/go1"
	soon one_step_is_left
	[[ $(<$mode) == 1 ]]
	touch "$LAB/user/go2"
	nothing_held
}

@test "slurmstepd is killed: the next helper puts it back" {
	step_waits 1 -c"$cpus" $local
	kill -9 "$(stepd)"
	touch "$LAB/user/go1"
	scancel --state=R # srun does not notice
	wait $! || true
	check_hosts
	[[ $(<$mode) == 1 ]]
	user srun --node-reclaim=1K true
	nothing_held
}

@test "a helper that dies after it has changed the setting" {
	local helper=$LAB/helpers/dies
	printf '#!/bin/bash\n%s "$@" >/dev/null\nexit 1\n' "$NR_STAGE/libexec/nodereclaim/nodereclaim-step" >"$helper"
	chmod 755 "$helper"
	plugin_args "helper=$helper"
	step -c"$cpus" $local
	[[ $(<"$LAB/user/out") == 1 ]]
	nothing_held
}

@test "what an admin sets meanwhile stands" {
	step_waits 1 -c"$cpus" $local
	echo 3 >$mode
	touch "$LAB/user/go1"
	wait $!
	check_hosts
	[[ $(<$mode) == 3 && ! -e /run/nodereclaim/ledger ]]
}
