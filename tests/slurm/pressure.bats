#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# A host whose memory is really taken: some 200 MB free, the rest anonymous memory and page cache.

load common

# 10 GB of cache, or 3 GB on a small machine. The file is larger, as kswapd may take some of it.
cache_mb=$(awk '$1 == "MemTotal:" { print ($2 > 20 * 1048576) ? 10240 : 3072 }' /proc/meminfo)
file_mb=$((cache_mb + 1024))

# Where memory is fragmented, kswapd goes on far above its watermarks. Only what nodereclaim frees is of
# interest here.
boost=/proc/sys/vm/watermark_boost_factor

setup_file() {
	lab_start --conf SelectTypeParameters=CR_Core || return 0
	boost_before=$(<$boost)
	export boost_before
	echo 0 >$boost
	# When cache of other files goes later, it leaves room that this one does not fill
	echo 1 >/proc/sys/vm/drop_caches
	fill "$file_mb"
	hog --leave 256
}

teardown_file() {
	[[ -z ${boost_before-} ]] || echo "$boost_before" >$boost
	lab_stop
}

setup() {
	lab_ready "$file_mb"
}

@test "2G: at least the need can be allocated, at most 1 % more is freed, nothing is swapped" {
	step() {
		# shellcheck disable=SC2034 # for frees
		need=$((2048 * 1024 - before[allocatable]))
		((before[MemFree] < 512 * 1024)) || fail "too much is free: ${before[MemFree]} kB" || return
		((before[clean] > cache_mb * 1024)) || fail "too little is cached: ${before[clean]} kB" || return
		user srun -c"$cpus" --node-reclaim=2G true
	}
	# shellcheck disable=SC2034 # for frees
	LAB_SLACK=0
	frees 0 step
}

@test "again at once: nothing is freed" {
	step() { user srun -c"$cpus" --node-reclaim=2000M true; }
	user srun -c"$cpus" --node-reclaim=2G true
	untouched step
}

# Less than 2 GB by what Slurm's own processes need. Another process of this machine may wake kswapd
# in the same moment, so that it may take a few tries.
@test "the job gets the memory without any reclaim of the kernel's own" {
	local try pages=$((1950 * 1048576 / $(getconf PAGESIZE)))
	for try in 1 2 3 4 5; do
		fill "$file_mb"
		user srun --node-reclaim=2G "$NR_TOOLS/alloc" 1950 >"$LAB/user/alloc"
		echo "try $try: $(paste -sd " " "$LAB/user/alloc")"
		grep -qx "node$nid=$pages" "$LAB/user/alloc"
		[[ $(grep -cE '^(pgscan_direct|pgsteal_direct|pgscan_kswapd|pgsteal_kswapd|pswpout)=0$' \
			"$LAB/user/alloc") != 5 ]] || return 0
	done
	fail "the kernel had to reclaim"
}

@test "75%: more than there is, so that all clean cache goes, and a line says what is short" {
	snap before
	user srun --node-reclaim=75% true 2>"$LAB/user/err"
	snap after
	cat "$LAB/user/err"
	check_all_freed
	[[ $(wc -l <"$LAB/user/err") == 1 ]] || fail "not one line"
}

@test "single pages are freed as well as large folios" {
	user srun --node-reclaim=all true
	# shellcheck disable=SC2034 # for frees
	LAB_FILL="--small 1536"
	step() { user srun -c"$cpus" --node-reclaim="$size" true; }
	frees 1024 step
}
