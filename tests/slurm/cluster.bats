#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154,SC2034 # counters that snap sets, and what bats sets
# The cluster of these tests leaves nothing behind and harms nobody.

load common

setup() {
	seen=$(traces)
}

teardown() {
	# For a test that failed half-way
	for dir in "${started[@]}"; do
		[[ ! -d $dir ]] || "$lab_dir/cluster" stop "$dir"
	done
}

started=()

start() {
	dir=$("$lab_dir/cluster" start --no-plugin "$@")
	started+=("$dir")
}

# Daemons, steps, folders, claims, cgroups and mounts of clusters.
traces() {
	ps -eo stat=,pid=,comm= | grep -E 'slurm|munged' | grep -v ^Z || true
	compgen -G '/var/tmp/nr-slurm.*' || true
	compgen -G '/run/nr-slurm-*' || true
	compgen -G '/sys/fs/cgroup/*/slurm_*' || true
	cat /proc/mounts
}

as_before() {
	local now
	now=$(traces)
	[[ $now == "$seen" ]] || diff <(echo "$seen") <(echo "$now")
}

@test "stop leaves no process, folder, cgroup or mount" {
	start --hosts 2
	LAB=$dir && lab_env
	user srun -N2 true
	"$lab_dir/cluster" stop "$dir"
	as_before
}

@test "stop ends running jobs, also those that ignore it" {
	start
	LAB=$dir && lab_env
	user sbatch -o /dev/null --wrap 'trap "" TERM INT HUP; while :; do sleep 1; done'
	for ((i = 0; i < 100; i++)); do
		[[ $(squeue -h -t running) ]] && break
		sleep 0.05
	done
	"$lab_dir/cluster" stop "$dir"
	as_before
}

@test "stop works after its daemons were killed" {
	start
	xargs kill -KILL < <(cat "$dir"/run/*.pid)
	"$lab_dir/cluster" stop "$dir"
	as_before
}

@test "two clusters at once" {
	local one
	start && one=$dir
	start
	[[ $(SLURM_CONF=$one/etc/slurm.conf srun hostname) == $(hostname) ]]
	[[ $(SLURM_CONF=$dir/etc/slurm.conf srun hostname) == $(hostname) ]]
	"$lab_dir/cluster" stop "$one"
	[[ $(SLURM_CONF=$dir/etc/slurm.conf srun hostname) == $(hostname) ]]
	"$lab_dir/cluster" stop "$dir"
	as_before
}

@test "it ends with its owner" {
	sleep 1000 3>&- &
	start --owner $!
	kill -KILL $!
	for ((i = 0; i < 200; i++)); do
		[[ -d $dir ]] || break
		sleep 0.05
	done
	sleep 0.2
	as_before
}

@test "a start that fails leaves nothing" {
	run ! "$lab_dir/cluster" start --no-plugin --conf NoSuchKey=1
	as_before
	run ! "$lab_dir/cluster" start --hosts 0
	run ! "$lab_dir/cluster" start --nonsense
	run ! "$lab_dir/cluster" start --owner 999999999
	as_before
}

@test "stop kills no process that has got an old pid" {
	local pid
	dir=$(mktemp -d /var/tmp/nr-slurm.XXXXXX)
	started+=("$dir")
	mkdir "$dir/run" "$dir/etc"
	sleep 1000 3>&- &
	pid=$!
	for name in munged slurmctld watcher; do
		echo $pid >"$dir/run/$name.pid"
	done
	"$lab_dir/cluster" stop "$dir"
	kill $pid
	[[ ! -e $dir ]]
}

@test "stop takes no folder but a cluster's" {
	local bad
	mkdir "$BATS_TEST_TMPDIR/dir"
	for bad in "$BATS_TEST_TMPDIR/dir" / '' /var/tmp /var/tmp/nr-slurm. \
		/var/tmp/nr-slurm.XXXXXX/../..; do
		run ! "$lab_dir/cluster" stop "$bad"
	done
	[[ -d $BATS_TEST_TMPDIR/dir ]]
}
