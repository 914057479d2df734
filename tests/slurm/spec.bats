#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# Bad text after --node-reclaim= never becomes a job, and harms no host if it gets past that check.

load common

setup_file() {
	lab_start --conf DefMemPerNode=200 || return 0
}

teardown_file() {
	lab_stop
}

setup() {
	lab_check
}

long=$(printf '%0120000d' 0)
# shellcheck disable=SC2016,SC2054,SC2191
bad=(
	nonsense ALL aut autoo help2 'all ' ' all' - = '=all' '*' '2G;true' '$(true)'
	2 2g2 2.5G -1G +1G 2GG 2GB 0 0K G % 0% 101% -5% 5.5% 99999999999999999999%
	9223372036854775807K 8388608T 18446744073709551616G 99999999999999999999999999999999T
	, all, ,all all,,verbose all,all 2G,1G 2G,50% auto,all verbose,verbose verbose,quiet
	nodes= nodes nodes=x nodes=0- nodes=-1 nodes=3-1 nodes=0,,1 nodes=1024 nodes=99999999999999999999
	nodes=0,nodes=1 dirty= dirty=maybe dirty=skip,dirty=sync policy= policy=remote
	policy=local,policy=bind
	timeout= timeout=0 timeout=-1 timeout=1.5 timeout=3601 timeout=99999999999999999999 timeout=5s
	timeout=1,timeout=2 strict,strict strict=yes compact,compact compact=1
	'(null),all' 'all(null)' $'all\n2G' $'all\t' $'\x01' $'\x1b[31mall' $'\xff\xfe' 'ällé'
	'%s%s%n' "$long"
)

# refused COMMAND...: it ends with an error and says so in one line that names our option, for each
# of the bad specs as its last argument.
refused() {
	local spec wrong=0 id
	id=$(next_job)
	for spec in "${bad[@]}"; do
		if "$@" "$spec" >"$LAB/user/out" 2>"$LAB/user/err" || ! one_line "$LAB/user/err"; then
			printf '%.80q: %.300q\n' "$spec" "$(<"$LAB/user/err")" >&2
			wrong=$((wrong + 1))
		fi
	done
	((wrong == 0)) || fail "$wrong of ${#bad[@]} were not refused as they should"
	[[ $(next_job) == "$id" ]] || fail "a job was submitted"
}

one_line() {
	[[ $(wc -l <"$1") == 1 ]] && LC_ALL=C grep -q '^[a-z]*: error: node-reclaim: [ -~]*$' "$1"
}

with_srun() { user srun --node-reclaim="$1" true; }
with_sbatch() { user sbatch -o /dev/null --node-reclaim="$1" --wrap true; }
with_salloc() { user salloc --node-reclaim="$1" true; }

@test "there are more than 30 bad specs" {
	((${#bad[@]} > 30))
}

@test "srun refuses them in one line and submits nothing" {
	refused with_srun
}

@test "sbatch refuses them in one line and submits nothing" {
	refused with_sbatch
}

@test "salloc refuses them in one line and submits nothing" {
	refused with_salloc
}

@test "a batch script with a bad option is refused" {
	local id
	id=$(next_job)
	printf '#!/bin/sh\n#SBATCH --node-reclaim=all,all\ntrue\n' >"$LAB/user/script"
	run ! --separate-stderr user sbatch script
	# shellcheck disable=SC2154
	[[ $stderr == "sbatch: error: node-reclaim: "*all* && $(next_job) == "$id" ]]
}

@test "a batch script with an option of 1 MB is refused" {
	local id
	id=$(next_job)
	{
		printf '#!/bin/sh\n#SBATCH --node-reclaim='
		head -c 1048576 /dev/zero | tr '\0' a
		printf '\ntrue\n'
	} >"$LAB/user/script"
	run ! user sbatch script
	[[ ${#output} -lt 1000 && $(next_job) == "$id" ]]
}

@test "help prints every item and submits nothing" {
	local id item command
	id=$(next_job)
	for command in srun "srun true" "sbatch --wrap true" salloc "salloc true"; do
		# shellcheck disable=SC2086 # words
		set -- $command
		run -0 --separate-stderr user "$1" --node-reclaim=help "${@:2}"
		[[ -z $stderr ]]
		for item in auto SIZE N% all nodes= dirty= policy= compact timeout= strict verbose quiet; do
			[[ $output == *"$item"* ]] || fail "$command: $item is missing"
		done
	done
	[[ $(next_job) == "$id" ]]
}

@test "--help of srun, sbatch and salloc names the option" {
	local command
	for command in srun sbatch salloc; do
		run -0 user $command --help
		[[ $output == *--node-reclaim* ]]
	done
}

@test "text that means the default" {
	user srun --node-reclaim true
	user srun --node-reclaim= true
	user srun --node-reclaim='(null)' true
}

# A user can write Slurm's own variable, which no check on the submit host sees.
forced() {
	user env _SLURM_SPANK_OPTION_nodereclaim_node_reclaim="$1" "${@:2}"
}

@test "bad text forced past the check is logged once and ignored on the host, and the job runs" {
	local spec wrong=0
	fill 256
	user srun true
	snap before
	for spec in "${bad[@]}" help; do
		log_mark
		if ! forced "$spec" srun echo ran >"$LAB/user/out" 2>"$LAB/user/err" ||
			[[ $(<"$LAB/user/out") != ran || $(log_lines | grep -c node-reclaim) != 1 ]] ||
			! log_lines | grep -q 'node-reclaim: .*ignored'; then
			printf '%.80q: %.300q\n' "$spec" "$(log_lines)" >&2
			wrong=$((wrong + 1))
		fi
	done
	snap after
	((wrong == 0)) || fail "$wrong were not ignored as they should"
	check_untouched
	check_hosts
}

@test "the same for a batch job" {
	local job
	log_mark
	job=$(forced nonsense,all sbatch --parsable -o "$LAB/user/batch" --wrap 'echo ran')
	job_done "$job"
	cat "$LAB/user/batch"
	grep -qx ran "$LAB/user/batch"
	[[ $(job_field "$job" JobState) == COMPLETED ]]
	log_lines | grep -q 'node-reclaim: .*ignored'
	check_hosts
}

@test "good text forced past the check works, so that the tests above are not void" {
	# shellcheck disable=SC2034 # for frees
	LAB_FILL=768
	step() { forced "$size" srun -c"$cpus" true; }
	frees 512 step
}

@test "a NUMA node outside of the job: the job runs, one line says so" {
	snap before
	user srun --node-reclaim=all,nodes=1000 true 2>"$LAB/user/err"
	snap after
	check_untouched
	cat "$LAB/user/err"
	[[ $(wc -l <"$LAB/user/err") == 1 ]]
	grep -q node-reclaim "$LAB/user/err"
	check_hosts
}
