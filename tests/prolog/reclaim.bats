#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The prolog on the running system. Page cache of a file is filled and freed again.
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and run set

load helper

MB=$((1024 * 1024))

setup() {
	need_root
	config
	node=/sys/devices/system/node/node0
	[ -w $node/reclaim ] || skip "this kernel has no $node/reclaim (before Linux 6.17)"
	[ "$(cat $node/cpulist)" ] || skip "NUMA node 0 has no CPU to read a file with"
	[ "$(meminfo MemTotal)" -gt 0 ] || skip "NUMA node 0 has no memory"
}

meminfo() {
	awk -v key="$1:" '$3 == key { printf "%.0f\n", $4 * 1024 }' "$node/meminfo"
}

# Free memory with what waits in the lists of the CPUs, which a job on all CPUs can have as well.
free_memory() {
	local lists
	lists=$(awk '$1 == "Node" { node = $2 } node == "0," && $1 == "count:" { n += $2 } END { print n }' /proc/zoneinfo)
	echo $(($(meminfo MemFree) + lists * $(getconf PAGESIZE)))
}

# Some clean cache on NUMA node 0.
fill() {
	local file=$BATS_TEST_TMPDIR/file size=$1
	[ "$(stat -f -c %T "$BATS_TEST_TMPDIR")" != tmpfs ] || skip "the folder for temporary files is a tmpfs"
	taskset -c "$(cut -d, -f1 "$node/cpulist" | cut -d- -f1)" \
		dd if=/dev/zero of="$file" bs=1M count=$((size / MB)) conv=fsync status=none
}

serve() {
	run env -i SLURM_JOB_ID=12 SLURM_JOB_UID=1000 SLURM_JOB_CPUS_PER_NODE="$(online_cpus)" "$@" \
		"$prolog" --stderr --config="$conf"
	ends_well
}

@test "a whole-host job gets what it asks for; a second time nothing is done" {
	fill $((1536 * MB))
	local before after want
	before=$(free_memory)
	want=$(((before + 512 * MB) / MB))
	sed -i 's/debug/info/' "$conf"
	serve SPANK_NODE_RECLAIM="${want}M,nodes=0"
	after=$(free_memory)
	echo "free before $before, wanted $want MB, after $after: $output"
	lines 1
	says ' missing=0 '
	says 'node0_end=done'
	# others on the machine may have taken some meanwhile
	[ "$after" -ge $(((want - 64) * MB)) ]
	serve SPANK_NODE_RECLAIM="$((want - 256))M,nodes=0"
	echo "$output"
	says ' freed=0 '
	says 'node0_end=nothing'
}

@test "a job with some of the CPUs gets nothing" {
	fill $((256 * MB))
	local before
	before=$(meminfo FilePages)
	serve SPANK_NODE_RECLAIM=all,nodes=0 SLURM_JOB_CPUS_PER_NODE=0
	says 'left to the plugin'
	[ "$(meminfo FilePages)" -ge $((before - 64 * MB)) ]
}

@test "a sysroot changes nothing" {
	fill $((256 * MB))
	local before
	before=$(meminfo FilePages)
	whole_host SPANK_NODE_RECLAIM=all,nodes=0
	ends_well
	says 'job=12 uid=1000 '
	[ "$(meminfo FilePages)" -ge $((before - 64 * MB)) ]
}

@test "max_timeout and deadline bound a request for more" {
	config '[prolog]' 'max_timeout = 1' 'deadline = 5'
	serve SPANK_NODE_RECLAIM=100%,nodes=0,timeout=3600
	says_not 'killed at the deadline'
	says 'job=12 uid=1000 '
}
