#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and files.bash set
# nodereclaim flush --backend files on this host: which files go, judged by fincore(1). What takes several
# NUMA nodes is tested in tests/numa/files.bats.
load helper
load files

# files COUNT: of three ages and COUNT sizes, 1 MB and more; neither in the order of their names
files() {
	local i name days size
	rm -f -- *
	for ((i = 1; i <= $1; i++)); do
		days=$((6 ** (i * 7 % 3))) size=$((i * 5 % $1 + 1))
		printf -v name '%02d-%02d-%02d' $i $days $size
		fill --small "$name" $size
	done
}
fill() {
	"$NR_TOOLS/fill" "$@"
}

# "RES NAME" of each file, longest unused first, of those the largest. fincore counts as a use.
in_order() {
	local name
	fincore --noheadings --bytes --raw --output RES,FILE -- * | sort -t- -k2,2nr -k3,3nr
	for name in *; do
		touch -d "$(cut -d- -f2 <<<"$name") days ago" "$name"
	done
}

# flush MB: frees about so much of NUMA node 0, of files in $dir alone. What the rest of the host does
# at that moment makes it more or less.
flush() {
	local free
	free=$("$nodereclaim" flush --dry-run --json --nodes 0 1K | jq '.nodes[0].allocatable / 1024 | floor')
	nr flush --json --nodes 0 --backend files --files-from "$dir" $((free + $1 * 1024))K
	jq -c '.nodes[] | del(.before, .after)' <<<"$output"
}

# Whole files went, at most one in part, and no other: the first of $1, as $2 says
first_went() {
	local was is name whole=1
	while read -r was name is _; do
		((whole || is == was)) || { echo "$name went before others had"; return 1; }
		((is == 0)) || whole=0
	done < <(paste -d ' ' "$1" "$2")
}

@test "the longest unused file first, of those the largest, and no more than needed" {
	local before=$BATS_TEST_TMPDIR/before after=$BATS_TEST_TMPDIR/after
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	for _ in {1..10}; do
		files 24
		in_order >"$before"
		flush 150
		in_order >"$after"
		first_went "$before" "$after" || { paste -d ' ' "$before" "$after"; return 1; }
		# Else what the host did meanwhile was more than these files
		! grep -q '^0 ' "$after" || ! grep -qv '^0 ' "$after" || return 0
	done
	echo "no try in ten freed some of the files and not all"
	return 1
}
