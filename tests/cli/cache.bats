#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and files.bash set
# nodereclaim cache: files of this host, against fincore(1). What takes several NUMA nodes is tested in
# tests/numa/cache.bats.
load helper
load files

# slow MS: the words before a program that make it take so long to open each file
slow() {
	echo "strace -D -f -qq -o $BATS_TEST_TMPDIR/trace -e trace=openat2 -e inject=openat2:delay_exit=${1}000"
}

fill() {
	"$NR_TOOLS/fill" "$@"
}

@test "a table, the largest first, with a sum" {
	fill a 2
	fill b 6
	fill --small c 4
	nr cache a b c
	ends 0
	[ -z "$stderr" ]
	[[ ${lines[0]} =~ ^RESIDENT(\ +NODE[0-9]+)+\ +DIRTY\ +PERCENT\ PATH$ ]]
	[[ ${lines[1]} == *" b" && ${lines[2]} == *" c" && ${lines[3]} == *" a" ]]
	[[ ${lines[4]} == *" - (3 files in total)" ]]
	[ "${#lines[@]}" -eq 5 ]
}

@test "as much as fincore says, of whole files and of parts" {
	local name bytes
	fill whole 8
	fill --small half 8
	fill --small holes 8
	fill --small first 8
	dd if=half of=/dev/null iflag=nocache bs=1M skip=4 count=4 status=none
	for ((i = 0; i < 8; i += 2)); do
		dd if=holes of=/dev/null iflag=nocache bs=1M skip=$i count=1 status=none
	done
	dd if=first iflag=nocache count=0 status=none
	dd if=first of=/dev/null iflag=direct bs=4096 count=1 status=none
	printf x >tiny
	steady nr cache --json -- *
	ends 0
	jq -e '.failed == 0 and .looked_at == 5 and (.files | all(.resident == (.nodes | add) + .unplaced))' <<<"$output"
	while read -r bytes name; do
		((bytes == 0)) || [ "$(in_file "$name" resident)" = "$bytes" ]
	done <<<"$cached"
	(($(in_file half resident) > 0 && $(in_file half resident) < 8 << 20))
	(($(in_file holes resident) > 0 && $(in_file holes resident) < 8 << 20))
	[ "$(in_file whole percent)" = 100 ]
	jq -e '.files | map(select(.path != "tiny")) | all((.percent - .resident / .size * 100) | . < 0.06 and . > -0.06)' <<<"$output"
	jq -e '.files[] | select(.path == "half") | .percent > 1 and .percent < 99' <<<"$output"
	[ "$(in_file tiny resident)" = "$(getconf PAGESIZE)" ]
	[ "$(in_file tiny percent)" = 100 ]
	[ "$(jq .total.resident <<<"$output")" = "$(awk '{ n += $1 } END { print n }' <<<"$cached")" ]
	[ "$(jq .total.size <<<"$output")" = "$(jq '[.files[].size] | add' <<<"$output")" ]
}

@test "what is not cached stays so, and is not listed" {
	fill --small cold 8
	dd if=cold iflag=nocache count=0 status=none
	[ "$(resident cold)" = 0 ]
	nr cache --json cold
	ends 0
	jq -e '.files == [] and .looked_at == 1 and .total.files == 0 and .total.resident == 0' <<<"$output"
	[ "$(resident cold)" = 0 ]
}

@test "a sparse file of 1 TB with 2 pages" {
	truncate -s 1T sparse
	printf x | dd of=sparse bs=1 seek=500000000000 conv=notrunc,fsync status=none
	head -c 1 sparse >beginning
	run --separate-stderr timeout 60 "$nodereclaim" cache --json sparse
	ends 0
	jq -e '.files[0] | .size == 1099511627776 and .resident > 0 and .resident < 4194304 and .percent == 0' <<<"$output"
}

@test "an empty file" {
	: >empty
	nr cache empty
	ends 0
	[[ ${lines[1]} == *"(0 files in total)" ]]
}

