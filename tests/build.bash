# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by tests/run and tests/numa/run: how a tree is built for its tests.

# copy_tree FROM TO: what git has and what is new, ready to configure. A copy, so that the tree itself
# stays as it is, also when it was configured in place.
copy_tree() {
	mkdir "$2" || return
	if git -C "$1" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$1" ls-files -z --cached --others --exclude-standard |
			(cd "$1" && xargs -0 ls -d 2>/dev/null | tr '\n' '\0' | tar -c --null -T - -f -)
	else
		tar -c -C "$1" .
	fi | tar -x -C "$2" && (cd "$2" && autoreconf -fi)
}

# build_tree FROM TO CONFIGURE-ARGUMENT...: a build in TO with its test programs, installed in TO/stage;
# without recorded trees (tests/roots), which tests/run makes once for all builds
build_tree() {
	local from=$1 to=$2
	shift 2
	mkdir "$to" && cd "$to" && "$from/configure" --prefix="$to/stage" --with-slurm \
		--with-slurm-plugindir="$to/stage/lib/slurm" "$@" &&
		make -j"$(nproc)" && make install && make -j"$(nproc)" check TESTS= check_DATA=
}
