#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # helper.bash sets them
# nodereclaim status: the tables of recorded trees, and what it refuses.
load helper

# The table is the expected one, byte for byte
table() {
	nr status --sysroot "$roots/$1"
	ends 0
	[ -z "$stderr" ]
	diff -u "$expected/$1.status" - <<<"$output"
}

@test "table: one NUMA node, recorded" { table one-node; }
@test "table: two sockets" { table two-sockets; }
@test "table: eight NUMA nodes" { table eight-nodes; }
@test "table: IBM Power 730, CPUs without memory and memory without CPUs" { table ibm-power730; }
@test "table: NUMA nodes without memory" { table memoryless; }
@test "table: CXL memory" { table cxl; }
@test "table: holes in the numbering" { table holes; }
@test "table: HBM beside DRAM" { table hbm; }
@test "table: CPUs and a NUMA node offline" { table offline; }
@test "table: an old kernel" { table old-kernel; }
@test "table: a patched kernel" { table patched; }

@test "table: 1,024 NUMA nodes" {
	nr status --sysroot "$roots/nodes-1024"
	ends 0
	[ "${#lines[@]}" -eq 1025 ]
	[[ ${lines[1]} =~ ^\ *0\ +8\ +3\.9G\  ]]
	[[ ${lines[1024]} =~ ^1023\ +8\ +3\.9G\  ]]
}

@test "JSON says for each tree what its files say" {
	local tree nid nodes
	for tree in "${trees[@]}"; do
		nr status --sysroot "$roots/$tree" --json
		ends 0
		nodes=$(jq -r '.nodes[].node' <<<"$output")
		[ "$(wc -w <<<"$nodes")" -eq "$(find "$roots/$tree/sys/devices/system/node" -name 'node[0-9]*' -prune | wc -l)" ]
		for nid in $nodes; do
			[ "$(jq ".nodes[] | select(.node == $nid) | .total, .free, .dirty, .mapped, .anonymous, .shmem" <<<"$output")" = \
				"$(for name in MemTotal MemFree Dirty Mapped AnonPages Shmem; do meminfo "$tree" "$nid" $name; done)" ]
		done
	done
}

@test "JSON: numbers are numbers, and what the kernel does not count is null" {
	nr status --sysroot "$roots/old-kernel" -J
	ends 0
	jq -e '[.nodes[] | to_entries[] | select(.key != "zones" and (.value | type) != "number" and .value != null)] == []' <<<"$output"
	jq -e '.nodes | all(.free_blocks == null and .swap_cached == null and .clean > 0)' <<<"$output"
	nr status --sysroot "$roots/one-node" -J
	jq -e '.nodes[0].free_blocks > 0 and .nodes[0].swap_cached == 0' <<<"$output"
}

@test "JSON: 1,024 NUMA nodes" {
	nr status --sysroot "$roots/nodes-1024" -J
	ends 0
	jq -e '(.nodes | length) == 1024 and ([.nodes[].cpus] | add) == 8192 and
		([.nodes[].node] == [range(1024)])' <<<"$output"
}

@test "JSON: the classes of a NUMA node are all of its memory" {
	nr status --sysroot "$roots/eight-nodes" -J
	jq -e '.nodes | all(.total == .free + .per_cpu + .file + .anonymous + .slab_reclaimable +
		.slab_unreclaimable + .page_tables + .kernel_stacks + .huge_pages + .unaccounted)' <<<"$output"
}

@test "--cpus: CPU 3 of the IBM Power 730 is served by NUMA node 1" {
	nr status --sysroot "$roots/ibm-power730" --cpus 3 --output NODE,SERVES --raw --noheadings
	ends 0
	[ "$output" = "1 1" ]
}

@test "--cpus: only the NUMA nodes that serve them, and how many each" {
	nr status --sysroot "$roots/memoryless" -c 8-15,16,24 -o node,serves -r -n
	ends 0
	[ "$output" = $'0 8\n2 2' ]
	nr status --sysroot "$roots/offline" --cpus 8-12 -o node,serves -r -n
	[ "$output" = "0 1" ]
}

@test "SERVES counts the CPUs of NUMA nodes without memory where they go" {
	nr status --sysroot "$roots/memoryless" -o node,cpus,serves -r -n
	[ "$output" = $'0 8 16\n1 8 0\n2 8 16\n3 8 0' ]
}

