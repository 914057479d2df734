#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-nodes
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# srun --node-reclaim as an ordinary user, in allocations on the CPUs of one NUMA node each: 0 and 1
# have memory, 2 has none and is nearest to 1, 3 has no CPUs.

load slurm

setup() {
	fill_node 0
	fill_node 1
	read_on 3 file3 300
	# About as much room for Slurm's own processes, or kswapd makes some
	"$nodereclaim" flush --nodes 0,1 96M >/dev/null || true
}

# need MB NID: a SIZE that is this many MB above what is allocatable there
need() {
	local free
	read -r free _ < <(nid=$2 allocatable_kb)
	echo $((free + $1 * 1024))K
}

# gone NID MB: so much of its cache is gone, at most 1 % more, and 8 MB for Slurm's own processes,
# which come and go
gone() {
	local gone
	gone=$(lost "cache$1")
	echo "# $BATS_TEST_DESCRIPTION: $1: $(($2 * 1024)) kB needed, $gone kB freed" >&3
	((gone >= $2 * 1024 - 8192 && gone <= $2 * 1024 * 101 / 100 + 8192)) ||
		fail "NUMA node $1: $gone kB of cache are gone"
}

@test "each allocation has the CPUs of one NUMA node" {
	check_allocations
}

@test "on each NUMA node in turn: what is missing there, and no other's cache" {
	local n
	for n in 0 1; do
		count before
		step $n --node-reclaim="$(need 300 $n)" true
		count after
		gone $n 300
		kept $((1 - n)) 3
		not_swapped
	done
}

@test "on two at once" {
	local one two
	count before
	step 0 --node-reclaim="$(need 300 0)" true 3>&- &
	one=$!
	step 1 --node-reclaim="$(need 200 1)" true 3>&- &
	two=$!
	wait $one
	wait $two
	count after
	gone 0 300
	gone 1 200
	kept 3
	not_swapped
}

@test "on the CPUs of the memoryless NUMA node: the nearest" {
	count before
	step 2 --node-reclaim="$(need 300 1)" true
	count after
	gone 1 300
	kept 0 3
	not_swapped
}

@test "the NUMA node without CPUs: only when it is named" {
	count before
	step 1 --node-reclaim=all true
	count after
	((after[clean1] < before[clean1] / 10))
	kept 0 3
	fill_node 1
	count before
	step 1 --node-reclaim=all,nodes=3 true
	count after
	((after[clean3] < before[clean3] / 10))
	kept 0 1
	not_swapped
}

@test "policy=local: all that the step touches is local, though nothing was freed for it" {
	local out=$LAB/user/alloc
	count before
	step 0 --node-reclaim=1M,policy=local "$NR_TOOLS/alloc" --small 600 >"$out"
	count after
	cat "$out"
	grep -qx 'policy=local=localreclaim' "$out"
	(($(pages 0 "$out") * 1000 >= 600 * 256 * 999))
	kept 1 3
	not_swapped
}

# policy ARGUMENT...: of the step's memory, by srun's arguments
policy() {
	step 0 "$@" "$NR_TOOLS/alloc" 1 | sed -n 's/^policy=//p'
}

# Without the option, and with policy=local: the same, and the flag
@test "what --mem-bind chose is kept, and the flag is added" {
	local bind was now
	for bind in none local map_mem:1 prefer,map_mem:1 mask_mem:0x2; do
		was=$(policy --mem-bind=$bind)
		now=$(policy --mem-bind=$bind --node-reclaim=1M,policy=local)
		echo "# --mem-bind=$bind: $was, with policy=local $now" >&3
		case $was in
		default) [[ $now == local=localreclaim ]] ;;
		*:*) [[ $now == "${was%:*}${was:+=localreclaim}:${was##*:}" ]] ;;
		*) [[ $now == "$was=localreclaim" ]] ;;
		esac
	done
}

@test "the host is up" {
	check_up
}
