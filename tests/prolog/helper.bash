# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # bats sets and uses them
# For the tests of nodereclaim-prolog and nodereclaim-epilog. NR_STAGE is the installation's prefix.

libexec=${NR_STAGE:?the prefix where nodereclaim is installed}/libexec/nodereclaim
prolog=$libexec/nodereclaim-prolog
epilog=$libexec/nodereclaim-epilog
here=$BATS_TEST_DIRNAME

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
}

# One argument a line; the log shows all.
config() {
	conf=$BATS_TEST_TMPDIR/nodereclaim.conf
	rm -rf "$conf"
	printf '%s\n' '[log]' 'level = debug' "$@" >"$conf"
	chmod 644 "$conf"
}

online_cpus() {
	getconf _NPROCESSORS_ONLN
}

# Run a program with no environment but the arguments before "--", and further arguments after it.
# It reads the running system, but only says what it would do.
start() {
	local program=$1 variables=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		variables+=("$1")
		shift
	done
	shift || true
	run env -i "${variables[@]}" "$program" --stderr --sysroot=/ --config="$conf" "$@"
}

# A job over the whole host, and more variables.
whole_host() {
	start "$prolog" SLURM_JOB_ID=12 SLURM_JOB_UID=1000 \
		SLURM_JOB_CPUS_PER_NODE="$(online_cpus)" "$@"
}

ends_well() {
	[ "$status" -eq 0 ] || { echo "status $status: $output"; return 1; }
}

says() {
	[[ "$output" == *"$1"* ]] || { printf 'no "%s" in:\n%s\n' "$1" "$output"; return 1; }
}

says_not() {
	[[ "$output" != *"$1"* ]] || { printf '"%s" in:\n%s\n' "$1" "$output"; return 1; }
}

lines() {
	[ "${#lines[@]}" -eq "$1" ] || { printf '%s lines, not %s:\n%s\n' "${#lines[@]}" "$1" "$output"; return 1; }
}

# No control character and no byte above 0x7e got through.
printable() {
	if LC_ALL=C grep -q '[^ -~]' <<<"$output"; then
		printf 'not printable: %q\n' "$output"
		return 1
	fi
}

# Wait until a command succeeds; the limit is only there to end a broken test.
wait_for() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	echo "waited in vain: $*"
	return 1
}

gone() {
	local state
	[ -d "/proc/$1" ] || return 0
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
	[ "$state" = Z ]
}