@test "a folder: what is below it, each file once, and nothing but files" {
	mkdir -p top/sub/empty
	fill top/a 2
	fill top/sub/b 1
	ln top/a top/sub/hardlink
	ln -s "$PWD/top/a" top/symlink
	ln -s .. top/sub/up
	mkfifo top/fifo
	[ "$(id -u)" -ne 0 ] || mknod top/null c 1 3
	fill outside 1
	ln -s "$PWD/outside" top/out
	run --separate-stderr timeout 60 "$nodereclaim" cache --json top
	ends 0
	[ -z "$stderr" ]
	jq -e '.failed == 0 and (.files | length == 2) and .files[0].size == 2097152 and .files[1].path == "top/sub/b"' <<<"$output"
}

@test "an empty folder" {
	mkdir empty
	nr cache --json empty
	ends 0
	jq -e '.files == [] and .looked_at == 0 and .failed == 0' <<<"$output"
}

@test "a file that is given twice, and in a folder that is given, is one" {
	mkdir top
	fill top/a 2
	nr cache --json top/a top top/a ./top
	ends 0
	jq -e '.total.files == 1' <<<"$output"
}

@test "what is no file has a line each, and the others are listed: exit 1" {
	local name
	fill a 2
	ln -s a symlink
	mkdir real
	fill real/b 1
	ln -s real folder
	mkfifo fifo
	run --separate-stderr timeout 60 "$nodereclaim" cache --json a symlink folder/b fifo /dev/null missing
	ends 1
	jq -e '.total.files == 1 and .failed == 5' <<<"$output"
	[ "${#stderr_lines[@]}" -eq 5 ]
	for name in symlink folder/b fifo /dev/null missing; do
		grep -q "^nodereclaim: $name: " <<<"$stderr"
	done
}

