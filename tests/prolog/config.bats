#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# nodereclaim.conf: what is accepted, what is refused, and what the log says about it.
# shellcheck disable=SC2030,SC2031,SC2154 # bats: subshells, and what helper.bash and run set

load helper

setup() {
	need_root
	config
}

# A config file that must not be used: the reason, and that defaults are.
refused() {
	whole_host SPANK_NODE_RECLAIM=1K
	ends_well
	says "$conf: $1; using defaults"
	says 'job=12 uid=1000 '
	[ "$(grep -c "$conf" <<<"$output")" -eq 1 ]
}

@test "every key is accepted without a word" {
	config '[prolog]' 'enable = whole-host' 'default=50%,timeout=10' 'allow = auto,size' \
		'max_timeout = 20' 'cpus = 4' 'drop_caches = no' 'deadline = 25' \
		'backend = sysfs' 'files_from = /scratch,/tmp' \
		'[epilog]' 'report = no' 'deadline=2' '[log]' 'level = info'
	start "$epilog"
	ends_well
	lines 0
}

@test "the documented example is accepted without a word, with and without its comments" {
	conf=$BATS_TEST_TMPDIR/example
	sed 's/^#\([a-z_]* = \)/\1/' "$here/../../contrib/slurm/nodereclaim.conf.example" >"$conf"
	grep -q '^default = ' "$conf"
	start "$epilog"
	ends_well
	says_not "$conf"
	cp "$here/../../contrib/slurm/nodereclaim.conf.example" "$conf"
	start "$epilog"
	ends_well
	says_not "$conf"
}

@test "blanks, comments, carriage returns and a byte order mark do no harm" {
	printf '\357\273\277; comment\r\n  [log]\r\n\tlevel = debug ; why not\r\n# more\r\n\r\n  [prolog]\n   enable = no\n   cpus = 3' >"$conf"
	whole_host
	ends_well
	says 'enable = no'
	lines 1
}

@test "an empty file means the defaults" {
	: >"$conf"
	whole_host
	ends_well
	lines 0
}

@test "a file that is missing: a word if it was asked for" {
	rm "$conf"
	refused 'No such file or directory'
}

@test "an unknown key is named with its line and the rest counts" {
	config '[prolog]' 'enabel = no' 'enable = no'
	whole_host
	ends_well
	says "$conf:4: unknown key \"enabel\" in section [prolog], ignored"
	says 'enable = no'
	lines 2
}

@test "an unknown section is named once" {
	config '[queue "big"]' 'default = 1G' 'enable = no' '[prolog]' 'enable = no'
	whole_host
	ends_well
	says "$conf:3: unknown section [queue \"big\"], ignored"
	lines 2
}

@test "a key before the first section" {
	printf '%s\n' 'level = debug' >"$conf"
	start "$epilog"
	ends_well
	says "$conf:1: key \"level\" before the first section, ignored"
}

@test "every line that is no line is named" {
	config '[prolog' 'enable' '= ' 'cpus = 2' "default = $(printf '%0300d' 0)" '[prolog]' 'enable = no'
	whole_host
	ends_well
	says "$conf:3: no ] at the end of a section's name, ignored"
	says "$conf:4: not \"key = value\", ignored"
	says "$conf:7: line is too long, ignored"
	says 'enable = no'
}

