#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# numa: stock-6.12 stock-6.1 on two-sockets
# shellcheck disable=SC2154 # counters that count sets, and what bats sets
# What is cached of files on which NUMA node, dropping it, and backend "files", on kernels that cannot
# free one NUMA node's cache themselves.

load common

setup() {
	empty
}

# agree FILE...: nr_files() and the kernel's page tables say the same of these files
agree() {
	"$NR_TOOLS/pages" "$@" | sed 's/ active=.*//' | sort >"$BATS_TEST_TMPDIR/pages"
	"$NR_TOOLS/files" "$@" | sed 's/ unplaced=0 .*//' | sort >"$BATS_TEST_TMPDIR/files"
	diff "$BATS_TEST_TMPDIR/pages" "$BATS_TEST_TMPDIR/files"
}

# page_count FILE KEY: by the kernel's page tables
page_count() {
	local n
	n=$("$NR_TOOLS/pages" "$1" | sed -n "s/.* $2=\([0-9]*\).*/\1/p")
	echo "${n:-0}"
}

# nothing_read: nothing was read from a disk
nothing_read() {
	(($(rose pgpgin) == 0)) || fail "$(rose pgpgin) kB were read"
}

# mixed NAME MB: a file of which the first half is on NUMA node 0 and the second on 1
mixed() {
	read_on 0 "$1" $(($2 / 2))
	read_on 1 "$1" "$2"
}

@test "a look agrees page for page with the page tables, and changes nothing" {
	local was now
	mixed mixed 64
	numactl --membind=0 "$NR_TOOLS/fill" --small $data/small 40
	numactl --membind=1 "$NR_TOOLS/fill" $data/read 100
	# Not read to its end: marks of read-ahead
	numactl --membind=1 "$NR_TOOLS/fill" $data/part 50
	echo 1 >/proc/sys/vm/drop_caches
	mixed mixed 64
	numactl --membind=0 "$NR_TOOLS/fill" $data/read 100
	numactl --membind=0 dd if=$data/part of=/dev/null bs=4k count=1234 status=none
	numactl --membind=1 dd if=$data/part of=/dev/null bs=4k skip=8000 count=777 status=none
	was=$("$NR_TOOLS/pages" $data/*)
	echo "$was"
	count before
	agree $data/mixed $data/small $data/read $data/part
	agree $data/mixed $data/small $data/read $data/part
	count after
	nothing_read
	now=$("$NR_TOOLS/pages" $data/*)
	# A page's first and second use differ; so would a look that counts as one
	[[ $now == "$was" ]] || fail "$now"
	(($(page_count $data/mixed node0) == 32 * 256 && $(page_count $data/mixed node1) == 32 * 256))
}

@test "small files, which are worked on in groups: the same" {
	local was
	numactl --membind=0 "$NR_TOOLS/many" $data/many 1000 20000
	numactl --membind=1 "$NR_TOOLS/many" $data/many 1200 50000
	was=$("$NR_TOOLS/pages" $data/many/*/*)
	count before
	agree $data/many/*/*
	count after
	nothing_read
	[[ $("$NR_TOOLS/pages" $data/many/*/*) == "$was" ]]
	# 20,000 bytes are 5 pages, of which the last is written again
	(($("$NR_TOOLS/files" --sum --drop 0 $data/many | sed 's/.* left=\([0-9]*\) .*/\1/') == 1000 * 8 + 200 * 13))
	"$NR_TOOLS/pages" $data/many/*/* | grep -q " node1=8 "
	[[ -z $("$NR_TOOLS/pages" $data/many/*/* | grep node0=) ]]
}

@test "drop takes the pages of one NUMA node, and the other half stays" {
	mixed mixed 200
	read_on 0 other 50
	count before
	"$NR_TOOLS/files" --drop 0 $data/mixed | tee "$BATS_TEST_TMPDIR/out"
	count after
	grep -q " left=$((100 * 256)) " "$BATS_TEST_TMPDIR/out"
	nothing_read
	kept 1
	# The programs themselves come in from another file system meanwhile
	(($(lost cache0) >= 98 * 1024 && $(lost cache0) <= 100 * 1024 + 256)) || fail "$(lost cache0) kB went"
	(($(page_count $data/mixed node0) == 0 && $(page_count $data/mixed node1) == 100 * 256))
	(($(page_count $data/other node0) == 50 * 256))
}

