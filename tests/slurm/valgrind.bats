#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # counters that snap sets, and what bats sets
# One step with srun or slurmstepd's helper under valgrind, or the helper built with sanitizers.

load common

setup_file() {
	command -v valgrind >/dev/null || lab_skip "valgrind is not installed" || return 0
	lab_start --conf DefMemPerNode=200 || return 0
	mkdir "$LAB/helpers"
	fill 512
}

teardown_file() {
	lab_stop
}

setup() {
	lab_ready 512
}

@test "the helper is clean under valgrind" {
	cat >"$LAB/helpers/valgrind" <<-EOF
	#!/bin/sh
	exec valgrind -q --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
		--error-exitcode=99 --log-file=$LAB/log/valgrind \
		$NR_STAGE/libexec/nodereclaim/nodereclaim-step "\$@"
	EOF
	chmod 755 "$LAB/helpers/valgrind"
	plugin_args "helper=$LAB/helpers/valgrind"
	snap before
	user srun --node-reclaim=all true
	snap after
	plugin_args
	cat "$LAB/log/valgrind"
	[[ -e $LAB/log/valgrind && ! -s $LAB/log/valgrind ]]
	((after[clean] < before[clean] - 256 * 1024))
}

@test "the helper is clean under AddressSanitizer and UndefinedBehaviorSanitizer" {
	[[ -n ${NR_ASAN_STAGE-} ]] || skip "no build with sanitizers; tests/run makes one in its part sanitizers"
	cat >"$LAB/helpers/asan" <<-EOF
	#!/bin/sh
	ASAN_OPTIONS=detect_leaks=1:exitcode=99:log_path=$LAB/log/asan
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$LAB/log/asan
	export ASAN_OPTIONS UBSAN_OPTIONS
	$NR_ASAN_STAGE/libexec/nodereclaim/nodereclaim-step "\$@"
	echo \$? >$LAB/log/asan-status
	EOF
	chmod 755 "$LAB/helpers/asan"
	plugin_args "helper=$LAB/helpers/asan"
	snap before
	user srun --node-reclaim=all,verbose true
	snap after
	plugin_args
	cat "$LAB"/log/asan.* 2>/dev/null || true
	[[ $(<"$LAB/log/asan-status") == 0 ]]
	run ! compgen -G "$LAB/log/asan.*"
	((after[clean] < before[clean] - 256 * 1024))
}

# Slurm's own errors are not ours: only what has our plugin or library on its stack
@test "the plugin in srun is clean under valgrind" {
	local spec
	for spec in 1K all,nodes=0,timeout=5 nonsense; do
		user valgrind --leak-check=full --num-callers=40 --log-file="$LAB/user/valgrind" \
			srun --node-reclaim="$spec" true || [[ $spec == nonsense ]]
		grep -q 'ERROR SUMMARY' "$LAB/user/valgrind"
		run ! grep -E 'spank_nodereclaim|libnodereclaim' "$LAB/user/valgrind"
	done
}