@test "hostile names: one line each, readable where they can be" {
	local name
	for name in "${hostile[@]}"; do
		fill "./$name" 1
	done
	LC_ALL=C.UTF-8 nr cache -- *
	ends 0
	[ "${#lines[@]}" -eq $((${#hostile[@]} + 2)) ]
	[ "$(tr -d '\n' <<<"$output" | LC_ALL=C tr -d '[:print:]\200-\377' | wc -c)" -eq 0 ]
	[[ $output == *' grün-漢字'* ]]
	[[ $output == *' two\x0alines'* && $output == *' escape\x1b[2J\x1b]0;title\x07'* && $output == *' latin1-\xe4\xff'* ]]
	[[ $output == *' -rf'* ]]
	LC_ALL=C nr cache --raw --noheadings --output path -- *
	[ "$(LC_ALL=C tr -d '\n [:graph:]' <<<"$output" | wc -c)" -eq 0 ]
	# Each is its file's name and no other's
	while read -r name; do
		[ -e "$(printf %b "${name//\\x/\\x}")" ]
	done <<<"$output"
}

@test "hostile names: JSON has each byte" {
	local i name
	for name in "${hostile[@]}"; do
		fill "./$name" 1
	done
	nr cache --json -- *
	ends 0
	jq -e '.files | length == 8' <<<"$output"
	for name in "${hostile[@]}"; do
		if [[ $name == latin1* ]]; then
			jq -e '.files[] | select(.path == "latin1-\ufffd\ufffd") | .path_hex == "6c6174696e312de4ff"' <<<"$output"
		else
			jq -e --arg name "$name" '.files[] | select(.path == $name) | has("path_hex") | not' <<<"$output"
		fi
	done
	# Nothing that a terminal obeys
	[ "$(tr -d '\n' <<<"$output" | LC_ALL=C tr -d '[:print:]\200-\377' | wc -c)" -eq 0 ]
}

@test "hostile names in messages" {
	LC_ALL=C.UTF-8 nr cache -- $'gone\e[2J\n\xff' 'weg-ü' '-x'
	ends 1
	[ "${#stderr_lines[@]}" -eq 3 ]
	[[ $stderr == *'gone\x1b[2J\x0a\xff: '* && $stderr == *'weg-ü: '* && $stderr == *': -x: '* ]]
}

@test "as an ordinary user: own files, and no others" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	fill own 2
	fill readable 2
	fill secret 2
	chown 65534 own
	chmod 644 readable
	nobody cache --json own readable secret
	ends 1
	jq -e '.files | length == 1 and .[0].path == "own" and .[0].resident == 2097152' <<<"$output"
	[ "${#stderr_lines[@]}" -eq 2 ]
	[[ $stderr == *"readable: "* && $stderr == *"secret: permission denied"* ]]
}

@test "what is below a folder and cannot be looked at is counted" {
	mkdir top
	fill top/own 1
	printf x >top/b
	printf x >top/c
	chown 65534 top/own
	nobody cache --json top
	ends 1
	jq -e '.files | length == 1' <<<"$output"
	jq -e '.failed == 2' <<<"$output"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "nodereclaim: 2 files could not be looked at, such as top/"[bc]": "* ]]
}

@test "--top: the largest, and the sum of the others" {
	local i
	for i in 1 2 3 4 5; do
		fill "f$i" "$i"
	done
	nr cache --top 2 .
	ends 0
	[[ ${lines[1]} == *" ./f5" && ${lines[2]} == *" ./f4" ]]
	[[ ${lines[3]} =~ ^\ *6\.0M\ .*\(3\ more\ files\)$ ]]
	[[ ${lines[4]} =~ ^\ *15M\ .*\(5\ files\ in\ total\)$ ]]
	nr cache --top 2 --json .
	jq -e '.left_out.files == 3 and .left_out.resident == 6291456 and .total.files == 5 and .total.resident == 15728640' <<<"$output"
	jq -e '[.files[].path] == ["./f5", "./f4"]' <<<"$output"
	nr cache --top 4 --raw --noheadings --output path,resident .
	ends 0
	[ "$output" = $'./f5 5.0M\n./f4 4.0M\n./f3 3.0M\n./f2 2.0M' ]
	[[ $stderr == "nodereclaim: 1 more file"*"1.0M"* ]]
}

@test "--top: of many, whatever their order" {
	local i
	for ((i = 0; i < 300; i++)); do
		head -c $(((i * 7919 % 300 + 1) * 4096)) /dev/zero >"f$i"
	done
	sync -f .
	nr cache --json --top 7 .
	ends 0
	jq -e '[.files[].resident / 4096] == [300, 299, 298, 297, 296, 295, 294] and .total.files == 300 and .left_out.files == 293' <<<"$output"
}

@test "--nodes: the columns of these, and files that are there" {
	local node
	fill a 2
	node=$("$nodereclaim" cache --json a | jq -r '.files[0].nodes | to_entries | max_by(.value).key')
	nr cache --nodes "$node" a
	ends 0
	[ "${lines[0]}" = "RESIDENT NODE$node DIRTY PERCENT PATH" ]
	[[ ${lines[1]} == *" a" ]]
	nr cache --nodes 1023 a
	fails 2 1023
	nr cache --nodes "" a
	fails 2 --nodes
	nr cache --nodes 1-0 a
	fails 2 --nodes
}

@test "--bytes, --output, --output-all" {
	fill a 2
	nr cache --raw --bytes --output path,resident,size,percent a
	ends 0
	[ "$output" = $'PATH RESIDENT SIZE PERCENT\na 2097152 2097152 100.0' ]
	nr cache --output-all a
	[[ ${lines[0]} =~ ^RESIDENT(\ +NODE[0-9]+)+\ +UNPLACED\ +DIRTY\ +PERCENT\ +SIZE\ PATH$ ]]
	nr cache --output +size a
	[[ ${lines[0]} == RESIDENT*"PATH"*SIZE ]]
	nr cache --json --output path,resident a
	jq -e '.files[0] | keys == ["deleted", "path", "resident"]' <<<"$output"
}

@test "DIRTY: what was written and not synced" {
	dd if=/dev/zero of=dirty bs=1M count=4 status=none
	nr cache --json dirty
	ends 0
	[ "$(in_file dirty dirty)" != null ] || skip "this kernel has no cachestat(2)"
	[ "$(in_file dirty dirty)" = 4194304 ]
	sync dirty
	nr cache --json dirty
	[ "$(in_file dirty dirty)" = 0 ]
}

@test "--pid: what a process has open and mapped, deleted files too" {
	fill open 2
	fill gone 3
	fill mapped 4
	hold "$PWD/mapped" 4
	exec 6<open 7<gone
	rm gone
	sleep 1000 3>&- 5>&- &
	holders+=($!)
	exec 6<&- 7<&-
	nr cache --json --pid "${holders[1]}"
	ends 0
	jq -e --arg dir "$PWD" '.files | map(select(.path | startswith($dir))) |
		map([.path[$dir | length:], .deleted, .resident]) == [["/gone", true, 3145728], ["/open", false, 2097152]]' <<<"$output"
	nr cache --output path --pid "${holders[1]}"
	[[ $output == *"$PWD/gone (deleted)"* ]]
	nr cache --json --pid "${holders[0]}"
	[ "$(in_file "$PWD/mapped" resident)" = 4194304 ]
	[ "$(id -u)" -eq 0 ] || return 0
	nr cache --json --open
	[ "$(in_file "$PWD/mapped" resident)" = 4194304 ]
	[ "$(in_file "$PWD/open" resident)" = 2097152 ]
}

@test "--pid: a process that is not there, or that is another's" {
	local pid
	pid=$(bash -c 'echo $$')
	nr cache --pid "$pid"
	ends 1
	[ "$stderr" = "nodereclaim: --pid $pid: no such process" ]
	nobody cache --pid $$
	ends 1
	[ "$stderr" = "nodereclaim: --pid $$: permission denied" ]
}

@test "a signal ends it, and what was found by then is listed" {
	local i code=0
	for ((i = 0; i < 1000; i++)); do
		printf x >"f$i"
	done
	# shellcheck disable=SC2046 # words
	$(slow 10) "$nodereclaim" cache --json . >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	holders+=($!)
	# Files that are opened are looked at in groups
	until (($(cat "$BATS_TEST_TMPDIR/trace" 2>/dev/null | wc -l) > 600)); do
		kill -0 "${holders[0]}"
		sleep 0.05
	done
	kill -TERM "${holders[0]}"
	wait "${holders[0]}" || code=$?
	holders=()
	[ "$code" -eq 1 ]
	[ "$(<"$BATS_TEST_TMPDIR/err")" = "nodereclaim: cancelled by signal 15 (Terminated)" ]
	jq -e '.cancelled and .looked_at > 0 and .looked_at < 1000' "$BATS_TEST_TMPDIR/out"
}

@test "on a terminal it shows how far it is, and takes that away at the end" {
	local i text
	for ((i = 0; i < 500; i++)); do
		printf x >"f$i"
	done
	text=$(TERM=xterm script -qec "$(slow 20) $nodereclaim cache --top 1 . >$BATS_TEST_TMPDIR/out" /dev/null </dev/null)
	[[ $text == *" files, "*" cached"* ]]
	[[ $text =~ $'\r'\ +$'\r'$ ]]
	grep -q '(499 more files)' "$BATS_TEST_TMPDIR/out"
}

@test "a narrow terminal cuts no name" {
	local name
	name=$(printf 'n%.0s' {1..200})
	fill "$name" 1
	text=$(TERM=xterm script -qec "stty cols 40; $nodereclaim cache $name" /dev/null </dev/null)
	[[ $text == *"$name"* ]]
}

@test "what it refuses" {
	nr cache
	fails 2 PATH
	nr cache --frob
	fails 2 --frob
	nr cache --open --pid 1
	fails 2 --pid
	nr cache --json --raw .
	fails 2 --raw
	nr cache --output x .
	fails 2 --output
	nr cache --output path --output-all .
	fails 2 --output-all
	for value in 0 -1 x 100001 "" 1x 99999999999999999999; do
		nr cache --top="$value" .
		fails 2 --top
	done
	for value in 0 -1 x 4194305 ""; do
		nr cache --pid="$value"
		fails 2 --pid
	done
	nr cache . ""
	fails 2 "PATH 2 of 2"
}

@test "a full disk is no success" {
	fill a 1
	run --separate-stderr bash -c '"$1" cache a >/dev/full' - "$nodereclaim"
	fails 4 "standard output"
}
