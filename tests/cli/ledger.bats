#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash sets
# nodereclaim ledger and restore, and what is left when a program is killed between any two system
# calls. Nothing here touches the host: see ledger.bash.
load helper

boot=01234567-89ab-cdef-0123-456789abcdef

# private SCRIPT: in name spaces of its own, with the functions of ledger.bash
private() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -e /proc/sys/vm/zone_reclaim_mode ] || skip "this kernel has no vm.zone_reclaim_mode"
	unshare -mpf --mount-proc true 2>/dev/null || skip "no name spaces"
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/script"
	run --separate-stderr unshare -mpf --mount-proc bash "$BATS_TEST_DIRNAME/ledger.bash" . "$BATS_TEST_TMPDIR/script"
	[ "$status" -eq 0 ] || { echo "exit $status: $output $stderr"; return 1; }
}

# A recorded tree with a ledger: vm.zone_reclaim_mode is 1 for job 12
recorded() {
	root=$BATS_TEST_TMPDIR/root
	cp -R "$roots/two-sockets" "$root"
	mkdir -p "$root/proc/sys/kernel/random" "$root/run"
	mkdir -m 700 "$root/run/nodereclaim"
	echo $boot >"$root/proc/sys/kernel/random/boot_id"
	echo 1 >"$root/proc/sys/vm/zone_reclaim_mode"
	printf '%s\n' "nodereclaim ledger 1" "boot $boot" \
		"setting zone_reclaim_mode before 0 from 1 set 1 ours" \
		"holder job 12 step batch wants 1 since 5" end >"$root/run/nodereclaim/ledger"
	chmod 600 "$root/run/nodereclaim/ledger"
}

@test "ledger: nothing is held" {
	cp -R "$roots/two-sockets" "$BATS_TEST_TMPDIR/root"
	mkdir "$BATS_TEST_TMPDIR/root/run"
	nr ledger --sysroot "$BATS_TEST_TMPDIR/root"
	ends 0
	[ "$output" = "No setting is changed for a job." ]
	nr ledger --json --sysroot "$BATS_TEST_TMPDIR/root"
	ends 0
	[ "$(jq -c . <<<"$output")" = '{"ledger":[]}' ]
	nr restore --dry-run --sysroot "$BATS_TEST_TMPDIR/root"
	ends 0
	[ "$output" = "Would be: 0 holders dropped, 0 left; 0 settings restored" ]
	[ -z "$(ls "$BATS_TEST_TMPDIR/root/run")" ]
}

@test "ledger: a holder" {
	recorded
	nr ledger --sysroot "$root"
	ends 0
	[[ ${lines[0]} =~ ^SETTING\ +BEFORE\ +SET\ +NOW\ +STATE\ +JOB\ +STEP\ +WANTS\ +SINCE$ ]]
	[[ ${lines[1]} =~ ^zone_reclaim_mode\ +0\ +1\ +1\ +ours\ +12\ +batch\ +1\ +20[0-9-]+T[0-9:]+Z$ ]]
	[ "${#lines[@]}" -eq 2 ]
	nr ledger --json --sysroot "$root"
	ends 0
	[ "$(jq -c '.ledger[0] | [.setting, .before, .set, .now, .state, .job, .step, .wants]' <<<"$output")" = \
		'["zone_reclaim_mode",0,1,1,"ours",12,"batch",1]' ]
	# The kernel has none
	rm "$root/proc/sys/vm/zone_reclaim_mode"
	nr ledger --json --sysroot "$root"
	ends 0
	[ "$(jq '.ledger[0].now' <<<"$output")" = null ]
}

@test "ledger: one that is not believed" {
	recorded
	echo "and more" >>"$root/run/nodereclaim/ledger"
	nr ledger --sysroot "$root"
	fails 4 "/run/nodereclaim/ledger: is damaged"
	chmod 644 "$root/run/nodereclaim/ledger"
	nr ledger --sysroot "$root"
	fails 3 "/run/nodereclaim/ledger: "
	chmod 755 "$root/run/nodereclaim"
	nr ledger --sysroot "$root"
	fails 3 "/run/nodereclaim: "
}

@test "ledger and restore: wrong command lines" {
	nr ledger now
	fails 2 "'now'"
	nr ledger --all
	ends 2
	nr restore everything
	fails 2 "'everything'"
	nr restore --all --stale
	fails 2 "--all and --stale"
	nr restore --sysroot "$roots/two-sockets"
	fails 2 "--dry-run"
}

