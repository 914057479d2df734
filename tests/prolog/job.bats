#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What comes from Slurm and from the user: which jobs are served, and hostile text.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # hostile text; bats: subshells, and what run sets

load helper

setup() {
	need_root
	config
}

served() {
	ends_well
	says 'job=12 uid=1000 '
	says 'freed='
}

left_to_plugin() {
	ends_well
	says 'left to the plugin'
	says_not 'freed='
}

# A job with this SLURM_JOB_CPUS_PER_NODE, and more variables.
with_cpus() {
	start "$prolog" SLURM_JOB_ID=12 SLURM_JOB_UID=1000 SPANK_NODE_RECLAIM=1K \
		SLURM_JOB_CPUS_PER_NODE="$1" "${@:2}"
}

@test "no request and no default: nothing is done" {
	whole_host
	ends_well
	says 'nothing asked for'
	lines 1
}

@test "no request: the site's default" {
	config '[prolog]' 'default = 1K'
	whole_host
	served
}

@test "no argument in all its forms means auto" {
	local text
	for text in '' '(null)' auto; do
		whole_host SPANK_NODE_RECLAIM="$text"
		served
	done
}

@test "help does nothing" {
	whole_host SPANK_NODE_RECLAIM=help
	ends_well
	lines 0
}

@test "enable = no leaves all to the plugin" {
	config '[prolog]' 'enable = no' 'default = 1K'
	whole_host SPANK_NODE_RECLAIM=1K
	left_to_plugin
}

@test "jobs with all CPUs are served" {
	local n
	n=$(online_cpus)
	for cpus in "$n" "$n(x4)" "$((n + 1)),$n" "$n(x2),$((n * 2))(x3)" 4294967295; do
		with_cpus "$cpus"
		served
	done
}

@test "jobs with fewer CPUs are left to the plugin" {
	local n
	n=$(online_cpus)
	for cpus in "$((n - 1))" "$n,$((n - 1))" "$((n - 1))(x3),$n" 0; do
		with_cpus "$cpus"
		left_to_plugin
	done
}

@test "a CPU count in no known form is left to the plugin" {
	local n
	n=$(online_cpus)
	for cpus in '' ' ' "$n " "$n," ",$n" "$n(x2" "$n(x)" "$n(2)" "-$n" "+$n" "$n;$n" "0x99" "$n.0" \
		4294967296 99999999999999999999 "$n(x99999999999)" "(x2)" "$n(x2)$n" "$(printf '%0.s9,' {1..20000})"; do
		with_cpus "$cpus"
		left_to_plugin
	done
	start "$prolog" SPANK_NODE_RECLAIM=1K
	left_to_plugin
}

@test "cpus = N replaces the count of online CPUs" {
	config '[prolog]' 'cpus = 1'
	with_cpus 1
	served
	config '[prolog]' 'cpus = 8192'
	with_cpus "$(online_cpus)"
	left_to_plugin
}

@test "Slurm 26.05 and later: SLURM_JOB_EXCLUSIVE decides" {
	local text
	for text in NODE TOPO; do
		with_cpus 0 SLURM_JOB_EXCLUSIVE="$text" SLURM_JOB_OVERSUBSCRIBE=NO
		served
	done
	for text in NO USER MCS '' garbage; do
		with_cpus 0 SLURM_JOB_EXCLUSIVE="$text" SLURM_JOB_OVERSUBSCRIBE=NO
		left_to_plugin
		with_cpus "$(online_cpus)" SLURM_JOB_EXCLUSIVE="$text"
		served
	done
}

@test "Slurm 23.02 to 25.11: SLURM_JOB_OVERSUBSCRIBE decides" {
	local text
	for text in NO TOPO; do
		with_cpus 0 SLURM_JOB_OVERSUBSCRIBE="$text"
		served
	done
	with_cpus "$(online_cpus)" SLURM_JOB_OVERSUBSCRIBE=YES
	left_to_plugin
	for text in OK USER MCS '' garbage; do
		with_cpus 0 SLURM_JOB_OVERSUBSCRIBE="$text"
		left_to_plugin
		with_cpus "$(online_cpus)" SLURM_JOB_OVERSUBSCRIBE="$text"
		served
	done
}

