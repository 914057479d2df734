#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# nodereclaim-prolog and nodereclaim-epilog as slurmd runs them.

load common

setup_file() {
	local kind
	for kind in prolog epilog; do
		cat >"$BATS_FILE_TMPDIR/$kind" <<-EOF
		#!/bin/sh
		$NR_STAGE/libexec/nodereclaim/nodereclaim-$kind --stderr \
			--config=$BATS_FILE_TMPDIR/conf 2>>$BATS_FILE_TMPDIR/log
		EOF
		chmod 755 "$BATS_FILE_TMPDIR/$kind"
	done
	printf '[log]\nlevel = debug\n' >"$BATS_FILE_TMPDIR/conf"
	chmod 644 "$BATS_FILE_TMPDIR/conf"
	# The prolog runs at the allocation, whether or not a step follows
	lab_start --conf DefMemPerNode=200 --conf PrologFlags=Alloc \
		--conf "Prolog=$BATS_FILE_TMPDIR/prolog" --conf "Epilog=$BATS_FILE_TMPDIR/epilog" || return 0
	fill 1024
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 1024
	log=$BATS_FILE_TMPDIR/log
	: >"$log"
}

teardown() {
	[[ -n ${LAB-} ]] || return 0
	cat "$BATS_FILE_TMPDIR/log"
	check_hosts
}

@test "a job that has the whole host is served by the prolog, before any step" {
	job() { user salloc -c"$cpus" --node-reclaim="$size" true; }
	frees 512 job
}

@test "a job on some of the CPUs is left to the plugin" {
	((cpus > 1)) || skip "needs two CPUs"
	snap before
	user salloc -c1 --node-reclaim=all true
	snap after
	check_untouched
	grep -q 'left to the plugin' "$log"
}

@test "a job that asks for nothing gets nothing" {
	snap before
	user salloc -c"$cpus" true
	snap after
	check_untouched
}

@test "the epilog logs what is left on the NUMA node, once for each job" {
	local job
	job=$(user sbatch --parsable -o /dev/null --wrap true)
	job_done "$job"
	for ((i = 0; i < 100; i++)); do
		grep -q "epilog.*job=$job .*nid=$nid .*clean=" "$log" && break
		sleep 0.05
	done
	[[ $(grep -c "epilog.*job=$job .*nid=$nid .*clean=" "$log") == 1 ]]
}

@test "a prolog program that is missing drains no host: the example does not fail" {
	local example=$NR_STAGE/share/doc/nodereclaim/examples/prolog.d/nodereclaim
	[[ $(sh "$example" >/dev/null 2>&1 && echo ok) == ok ]]
	sed "s,^$NR_STAGE/libexec,/nonexistent," "$example" >"$BATS_TEST_TMPDIR/prolog"
	grep -q '^/nonexistent' "$BATS_TEST_TMPDIR/prolog"
	chmod 755 "$BATS_TEST_TMPDIR/prolog"
	"$BATS_TEST_TMPDIR/prolog"
}
