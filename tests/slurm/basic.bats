#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# What srun, sbatch and salloc free before a job starts.

load common

setup_file() {
	lab_start --conf DefMemPerNode=200 || return 0
	fill 2048
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 2048
}

@test "without the option nothing is freed" {
	snap before
	user srun true
	snap after
	check_untouched
}

@test "SIZE frees what is missing and no more; run again, nothing is freed" {
	step() { user srun -c"$cpus" --node-reclaim="$size" true; }
	frees 1024 step
	# A little less, for what other processes have taken since
	size=$((${size%K} - 16384))K
	untouched step
}

@test "what is free already is enough: nothing is freed" {
	snap before
	user srun -c"$cpus" --node-reclaim=100M true
	snap after
	check_untouched
}

@test "all drops the clean cache, and no data that is not written yet" {
	local sum
	dirty 64
	sum=$(md5sum <"$LAB/data/dirty")
	snap before
	user srun -c"$cpus" --node-reclaim=all true
	snap after
	check_all_freed
	[[ $(md5sum <"$LAB/data/dirty") == "$sum" ]]
}

@test "mapped files stay mapped and resident" {
	fill 2048
	"$NR_TOOLS/fill" "$LAB/data/mapped" 256
	hog --map "$LAB/data/mapped" 256
	user srun -c"$cpus" --node-reclaim=all true
	awk '$1 == "Rss:" { rss = $2 } END { print rss; exit rss < 256 * 1024 }' \
		"/proc/$HOG_PID/smaps_rollup"
}

@test "dirty=sync writes dirty pages back and frees them too" {
	dirty 256
	snap before
	user srun -c"$cpus" --node-reclaim=all,dirty=sync true
	snap after
	check_all_freed
	((after[cache] < after[MemTotal] * 2 / 100)) || fail "${after[cache]} kB of cache are left"
}

@test "N% is of the NUMA node's memory" {
	step() {
		local total=${before[MemTotal]} percent
		percent=$(((before[allocatable] + 256 * 1024) * 100 / total + 1))
		need=$((total * percent / 100 - before[allocatable]))
		((percent <= 100)) || skip "too little memory is in use for a percentage above what is free"
		((need < before[clean])) || skip "1 % of this machine's memory is more than the test fills"
		user srun -c"$cpus" --node-reclaim="$percent%" true
	}
	frees 0 step
}

@test "auto with --mem: what the job was given" {
	step() { user srun -c"$cpus" --mem="$size" --node-reclaim=auto true; }
	frees 512 step
}

@test "the option without argument is auto" {
	step() { user srun -c"$cpus" --mem="$size" --node-reclaim true; }
	frees 512 step
}

@test "an option in the batch script" {
	batch() {
		printf '#!/bin/sh\n#SBATCH --node-reclaim=%s\necho ran\n' "$size" >"$LAB/user/script"
		job=$(user sbatch --parsable -c"$cpus" -o "$LAB/user/out" script)
		job_done "$job"
	}
	frees 1024 batch
	[[ $(<"$LAB/user/out") == ran && $(job_field "$job" JobState) == COMPLETED ]]
}

# 512 MB go at the start of the job, its file comes in, and 256 MB go for the step in it
@test "sbatch, and the steps inside inherit it" {
	batch() {
		need=$((need + 256 * 1024))
		job=$(user sbatch --parsable -c"$cpus" -o "$LAB/user/out" --node-reclaim="$size" \
			--wrap "'$NR_TOOLS/fill' '$LAB/user/file' 256; srun -c$cpus true")
		job_done "$job"
		rm -f "$LAB/user/file.old"
		mv "$LAB/user/file" "$LAB/user/file.old" # so that it is written anew in another try
	}
	frees 512 batch 16
	rm -f "$LAB/user/file.old"
}

@test "salloc: the steps inside inherit it" {
	steps() { user salloc -c"$cpus" --node-reclaim="$size" srun -c"$cpus" true; }
	frees 1024 steps
}

# More goes than for one, as each sees the other's work late
@test "two steps at once free once" {
	((cpus > 1)) || skip "needs two CPUs"
	# shellcheck disable=SC2016
	steps() {
		user salloc -n2 --node-reclaim="$size" bash -c '
			srun --exact -n1 --mem=50 true & one=$!
			srun --exact -n1 --mem=50 true & two=$!
			wait $one && wait $two'
	}
	frees 1024 steps 256
}

# Each job finds less by what the one before it has not given back yet
@test "a job array frees once" {
	array() {
		job=$(user sbatch --parsable -c"$cpus" --array=0-5 -o "$LAB/user/out-%a" \
			--node-reclaim="$size" --wrap 'echo ran')
		job_done "$job"
	}
	frees 1024 array 96
	[[ $(cat "$LAB"/user/out-[0-5] | grep -cx ran) == 6 ]]
}
