#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# The plugin's arguments in plugstack.conf.

load common

setup_file() {
	lab_start --conf DefMemPerNode=200 --args nonsense=1 || return 0
	fill 1024
	mkdir "$LAB/helpers"
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
	plugin_args
	lab_ready 1024
}

teardown() {
	check_hosts
}

@test "a bad argument is in slurmd's log once, from its start" {
	[[ $(grep -c 'node-reclaim: .*nonsense=1' "$LAB/log/${HOSTS[0]}.log") == 1 ]]
}

@test "with a bad argument the plugin is off, and jobs run" {
	local arg
	snap before
	for arg in nonsense nonsense=1 default default=nonsense default=help max_timeout= max_timeout=0 \
		max_timeout=-1 max_timeout=3601 max_timeout=1x allow= allow=nonsense allow=all,,auto \
		helper helper= helper=relative backend= backend=nonsense files_from= files_from=tmp \
		files_from=/tmp/../etc files_from=/tmp,,/var allow_host_policy= allow_host_policy=some =; do
		echo "argument: $arg"
		plugin_args default=all "$arg"
		user srun --node-reclaim=all echo ran >"$LAB/user/out" 2>"$LAB/user/err"
		[[ $(<"$LAB/user/out") == ran ]]
		grep -q 'node-reclaim: ' "$LAB/user/err" || fail "who asks for it is not told"
		user srun true 2>"$LAB/user/err"
		! grep node-reclaim "$LAB/user/err" || fail "who does not ask is told"
	done
	snap after
	check_untouched
}

@test "with a bad argument a bad spec is still refused" {
	local id
	plugin_args nonsense
	id=$(next_job)
	run ! user srun --node-reclaim=nonsense true
	[[ $(next_job) == "$id" ]]
}

@test "default=SPEC for who does not ask" {
	step() {
		plugin_args "default=$size"
		user srun -c"$cpus" true
	}
	frees 512 step
}

@test "a user's option replaces default=" {
	plugin_args default=all
	snap before
	user srun --node-reclaim=1K true
	snap after
	check_untouched
}

@test "default= for a batch job" {
	batch() {
		local job
		plugin_args "default=$size"
		job=$(user sbatch --parsable -c"$cpus" -o /dev/null --wrap true)
		job_done "$job"
	}
	frees 512 batch
}

@test "allow=: what is not in it is refused" {
	local id
	plugin_args allow=auto,size,timeout
	id=$(next_job)
	for spec in all 2G,strict 2G,policy=bind nodes=0 verbose; do
		run ! --separate-stderr user srun --node-reclaim="$spec" true
		[[ $stderr == "srun: error: node-reclaim: "*"not allowed"* ]] || fail "$spec: $stderr"
	done
	[[ $(next_job) == "$id" ]]
	user srun --node-reclaim=1K,timeout=5 true
	user srun --node-reclaim true
	user srun --node-reclaim=help true | grep -q timeout
}

@test "allow=: what is not in it is ignored on the host if forced there" {
	plugin_args allow=auto
	log_mark
	snap before
	user env _SLURM_SPANK_OPTION_nodereclaim_node_reclaim=all srun true
	snap after
	check_untouched
	log_lines | grep -q 'node-reclaim: .*not allowed'
}

@test "backend= and files_from= go to the helper, which knows them" {
	printf '#!/bin/bash\nprintf "nodereclaim 1 met\\n\\n\\n%%s\\n" "$*"\n' >"$LAB/helpers/words"
	chmod 755 "$LAB/helpers/words"
	plugin_args backend=syscall files_from=/scratch,/tmp "helper=$LAB/helpers/words"
	user srun --node-reclaim=1K,verbose true 2>"$LAB/user/err"
	grep -q -- '--host-policy=exclusive --backend=syscall --files-from=/scratch,/tmp' "$LAB/user/err"
	# This kernel has no such call, and nothing else may be used
	plugin_args backend=syscall files_from=/scratch,/tmp
	snap before
	user srun --node-reclaim=all true 2>"$LAB/user/err"
	snap after
	check_untouched
	grep -q 'no_backend' "$LAB/user/err"
}

@test "max_timeout= caps a user's timeout" {
	local t0 took
	printf '#!/bin/bash\nwhile :; do read -rt 1000 <> <(:); done\n' >"$LAB/helpers/hang"
	chmod 755 "$LAB/helpers/hang"
	plugin_args max_timeout=1 "helper=$LAB/helpers/hang"
	t0=${EPOCHREALTIME/./}
	user srun --node-reclaim=all,timeout=60 true
	took=$(((${EPOCHREALTIME/./} - t0) / 1000))
	((took < 4000)) || fail "srun took $took ms"
}