@test "allow: other items are refused, by name" {
	config '[prolog]' 'allow = auto,timeout' 'default = 1K,dirty=skip'
	whole_host SPANK_NODE_RECLAIM=auto,timeout=5
	served
	whole_host SPANK_NODE_RECLAIM=timeout=5
	served
	whole_host SPANK_NODE_RECLAIM=1K,timeout=5
	ends_well
	says 'this site does not allow size'
	says_not 'freed='
	whole_host SPANK_NODE_RECLAIM=auto,dirty=skip
	ends_well
	says 'this site does not allow dirty'
	whole_host
	served
	config '[prolog]' 'allow = size'
	whole_host SPANK_NODE_RECLAIM=
	ends_well
	says 'this site does not allow auto'
}

@test "NUMA nodes that are not the host's are refused in one line" {
	whole_host SPANK_NODE_RECLAIM=1K,nodes=1023
	ends_well
	says_not 'freed='
	says 'job=12 uid=1000 '
}

@test "bad specs are refused in one line" {
	local text
	for text in nonsense 5X 0 -1 101% 99999999999999999999T ',' 'auto,' ',auto' auto,auto 1K,2K nodes= nodes=3-1 \
		timeout=0 timeout=999999 policy=maybe '$(id)' '`id`' ';id' '../../etc/passwd' '%s%s%n' 'null' '(null),(null)'; do
		whole_host SPANK_NODE_RECLAIM="$text"
		ends_well
		says 'SPANK_NODE_RECLAIM ignored: '
		lines 1
	done
}

@test "a spec of 1024 bytes and one of 120 kB are refused without being shown" {
	local size
	for size in 1024 120000; do
		whole_host SPANK_NODE_RECLAIM="$(printf "%0${size}d" 0 | tr 0 A)"
		ends_well
		says 'SPANK_NODE_RECLAIM ignored: longer than 1023 bytes'
		says_not AAAA
		lines 1
	done
}

@test "control characters in a spec do not reach the log" {
	local text
	for text in $'auto\njob=1 uid=0 freed=9' $'\033[2Jauto' $'auto\r' $'\001\177\377' $'auto\t' $'\n'; do
		whole_host SPANK_NODE_RECLAIM="$text"
		ends_well
		lines 1
		says 'SPANK_NODE_RECLAIM ignored: '
		printable
	done
}

@test "job, user and partition are logged only if they are well-formed" {
	start "$prolog" SLURM_JOB_ID=4294967295 SLURM_JOB_UID=0 SLURM_JOB_PARTITION=big-mem_2.x
	ends_well
	says 'job=4294967295 uid=0 partition=big-mem_2.x nothing asked for'
	local text
	for text in '' '1 uid=0' 4294967296 -1 1e3 $'1\n2' '$(id)' "$(printf '%0100000d' 1)"; do
		start "$prolog" SLURM_JOB_ID="$text" SLURM_JOB_UID="$text" SLURM_JOB_PARTITION="$text "
		ends_well
		says 'job=? uid=? nothing asked for'
		lines 1
	done
	start "$prolog" SLURM_JOB_PARTITION="$(printf '%065d' 1)"
	ends_well
	says 'job=? uid=? nothing asked for'
}

@test "random bytes in every variable" {
	local i bytes
	for ((i = 0; i < 40; i++)); do
		bytes=$(head -c $((RANDOM % 300 + 1)) /dev/urandom | tr -d '\0' | tr '\n' ' ')
		start "$prolog" SPANK_NODE_RECLAIM="$bytes" SLURM_JOB_ID="$bytes" SLURM_JOB_UID="$bytes" \
			SLURM_JOB_PARTITION="$bytes" SLURM_JOB_CPUS_PER_NODE="$bytes" \
			SLURM_JOB_EXCLUSIVE="$bytes" SLURM_JOB_OVERSUBSCRIBE="$bytes" TZ="$bytes" "LANG=$bytes"
		ends_well
		printable
	done
}
