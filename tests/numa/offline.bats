#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched stock-6.12 on movable
# shellcheck disable=SC2154 # counters that count sets
# Memory that goes offline and comes back, and ZONE_MOVABLE.

load common

# The blocks of a NUMA node that are in ZONE_MOVABLE alone
movable_blocks() {
	grep -lxs Movable "$nodes/node$1"/memory*/valid_zones | xargs -n 1 dirname
}

# Some blocks may have pages that are in use for a moment.
offline() {
	local block
	for block in $(movable_blocks "$1"); do
		echo offline >"$block/state" && echo "$block" >>"$BATS_TEST_TMPDIR/offline"
	done
	[[ -s $BATS_TEST_TMPDIR/offline ]]
}

teardown() {
	local block
	[[ ! -e $BATS_TEST_TMPDIR/offline ]] || while read -r block; do
		echo online_movable >"$block/state"
	done <"$BATS_TEST_TMPDIR/offline"
}

@test "status follows what goes offline" {
	local before after
	[[ -n $(movable_blocks 1) ]]
	before=$("$nodereclaim" status --json | jq '.nodes[1].total')
	offline 1
	after=$("$nodereclaim" status --json | jq '.nodes[1].total')
	((before - after == $(wc -l <"$BATS_TEST_TMPDIR/offline") * 128 * 1024 * 1024))
}
