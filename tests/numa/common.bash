# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154,SC2004,SC2034 # what count sets; bats files use the rest
#
# What the bats files share inside a guest of tests/numa/run: page cache and other memory on a NUMA
# node of choice, and the kernel's counters of all of them. What nodereclaim did is judged by these
# counters, never by its own words.

bats_require_minimum_version 1.5.0
: "${NR_STAGE:?}" "${NR_TOOLS:?}" "${NR_SRC:?}" "${NR_NUMA_KERNEL:?only inside a guest}"

# Its counters, and what it has for a Slurm
# shellcheck source=tests/slurm/common.bash
source "$NR_SRC/tests/slurm/common.bash"
nodereclaim=$NR_STAGE/sbin/nodereclaim
data=/mnt/data
nodes=/sys/devices/system/node

# A list as "0,2-3" in words
words() {
	local range
	for range in ${1//,/ }; do
		seq "${range%-*}" "${range#*-}"
	done
}
with_memory=$(words "$(<$nodes/has_memory)")
lrus=$(if [[ -e /sys/kernel/mm/lru_gen/enabled ]]; then echo mglru; fi; echo classic)

lru() {
	local file=/sys/kernel/mm/lru_gen/enabled
	case $1 in
	mglru) echo 7 >$file ;;
	classic) [[ ! -e $file ]] || echo 0 >$file ;;
	esac
}

# ------------------------------------------------------------------------------ counters

# count NAME: the counters of now in the associative array NAME: KeyN of NUMA node N's meminfo, cacheN
# and cleanN in kB, and those of /proc/vmstat in pages.
count() {
	read -r </proc/sys/vm/stat_refresh || true
	declare -gA "$1"
	eval "$1=($(awk '
		FILENAME == "/proc/vmstat" { printf "[%s]=%s ", $1, $2; next }
		{
			sub(":", "", $3); gsub("[()]", "_", $3)
			v[$3 $2] = $4; node[$2]
			printf "[%s%s]=%s ", $3, $2, $4
		}
		END {
			for (n in node) {
				cache = v["Active_file_" n] + v["Inactive_file_" n]
				printf "[cache%s]=%d ", n, cache
				printf "[clean%s]=%d ", n, cache - v["Mapped" n] - v["Dirty" n] - v["Writeback" n]
			}
		}' $nodes/node*/meminfo /proc/vmstat))"
}

# By how much a counter rose from before to after, or fell
rose() {
	echo $((after[$1] - before[$1]))
}
lost() {
	echo $((before[$1] - after[$1]))
}

# kept NID...: these NUMA nodes lost no cache. 256 kB are the kernel's per-CPU differences.
kept() {
	local n lost
	for n in "$@"; do
		lost=$(lost "cache$n")
		((lost <= 256)) || fail "NUMA node $n lost $lost kB of cache" || return
	done
}

# not_swapped: no page went to swap
not_swapped() {
	((after[pswpout] == before[pswpout])) || fail "$(rose pswpout) pages were swapped out"
}

# ------------------------------------------------------------------------------ memory

# read_on NID FILE MB: that much of a file becomes clean cache on that NUMA node, but for what of it
# is cached already
read_on() {
	numactl --membind="$1" "$NR_TOOLS/fill" --ahead "$data/$2" "$3"
}

# short_lists: few free pages on the list of each CPU, where they are neither free nor in use: tens of MB
# come and go there. usual_lists: what the kernel has by default.
short_lists() {
	echo 100000 >/proc/sys/vm/percpu_pagelist_high_fraction
}
usual_lists() {
	echo 0 >/proc/sys/vm/percpu_pagelist_high_fraction
}

# shared NID MB: a file of that size in tmpfs, /mnt/tmpfs/file, all of it on that NUMA node
shared() {
	mkdir -p /mnt/tmpfs
	mount -t tmpfs -o "size=100%,mpol=bind:$1" tmpfs /mnt/tmpfs
	dd if=/dev/zero of=/mnt/tmpfs/file bs=1M count="$2" status=none
}
# The hog may have it mapped
unshare_all() {
	if [[ ${HOG_PID-} ]] && kill "$HOG_PID" 2>/dev/null; then
		wait "$HOG_PID" || true
	fi
	umount /mnt/tmpfs 2>/dev/null || true
}

# empty: no cache to speak of, nothing in swap, memory in large blocks
empty() {
	rm -rf ${data:?}/*
	sync
	swapoff -a
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	swapon /dev/vdb
}

# fill_node NID: its free memory becomes clean cache but for 32 MB above the low watermarks and what
# waits on the lists of CPUs. Called again it brings back what has been freed since.
fill_node() {
	local free lists file=full$1
	if [[ ! -e $data/$file ]]; then
		read -r free lists < <(nid=$1 allocatable_kb)
		truncate -s $(((free - lists) / 1024 - 32))M "$data/$file"
	fi
	read_on "$1" "$file" $(($(stat -c %s "$data/$file") / 1048576))
}

# Each file begins with empty NUMA nodes, on the LRU that the kernel has by default.
setup_file() {
	empty
}

# pages NID FILE: how many pages of this NUMA node alloc got, by what it printed
pages() {
	local n
	n=$(sed -n "s/^node$1=//p" "$2")
	echo "${n:-0}"
}

# local_percent NID FILE: which part of alloc's memory came from this NUMA node, rounded down
local_percent() {
	echo $((100 * $(pages "$1" "$2") / $(sed -n 's/^pages=//p' "$2")))
}

# System calls that strace knows by number only, those of Linux 6.1 and later among them, but for
# cachestat (451); and a mode flag of a memory policy that has no name.
unknown_calls() {
	grep -E ' syscall_0x|mempolicy\(.*\|0x|mempolicy\(0x' "$@" | grep -vE ' syscall_0x1c3[( ]' || true
}
