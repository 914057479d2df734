# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154,SC2004
#
# What the bats files share: a Slurm of their own, a page cache full of real data, and the kernel's
# counters. What nodereclaim did is judged by these counters, never by its own words.
#
# From tests/run: NR_STAGE, the prefix that nodereclaim is installed in, and NR_TOOLS, the folder of
# the built programs of tests/tools.

bats_require_minimum_version 1.5.0
: "${NR_STAGE:?}" "${NR_TOOLS:?}"

lab_dir=${BASH_SOURCE[0]%/*}
# shellcheck disable=SC2034 # for the bats files
cpus=$(getconf _NPROCESSORS_ONLN)

# shellcheck source=tests/slurm/counters.bash
source "$lab_dir/counters.bash"

# lab_start OPTION... || return 0, in setup_file. False: these tests cannot be run here. The watcher
# that --owner starts stops the cluster even if bats is killed.
lab_start() {
	local sysfs=/sys/devices/system/node
	if [[ ! -e $sysfs/node$nid/reclaim ]]; then
		lab_skip "this kernel has no $sysfs/node$nid/reclaim (Linux 6.17)"
	elif [[ $(<$sysfs/has_memory) != "$nid" ]]; then
		lab_skip "these tests count on one NUMA node with memory"
	else
		LAB=$("$lab_dir/cluster" start --owner $$ "$@") || exit 1
		export LAB
		lab_env
	fi
}

lab_skip() {
	export LAB_SKIP=$1
	return 1
}

# In setup, as bats before 1.9 cannot skip in setup_file.
lab_check() {
	[[ -z ${LAB_SKIP-} ]] || skip "$LAB_SKIP"
}

# In teardown_file.
lab_stop() {
	[[ -z ${LAB-} ]] || "$lab_dir/cluster" stop "$LAB"
}

lab_env() {
	# shellcheck disable=SC1091
	[[ -z ${LAB-} ]] || source "$LAB/env"
}
lab_env

# Arguments of the plugin, from the next step on.
plugin_args() {
	"$lab_dir/cluster" plugin "$LAB" "$@"
}

# Run a command as an ordinary user, in a folder of his.
user() {
	(cd "$LAB/user" && exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$@")
}

fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# ------------------------------------------------------------------------------ page cache

# fill MB: that much clean cache of one file, in large folios; fill --small MB: in single pages.
fill() {
	if [[ $1 == --small ]]; then
		"$NR_TOOLS/fill" --small "${LAB:?}/data/small" "$2"
	else
		"$NR_TOOLS/fill" "${LAB:?}/data/large" "$1"
	fi
}

# dirty MB: that much of a file in the cache, not written back yet.
dirty() {
	dd if=/dev/urandom of="$LAB/data/dirty" bs=1M count="$1" conv=notrunc status=none
}

# lab_ready MB, in setup: the cache is filled, what the tools themselves read is in it, and no job
# is left.
lab_ready() {
	lab_check
	LAB_FILL=$1
	fill "$LAB_FILL"
	user srun true
	check_hosts
}

# Hold anonymous memory until the end of the test, or of the file if called in setup_file.
hog() {
	local word
	# shellcheck disable=SC2034
	coproc HOG { exec "$NR_TOOLS/hog" "$@" 3>&-; }
	read -r word <&"${HOG[0]}"
	[[ $word == ready ]]
}

# ------------------------------------------------------------------------------ checks

# frees MB COMMAND [EXTRA]: the command, which asks for $size, frees what is missing and no more.
#
# $size is this many MB above what the NUMA node has allocatable now; a command that asks otherwise
# sets $need, in kB. The kernel takes that much cache, and what is allocatable rises as much: to
# within 1 %, and $LAB_SLACK kB (16 MB) for Slurm's own processes, which come and go; EXTRA MB more
# may be freed.
# This holds for jobs on all CPUs, as what waits in the lists of other CPUs is of no use to a job.
# Other processes of this machine take memory and give it back, so that it may take three tries.
frees() {
	local try said
	for try in 1 2 3; do
		# shellcheck disable=SC2086 # words
		fill $LAB_FILL
		calm
		snap before
		need=$(($1 * 1024))
		# shellcheck disable=SC2034 # for the command
		size=$((before[allocatable] + need))K
		"$2" || return
		snap after
		said=$(check_freed "${3:-0}") && return
		echo "try $try: $said"
	done
	return 1
}

# What the kernel has reclaimed for those who asked it to, in kB.
stolen() {
	echo $(((after[pgsteal_proactive] - before[pgsteal_proactive]) * $(getconf PAGESIZE) / 1024))
}

check_freed() {
	local near extra=$(($1 * 1024)) free others
	near=$((need / 100 + ${LAB_SLACK-16384}))
	free=$((after[allocatable] - before[allocatable]))
	# What others on this machine have taken by now: anonymous memory, and cache beside what went
	others=$((after[AnonPages] - before[AnonPages] + $(stolen) - (before[cache] - after[cache])))
	echo "needed $need kB: $(stolen) kB reclaimed, $free kB more allocatable, others took $others kB"
	(($(stolen) >= need - near && $(stolen) <= need + near + extra)) || return
	((free + (others > 0 ? others : 0) >= need - near)) || return
	check_no_harm
}

# All clean cache went, but for what the kernel keeps: 1 % of the memory (vm.min_unmapped_ratio).
check_all_freed() {
	echo "clean cache: ${before[clean]} kB before, ${after[clean]} kB after"
	((after[clean] <= after[MemTotal] * 2 / 100 && after[clean] < before[clean] / 2)) ||
		fail "clean cache is left" || return
	((after[allocatable] - before[allocatable] >= (before[clean] - after[clean]) * 90 / 100)) ||
		fail "allocatable rose from ${before[allocatable]} to ${after[allocatable]} kB only" || return
	check_no_harm
}

# untouched COMMAND: it frees nothing. What is free dips for moments, by what other processes take and
# by free page reporting of a virtual machine, so that it may take three tries.
untouched() {
	local try said
	for try in 1 2 3; do
		calm
		snap before
		"$1" || return
		snap after
		said=$(check_untouched 2>&1) && return
		echo "try $try: $said"
	done
	return 1
}

# No page was reclaimed on anybody's behalf.
check_untouched() {
	local key
	for key in pgsteal_proactive pgscan_proactive; do
		((after[$key] == before[$key])) ||
			fail "$key rose by $((after[$key] - before[$key])) pages" || return
	done
	check_no_harm
}

# Nothing was swapped, and the kernel did not have to reclaim by itself.
check_no_harm() {
	local key
	for key in pswpin pswpout pgsteal_direct pgsteal_kswapd; do
		((after[$key] == before[$key])) ||
			fail "$key rose by $((after[$key] - before[$key])) pages" || return
	done
}

# ------------------------------------------------------------------------------ Slurm

# The number that the next job gets: nothing was submitted as long as it stays.
next_job() {
	scontrol show config | awk '$1 == "NEXT_JOB_ID" { print $3 }'
}

# Each host is up and not drained, and none waits for a job that has ended.
check_hosts() {
	local host state try
	for host in "${HOSTS[@]}"; do
		for ((try = 0; try < 100; try++)); do
			state=$(sinfo -h -N -n "$host" -o %T)
			[[ $state != completing && $state != allocated && $state != mixed ]] && break
			sleep 0.05
		done
		[[ $state == idle ]] || fail "$host is $state: $(sinfo -h -n "$host" -o %E)"
	done
}

# Wait for the end of a job, or of all jobs of an array.
job_done() {
	local try states
	for ((try = 0; try < 600; try++)); do
		states=$(scontrol -o show job "$1" | grep -o 'JobState=[A-Z]*')
		[[ $states =~ ^$|PENDING|CONFIGURING|RUNNING|COMPLETING ]] || return 0
		sleep 0.05
	done
	fail "job $1 does not end: $states"
}

# A field of scontrol show job.
job_field() {
	scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

# log_mark, then log_lines [HOST]: what a host has logged since.
log_mark() {
	local host
	for host in "${HOSTS[@]}"; do
		wc -l <"$LAB/log/$host.log" >"$LAB/log/$host.mark"
	done
}

log_lines() {
	local host=${1:-${HOSTS[0]}}
	tail -n "+$(($(<"$LAB/log/$host.mark") + 1))" "$LAB/log/$host.log"
}
