#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever happens to the programs, they end with 0 and in time.
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and run set

load helper

setup_file() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	"${CC:-cc}" -shared -fPIC -o "$BATS_FILE_TMPDIR/preload.so" "$BATS_TEST_DIRNAME/preload.c"
	"${CC:-cc}" -o "$BATS_FILE_TMPDIR/devlog" "$BATS_TEST_DIRNAME/devlog.c"
}

setup() {
	need_root
	config
	pid_file=$BATS_TEST_TMPDIR/pid
	misbehave=(LD_PRELOAD="$BATS_FILE_TMPDIR/preload.so" NR_TEST_PID_FILE="$pid_file")
}

teardown() {
	[ -z "${guard-}" ] || kill -KILL "$guard" 2>/dev/null || true
}

# A whole-host job whose library misbehaves like that.
with_library() {
	whole_host SPANK_NODE_RECLAIM=1K "${misbehave[@]}" NR_TEST_MODE="$1"
}

# The same in the background, hanging: $guard is the program, $child its child.
start_hanging() {
	config '[prolog]' "deadline = ${1:-3600}"
	env -i SLURM_JOB_EXCLUSIVE=NODE SPANK_NODE_RECLAIM=1K "${misbehave[@]}" NR_TEST_MODE=hang \
		"$prolog" --stderr --sysroot=/ --config="$conf" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	guard=$!
	wait_for test -s "$pid_file"
	child=$(cat "$pid_file")
	[ "$child" -ne "$guard" ]
	[ -d "/proc/$child" ]
}

# The program in the background has ended with 0, and its child is gone.
ended_well() {
	status=0
	wait "$guard" || status=$?
	guard=
	output=$(cat "$BATS_TEST_TMPDIR/log")
	ends_well
	wait_for gone "$child"
}

@test "a library that hangs is killed at the deadline" {
	start_hanging 2
	ended_well
	says 'killed at the deadline of 2 s'
}

@test "the epilog has a deadline of its own" {
	config '[prolog]' 'deadline = 3600' '[epilog]' 'deadline = 2'
	start "$epilog" "${misbehave[@]}" NR_TEST_MODE=hang
	ends_well
	says 'killed at the deadline of 2 s'
	wait_for gone "$(cat "$pid_file")"
}

@test "a stopped child is killed at the deadline" {
	start_hanging 2
	kill -STOP "$child"
	ended_well
	says 'killed at the deadline of 2 s'
}

@test "SIGTERM, SIGINT, SIGHUP and SIGQUIT end it early, with 0" {
	local signal
	for signal in TERM INT HUP QUIT; do
		rm -f "$pid_file"
		start_hanging
		kill -"$signal" "$guard"
		ended_well
		says "ended early by signal $(kill -l "$signal")"
	done
}

@test "all other signals do nothing" {
	start_hanging 2
	local signal
	for signal in ALRM USR1 USR2 PIPE CHLD VTALRM PROF XCPU XFSZ IO PWR TRAP ABRT BUS FPE ILL SEGV SYS 34 64; do
		kill -"$signal" "$guard"
	done
	ended_well
	says 'killed at the deadline of 2 s'
}

@test "killed by SIGKILL, it leaves no child" {
	start_hanging
	kill -KILL "$guard"
	wait "$guard" || true
	guard=
	wait_for gone "$child"
}

@test "a child that hangs holds none of slurmd's descriptors" {
	start_hanging
	local fd
	for fd in 0 1; do
		[ "$(readlink "/proc/$child/fd/$fd")" = /dev/null ]
	done
	kill -TERM "$guard"
	ended_well
}

@test "a library that crashes" {
	with_library crash
	ends_well
	says 'crashed with signal 11'
}

@test "a library that ends the process" {
	with_library exit
	ends_well
	says 'ended with status 3'
}

