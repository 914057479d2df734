# SPDX-License-Identifier: GPL-2.0-or-later
#
# The hosts that are computed: NUMA nodes, CPUs, distances, and what fills the memory. kernel.awk
# writes them as the kernel does. See README.md for where the facts are from.
#
# kernel(418 | 612 | 618 | 700): the kernel release whose names and formats are used
# patched: with the patches of contrib/kernel
# node(number, CPUs, zones in MB, fill): "" for no CPUs or no memory
# matrix("10 21; 21 10"): distances in the order of the nodes
# task(pid, CPUs, NUMA nodes): what /proc/PID/status allows it

BEGIN {
	page_kb = 4
	arch = "x86"
	zone_names = "DMA DMA32 Normal Movable Device"
	huge_kb = "2048 1048576"
	block_pages = 512
	fills()
	define(name)
	if (list)
		write_folders()
	else
		write_files()
}

# Classes in 1/1000 of a NUMA node's memory; "mapped" and "dirty" are parts of "file", "free" is what is
# left, "lost" is in no class of the kernel.
function fills() {
	fill["clean"] = "file=905 dirty=3 wb=1 mapped=12 shmem=6 shmmap=2 anon=31 mlock=2 slab_r=24 slab_u=11 stack=1 pt=2 lost=8"
	fill["most"] = "file=868 dirty=3 wb=1 mapped=12 shmem=6 shmmap=2 anon=31 mlock=2 slab_r=24 slab_u=11 stack=1 pt=2 lost=8"
	fill["half"] = "file=446 dirty=2 wb=1 mapped=18 shmem=9 shmmap=4 anon=61 slab_r=14 slab_u=9 stack=1 pt=2 lost=9"
	fill["empty"] = "file=17 mapped=6 shmem=1 shmmap=1 anon=9 slab_r=4 slab_u=6 stack=1 pt=1 lost=7"
	fill["busy"] = "file=92 dirty=1 mapped=41 locked=5 shmem=12 shmmap=9 anon=828 mlock=20 huge=610 swap=4 slab_r=12 slab_u=10 stack=2 pt=5 lost=9"
	fill["dirty"] = "file=812 dirty=346 wb=42 mapped=61 shmem=4 shmmap=2 anon=72 slab_r=33 slab_u=11 stack=1 pt=2 lost=8"
	fill["shmem"] = "file=302 dirty=1 mapped=9 shmem=512 shmmap=307 anon=101 slab_r=14 slab_u=9 stack=1 pt=6 lost=8"
	fill["pool"] = "file=381 dirty=2 mapped=8 shmem=2 shmmap=1 anon=41 slab_r=12 slab_u=9 stack=1 pt=1 pool=500 poolfree=402 lost=8"
	fill["cold"] = "file=610 dirty=1 shmem=0 anon=270 slab_r=0 slab_u=1 lost=2"
}

function two_sockets_cpus(nid, half) {
	return nid * half "-" (nid + 1) * half - 1 "," (nid + 2) * half "-" (nid + 3) * half - 1
}