@test "restore --dry-run says what would be done" {
	recorded
	nr restore --dry-run --sysroot "$root"
	ends 0
	[ "$output" = "Would be: 1 holder dropped, 0 left; 1 setting restored" ]
	[[ ${stderr_lines[0]} == *"job 12 step batch no longer holds it, which has ended" ]]
	[[ ${stderr_lines[1]} == *"zone_reclaim_mode: from 1 to 0, as before the first holder" ]]
	[ "$(cat "$root/proc/sys/vm/zone_reclaim_mode")" = 1 ]
	# A job that runs
	mkdir "$root/proc/77"
	echo "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0" >"$root/proc/77/cgroup"
	echo sh >"$root/proc/77/comm"
	nr restore --dry-run --sysroot "$root"
	ends 0
	[ "$output" = "Would be: 0 holders dropped, 1 left; 0 settings restored" ]
	[ -z "$stderr" ]
	nr restore --dry-run --all --sysroot "$root"
	ends 0
	[ "$output" = "Would be: 1 holder dropped, 0 left; 1 setting restored" ]
}

@test "restore for jobs that have ended, and for all" {
	private '
		run_jobs 12
		hold 12 0 1; hold 13 0 2; hold 12 1 4
		is 5 "13 has ended and was swept"
		hold 13 0 2
		nr restore >$BATS_TEST_TMPDIR/out 2>&1
		grep -q "^1 holder dropped, 2 left; 0 settings restored$" $BATS_TEST_TMPDIR/out
		is 5 stale
		nr restore --all 2>/dev/null
		is 0 all; empty
		hold 12 0 1; end_jobs; nr restore 2>/dev/null
		is 0 ended; empty'
	[ "${lines[0]}" = "2 holders dropped, 0 left; 1 setting restored" ]
	[ "${lines[1]}" = "1 holder dropped, 0 left; 1 setting restored" ]
}

@test "what an administrator has set meanwhile stands" {
	private '
		run_jobs 12 13
		hold 12 0 1; hold 13 0 1
		echo 2 >$setting
		nr restore 2>/dev/null
		nr ledger
		hold -r 12; is 2 "one ended"
		hold -r 13; is 2 "both ended"; empty'
	[ "${lines[0]}" = "0 holders dropped, 2 left; 0 settings restored" ]
	[[ ${lines[2]} =~ ^zone_reclaim_mode\ +0\ +1\ +2\ +foreign\ +12\  ]]
}

@test "a setting that cannot be written" {
	private '
		run_jobs 12
		mount -o remount,bind,ro $setting
		! hold 12 0 1
		is 0 "read-only"; empty
		mount -o remount,bind,rw $setting
		hold 12 0 1; is 1 held
		mount -o remount,bind,ro $setting
		! hold -r 12
		nr ledger
		rc=0; nr restore >/dev/null 2>$BATS_TEST_TMPDIR/err || rc=$?
		[ $rc = 4 ]; [ $(wc -l <$BATS_TEST_TMPDIR/err) = 1 ]
		mount -o remount,bind,rw $setting
		nr restore 2>/dev/null; is 0 restored; empty'
	[[ ${lines[1]} =~ ^zone_reclaim_mode\ +0\ +0\ +1\ +pending ]]
}

@test "a full /run" {
	private '
		run_jobs 12 13
		mkdir -m 700 /run/nodereclaim
		mount -t tmpfs -o mode=700,size=16k none /run/nodereclaim
		fill() { cat /dev/zero >/run/nodereclaim/fill 2>/dev/null || true; }
		fill
		! hold 12 0 1
		is 0 "no room"; empty
		rm /run/nodereclaim/fill
		hold 12 0 1; hold 13 0 2; is 3 both; fill
		! hold -r 13
		is 3 "the ledger cannot say it"
		nr ledger >/dev/null
		nr restore --all 2>/dev/null
		is 0 "the last holder needs no room"; empty'
}

@test "16 at once" {
	private '
		jobs=($(seq 101 116))
		run_jobs "${jobs[@]}"
		for round in 1 2 3; do
			pids=()
			for job in "${jobs[@]}"; do hold $job 0 $((1 << job % 3)) & pids+=($!); done
			for pid in "${pids[@]}"; do wait $pid; done
			is 7 "all hold"; [ $(grep -c ^holder $ledger) = 16 ]
			pids=()
			for job in "${jobs[@]}"; do hold -r $job & pids+=($!); done
			for pid in "${pids[@]}"; do wait $pid; done
			is 0 "none holds"; empty
		done'
}

