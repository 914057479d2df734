#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# Whatever is wrong with the helper program, the job starts in time and the host stays as it was.

load common

setup_file() {
	lab_start --conf DefMemPerNode=200 || return 0
	mkdir "$LAB/helpers"
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
	check_hosts
	helper=$LAB/helpers/${BATS_TEST_NUMBER}_fake
	plugin_args "helper=$helper"
}

teardown() {
	[[ -n ${LAB-} ]] || return 0
	check_hosts
	# The fakes are scripts: their path is in the command line of each that still runs
	! pgrep -f "$LAB/helpers/" || fail "a helper was left behind"
}

# fake MODE: the helper is this script, from standard input.
fake() {
	{
		echo '#!/bin/bash'
		cat
	} >"$helper"
	chmod "$1" "$helper"
}

# A step runs although the helper is at fault: within the time limit + 1 s, and what Slurm itself
# takes; the user and the log hear of it in one line.
job_runs() {
	local limit=2 t0 took
	log_mark
	t0=${EPOCHREALTIME/./}
	user srun --node-reclaim="all,timeout=$limit" echo ran >"$LAB/user/out" 2>"$LAB/user/err"
	took=$(((${EPOCHREALTIME/./} - t0) / 1000))
	echo "srun took $took ms"
	cat "$LAB/user/err"
	log_lines
	[[ $(<"$LAB/user/out") == ran ]]
	((took < (limit + 1 + 2) * 1000)) || fail "srun took $took ms"
	[[ $(wc -l <"$LAB/user/err") == 1 ]] || fail "the user did not get one line"
	grep -q 'node-reclaim: ' "$LAB/user/err"
	[[ $(log_lines | grep -c 'node-reclaim: ') == 1 ]] || fail "the log did not get one line"
}

@test "missing" {
	job_runs
}

@test "in a folder that is missing" {
	plugin_args "helper=$LAB/nowhere/helper"
	job_runs
}

@test "not executable" {
	fake 644 </dev/null
	job_runs
}

@test "a folder" {
	mkdir "$helper"
	job_runs
}

@test "no program that the kernel knows" {
	printf '\177ELF nonsense' >"$helper"
	chmod 755 "$helper"
	job_runs
}

# Whoever may write to the helper would be root on each host
@test "owned by a user" {
	fake 755 <<<"touch $LAB/user/was_root"
	chown nobody "$helper"
	job_runs
	[[ ! -e $LAB/user/was_root ]]
}

@test "writable by others" {
	fake 777 <<<"touch $LAB/user/was_root"
	job_runs
	[[ ! -e $LAB/user/was_root ]]
}

@test "in a user's folder" {
	helper=$LAB/user/fake
	plugin_args "helper=$helper"
	fake 755 <<<"touch $LAB/user/was_root"
	job_runs
	[[ ! -e $LAB/user/was_root ]]
}

@test "a symbolic link into a user's folder" {
	ln -s "$LAB/user/fake" "$helper"
	(helper=$LAB/user/fake && fake 755 <<<"touch $LAB/user/was_root")
	job_runs
	[[ ! -e $LAB/user/was_root ]]
}

@test "hangs for ever" {
	fake 755 <<<'while :; do read -rt 1000 <> <(:); done'
	job_runs
}

@test "hangs for ever and ignores every signal that it can" {
	fake 755 <<-'EOF'
	trap '' HUP INT QUIT TERM ALRM USR1 USR2 PIPE TSTP
	while :; do read -rt 1000 <> <(:); done
	EOF
	job_runs
}

@test "stops itself" {
	fake 755 <<<'kill -STOP $$'
	job_runs
}

@test "closes its output and hangs" {
	fake 755 <<-'EOF'
	exec >&-
	while :; do read -rt 1000 <> <(:); done
	EOF
	job_runs
}

@test "is killed" {
	fake 755 <<<'kill -KILL $$'
	job_runs
}

@test "is killed in the middle of its answer" {
	fake 755 <<-'EOF'
	echo nodereclaim 1 met
	kill -KILL $$
	EOF
	job_runs
}

@test "ends at once without an answer" {
	fake 755 </dev/null
	job_runs
}

@test "ends with an error" {
	fake 755 <<<'exit 7'
	job_runs
}

@test "prints garbage" {
	fake 755 <<<'head -c 100000 /dev/urandom'
	job_runs
	run ! env LC_ALL=C grep '[^ -~]' "$LAB/user/err"
}

@test "prints an answer of another version" {
	fake 755 <<<'printf "nodereclaim 999 met\n\n"'
	job_runs
}

@test "fills its pipe and waits" {
	fake 755 <<-'EOF'
	head -c 65536 /dev/zero
	while :; do read -rt 1000 <> <(:); done
	EOF
	job_runs
}

@test "prints without end" {
	fake 755 <<<'exec yes nodereclaim 1 met'
	job_runs
}

@test "leaves a child that holds the pipe" {
	fake 755 <<-'EOF'
	(exec -a "$0" sleep 1000) &
	printf 'nodereclaim 1 failed\nleft a child\n\n'
	EOF
	job_runs
}

@test "complains on standard error" {
	fake 755 <<-'EOF'
	for i in {1..1000}; do echo complaint; done >&2
	exit 1
	EOF
	job_runs
	run ! grep complaint "$LAB/user/err"
}

@test "gets a clean environment, no open files and no way back to the user" {
	fake 755 <<-EOF
	ls -l /proc/\$\$/fd >$LAB/helpers/fds
	{
		env
		grep -E '^(Uid|Gid)' /proc/\$\$/status
		cat /proc/\$\$/cgroup
	} >$LAB/helpers/seen
	printf 'nodereclaim 1 met\n\n\n'
	EOF
	user env EVIL=1 LD_LIBRARY_PATH=/tmp srun --node-reclaim=all true
	cat "$LAB/helpers/fds" "$LAB/helpers/seen"
	run ! grep -E '^(EVIL|LD_|SLURM)' "$LAB/helpers/seen"
	grep -qP '^Uid:\t0\t0\t0\t0$' "$LAB/helpers/seen"
	grep -qP '^Gid:\t0\t0\t0\t0$' "$LAB/helpers/seen"
	# Above 2 there is only the script itself, which bash has open
	run ! grep -E ' ([3-9]|[0-9]{2,}) -> ' <(grep -v "$helper" "$LAB/helpers/fds")
	grep -E '^[0-9]+:cpuset:/slurm_' "$LAB/helpers/seen" ||
		[[ -e /sys/fs/cgroup/cgroup.controllers ]]
}