@test "no memory" {
	with_library no-memory
	ends_well
	says 'nothing done, cannot read the NUMA nodes: Cannot allocate memory'
	start "$epilog" "${misbehave[@]}" NR_TEST_MODE=no-memory
	ends_well
	says 'cannot read the NUMA nodes: Cannot allocate memory'
}

@test "no memory, whatever is the limit" {
	local kb
	# From where the loader itself fails to where all goes well
	for kb in 6000 8000 10000 12000 15000 20000 40000; do
		status=0
		env -i "$BASH" -c "ulimit -v $kb; exec $prolog --config=$conf --sysroot=/" 2>/dev/null || status=$?
		# 127: the loader's, before the program begins
		[[ "$status" =~ ^(0|127)$ ]]
	done
}

@test "no process" {
	with_library no-fork
	ends_well
	says 'nothing done, no process: Resource temporarily unavailable'
}

@test "no descriptors" {
	with_library no-descriptors
	ends_well
	says 'nothing done, no descriptors: Too many open files'
}

@test "the environment is empty when the library is called" {
	with_library environment
	ends_well
	says_not 'ended with status'
}

@test "inherited descriptors are closed" {
	exec 11</dev/null 12</dev/null 200</dev/null 1000</dev/null
	with_library descriptors
	exec 11<&- 12<&- 200<&- 1000<&-
	ends_well
	says_not 'ended with status'
	says 'Cannot allocate memory'
}

@test "closed standard input, output and error" {
	for program in "$prolog" "$epilog"; do
		env -i SLURM_JOB_EXCLUSIVE=NODE SPANK_NODE_RECLAIM=1K \
			"$program" --stderr --sysroot=/ --config="$conf" <&- >&- 2>&-
	done
}

@test "standard error that is a full pipe, or one without a reader" {
	mkfifo "$BATS_TEST_TMPDIR/full"
	exec 7<>"$BATS_TEST_TMPDIR/full"
	timeout 1 cat /dev/zero >&7 || true
	start_with_stderr() {
		env -i SLURM_JOB_EXCLUSIVE=NODE SPANK_NODE_RECLAIM=nonsense \
			"$prolog" --stderr --sysroot=/ --config="$conf"
	}
	start_with_stderr 2>&7
	exec 7>&-
	{ start_with_stderr; echo "$?" >"$BATS_TEST_TMPDIR/status"; } 2> >(exec true) || true
	[ "$(cat "$BATS_TEST_TMPDIR/status")" -eq 0 ]
}

@test "inherited signal mask and ignored signals do not matter" {
	start_ignoring() {
		trap '' TERM CHLD HUP PIPE
		exec env -i SLURM_JOB_EXCLUSIVE=NODE SPANK_NODE_RECLAIM=1K "${misbehave[@]}" \
			NR_TEST_MODE=crash "$prolog" --stderr --sysroot=/ --config="$conf"
	}
	run start_ignoring
	ends_well
	says 'crashed with signal 11'
}

@test "no environment and no arguments" {
	for program in "$prolog" "$epilog"; do
		run env -i "$program" --sysroot=/
		ends_well
		lines 0
	done
}

@test "not as root" {
	local folder
	folder=$(mktemp -d -p /tmp)
	chmod 755 "$folder"
	conf=$folder/nodereclaim.conf
	printf '[log]\nlevel = debug\n' >"$conf"
	chmod 644 "$conf"
	for program in "$prolog" "$epilog"; do
		run setpriv --reuid=65534 --regid=65534 --clear-groups env -i SLURM_JOB_EXCLUSIVE=NODE \
			SPANK_NODE_RECLAIM=all,timeout=1 "$program" --stderr --config="$conf"
		echo "$output"
		[ "$status" -eq 0 ] || [ "$status" -eq 126 ] # 126: nobody cannot reach the program
	done
	rm -r "$folder"
}

