#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # helper.bash sets them
# nodereclaim flush: plans for recorded trees, exit codes, and what it refuses. What flush does to a
# running kernel is tested with Slurm and in tests/unit/test_reclaim.c.
load helper

plan() {
	local tree=$1
	shift
	nr flush --dry-run --sysroot "$roots/$tree" --json "$@"
}

verdicts() {
	jq -r '[.nodes[] | "\(.node):\(.verdict)"] | join(" ")' <<<"$output"
}

@test "dry run: 10G on eight NUMA nodes" {
	plan eight-nodes 10G
	ends 1
	[ "$(verdicts)" = "0:free 1:free 2:met 3:short 4:free 5:short 6:free 7:met" ]
	jq -e '.dry_run and .goal == "size" and (.nodes | all(.need == 10737418240))' <<<"$output"
	jq -e '.nodes | all(.to_free <= .before.clean)' <<<"$output"
	jq -e '.nodes | map(select(.verdict == "free")) | all(.to_free >= .need - .allocatable)' <<<"$output"
}

@test "dry run: exit 0 if clean cache is enough, 1 if not" {
	plan eight-nodes --nodes 0-2,7 10G
	ends 0
	plan eight-nodes --nodes 3 10G
	ends 1
}

@test "dry run: all is the default" {
	plan cxl
	ends 0
	jq -e '.goal == "all" and (.nodes | length == 3) and (.nodes | all(.to_free == .before.clean))' <<<"$output"
}

@test "dry run: percent" {
	plan two-sockets 50%
	ends 0
	jq -e '.nodes[0].need == (.nodes[0].before.total / 2)' <<<"$output"
	[ "$(verdicts)" = "0:free 1:short" ] || [ "$(verdicts)" = "0:free 1:free" ]
}

@test "dry run: only these NUMA nodes" {
	plan holes --nodes 8,252 1G
	ends 0
	[ "$(jq -c '[.nodes[].node]' <<<"$output")" = "[8,252]" ]
	plan holes nodes=252-255,1G
	ends 0
	[ "$(jq -c '[.nodes[].node]' <<<"$output")" = "[252,253,254,255]" ]
}

@test "dry run: NUMA nodes without memory are left out" {
	plan memoryless 1G
	[ "$(jq -c '[.nodes[].node]' <<<"$output")" = "[0,2]" ]
	plan ibm-power730 1G
	[ "$(jq -c '[.nodes[].node]' <<<"$output")" = "[1]" ]
}

@test "dry run: 1,024 NUMA nodes" {
	plan nodes-1024 1G
	ends 1
	jq -e '.nodes | length == 1024' <<<"$output"
}

@test "dry run: the table" {
	nr flush -n -s "$roots/eight-nodes" -N 0,7 10G
	ends 0
	[[ ${lines[0]} == NODE* ]]
	[[ ${lines[1]} =~ ^\ *0\ +10G\  ]]
	[[ ${lines[2]} =~ ^\ *7\ +10G\ .*nothing$ ]]
	[[ ${lines[-1]} == "dry run: nothing was touched"* ]]
	[ -z "$stderr" ]
}

@test "quiet says nothing" {
	nr flush -n -s "$roots/eight-nodes" 10G,quiet
	ends 1
	[ -z "$output$stderr" ]
}

@test "a dry run changes no file" {
	local tree before
	for tree in cxl one-node; do
		before=$(find "$roots/$tree" -type f -exec md5sum {} + | sort)
		nr flush -n -s "$roots/$tree" --allow-drop-caches all,compact,dirty=sync
		[ "$(find "$roots/$tree" -type f -exec md5sum {} + | sort)" = "$before" ]
	done
}

@test "a recorded tree is never flushed" {
	nr flush --sysroot "$roots/cxl" 1G
	fails 2 --dry-run
}

