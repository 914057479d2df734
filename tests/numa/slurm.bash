# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# A Slurm inside the guest, with an allocation on the CPUs of each NUMA node that has some.

load common

setup_file() {
	local n
	empty
	LAB=$("$lab_dir/cluster" start --owner $$ --conf SelectTypeParameters=CR_Core) || return
	export LAB JOBS=
	lab_env
	# In the order of the CPUs' numbers, as Slurm fills one socket after the other
	for n in $(words "$(<$nodes/has_cpu)"); do
		JOBS+=" $(user salloc --no-shell -n1 -c "$(words "$(<"$nodes/node$n/cpulist")" | wc -l)" 2>&1 |
			sed -n 's/.*Granted job allocation //p')"
	done
}

teardown_file() {
	lab_stop
}

# step NID ARGUMENT...: srun as an ordinary user, on the CPUs of that NUMA node
step() {
	local jobs n=$1
	shift
	read -ra jobs <<<"$JOBS"
	user srun --jobid="${jobs[n]}" -n1 -c"$(words "$(<"$nodes/node$n/cpulist")" | wc -l)" \
		--cpu-bind=cores "$@"
}

# The allocations are where step() looks for them
check_allocations() {
	local n cpus
	for n in $(words "$(<$nodes/has_cpu)"); do
		cpus=$(step "$n" sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
		[[ $cpus == "$(<"$nodes/node$n/cpulist")" ]] || fail "NUMA node $n: CPUs $cpus" || return
	done
}

# The host is up and not drained
check_up() {
	local state
	state=$(sinfo -h -o %T)
	[[ $state == allocated ]] || fail "$state: $(sinfo -h -o %E)"
}