@test "bad values are named with what is allowed" {
	local n
	local bad=('enable = yes' 'enable =' 'default =' 'default = 5X' 'allow = siez' 'allow =' 'allow = auto,'
		'max_timeout = 0' 'max_timeout = 3601' 'max_timeout = -1' 'max_timeout = 5s' 'max_timeout = 99999999999'
		'cpus = 0' 'cpus = 8193' 'cpus = 0x2' 'drop_caches = 1' 'deadline = 1' 'deadline = 3601' 'deadline = '
		'backend = fast' 'backend =' 'files_from =' 'files_from = tmp' 'files_from = /tmp/../etc' 'files_from = /')
	config '[prolog]' "${bad[@]}" '[epilog]' 'report = maybe' 'deadline = 1' '[log]' 'level = loud'
	start "$epilog"
	ends_well
	for ((n = 4; n < 4 + ${#bad[@]}; n++)); do
		says "$conf:$n: bad value"
	done
	says 'of enable, ignored; allowed: whole-host, no'
	says 'of allow, so what users ask for is not served; allowed: any, or a list of auto, size, all, nodes, '
	says 'of deadline, ignored; allowed: 2 to 3600 seconds'
	says 'of backend, ignored; allowed: syscall, sysfs, '
	says 'of files_from, ignored; allowed: absolute paths, such as /scratch,/tmp'
	says 'bad value "maybe" of report, ignored; allowed: yes, no'
	says 'bad value "loud" of level, ignored; allowed: err, warning, notice, info, debug'
}

@test "help is no default" {
	local spec
	for spec in help auto,help; do
		config '[prolog]' 'default = 1K' "default = $spec"
		whole_host
		ends_well
		says "$conf:5: bad value \"$spec\" of default, ignored; allowed: a spec as for --node-reclaim, but not help"
		# The line before counts
		says 'reclaim'
		says_not 'nothing asked for'
	done
}

@test "a bad line of allow: nobody's own spec is served, the default is" {
	local bad
	for bad in 'allow = siez' 'allow =' 'allow auto' "allow = $(printf 'auto,%.0s' {1..60})auto"; do
		config '[prolog]' 'allow = any' "$bad" 'allow = any' 'default = 1K'
		whole_host SPANK_NODE_RECLAIM=1K
		ends_well
		says "$conf:5: "
		says ', so what users ask for is not served'
		says 'SPANK_NODE_RECLAIM ignored: this site does not allow size'
		lines 2
		whole_host SPANK_NODE_RECLAIM=
		ends_well
		says 'SPANK_NODE_RECLAIM ignored: this site does not allow auto'
		whole_host
		ends_well
		says_not 'SPANK_NODE_RECLAIM ignored'
		says_not 'nothing asked for'
	done
}

@test "control characters of the file do not reach the log" {
	config '[prolog]' $'enable = \033[31mred\001\377' $'\007bell = 1'
	whole_host
	ends_well
	says 'bad value "?[31mred??"'
	says 'unknown key "?bell"'
	printable
}

@test "refused: a symbolic link" {
	mv "$conf" "$conf.real"
	ln -s "$conf.real" "$conf"
	refused 'is a symbolic link'
}

@test "refused: a FIFO, without waiting for a writer" {
	rm "$conf"
	mkfifo "$conf"
	refused 'not a regular file'
}

@test "refused: a folder and a device" {
	rm "$conf"
	mkdir "$conf"
	refused 'not a regular file'
	rmdir "$conf"
	conf=/dev/zero
	refused 'not a regular file'
}

@test "refused: a file that another user owns" {
	chown nobody "$conf"
	refused 'not owned by root'
}

@test "refused: a file that others may write" {
	chmod 664 "$conf"
	refused 'writable by others than root'
	chmod 646 "$conf"
	refused 'writable by others than root'
}

@test "refused: a file above 64 kB" {
	head -c 65537 /dev/zero | tr '\0' '#' >"$conf"
	refused 'larger than 64 kB'
}

@test "refused: a binary file" {
	printf '[prolog]\0\nenable = no\n' >"$conf"
	refused 'not a text file'
}

@test "a file of 64 kB with a bad line at its end is read to the end" {
	{
		head -c 65500 /dev/zero | tr '\0' '\n'
		printf '[prolog]\nbad = 1\n'
	} >"$conf"
	start "$epilog"
	ends_well
	says "$conf:65502: unknown key"
}

@test "thousands of faults do not flood the log" {
	for ((i = 0; i < 3000; i++)); do echo "[s$i]"; echo "k=$i"; done >"$conf"
	start "$epilog"
	ends_well
	says "$conf:99: unknown section [s49]"
	says_not "$conf:101:"
	says "$conf: 2950 more faults not shown"
}

# job_of PARTITION [ACCOUNT]: a job over the whole host there
job_of() {
	whole_host SLURM_JOB_PARTITION="$1" ${2:+SLURM_JOB_ACCOUNT="$2"}
	ends_well
	says_not "$conf:"
}

@test "[partition \"NAME\"]: for jobs of that partition, wherever it stands" {
	config '[partition "big"]' 'enable = whole-host' '[prolog]' 'enable = no' '[partition "small"]' 'default = 1K'
	job_of big
	says_not 'enable = no'
	for other in small bi bigger BIG ''; do
		job_of "$other"
		says 'enable = no'
	done
}

# wants PERCENT: of NUMA node 0's memory, as SPEC says
wants() {
	local total need
	total=$(sed -n 's/.*MemTotal: *\([0-9]*\) kB/\1/p' /sys/devices/system/node/node0/meminfo)
	need=$(sed -n 's/.*node0_need=\([0-9]*\).*/\1/p' <<<"$output")
	(((need + total * 512 / 100) / (total * 1024 / 100) == $1))
}

@test "a partition's line comes before its account's, and that before [prolog]" {
	config '[partition "big"]' 'default = 4%' '[account "physics"]' 'default = 3%' 'enable = whole-host' \
		'[prolog]' 'default = 2%' 'enable = no' '[partition "night"]' 'enable = no'
	job_of big physics
	says_not 'enable = no'
	wants 4
	job_of small physics
	wants 3
	for args in "big chemistry" "small chemistry" "night physics" big; do
		# shellcheck disable=SC2086 # two words
		job_of $args
		says 'enable = no'
	done
}

@test "what is wrong in a partition's section is named, once, whatever the job's partition" {
	config '[partition "big"]' 'default = 5X' 'nonsense = 1' 'max_timeout = 5' '[partition big]' 'x = 1' \
		'[partition ""]' 'x = 1' '[account "physics]' 'x = 1' \
		'[partition "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"]' 'x = 1'
	for partition in big small; do
		whole_host SLURM_JOB_PARTITION=$partition
		ends_well
		says "$conf:4: bad value \"5X\" of default"
		says "$conf:5: unknown key \"nonsense\""
		says "$conf:7: unknown section [partition big], ignored; known: [prolog], [partition \"NAME\"], "
		says "$conf:9: unknown section"
		says "$conf:11: unknown section"
		says "$conf:13: unknown section"
		[ "$(grep -c "$conf" <<<"$output")" -eq 6 ]
	done
}

@test "a bad allow in a partition's section is a limit for its jobs" {
	config '[partition "big"]' 'allow = siez'
	whole_host SLURM_JOB_PARTITION=big SPANK_NODE_RECLAIM=1K
	ends_well
	says 'does not allow'
	whole_host SLURM_JOB_PARTITION=small SPANK_NODE_RECLAIM=1K
	ends_well
	says_not 'does not allow'
}
