#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and files.bash set
# nodereclaim drop: files of this host, judged by fincore(1). What takes several NUMA nodes is tested
# in tests/numa/cache.bats.
load helper
load files

fill() {
	"$NR_TOOLS/fill" "$@"
}

# A file whose pages are dirty
dirty() {
	dd if=/dev/urandom of="$1" bs=1M count="$2" status=none
}

# As nr drop, on a kernel that drops nothing: a real one begins to write dirty pages when it is asked
# to drop them, and may be done a moment later
undropped() {
	run --separate-stderr strace -D -f -qq -o /dev/null -e trace=fadvise64 -e inject=fadvise64:retval=0 \
		"$nodereclaim" drop "$@"
}

@test "a clean file goes, and its neighbour stays" {
	fill a 8
	fill --small b 8
	steady nr cache a b
	nr drop a
	ends 0
	[ "$output" = "8.0M dropped of 1 file, 0 stayed" ]
	[ -z "$stderr" ]
	[ "$(resident a)" = 0 ]
	(($(resident b) > 0))
	nr drop b
	ends 0
	[ "$(resident b)" = 0 ]
}

@test "what a part of a file has cached" {
	fill --small half 8
	dd if=half of=/dev/null iflag=nocache bs=1M skip=4 count=4 status=none
	nr drop half
	ends 0
	[ "$(resident half)" = 0 ]
}

@test "a folder" {
	mkdir -p top/sub
	fill top/a 2
	fill top/sub/b 1
	fill beside 1
	ln -s "$PWD/beside" top/link
	nr drop --json top
	ends 0
	jq -e '.files == [] and .total == {"files": 2, "dropped": 3145728, "stayed": 0, "dirty": 0}' <<<"$output" ||
		jq -e '.files == [] and .total == {"files": 2, "dropped": 3145728, "stayed": 0, "dirty": null}' <<<"$output"
	[ "$(resident top/a)" = 0 ]
	[ "$(resident top/sub/b)" = 0 ]
	(($(resident beside) > 0))
}

@test "nothing is cached" {
	fill a 2
	nr drop a
	nr drop a
	ends 0
	[ "$output" = "0 dropped of 0 files, 0 stayed" ]
}

@test "dirty pages that stay are named, and go with --sync: the file is the same" {
	local sum
	dirty a 4
	sum=$(md5sum <a)
	undropped a
	ends 1
	[[ ${lines[0]} =~ ^DROPPED\ STAYED\ WHY\ +PATH$ ]]
	[[ ${lines[1]} =~ ^\ +0\ +4\.0M\ dirty.*\ a$ ]]
	[ "${lines[2]}" = "0 dropped of 1 file, 4.0M stayed" ]
	undropped --json a
	ends 1
	jq -e '.files[0] | .path == "a" and .stayed == 4194304 and .dropped == 0 and (.why | contains("dirty"))' <<<"$output"
	nr drop --sync a
	ends 0
	[ "$output" = "4.0M dropped of 1 file, 0 stayed" ]
	[ "$(resident a)" = 0 ]
	[ "$(md5sum <a)" = "$sum" ]
}

@test "dirty pages without --sync: those of which it says that they stayed" {
	fill --small a 8
	dd if=/dev/zero of=a bs=1M seek=2 count=2 conv=notrunc status=none
	nr drop --json a
	(($(jq .total.stayed <<<"$output") <= 2 << 20))
	jq -e '.total.dropped + .total.stayed == 8388608' <<<"$output"
	[ "$(resident a)" = "$(jq .total.stayed <<<"$output")" ]
	if jq -e '.total.stayed > 0' <<<"$output"; then
		ends 1
		jq -e '.files[0].why | contains("dirty")' <<<"$output"
	else
		ends 0
	fi
}

@test "mapped pages stay, until they are not mapped any more" {
	fill --small a 4
	hold "$PWD/a" 4
	nr drop a
	ends 1
	[[ ${lines[1]} == *"mapped"*" a" ]]
	[ "$(resident a)" = 4194304 ]
	nr drop --sync --json a
	ends 1
	jq -e '.files[0].why == "mapped or in use" and .files[0].stayed == 4194304' <<<"$output"
	release
	nr drop a
	ends 0
	[ "$(resident a)" = 0 ]
}

