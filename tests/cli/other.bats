#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash sets
# nodereclaim backends, doctor, and the program itself.
load helper

@test "no command, and a wrong one" {
	nr
	ends 2
	[ -z "$output" ]
	[[ $stderr == Usage:* ]]
	nr frobnicate
	fails 2 "'frobnicate'"
	nr --frobnicate
	fails 2 "'--frobnicate'"
	nr $'sta\etus'
	fails 2 "sta?tus"
	nr ""
	fails 2 "''"
}

@test "--help and --version" {
	nr --help
	ends 0
	[[ $output == *status*flush*cache*drop*backends*doctor*ledger*restore* ]]
	nr --version
	ends 0
	[[ $output =~ ^nodereclaim\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	local command
	for command in status flush cache drop backends doctor ledger restore; do
		nr "$command" --help
		ends 0
		[[ ${lines[0]} == "Usage: nodereclaim $command "* ]]
		[ -z "$stderr" ]
		# Fits on a terminal of 100 columns
		[ "$(awk 'length > 100' <<<"$output")" = "" ]
	done
}

@test "backends: with nodeN/reclaim" {
	nr backends --sysroot "$roots/cxl"
	ends 0
	[[ ${lines[0]} =~ ^NAME\ +NODES\ +USABLE\ +SCOPE\ +WHY ]]
	[[ ${lines[1]} =~ ^syscall\ +0-2\ +no\ +node\ +"not in this kernel (no /sys/kernel/mm/node_reclaim" ]]
	[[ ${lines[2]} =~ ^sysfs\ +0-2\ +yes\ +node\  ]]
	[[ ${lines[3]} =~ ^files\ +0-2\  ]]
	[[ ${lines[4]} =~ ^pressure\ +0-2\  ]]
	[[ ${lines[5]} =~ ^drop_caches\ +0-2\ +yes\ +host\  ]]
	[ "${#lines[@]}" -eq 6 ]
}

@test "backends: a patched kernel" {
	nr backends --sysroot "$roots/patched"
	ends 0
	[[ ${lines[1]} =~ ^syscall\ +0-1\ +yes\ +node\  ]]
	[[ ${lines[2]} =~ ^sysfs\ +0-1\ +no\  ]]
	nr flush all --sysroot "$roots/patched" --dry-run
	ends 0
	nr flush all --sysroot "$roots/patched"
	fails 2 "--dry-run"
}

@test "backends: a patched kernel that says what cannot be" {
	local announced=sys/kernel/mm/node_reclaim
	cp -R "$roots/patched" "$BATS_TEST_TMPDIR/odd"
	echo 279 >"$BATS_TEST_TMPDIR/odd/$announced/nr_toss_page_cache_node"
	nr backends --sysroot "$BATS_TEST_TMPDIR/odd"
	ends 0
	[[ ${lines[1]} =~ ^syscall\ +0-1\ +no\ +node\ .*'"279"' ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *"/$announced/nr_toss_page_cache_node is \"279\""* ]]
	echo 2 >"$BATS_TEST_TMPDIR/odd/$announced/abi_version"
	nr backends --sysroot "$BATS_TEST_TMPDIR/odd"
	ends 0
	[[ ${lines[1]} =~ ^syscall\ +0-1\ +no\ +node\ +'abi_version is "2"' ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "backends: without" {
	nr backends --sysroot "$roots/two-sockets"
	ends 0
	[[ ${lines[2]} =~ ^sysfs\ +0-1\ +no\ +node\ .*6\.17 ]]
}

@test "backends: NUMA nodes that differ have lines of their own" {
	cp -R "$roots/cxl" "$BATS_TEST_TMPDIR/mixed"
	rm "$BATS_TEST_TMPDIR/mixed/sys/devices/system/node/node1/reclaim"
	nr backends --sysroot "$BATS_TEST_TMPDIR/mixed"
	ends 0
	[[ ${lines[2]} =~ ^sysfs\ +0,2\ +yes ]]
	[[ ${lines[3]} =~ ^sysfs\ +1\ +no ]]
}

@test "backends: JSON" {
	nr backends --sysroot "$roots/cxl" --json
	ends 0
	jq -e '.backends | length == 5 and (.[1] | .name == "sysfs" and .usable == true and .nodes == "0-2")' <<<"$output"
	nr backends --sysroot "$roots/holes" --json
	jq -e '.backends[1] | .usable == false and .nodes == "0,8,252-255"' <<<"$output"
}

@test "backends: what it refuses" {
	nr backends extra
	fails 2 extra
	nr backends --frob
	fails 2 --frob
	nr backends --sysroot /no/such/folder
	fails 4 /no/such/folder
}

@test "doctor: a host that is fine" {
	nr doctor --sysroot "$roots/one-node"
	ends 0
	[[ $output != *FAIL* ]]
	[[ $output == *"sysfs on all NUMA nodes with memory"* ]]
}

@test "doctor: a patched kernel" {
	nr doctor --sysroot "$roots/patched"
	ends 0
	[[ $output == *"syscall on all NUMA nodes with memory"* ]]
}

@test "doctor: a kernel that cannot be asked to free one NUMA node's cache" {
	nr doctor --sysroot "$roots/two-sockets"
	ends 0
	[[ $output == *"ok    backend "*" pressure on all NUMA nodes with memory"* ]]
}

@test "doctor: demotion and zone_reclaim_mode" {
	nr doctor --sysroot "$roots/cxl"
	ends 0
	[[ $output == *warn*demotion_enabled* ]]
	cp -R "$roots/one-node" "$BATS_TEST_TMPDIR/zone"
	echo 7 >"$BATS_TEST_TMPDIR/zone/proc/sys/vm/zone_reclaim_mode"
	nr doctor --sysroot "$BATS_TEST_TMPDIR/zone"
	[[ $output == *warn*zone_reclaim_mode* ]]
}

@test "doctor: counters that are missing" {
	cp -R "$roots/one-node" "$BATS_TEST_TMPDIR/counters"
	rm "$BATS_TEST_TMPDIR/counters/proc/zoneinfo"
	nr doctor --sysroot "$BATS_TEST_TMPDIR/counters"
	ends 1
	[[ $output == *FAIL*counters* ]]
}

# confinement TASKPLUGIN LINE...: doctor's line on it in $word, with a cgroup.conf of these lines
confinement() {
	local folder=$BATS_TEST_TMPDIR/slurm
	mkdir -p "$folder"
	printf 'TaskPlugin=%s\n' "$1" >"$folder/slurm.conf"
	shift
	printf '%s\n' "$@" >"$folder/cgroup.conf"
	SLURM_CONF=$folder/slurm.conf nr doctor
	word=$(grep ' confinement ' <<<"$output")
	[ "$(wc -l <<<"$word")" -eq 1 ]
}

@test "doctor: whether steps are confined to their CPUs" {
	local value
	for value in yes YES True 1 '"yes" # why'; do
		confinement task/cgroup "constraincores = $value"
		[[ $word =~ ^ok\ +confinement\ +TaskPlugin=task/cgroup ]]
	done
	confinement task/affinity,task/cgroup ConstrainCores=no ConstrainCores=yes
	[[ $word == ok* ]]
	confinement affinity,cgroup ConstrainCores=yes
	[[ $word == ok* ]]
	# task/affinity alone binds too late
	confinement task/affinity ConstrainCores=yes
	[[ $word == "warn "*"steps are not confined to their CPUs: the plugin does nothing for jobs that have a part of a host; set TaskPlugin=task/cgroup[,task/affinity] and ConstrainCores=yes in cgroup.conf (now TaskPlugin=task/affinity, ConstrainCores=yes)" ]]
	confinement task/cgroup ConstrainCores=no
	[[ $word == "warn "*"ConstrainCores=no)" ]]
	confinement task/cgroup ConstrainCores=yes ConstrainCores=no
	[[ $word == "warn "* ]]
	confinement task/cgroup '#ConstrainCores=yes' ConstrainDevices=yes
	[[ $word == "warn "*"ConstrainCores=(not set))" ]]
}

@test "doctor: slurm.conf without TaskPlugin, cgroup.conf missing or no file" {
	local folder=$BATS_TEST_TMPDIR/slurm
	mkdir "$folder"
	echo ClusterName=test >"$folder/slurm.conf"
	SLURM_CONF=$folder/slurm.conf nr doctor
	[[ $output == *"warn  confinement"*"(now TaskPlugin=(not set), ConstrainCores=(not set))"* ]]
	[[ $output != *"cgroup.conf: "* ]]
	mkfifo "$folder/cgroup.conf"
	SLURM_CONF=$folder/slurm.conf nr doctor
	[[ $output == *"warn  cgroup.conf"*"$folder/cgroup.conf is no regular file"* ]]
	[[ $output == *"warn  confinement"* ]]
}

@test "doctor: this host, whatever it finds" {
	nr doctor
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	[[ $output =~ (^|$'\n')(ok|warn|FAIL)\ +kernel ]]
}

@test "doctor: policy=local, tried where the kernel has it" {
	nr doctor
	if [ -e /sys/kernel/mm/node_reclaim/mpol_f_localreclaim ]; then
		[[ $output == *"ok    policy "*"policy=local is in this kernel"* ]]
	else
		[[ $output == *"ok    policy "*"policy=local "@("is not in this kernel"|"needs vm.zone_reclaim_mode")* ]]
	fi
	nr doctor --sysroot "$roots/patched"
	[[ $output != *policy* ]]
}

@test "the environment is not trusted" {
	run env -i LD_BIND_NOW=1 PATH= COLUMNS=-1 TERM=$'\e[2J' LIBSMARTCOLS_DEBUG=0 "$nodereclaim" status --sysroot "$roots/two-sockets"
	ends 0
	diff -u "$expected/two-sockets.status" - <<<"$output"
}

@test "record: a copy of this host's files is a tree, and holds nothing else" {
	[ -e /sys/devices/system/node/online ] || skip "this kernel has no NUMA support"
	local record=$BATS_TEST_DIRNAME/../roots/record here=$BATS_TEST_TMPDIR/here
	"$record" "$here"
	nr status --sysroot "$here" --json
	ends 0
	local copied="$output"
	nr status --json
	[ "$(jq -c '[.nodes[] | [.node, .cpus, .total, .zones]]' <<<"$copied")" = \
		"$(jq -c '[.nodes[] | [.node, .cpus, .total, .zones]]' <<<"$output")" ]
	[ "$(cut -d: -f1 "$here/proc/1/status" | xargs)" = "Cpus_allowed Cpus_allowed_list Mems_allowed Mems_allowed_list" ]
	run ! grep -q . < <(find "$here" -type f | sed "s|$here/||" |
		grep -vE '^(proc/(1/status|meminfo|vmstat|zoneinfo|sys/vm/[a-z_]+)|sys/kernel/mm/(numa/demotion_enabled|node_reclaim/[a-z_]+)|sys/devices/system/(cpu/(online|possible)|node/[a-z_]+|node/node[0-9]+/([a-z]+|hugepages/[^/]+/[a-z_]+)))$')
	# Not over something that is there
	run "$record" "$here"
	ends 1
	run "$record"
	ends 2
}

@test "generate: the same bytes every time, and it knows its names" {
	local generate=$BATS_TEST_DIRNAME/../roots/generate
	"$generate" "$BATS_TEST_TMPDIR" hbm one-node
	diff -r "$BATS_TEST_TMPDIR/hbm" "$roots/hbm"
	diff -r "$BATS_TEST_TMPDIR/one-node" "$roots/one-node"
	run "$generate" "$BATS_TEST_TMPDIR" frob
	ends 2
	run "$generate"
	ends 2
	[ "$("$generate" --list | wc -l)" -eq 12 ]
}
