# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Runs in mount and process name spaces of its own, where /run is empty, vm.zone_reclaim_mode is a file
# and /proc has few processes: what a program does to the host is done to these. The arguments are a
# command to run here.
set -euo pipefail
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1m none /run
setting=/proc/sys/vm/zone_reclaim_mode
echo 0 >/run/zone_reclaim_mode
mount --bind /run/zone_reclaim_mode $setting
ledger=/run/nodereclaim/ledger

nr() { "$NR_STAGE/sbin/nodereclaim" "$@"; }
hold() { "$NR_TOOLS/hold" "$@" 2>>"$BATS_TEST_TMPDIR/log"; }
value() { local v; read -r v <$setting; echo "$v"; }
is() { [ "$(value)" = "$1" ] || { echo "zone_reclaim_mode is $(value), not $1: $2"; exit 1; }; }
empty() { [ ! -e $ledger ] || { echo "left: $(cat $ledger)"; exit 1; }; }

# Makes the host think that these jobs run: each has a slurmstepd, which does nothing.
stepds=()
run_jobs() {
	local job
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/slurmstepd"
	for job; do
		(exec -a "slurmstepd: [$job.0]" "$BATS_TEST_TMPDIR/slurmstepd" 300 >/dev/null 2>&1 3>&- 4>&-) &
		stepds+=($!)
	done
	# The name is there only after its execve(2)
	for job in "${stepds[@]}"; do
		until [ "$(cat "/proc/$job/comm")" = slurmstepd ]; do sleep 0.01; done
	done
}
end_jobs() {
	[ ${#stepds[@]} = 0 ] || kill "${stepds[@]}"
	wait || true
	stepds=()
}
trap end_jobs EXIT

afresh() {
	nr restore --all >/dev/null 2>&1
	echo 0 >$setting
	"$1"
}

# repaired COMMAND NEW N: after call N, the next run of COMMAND gets to NEW without waiting for a lock,
# and when the jobs are over the setting is 0 and nothing is left
repaired() {
	[ ! -e $ledger ] || nr ledger >/dev/null || { echo "damaged after $3"; exit 1; }
	timeout 5 $1 >/dev/null 2>&1 || { echo "the next run after $3: $?"; exit 1; }
	is "$2" "next run after $3"
	[ ! -e $ledger.bad ] || { echo "ledger.bad after $3"; exit 1; }
	nr restore --all >/dev/null 2>&1
	is 0 "restored after $3"
	empty
}

# kill_points BEFORE COMMAND OLD NEW: kills what COMMAND runs at every system call in turn, each time after
# BEFORE. Whatever the point, the value is one of OLD and NEW, and all is repaired.
kill_points() {
	local before=$1 command=$2 old=$3 new=$4 n rc=137
	for ((n = 1; rc == 137; n++)); do
		afresh "$before"
		rc=0
		# shellcheck disable=SC2086 # the command's words
		"$NR_TOOLS/killat" "$n" $command >/dev/null 2>&1 || rc=$?
		case $(value) in "$old" | "$new") ;; *) is "$new" "killed at $n" ;; esac
		repaired "$command" "$new" "$n"
	done
	# The last one came to its end
	[ $rc = 0 ] || { echo "exit status $rc at $n"; exit 1; }
	[ $n -gt 50 ] || { echo "only $((n - 2)) system calls"; exit 1; }
	echo "$((n - 2)) points"
}

# fault_points BEFORE COMMAND OLD NEW: the same where each call in turn fails instead, and COMMAND goes
# on. It never crashes; what it says with its exit status is so, if it is STRICT about that.
fault_points() {
	local before=$1 command=$2 old=$3 new=$4 n=0 calls=1 rc errors=(5 12 24 28) # EIO ENOMEM EMFILE ENOSPC
	while ((n++ < calls)); do
		afresh "$before"
		rc=0
		# shellcheck disable=SC2086 # the command's words
		"$NR_TOOLS/killat" -e "${errors[n % 4]}" "$n" $command >/dev/null 2>/run/killat || rc=$?
		calls=$(sed -n 's/^killat: \([0-9]*\)$/\1/p' /run/killat)
		((rc < 128)) || { echo "exit status $rc with error ${errors[n % 4]} of call $n"; exit 1; }
		case $(value) in "$old" | "$new") ;; *) is "$new" "call $n failed" ;; esac
		if [ -n "${STRICT-}" ]; then
			if [ $rc = 0 ]; then is "$new" "call $n failed, and all is well"; else is "$old" "call $n failed"; fi
		fi
		repaired "$command" "$new" "$n"
	done
	[ $n -gt 30 ] || { echo "only $n system calls"; exit 1; }
	echo "$n points"
}

"$@"
