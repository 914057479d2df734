# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # src is set by tests/run
# Sourced by tests/run: what can be said about the sources without running them.

c_files() { find "$src" -name '*.[ch]' -not -path '*/.git/*'; }
scripts() {
	find "$src" -type f -not -path '*/.git/*' \( -name '*.bash' -o -name '*.bats' -o -perm -100 \) \
		-not -path '*/build-aux/*' -not -name 'configure*' -not -name '*.awk' -print0 |
		xargs -0 grep -lE '^#!.*(bash|bats|/sh)|shellcheck shell='
}

lint_cppcheck() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --force \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=normalCheckLevelMaxBranches -I "$src/lib" -D_GNU_SOURCE \
		"$src/lib" "$src/plugin" "$src/prolog" "$src/cli" "$src/tests"
}
lint_format() { c_files | xargs clang-format --dry-run -Werror; }
lint_shell() { scripts | xargs shellcheck -x -S warning; }
lint_man() {
	local out
	# One page is only a reference to another
	out=$(grep -L '^\.so ' "$src"/doc/*.[1-9] | xargs mandoc -Tlint -Wwarning 2>&1) ||
		{ echo "$out"; return 1; }
}
lint_spdx() {
	local missing
	missing=$({ c_files; scripts; } | xargs grep -L 'SPDX-License-Identifier' || true)
	[ -z "$missing" ] || { echo "without SPDX line: $missing"; return 1; }
}
# lib/sysfs.c is the only file of the library that opens files, but for safeopen.c, which opens those of
# users, and rundir.c: /run/nodereclaim.
lint_opens() {
	! grep -nE '\b(open|openat|fopen|opendir|fdopendir)\(' "$src"/lib/*.c |
		grep -vE '/(sysfs|context|rundir|safeopen)\.c:|^\S+:\s*[/*]'
}

check "cppcheck" lint_cppcheck
check "clang-format" lint_format
check "shellcheck" lint_shell
check "manual pages" lint_man
check "SPDX lines" lint_spdx
check "only sysfs.c opens files" lint_opens