# need MB NID: a SIZE that is this many MB above what is allocatable there
need() {
	local free
	read -r free _ < <(nid=$2 allocatable_kb)
	echo $((free + $1 * 1024))K
}

# flush ARGUMENT...: by this backend alone, in $data; nothing is read or swapped
flush() {
	count before
	"$nodereclaim" flush --json --backend files --files-from $data "$@" >"$BATS_TEST_TMPDIR/json" || true
	count after
	jq -c '.nodes[] | del(.before, .after)' "$BATS_TEST_TMPDIR/json"
	nothing_read
	not_swapped
}

# gone NID: what was missing there went, at most one run of 2 MB more, and what the search itself took
gone() {
	local gone want
	want=$(jq '.nodes[0].to_free / 1024 | floor' "$BATS_TEST_TMPDIR/json")
	gone=$(lost "cache$1")
	echo "# $BATS_TEST_DESCRIPTION: NUMA node $1: $want kB wanted, $gone kB gone" >&3
	((gone >= want * 97 / 100 && gone <= want * 101 / 100 + 6144))
}

@test "flush: each NUMA node in turn, what is missing and no more" {
	local n
	mixed mixed 800
	for n in 0 1; do
		flush --nodes $n "$(need 200 $n)"
		[[ $(jq -r '.nodes[0].backend, .nodes[0].end' "$BATS_TEST_TMPDIR/json") == files$'\n'done ]]
		gone $n
		kept $((1 - n))
	done
}

@test "flush: all of both NUMA nodes at once" {
	mixed mixed 600
	read_on 0 zero 100
	read_on 1 one 100
	numactl --membind=1 "$NR_TOOLS/many" $data/many 2000 20000
	time flush
	(($("$NR_TOOLS/files" --sum $data | sed 's/sum cached=\([0-9]*\) .*/\1/') == 0))
}

@test "flush: the longest unused file first, of those the largest" {
	local name
	for name in new:60 large:100 small:60 old:60; do
		numactl --membind=0 "$NR_TOOLS/fill" --small "$data/${name%:*}" "${name#*:}"
	done
	touch -d '2 months ago' $data/old
	touch -d '2 days ago' $data/large $data/small
	flush --nodes 0 "$(need 110 0)"
	for name in new large small old; do
		echo "$name $(page_count $data/$name node0)"
	done
	(($(page_count $data/old node0) == 0))
	(($(page_count $data/large node0) < 100 * 256))
	(($(page_count $data/small node0) == 60 * 256 && $(page_count $data/new node0) == 60 * 256))
}

@test "flush: files that processes have open, deleted ones and those of other mount namespaces" {
	local pid
	read_on 0 deleted 100
	read_on 0 open 100
	exec 7<$data/deleted 8<$data/open
	rm $data/deleted
	unshare -m bash -c "mount -t tmpfs tmpfs /mnt; mkdir /mnt/disk; mount /dev/vda /mnt/disk; umount -l $data 2>/dev/null
		numactl --membind=0 '$NR_TOOLS/fill' --ahead /mnt/disk/elsewhere 100; exec 7</mnt/disk/elsewhere; echo; sleep 60" \
		>"$BATS_TEST_TMPDIR/ready" 3>&- 7<&- 8<&- &
	pid=$!
	until [[ -s $BATS_TEST_TMPDIR/ready ]]; do sleep 0.1; done
	mv $data/open $data/moved
	count before
	"$nodereclaim" flush --backend files --nodes 0 >/dev/null || true
	count after
	"$NR_TOOLS/files" --open | grep -e deleted -e "/moved" -e elsewhere | tee "$BATS_TEST_TMPDIR/open"
	kill $pid
	exec 7<&- 8<&-
	(($(grep -c ' cached=0 ' "$BATS_TEST_TMPDIR/open") == 3)) || fail "some are left"
	grep -q "^$data/deleted .* deleted" "$BATS_TEST_TMPDIR/open"
	(($(lost cache0) >= 297 * 1024)) || fail "$(lost cache0) kB went"
}

@test "flush: mapped and dirty files stay, and the report says so" {
	read_on 0 clean 100
	read_on 0 mapped 100
	hog --map $data/mapped 100
	flush --nodes 0
	(($(page_count $data/mapped node0) == 100 * 256 && $(page_count $data/clean node0) == 0))
	(($(jq '.nodes[0].held_by.mapped' "$BATS_TEST_TMPDIR/json") >= 100 * 1048576))
}