@test "--bytes, --raw, --noheadings, --output" {
	nr status --sysroot "$roots/two-sockets" --bytes --raw --noheadings --output node,total,free,clean
	ends 0
	[ "${lines[0]}" = "0 100844699648 1210089472 89449299968" ]
	[ "${#lines[@]}" -eq 2 ]
	nr status --sysroot "$roots/cxl" --raw -o zones,NODE
	[ "${lines[0]}" = "ZONES NODE" ]
	[ "${lines[1]}" = "DMA,DMA32,Normal 0" ]
	[ "${lines[3]}" = "Movable 2" ]
}

@test "--output +COL adds, --output-all has every column of --help" {
	nr status --sysroot "$roots/cxl" -o +ZONES
	ends 0
	[[ ${lines[0]} == "NODE CPUS TOTAL"*" ZONES" ]]
	nr status --help
	ends 0
	local columns
	columns=$(sed -n '/^Columns:/,$s/^ [ *]\([A-Z_0-9]*\)  .*/\1/p' <<<"$output" | grep -v '^$\|^BAR$' | xargs)
	[ "$(wc -w <<<"$columns")" -gt 20 ]
	nr status --sysroot "$roots/cxl" --raw --output-all
	ends 0
	[ "${lines[0]}" = "$columns" ]
}

@test "BAR: held, clean and free as wide as asked" {
	nr status --sysroot "$roots/two-sockets" -o node,bar
	ends 0
	[ "${#lines[@]}" -eq 3 ]
	[ "${lines[1]}" != "${lines[2]}" ]
}

@test "on a terminal there is a bar and what it means" {
	command -v script >/dev/null || skip "script(1) is not installed"
	local text
	text=$(TERM=xterm COLUMNS=120 script -qec "stty cols 120; $nodereclaim status --sysroot $roots/two-sockets" /dev/null </dev/null)
	[[ $text == *BAR* ]]
	[[ $text == *clean* ]]
}

@test "the running host" {
	[ -e /sys/devices/system/node/online ] || skip "this kernel has no NUMA support"
	nr status --json
	ends 0
	jq -e '.nodes | length > 0' <<<"$output"
}

@test "bad options and arguments" {
	nr status --frobnicate
	fails 2 "--frobnicate"
	nr status extra
	fails 2 "'extra'"
	nr status --output
	fails 2 "--output"
	nr status -s "$roots/cxl" --output ""
	fails 2 "--output"
	nr status -s "$roots/cxl" --output node,frob
	fails 2 "'frob'"
	nr status -s "$roots/cxl" --output node,,free
	fails 2 "--output"
	nr status -s "$roots/cxl" --output node,NODE
	fails 2 "twice"
	nr status -s "$roots/cxl" --json --raw
	fails 2 "--raw"
	nr status -s "$roots/cxl" --output node --output-all
	fails 2 "--output-all"
}

@test "bad CPU lists" {
	local list
	for list in "" x 3-1 "0," ",0" -1 8192 99999999999999999999 "0 1"; do
		nr status -s "$roots/cxl" --cpus="$list"
		fails 2 "--cpus"
	done
	nr status -s "$roots/cxl" --cpus 96
	fails 2 96
	nr status -s "$roots/offline" --cpus 8-11
	fails 2 online
}

@test "a sysroot that is none" {
	nr status --sysroot /no/such/folder
	fails 4 /no/such/folder
	nr status --sysroot /etc/passwd
	fails 4 /etc/passwd
	nr status --sysroot "$BATS_TEST_TMPDIR"
	fails 4 online
}

@test "control characters of an argument do not reach the terminal" {
	nr status $'a\e[2Jb'
	fails 2 'a?[2Jb'
	nr status -s "$roots/cxl" -o $'no\ade'
	fails 2 'no?de'
}

@test "a full disk is no success" {
	run --separate-stderr bash -c '"$1" status --sysroot "$2" >/dev/full' - "$nodereclaim" "$roots/cxl"
	fails 4 "standard output"
	run --separate-stderr bash -c '"$1" status --sysroot "$2" >&-' - "$nodereclaim" "$roots/cxl"
	fails 4 "standard output"
}