@test "killed at any system call: the first holder" {
	private '
		run_jobs 12
		before() { :; }
		kill_points before "$NR_TOOLS/hold 12 0 1" 0 1'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: one holder more" {
	private '
		run_jobs 12 13
		before() { hold 12 0 1; }
		kill_points before "$NR_TOOLS/hold 13 0 2" 1 3'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: one holder less" {
	private '
		run_jobs 12 13
		before() { hold 12 0 1; hold 13 0 2; }
		kill_points before "$NR_TOOLS/hold -r 13" 3 1'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: the last holder" {
	private '
		run_jobs 12
		before() { hold 12 0 1; }
		kill_points before "$NR_TOOLS/hold -r 12" 1 0'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: restore" {
	private '
		before() { hold 12 0 5; }
		kill_points before "$NR_STAGE/sbin/nodereclaim restore --stale" 5 0'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: the epilog" {
	printf '%s\n' "[epilog]" "report = no" >"$BATS_TEST_TMPDIR/conf"
	private '
		run_jobs 12
		before() { hold 12 0 1; }
		kill_points before "env -i SLURM_JOB_ID=12 $NR_STAGE/libexec/nodereclaim/nodereclaim-epilog
			--config=$BATS_TEST_TMPDIR/conf" 1 0'
	echo "# ${lines[0]}" >&3
}

@test "killed at any system call: the prolog" {
	printf '%s\n' "[prolog]" "enable = no" >"$BATS_TEST_TMPDIR/conf"
	private '
		before() { hold 12 0 1; }
		kill_points before "env -i SLURM_JOB_ID=13 $NR_STAGE/libexec/nodereclaim/nodereclaim-prolog
			--config=$BATS_TEST_TMPDIR/conf" 1 0'
	echo "# ${lines[0]}" >&3
}

# A helper that holds zone_reclaim_mode
by_the_host() {
	[ ! -e /sys/kernel/mm/node_reclaim ] || skip "this kernel can do policy=local for one task"
	! grep -q '[1357]$' /sys/kernel/mm/lru_gen/enabled 2>/dev/null || skip "this kernel uses the multi-gen LRU"
	export step="$NR_STAGE/libexec/nodereclaim/nodereclaim-step --spec=1K,policy=local --given-mb=0
		--cpus=0 --job=12 --step=0 --timeout=5 --host-policy=always"
}

@test "killed at any system call: the helper of a step" {
	by_the_host
	private '
		run_jobs 12
		before() { :; }
		kill_points before "$step" 0 1'
	echo "# ${lines[0]}" >&3
}

@test "any system call fails: who holds it and is told so, does; who is not, does not" {
	[ "$(uname -m)" = x86_64 ] || skip "killat -e is for x86-64"
	private '
		run_jobs 12 13
		before() { hold 12 0 1; }
		STRICT=1 fault_points before "$NR_TOOLS/hold 13 0 2" 1 3'
	echo "# ${lines[0]}" >&3
}

@test "any system call fails: the last holder, the epilog, restore" {
	[ "$(uname -m)" = x86_64 ] || skip "killat -e is for x86-64"
	printf '%s\n' "[epilog]" "report = no" >"$BATS_TEST_TMPDIR/conf"
	private '
		run_jobs 12
		before() { hold 12 0 1; }
		fault_points before "$NR_TOOLS/hold -r 12" 1 0
		fault_points before "env -i SLURM_JOB_ID=12 $NR_STAGE/libexec/nodereclaim/nodereclaim-epilog
			--config=$BATS_TEST_TMPDIR/conf" 1 0
		before() { hold 14 0 5; }
		fault_points before "$NR_STAGE/sbin/nodereclaim restore --stale" 5 0'
	echo "# ${lines[*]}" >&3
}

@test "any system call fails: the helper of a step" {
	[ "$(uname -m)" = x86_64 ] || skip "killat -e is for x86-64"
	by_the_host
	private '
		run_jobs 12
		before() { :; }
		fault_points before "$step" 0 1'
	echo "# ${lines[0]}" >&3
}
