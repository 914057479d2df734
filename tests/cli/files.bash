# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # bats sets and uses them
# For the tests of nodereclaim cache and drop: real files, of which the kernel says what is cached.

: "${NR_TOOLS:?the folder with the programs of tests/tools}"

# Each test has a folder of its own, and works there. It has to be on a disk: on tmpfs memory is no
# page cache.
setup() {
	[[ $(stat -f -c %T "$BATS_TEST_TMPDIR") != @(tmpfs|ramfs) ]] ||
		skip "$BATS_TEST_TMPDIR is on tmpfs, which holds no page cache; set TMPDIR"
	chmod 755 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	dir=$BATS_TEST_TMPDIR/files
	mkdir "$dir"
	cd "$dir" || return
	holders=()
}

teardown() {
	local pid
	for pid in "${holders[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# hold FILE MB: a process has that much of it mapped until the test ends, or release
hold() {
	mkfifo "$BATS_TEST_TMPDIR/hold"
	exec 5<>"$BATS_TEST_TMPDIR/hold"
	"$NR_TOOLS/hog" --map "$1" "$2" <"$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/ready" 3>&- 5>&- &
	holders+=($!)
	until grep -qs ready "$BATS_TEST_TMPDIR/ready"; do
		kill -0 "${holders[-1]}"
		sleep 0.05
	done
}
release() {
	kill "${holders[@]}"
	wait "${holders[@]}" || true
	holders=()
}

# As nr, as a user who owns nothing here
nobody() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$nodereclaim" "$@"
}

# Bytes of a file in the page cache, by fincore(1)
resident() {
	fincore --noheadings --bytes --output RES -- "$1" | tr -d ' '
}

# steady COMMAND...: runs it until the files were cached as much before as after, since the kernel may
# evict some of them at any time; in $cached what each was, as "BYTES NAME" lines
steady() {
	local try before
	for try in 1 2 3 4 5; do
		before=$(fincore --noheadings --bytes --raw --output RES,FILE -- *)
		"$@"
		cached=$(fincore --noheadings --bytes --raw --output RES,FILE -- *)
		[ "$before" != "$cached" ] || return 0
	done
	echo "the kernel evicts these files all the time: $before, $cached"
	return 1
}

# in_file NAME MEMBER: of the JSON in $output
in_file() {
	jq -r --arg name "$1" ".files[] | select(.path == \$name) | .$2" <<<"$output"
}

# Names that a terminal, a shell or JSON may take amiss
hostile=($'two\nlines' $'escape\e[2J\e]0;title\a' $'latin1-\xe4\xff' '-rf' '--json' $'tab\tblank  s' 'quote"\x41' 'grün-漢字')
