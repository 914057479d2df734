# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # bats sets and uses them
# For the tests of nodereclaim(8). NR_STAGE is the installation's prefix, NR_ROOTS the folder that
# tests/roots/generate filled.

bats_require_minimum_version 1.5.0
nodereclaim=${NR_STAGE:?the prefix where nodereclaim is installed}/sbin/nodereclaim
roots=${NR_ROOTS:?the folder that tests/roots/generate filled}
expected=$BATS_TEST_DIRNAME/expected
trees=(one-node two-sockets eight-nodes ibm-power730 memoryless cxl holes hbm offline old-kernel patched)

# The command's exit code, its standard output in $output and its standard error in $stderr
nr() {
	run --separate-stderr "$nodereclaim" "$@"
}

# fails CODE TEXT: so ended the last command: one line about it, which has TEXT, and nothing else
fails() {
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1: $output $stderr"; return 1; }
	[ -z "$output" ] || { echo "on standard output: $output"; return 1; }
	[[ ${stderr_lines[0]} == *"$2"* ]] || { echo "no '$2' in: $stderr"; return 1; }
	if [[ ${#stderr_lines[@]} -gt 2 || (${#stderr_lines[@]} -eq 2 && ${stderr_lines[1]} != "Try 'nodereclaim"*) ]]; then
		echo "more than one line: $stderr"
		return 1
	fi
}

ends() {
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1: $output $stderr"; return 1; }
}

# value TREE NID NAME: a line of nodeN/meminfo in bytes
meminfo() {
	awk -v name="$3:" '$3 == name {printf "%.0f\n", $4 * 1024}' \
		"$roots/$1/sys/devices/system/node/node$2/meminfo"
}
