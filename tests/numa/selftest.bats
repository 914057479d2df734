#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on two-sockets
# shellcheck disable=SC2154 # what bats sets
# The series' own test, tools/testing/selftests/mm/node_reclaim.c.

load common

# Each of its checks is a line; here they are one test, with its lines if it fails.
@test "the selftest of the series" {
	[[ -x /run/out/selftest ]] || skip "NR_KERNEL names an image that has none beside it"
	cd $data
	run /run/out/selftest
	printf '%s\n' "$output"
	[[ $status == 0 && $output == *"1..35"* && $output == *"pass:35 fail:0"*"skip:0"* ]]
}