@test "the largest that stay are listed first" {
	dirty a 1
	dirty b 3
	dirty c 2
	undropped .
	ends 1
	[[ ${lines[1]} == *" ./b" && ${lines[2]} == *" ./c" && ${lines[3]} == *" ./a" ]]
	[ "${lines[4]}" = "0 dropped of 3 files, 6.0M stayed" ]
}

@test "as an ordinary user: own files go, another's is refused" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	fill own 2
	fill theirs 2
	chown 65534 own
	chmod 644 theirs
	nobody drop own
	ends 0
	[ "$output" = "2.0M dropped of 1 file, 0 stayed" ]
	[ "$(resident own)" = 0 ]
	steady nobody drop theirs
	ends 3
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "nodereclaim: theirs: "* ]]
	(($(resident theirs) > 0))
	chmod 600 theirs
	nobody drop theirs
	ends 3
	[[ $stderr == "nodereclaim: theirs: permission denied" ]]
}

@test "as an ordinary user: own dirty file with --sync" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	dirty a 2
	chown 65534 a
	chmod 600 a
	nobody drop --sync a
	ends 0
	[ "$(resident a)" = 0 ]
}

@test "what is no file has a line each, and the others go: exit 1" {
	local name
	fill a 2
	fill b 2
	ln -s b symlink
	mkfifo fifo
	run --separate-stderr timeout 60 "$nodereclaim" drop a symlink fifo /dev/null missing
	ends 1
	[ "$(resident a)" = 0 ]
	(($(resident b) > 0))
	[ "${#stderr_lines[@]}" -eq 4 ]
	for name in symlink fifo /dev/null missing; do
		grep -q "^nodereclaim: $name: " <<<"$stderr"
	done
}

@test "an empty folder" {
	mkdir empty
	nr drop empty
	ends 0
	[ "$output" = "0 dropped of 0 files, 0 stayed" ]
}

@test "a sparse file of 1 TB" {
	truncate -s 1T sparse
	printf x | dd of=sparse bs=1 seek=500000000000 conv=notrunc,fsync status=none
	run --separate-stderr timeout 60 "$nodereclaim" drop sparse
	ends 0
	nr cache --json sparse
	jq -e '.files == []' <<<"$output"
}

@test "hostile names" {
	local name
	for name in "${hostile[@]}"; do
		dirty "./$name" 1
	done
	LC_ALL=C.UTF-8 undropped -- *
	ends 1
	[ "${#lines[@]}" -eq $((${#hostile[@]} + 2)) ]
	[ "$(tr -d '\n' <<<"$output" | LC_ALL=C tr -d '[:print:]\200-\377' | wc -c)" -eq 0 ]
	[[ $output == *'grün-漢字'* ]]
	undropped --json -- *
	ends 1
	jq -e '.files | length == 8 and any(.path_hex == "6c6174696e312de4ff")' <<<"$output"
	nr drop --sync -- *
	ends 0
	for name in "${hostile[@]}"; do
		[ "$(resident "./$name")" = 0 ]
	done
}

@test "--nodes: this one, and none that is not there" {
	local node
	fill a 2
	node=$("$nodereclaim" cache --json a | jq -r '.files[0].nodes | to_entries | max_by(.value).key')
	nr drop --nodes 1023 a
	fails 2 1023
	(($(resident a) > 0))
	nr drop --nodes "$node" a
	ends 0
	[ "$output" = "2.0M dropped of 1 file on NUMA node $node, 0 stayed" ]
	[ "$(resident a)" = 0 ]
	nr drop --nodes "" a
	fails 2 --nodes
}

@test "what it refuses" {
	nr drop
	fails 2 PATH
	nr drop --frob a
	fails 2 --frob
	nr drop --sync
	fails 2 PATH
	nr drop "" a
	fails 2 "PATH 1 of 2"
}

@test "a full disk is no success" {
	fill a 1
	run --separate-stderr bash -c '"$1" drop a >/dev/full' - "$nodereclaim"
	fails 4 "standard output"
}
