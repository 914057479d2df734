#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what bats sets
# Whose job runs, and whose has ended: seen in the control groups and the slurmstepd of real jobs. The
# setting that they hold is a file in a mount namespace, see tests/cli/ledger.bash.

load common

setup_file() {
	lab_start
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
	[ -e /proc/sys/vm/zone_reclaim_mode ] || skip "this kernel has no vm.zone_reclaim_mode"
}

# Starts a job of one step; its number is in $job.
job_runs() {
	user srun -n1 sleep 300 3>&- 4>&- &
	srun=$!
	local left=300
	until job=$(squeue -h -t R -o %A) && [ -n "$job" ] && pgrep -f "^slurmstepd: \[$job\.0\]" >/dev/null; do
		((left-- > 0)) || fail "the job does not start" || return
		sleep 0.1
	done
}

@test "a job that runs keeps what it holds, and one that has ended does not" {
	job_runs
	cat >"$BATS_TEST_TMPDIR/script" <<-EOT
		hold $job 0 1
		nr restore 2>/dev/null
		is 1 "the job runs"
		kill -STOP \$(pgrep -f '^slurmstepd: \\[$job\\.0\\]')
		nr restore 2>/dev/null
		is 1 "slurmstepd does not answer"
		kill -CONT \$(pgrep -f '^slurmstepd: \\[$job\\.0\\]')
		scancel $job
		while [ -n "\$(squeue -h)" ] || pgrep -f '^slurmstepd: \\[$job\\.' >/dev/null; do sleep 0.1; done
		nr restore 2>/dev/null
		is 0 "the job has ended"
		empty
	EOT
	run unshare -m timeout 100 bash "$BATS_TEST_DIRNAME/../cli/ledger.bash" . "$BATS_TEST_TMPDIR/script"
	wait "$srun" || true
	echo "$output"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "0 holders dropped, 1 left; 0 settings restored" ]
	[ "${lines[1]}" = "0 holders dropped, 1 left; 0 settings restored" ]
	[ "${lines[2]}" = "1 holder dropped, 0 left; 1 setting restored" ]
	check_hosts
}