function define(name,    i) {
	if (name == "two-sockets") {
		kernel(612)
		node(0, two_sockets_cpus(0, 16), "DMA:15 DMA32:1950 Normal:94208", "clean")
		node(1, two_sockets_cpus(1, 16), "Normal:96768", "half")
		matrix("10 21; 21 10")
		task(1, "0-63", "0-1")
		task(100, "16-19,48-51", "0-1")
		task(200, "0-3", "1")
		task(300, "0-63", "0")
	} else if (name == "eight-nodes") {
		kernel(700)
		for (i = 0; i < 8; i++)
			node(i, i * 16 "-" i * 16 + 15 "," 128 + i * 16 "-" 128 + i * 16 + 15,
			     i ? "Normal:64512" : "DMA:15 DMA32:1950 Normal:62464",
			     i < 2 ? "clean" : i == 2 ? "half" : i == 3 ? "busy" : i == 4 ? "dirty" : \
			     i == 5 ? "shmem" : i == 6 ? "pool" : "empty")
		for (i = 0; i < 64; i++)
			distance[int(i / 8), i % 8] = int(i / 8) == i % 8 ? 10 : \
				int(i / 32) == int(i % 8 / 4) ? 12 : 32
		task(1, "0-255", "0-7")
		task(100, "0-31", "0-7")
		task(200, "12-19,60-63", "0-7")
	} else if (name == "ibm-power730") {
		kernel(418)
		power("DMA Movable Device", "16384 16777216", 256)
		node(0, "0-31", "", "")
		node(1, "", "DMA:12288", "most")
		matrix("10 40; 40 10")
		task(1, "0-31", "0-1")
		task(100, "3", "0-1")
	} else if (name == "memoryless") {
		kernel(612)
		node(0, "0-7", "DMA:15 DMA32:1950 Normal:30208", "clean")
		node(1, "8-15", "", "")
		node(2, "16-23", "Normal:32256", "half")
		node(3, "24-31", "", "")
		matrix("10 16 16 16; 16 10 16 16; 16 16 10 12; 16 16 12 10")
		task(1, "0-31", "0,2")
		task(100, "8-15", "0,2")
		task(200, "8-15", "2")
	} else if (name == "cxl") {
		kernel(618)
		demotion = "true"
		node(0, "0-47", "DMA:15 DMA32:1950 Normal:127488", "clean")
		node(1, "48-95", "Normal:129024", "half")
		node(2, "", "Movable:262144", "cold")
		matrix("10 21 14; 21 10 24; 14 24 10")
		task(1, "0-95", "0-2")
		task(100, "0-47", "0-1")
		task(200, "48-51", "0-2")
	} else if (name == "holes") {
		kernel(612)
		power("Normal Movable Device", "2048 1048576", 32)
		node(0, "0-87", "Normal:260096", "clean")
		node(8, "88-175", "Normal:261120", "half")
		for (i = 252; i < 256; i++)
			node(i, "", "Movable:16128", i == 252 ? "cold" : "empty")
		matrix("10 40 80 80 80 80; 40 10 80 80 80 80; 80 80 10 80 80 80;" \
		       "80 80 80 10 80 80; 80 80 80 80 10 80; 80 80 80 80 80 10")
		possible = "0-255"
		task(1, "0-175", "0,8,252-255")
		task(100, "88-91", "0,8")
	} else if (name == "hbm") {
		kernel(612)
		node(0, two_sockets_cpus(0, 56), "DMA:15 DMA32:1950 Normal:255488", "clean")
		node(1, two_sockets_cpus(1, 56), "Normal:258048", "clean")
		node(2, "", "Normal:64512", "half")
		node(3, "", "Normal:64512", "busy")
		matrix("10 21 13 23; 21 10 23 13; 13 23 10 23; 23 13 23 10")
		task(1, "0-223", "0-3")
		task(100, "0-55", "2")
	} else if (name == "offline") {
		kernel(612)
		node(0, "0-7,12-15", "DMA:15 DMA32:1950 Normal:30208", "half")
		node(1, "16-31", "Normal:32256", "clean")
		node(3, "48-59,61-63", "Normal:32256", "empty")
		matrix("10 12 12; 12 10 12; 12 12 10")
		possible = "0-3"
		task(1, "0-63", "0-1,3")
		task(100, "8-12", "0-1,3")
		task(200, "8-11", "0-1,3")
		task(300, "32-47", "0-1,3")
	} else if (name == "old-kernel") {
		kernel(418)
		node(0, two_sockets_cpus(0, 12), "DMA:15 DMA32:1950 Normal:62464", "dirty")
		node(1, two_sockets_cpus(1, 12), "Normal:64512", "clean")
		matrix("10 21; 21 10")
		task(1, "0-47", "0-1")
	} else if (name == "patched") {
		kernel(612)
		patched = 1
		node(0, two_sockets_cpus(0, 8), "DMA:15 DMA32:1950 Normal:29696 Movable:32768", "clean")
		node(1, two_sockets_cpus(1, 8), "Normal:32256 Movable:32768", "half")
		matrix("10 21; 21 10")
		task(1, "0-31", "0-1")
		task(100, "8-15", "0-1")
	} else if (name == "nodes-1024") {
		kernel(618)
		for (i = 0; i < 1024; i++)
			node(i, i * 8 "-" i * 8 + 7, i ? "Normal:4032" : "DMA:15 DMA32:1950 Normal:2048",
			     i % 4 == 0 ? "clean" : i % 4 == 1 ? "half" : i % 4 == 2 ? "empty" : "busy")
		far = 1
		own_pagesets = 1
		task(1, "0-8191", "0-1023")
		task(100, "8184-8191", "0-1023")
		task(200, "0-7,4096-4103", "0,512")
	}
}

function kernel(release) {
	gen = release
}

function power(zones, pool_kb, pages) {
	arch = "power"
	page_kb = 64
	zone_names = zones
	huge_kb = pool_kb
	block_pages = pages
}

function node(nid, cpus, zones, kind) {
	nids[nnodes++] = nid
	cpulist[nid] = cpus
	zones_mb[nid] = zones
	kind_of[nid] = kind
}

function matrix(text,    row, col, n, m, i, j) {
	n = split(text, row, ";")
	for (i = 1; i <= n; i++) {
		m = split(row[i], col, " ")
		for (j = 1; j <= m; j++)
			distance[nids[i - 1], nids[j - 1]] = col[j]
	}
}

# A machine of 1,024 NUMA nodes would be a tree of boards of 8, cabinets of 64
function distance_of(a, b) {
	if (!far)
		return distance[a, b]
	return a == b ? 10 : int(a / 8) == int(b / 8) ? 12 : int(a / 64) == int(b / 64) ? 20 : 40
}

function task(pid, cpus, mems) {
	pids[ntasks++] = pid
	task_cpus[pid] = cpus
	task_mems[pid] = mems
}