@test "bad specs: the item, its place and what is allowed" {
	local spec
	for spec in 1.5G 2X 0 0K 8388608T 99999999999999999999G 101% 0% -- "," "1G," ",1G" 1G,,strict 1G,2G \
		1G,all verbose,quiet timeout=0 timeout=3601 timeout=x nodes= nodes=1024 nodes=3-1 \
		dirty=no policy=x frob STRICT " 1G" "1G " "(null),1G"; do
		nr flush -n -s "$roots/cxl" -- "$spec"
		[ "$spec" = -- ] || [[ $stderr == *"byte "* ]]
		fails 2 SPEC
	done
	nr flush -n -s "$roots/cxl" 1G,frob,strict
	fails 2 'item 2 "frob" at byte 3'
}

@test "specs that are about a job" {
	nr flush -n -s "$roots/cxl" auto
	fails 2 auto
	nr flush -n -s "$roots/cxl" policy=bind
	fails 2 policy
	nr flush -n -s "$roots/cxl" ""
	fails 2 empty
	nr flush -n -s "$roots/cxl" "(null)"
	fails 2 empty
}

@test "a spec of 100 kB" {
	nr flush -n -s "$roots/cxl" "$(printf '%0100000d' 0)G"
	fails 2 "too long"
}

@test "NUMA nodes that are not there" {
	nr flush -n -s "$roots/cxl" --nodes 3
	fails 2 3
	nr flush -n -s "$roots/ibm-power730" --nodes 0
	fails 2 memory
	nr flush -n -s "$roots/cxl" --nodes 1024
	fails 2 --nodes
	nr flush -n -s "$roots/cxl" --nodes ""
	fails 2 --nodes
	nr flush -n -s "$roots/cxl" --nodes 0 nodes=1
	ends 2
	[[ $stderr == *nodes=* ]]
}

@test "bad options" {
	nr flush --frob
	fails 2 --frob
	nr flush 1G 2G
	fails 2 "'2G'"
}

@test "--backend: one that there is, and drop_caches only if it is allowed" {
	local name names
	names=$("$nodereclaim" backends --sysroot "$roots/cxl" --json | jq -r '[.backends[].name] | unique | .[]')
	for name in $names; do
		nr flush -n -s "$roots/cxl" --backend "$name" --allow-drop-caches 1G
		[ "$status" -ne 2 ]
		[ -z "$stderr" ]
	done
	nr flush -n -s "$roots/cxl" --backend drop_caches 1G
	fails 2 --allow-drop-caches
	nr flush -n -s "$roots/cxl" --backend $'fr\eob' 1G
	fails 2 "'fr?ob'"
	for name in $names; do
		[[ $stderr == *"$name"* ]]
	done
	nr flush -n -s "$roots/cxl" --backend "" 1G
	fails 2 --backend
	nr flush -n -s "$roots/cxl" --backend SYSFS 1G
	fails 2 SYSFS
}

@test "--files-from: absolute paths, several of them" {
	nr flush -n -s "$roots/cxl" --files-from /scratch --files-from /tmp 1K
	ends 0
	for path in scratch ./scratch "" ..; do
		nr flush -n -s "$roots/cxl" --files-from /tmp --files-from "$path" 1K
		fails 2 --files-from
	done
}

@test "JSON has what each backend freed" {
	plan cxl 1G
	jq -e '.nodes | all(.by | has("sysfs") and has("drop_caches") and all(. == 0))' <<<"$output"
}

@test "help: the items, as srun --node-reclaim=help has them" {
	nr flush help
	ends 0
	[[ $output == *"nodes=LIST"* ]]
	[[ $output == *"timeout=SECONDS"* ]]
	nr flush --help
	ends 0
	[[ $output == *"Exit status: 0 "* ]]
}

@test "without root: exit 3 and the reason, and a dry run works" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	chmod 755 "$BATS_RUN_TMPDIR"
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$nodereclaim" flush 1K
	fails 3 root
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$nodereclaim" flush --dry-run 1K
	ends 0
}

@test "no backend: which kernels have one" {
	nr backends --sysroot "$roots/two-sockets"
	ends 0
	[[ $output == *6.17* ]]
}
