#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 stock-6.1 on two-sockets
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# nodereclaim cache and drop: which NUMA node a file's pages are on, and dropping those of one.

load common

# Files with known places: all on NUMA node 0, all on 1, and half on each
setup() {
	rm -rf ${data:?}/*
	read_on 0 zero 120
	read_on 1 one 60
	read_on 0 mixed 100
	read_on 1 mixed 200
	cd $data || return
}

nr() {
	run --separate-stderr "$nodereclaim" "$@"
	printf '%s\n' "$output" "$stderr"
}

# mb NAME NID: how much of a file is on that NUMA node, by the JSON in $output
mb() {
	jq --arg name "$1" --arg nid "$2" '.files[] | select(.path == $name) | .nodes[$nid] / 1048576' <<<"$output"
}

# about MB WANTED: within 1 % of it, as read-ahead may begin a little before
about() {
	awk -v have="$1" -v want="$2" 'BEGIN { exit !(have >= want * 0.99 && have <= want * 1.01) }' ||
		fail "$1 MB, not $2 MB"
}

@test "cache: the pages of each file, on each NUMA node" {
	count before
	nr cache --json zero one mixed
	count after
	[[ $status == 0 && -z $stderr ]]
	about "$(mb zero 0)" 120
	about "$(mb one 1)" 60
	about "$(mb mixed 0)" 100
	about "$(mb mixed 1)" 100
	jq -e '.files | all(.unplaced == 0 and .resident == (.nodes | add) and .resident == .size)' <<<"$output"
	jq -e '.total.nodes == {"0": ([.files[].nodes["0"]] | add), "1": ([.files[].nodes["1"]] | add)}' <<<"$output"
	# It has read nothing, and evicted nothing
	kept 0 1
	(($(rose pgpgin) <= 64)) || fail "$(rose pgpgin) kB were read"
	nr cache zero one mixed
	[[ ${lines[0]} =~ ^RESIDENT\ +NODE0\ +NODE1\ +DIRTY\ +PERCENT\ PATH$ ]]
}

@test "cache agrees page for page with the page tables" {
	local want
	numactl --membind=1 "$NR_TOOLS/fill" --small small 30
	want=$("$NR_TOOLS/pages" zero one mixed small | sed 's/ active=.*//' | sort)
	nr cache --json zero one mixed small
	[[ $(jq -r '.files[] | "\(.path) cached=\(.resident / 4096)" +
		([.nodes | to_entries[] | select(.value > 0) | " node\(.key)=\(.value / 4096)"] | add)' <<<"$output" | sort) == "$want" ]] ||
		fail "$want"
}

@test "cache --nodes: only files with pages there, by what they have there" {
	nr cache --nodes 1 --json .
	[[ $status == 0 ]]
	[[ $(jq -r '[.files[].path] | join(" ")' <<<"$output") == "./mixed ./one" ]]
	jq -e '.files | all(.nodes | keys == ["1"])' <<<"$output"
	nr cache --nodes 0 --top 1 .
	[[ ${lines[0]} =~ ^RESIDENT\ +NODE0\ +DIRTY\ +PERCENT\ PATH$ && ${lines[1]} == *" ./zero" ]]
	[[ ${lines[2]} == *"(1 more file)" ]]
}

@test "drop --nodes 0 of a file keeps its other half, and all other files" {
	count before
	nr drop --nodes 0 mixed
	count after
	[[ $status == 0 && $output == "100M dropped of 1 file on NUMA node 0, 0 stayed" ]]
	about $(($(lost cache0) / 1024)) 100
	kept 1
	nr cache --json zero one mixed
	[[ $(mb mixed 0) == 0 ]]
	about "$(mb mixed 1)" 100
	about "$(mb zero 0)" 120
}

@test "drop --nodes 1 of a folder takes what its files have there" {
	count before
	nr drop --nodes 1 --json .
	count after
	[[ $status == 0 ]]
	jq -e '.total.files == 2 and .total.stayed == 0' <<<"$output"
	about $(($(lost cache1) / 1024)) 160
	kept 0
	(($(rose pgpgin) <= 64)) || fail "$(rose pgpgin) kB were read"
}

@test "drop --nodes: as the owner, who is not root" {
	chown nobody mixed
	run --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$nodereclaim" drop --nodes 1 mixed
	printf '%s\n' "$output" "$stderr"
	[[ $status == 0 && $output == "100M dropped of 1 file on NUMA node 1, 0 stayed" ]]
	chmod 644 zero
	count before
	run --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$nodereclaim" drop zero
	count after
	printf '%s\n' "$output" "$stderr"
	[[ $status == 3 && $stderr == "nodereclaim: zero: "* ]]
	kept 0 1
}

@test "drop --nodes: dirty pages go with --sync, and files are what they were" {
	local sum
	sum=$(md5sum <one)
	numactl --membind=0 dd if=/dev/zero of=dirty bs=1M count=20 status=none
	nr drop --nodes 0 --sync dirty
	[[ $status == 0 && $output == "20M dropped of 1 file on NUMA node 0, 0 stayed" ]]
	nr drop --sync .
	[[ $status == 0 ]]
	nr cache --json .
	jq -e '.files == []' <<<"$output"
	[[ $(md5sum <one) == "$sum" ]]
}