@test "libslurm is not linked: one program for all releases of Slurm" {
	for program in "$prolog" "$epilog"; do
		run ldd "$program"
		[ "$status" -eq 0 ]
		says libnodereclaim
		says_not slurm.so
		says_not slurmfull
	done
}

@test "the wrappers end with 0 without the program" {
	local name
	for name in prolog epilog; do
		sed "s,@nrlibexecdir@,$BATS_TEST_TMPDIR/missing," "$here/../../contrib/slurm/$name.d/nodereclaim.in" \
			>"$BATS_TEST_TMPDIR/$name"
		env -i /bin/sh "$BATS_TEST_TMPDIR/$name" 2>/dev/null
	done
}

@test "a folder that went away" {
	mkdir "$BATS_TEST_TMPDIR/cwd"
	cd "$BATS_TEST_TMPDIR/cwd"
	rmdir "$BATS_TEST_TMPDIR/cwd"
	whole_host SPANK_NODE_RECLAIM=1K
	cd /
	ends_well
	says 'freed='
}

@test "wrong arguments do nothing but a line" {
	local argument
	for argument in --help -v foo '' --config --config= --config=relative --sysroot=. --stderr=1 $'--\033'; do
		start "$prolog" SPANK_NODE_RECLAIM=1K SLURM_JOB_EXCLUSIVE=NODE -- "$argument"
		ends_well
		lines 1
		says 'nothing done, bad argument'
		printable
	done
	start "$prolog" SPANK_NODE_RECLAIM=1K -- "$(printf '%0100000d' 1)"
	ends_well
	lines 1
}

@test "a sysroot that is missing, empty, or a file" {
	local sysroot
	mkdir "$BATS_TEST_TMPDIR/empty"
	touch "$BATS_TEST_TMPDIR/file"
	for sysroot in missing empty file; do
		for program in "$prolog" "$epilog"; do
			start "$program" SLURM_JOB_EXCLUSIVE=NODE SPANK_NODE_RECLAIM=1K -- \
				--sysroot="$BATS_TEST_TMPDIR/$sysroot"
			ends_well
			says 'cannot read the NUMA nodes'
		done
	done
}

# In a mount namespace with a /dev that has only null and a syslog daemon of ours.
with_syslog() {
	# shellcheck disable=SC2016 # for the inner shell
	run unshare -m "$BASH" -c 'mount -t tmpfs -o mode=755 tmpfs "$1" && mknod -m 666 "$1/null" c 1 3 &&
		cp "$2" "$1/devlog" && mount --move "$1" /dev && shift 2 && exec /dev/devlog "$@"' - \
		"$(mktemp -d -p "$BATS_TEST_TMPDIR")" "$BATS_FILE_TMPDIR/devlog" "$@"
	[ "$status" -ne 99 ]
}

@test "log lines go to syslog as daemon, with the program's name" {
	with_syslog read /usr/bin/env -i SLURM_JOB_ID=12 SLURM_JOB_UID=1000 SLURM_JOB_PARTITION=big \
		SPANK_NODE_RECLAIM=nonsense SLURM_JOB_EXCLUSIVE=NODE "$prolog" --config="$conf" --sysroot=/
	ends_well
	lines 1
	[[ "$output" =~ ^\<28\>[A-Z][a-z]{2}\ [\ 0-9][0-9]\ [0-9:]{8}\ nodereclaim-prolog\[[0-9]+\]:\ job=12\ uid=1000\ partition=big\ SPANK ]]
	with_syslog read /usr/bin/env -i SLURM_JOB_ID=12 "$epilog" --config="$conf" --sysroot=/
	ends_well
	[[ "$output" =~ ^\<30\>.*\ nodereclaim-epilog\[[0-9]+\]:\ job=12\ uid=\?\ nid= ]]
}

@test "a syslog daemon that reads nothing does not hold up the job" {
	with_syslog stuck /usr/bin/env -i SLURM_JOB_ID=12 "$epilog" --config="$conf" --sysroot=/
	ends_well
	lines 0
}
