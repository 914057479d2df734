# SPDX-License-Identifier: GPL-2.0-or-later
#
# The memory of a host of trees.awk: zones, what is in them, and, as mm/page_alloc.c computes them,
# watermarks and reserves. All counts are pages of page_kb.

function make_zones(nid,    n, part, pair, i, z) {
	nzones = split(zone_names, zone_name, " ")
	n = split(zones_mb[nid], part, " ")
	for (i = 1; i <= n; i++) {
		split(part[i], pair, ":")
		for (z = 1; z <= nzones; z++)
			if (zone_name[z] == pair[1])
				zone[nid, z, "managed"] = pair[2] * 1024 / page_kb
	}
	for (z = 1; z <= nzones; z++) {
		zone[nid, z, "managed"] += 0
		zone[nid, z, "start"] = next_pfn
		next_pfn += zone[nid, z, "managed"] * 2
		if (zone[nid, z, "managed"]) {
			class[nid, "total"] += zone[nid, z, "managed"]
			last_zone[nid] = z
			populated++
		}
	}
}

function make_classes(nid,    n, i, part, pair, share, t, sum) {
	t = class[nid, "total"] += 0
	n = split("file dirty wb mapped locked shmem shmmap anon mlock huge swap slab_r slab_u stack pt " \
		  "pool poolfree lost", part, " ")
	for (i = 1; i <= n; i++)
		share[part[i]] = 0
	n = split(fill[kind_of[nid]], part, " ")
	for (i = 1; i <= n; i++) {
		split(part[i], pair, "=")
		share[pair[1]] = int(t * pair[2] / 1000)
	}
	# Some pages more or less, so that no number is round or there twice
	share["file"] += t ? (nid * 37 + 11) % 97 : 0
	share["anon"] += t ? (nid * 53 + 5) % 89 : 0
	share["huge"] -= share["huge"] % block_pages
	share["pool"] -= share["pool"] % block_pages
	share["poolfree"] -= share["poolfree"] % block_pages
	for (i in share)
		class[nid, i] = share[i]

	class[nid, "active_file"] = int(share["file"] * 0.3)
	class[nid, "inactive_file"] = share["file"] - class[nid, "active_file"]
	# Shmem and the swap cache are on the anonymous LRUs, what is mlocked on none of them
	sum = share["anon"] - share["mlock"] + share["shmem"] + share["swap"]
	class[nid, "active_anon"] = int(sum * 0.2)
	class[nid, "inactive_anon"] = sum - class[nid, "active_anon"]
	class[nid, "unevictable"] = share["mlock"] + share["locked"]
	class[nid, "all_mapped"] = share["mapped"] + share["shmmap"] + share["locked"]
	class[nid, "file_pages"] = share["file"] + share["locked"] + share["shmem"] + share["swap"]
	class[nid, "free"] = t - share["file"] - share["locked"] - share["shmem"] - share["swap"] - \
		share["anon"] - share["slab_r"] - share["slab_u"] - share["stack"] - share["pt"] - \
		share["pool"] - share["lost"]
	if (class[nid, "free"] < 0) {
		printf "node %.0f: more than its memory\n", nid > "/dev/stderr"
		exit 1
	}
}

# The classes over the zones, by their size; a PC's first 16 MB stay free, as they do.
function spread(nid,    n, i, z, name, keep, rest, part, whole) {
	n = split("free active_anon inactive_anon active_file inactive_file unevictable pending mlocked", name, " ")
	class[nid, "pending"] = class[nid, "dirty"] + class[nid, "wb"]
	class[nid, "mlocked"] = class[nid, "mlock"] + class[nid, "locked"]
	keep = arch == "x86" ? zone[nid, 1, "managed"] + 0 : 0
	for (i = 1; i <= n; i++) {
		rest = class[nid, name[i]] - (name[i] == "free" ? keep : 0)
		whole = rest
		for (z = 1; z <= nzones; z++) {
			if (!zone[nid, z, "managed"])
				continue
			if (arch == "x86" && z == 1)
				part = name[i] == "free" ? keep : 0
			else if (z == last_zone[nid])
				part = rest
			else
				part = int(whole * zone[nid, z, "managed"] / (class[nid, "total"] - keep))
			zone[nid, z, name[i]] = part
			if (arch != "x86" || z != 1)
				rest -= part
		}
	}
	if (gen >= 618)
		for (z = 1; z <= nzones; z++) {
			zone[nid, z, "blocks"] = int(zone[nid, z, "free"] * 0.96 / block_pages) * block_pages
			class[nid, "blocks"] += zone[nid, z, "blocks"]
		}
}

# Linux since 6.6 gives ZONE_MOVABLE a watermark of its own
function small_movable(z) {
	return gen >= 612 && zone_name[z] == "Movable"
}

function watermarks(    i, z, nid, low_pages, min_pages, huge_pages, m, step, j, sum, ratio, text) {
	for (i = 0; i < nnodes; i++)
		for (z = 1; z <= nzones; z++)
			if (!small_movable(z))
				low_pages += zone[nids[i], z, "managed"]
	min_pages = int(sqrt(low_pages * page_kb * 16))
	min_pages = int((min_pages > 262144 ? 262144 : min_pages) / page_kb)
	# khugepaged raises it, to 5 % at most
	huge_pages = block_pages * populated * 11
	if (huge_pages > int(low_pages / 20))
		huge_pages = int(low_pages / 20)
	if (min_pages < huge_pages)
		min_pages = huge_pages

	for (i = 0; i < nnodes; i++) {
		nid = nids[i]
		for (z = 1; z <= nzones; z++) {
			m = zone[nid, z, "managed"] + 0
			step = int(min_pages * m / low_pages)
			zone[nid, z, "min"] = step
			if (small_movable(z)) {
				zone[nid, z, "min"] = int(m / 1024)
				if (m < 32 * 1024)
					zone[nid, z, "min"] = 32
				if (m > 128 * 1024)
					zone[nid, z, "min"] = 128
			}
			step = int(step / 4) > int(m / 1000) ? int(step / 4) : int(m / 1000)
			zone[nid, z, "low"] = zone[nid, z, "min"] + step
			zone[nid, z, "high"] = zone[nid, z, "low"] + step
			zone[nid, z, "promo"] = zone[nid, z, "high"] + step

			ratio = zone_name[z] ~ /^DMA/ && m ? 256 : zone_name[z] == "Normal" && m ? 32 : 0
			sum = 0
			text = ""
			for (j = 1; j <= nzones; j++) {
				if (j > z)
					sum += zone[nid, j, "managed"]
				text = text (j > 1 ? ", " : "") sprintf("%.0f", ratio && j > z ? int(sum / ratio) : 0)
			}
			zone[nid, z, "protection"] = text
		}
	}
}
