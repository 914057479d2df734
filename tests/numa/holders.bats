#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: patched on four-nodes
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# A NUMA node whose memory is held by what must stay: what is clean goes, the report names the rest.

load common

setup() {
	empty
	read_on 0 clean 300
	read_on 1 file1 100
	read_on 3 file3 50
	json=$BATS_TEST_TMPDIR/json
}

teardown() {
	dirty_limits 20 10 500
	unshare_all
}

# dirty_limits RATIO BACKGROUND CENTISECONDS: when the kernel writes dirty pages back by itself
dirty_limits() {
	echo "$1" >/proc/sys/vm/dirty_ratio
	echo "$2" >/proc/sys/vm/dirty_background_ratio
	echo "$3" >/proc/sys/vm/dirty_writeback_centisecs
}

# flush_all CLASS KEY: everything clean goes in bounded time; what holds memory by the kernel's counter
# KEY, 190 MB or more, is named by CLASS and still there.
flush_all() {
	local start=$SECONDS held
	count before
	timeout 60 "$nodereclaim" flush --json --nodes 0 >"$json"
	count after
	held=${before[${2}0]}
	echo "$2: $held kB before, ${after[${2}0]} kB after"
	jq -c '.nodes[0] | del(.before, .after)' "$json"
	((SECONDS - start < 30))
	(($(lost cache0) >= 290 * 1024)) || fail "only $(lost cache0) kB went"
	((after[clean0] <= before[clean0] / 50 + 2048)) || fail "${after[clean0]} kB of clean cache are left"
	((held >= 190 * 1024 && ${after[${2}0]} >= held * 99 / 100))
	(($(jq ".nodes[0].held_by.$1" "$json") >= held * 1024 * 95 / 100))
	kept 1 3
	not_swapped
}

@test "dirty pages" {
	local sum
	# Not 0 for never: the first dirty page would then wake the flusher at once, which writes for a disk
	# whose share of the limits is not known yet (wb_wakeup_delayed(), wb_over_bg_thresh())
	dirty_limits 90 80 360000
	numactl --membind=0 dd if=/dev/zero of=$data/dirty bs=1M count=200 status=none
	sum=$(md5sum <$data/dirty)
	flush_all dirty Dirty
	[[ $(md5sum <$data/dirty) == "$sum" ]]
}

@test "mapped files" {
	read_on 0 mapped 300
	hog --map $data/mapped 300
	flush_all mapped Mapped
	awk '$1 == "Rss:" { rss = $2 } END { exit rss < 300 * 1024 }' "/proc/$HOG_PID/smaps_rollup"
}

@test "tmpfs" {
	shared 0 300
	flush_all shmem Shmem
}

# The kernel counts it as mapped, as it does file pages
@test "mapped tmpfs does not hide what is clean" {
	shared 0 300
	hog --map /mnt/tmpfs/file 300
	flush_all shmem Shmem
}

@test "mlocked memory" {
	# shellcheck disable=SC2034
	coproc HOG { exec numactl --membind=0 "$NR_TOOLS/hog" --mlock 300 3>&-; }
	read -r <&"${HOG[0]}"
	flush_all mlocked Mlocked
}

@test "all of these and nothing clean: nothing to do is not an error of the kernel" {
	local start=$SECONDS
	shared 0 300
	read_on 0 mapped 300
	hog --map $data/mapped 300
	"$nodereclaim" flush --nodes 0 >/dev/null || true
	count before
	run --separate-stderr timeout 60 "$nodereclaim" flush --nodes 0 1200M
	count after
	printf '%s\n' "$output" "$stderr"
	[[ $status == 1 && $output == *"held by"*mapped* && $output == *"held by"*shmem* ]]
	((SECONDS - start < 40))
	kept 1 3
	not_swapped
}
