#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the epilog logs.
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and run set

load helper

setup() {
	need_root
	config
}

# The value of a key in the first line for a NUMA node, or of a line in its meminfo in bytes.
logged() {
	sed -n "s/.* nid=$1 .*\b$2=\([0-9]*\).*/\1/p" <<<"$output" | head -n 1
}

meminfo() {
	awk -v key="$2:" '$3 == key { printf "%.0f\n", $4 * 1024 }' "/sys/devices/system/node/node$1/meminfo"
}

@test "one line for each NUMA node with memory" {
	start "$epilog" SLURM_JOB_ID=12 SLURM_JOB_UID=1000
	ends_well
	local node nid count=0
	for node in /sys/devices/system/node/node[0-9]*; do
		nid=${node##*node}
		[ "$(meminfo "$nid" MemTotal)" -gt 0 ] || continue
		count=$((count + 1))
		says "job=12 uid=1000 nid=$nid "
		[ "$(logged "$nid" total)" -eq "$(meminfo "$nid" MemTotal)" ]
		for key in free allocatable clean dirty writeback mapped shmem; do
			[ -n "$(logged "$nid" "$key")" ] || { echo "no $key in $output"; return 1; }
		done
	done
	lines "$count"
}

@test "report = no" {
	config '[epilog]' 'report = no'
	start "$epilog" SLURM_JOB_ID=12
	ends_well
	lines 0
}

@test "on the running system it needs no option" {
	run env -i SLURM_JOB_ID=12 "$epilog" --stderr --config="$conf"
	ends_well
	says 'job=12 uid=? nid='
}
