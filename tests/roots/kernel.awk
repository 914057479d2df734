# SPDX-License-Identifier: GPL-2.0-or-later
#
# Writes a host of trees.awk as the kernel does: drivers/base/node.c, mm/vmstat.c, fs/proc/meminfo.c,
# fs/proc/array.c. All counts are pages of page_kb.

function write_folders(    i, j, n, size) {
	print "sys/devices/system/node sys/devices/system/cpu proc/sys/vm"
	if (gen >= 612)
		print "sys/kernel/mm/numa"
	if (patched)
		print "sys/kernel/mm/node_reclaim"
	n = split(huge_kb, size, " ")
	for (i = 0; i < nnodes; i++) {
		print "sys/devices/system/node/node" nids[i]
		for (j = 1; j <= n && zones_mb[nids[i]]; j++)
			print "sys/devices/system/node/node" nids[i] "/hugepages/hugepages-" size[j] "kB"
	}
	for (i = 0; i < ntasks; i++)
		print "proc/" pids[i]
}

function write_files(    i) {
	names()
	for (i = 0; i < nnodes; i++) {
		make_zones(nids[i])
		make_classes(nids[i])
		spread(nids[i])
	}
	watermarks()
	write_lists()
	for (i = 0; i < nnodes; i++)
		write_node(nids[i])
	write_zoneinfo()
	write_vmstat()
	write_meminfo()
	for (i = 0; i < ntasks; i++)
		write_status(pids[i])
	put("proc/sys/vm/zone_reclaim_mode", "0\n")
	put("proc/sys/vm/min_unmapped_ratio", "1\n")
	put("proc/sys/vm/drop_caches", "")
	if (patched) {
		put("sys/kernel/mm/node_reclaim/abi_version", "1\n")
		put("sys/kernel/mm/node_reclaim/nr_toss_page_cache_node", "500\n")
		put("sys/kernel/mm/node_reclaim/nr_set_zone_reclaim", "501\n")
		put("sys/kernel/mm/node_reclaim/mpol_f_localreclaim", "0x1000\n")
	}
	if (gen >= 612)
		put("sys/kernel/mm/numa/demotion_enabled", (demotion ? demotion : "false") "\n")
}

function put(file, text) {
	printf "%s", text > file
	close(file)
}

# ---------------------------------------------------------------- names

function names() {
	zone_stats = "nr_free_pages " (gen >= 618 ? "nr_free_pages_blocks " : "") \
		"nr_zone_inactive_anon nr_zone_active_anon nr_zone_inactive_file nr_zone_active_file " \
		"nr_zone_unevictable nr_zone_write_pending nr_mlock " \
		(gen < 612 ? "nr_page_table_pages nr_kernel_stack " : "") (gen < 618 ? "nr_bounce " : "") \
		"nr_zspages nr_free_cma " (gen == 612 ? "nr_unaccepted " : "")
	numa_stats = "numa_hit numa_miss numa_foreign numa_interleave numa_local numa_other "
	node_stats = "nr_inactive_anon nr_active_anon nr_inactive_file nr_active_file nr_unevictable " \
		"nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file "
	if (gen < 612)
		node_stats = node_stats "workingset_nodes workingset_refault workingset_activate " \
			"workingset_restore workingset_nodereclaim "
	else
		node_stats = node_stats "workingset_nodes workingset_refault_anon workingset_refault_file " \
			"workingset_activate_anon workingset_activate_file workingset_restore_anon " \
			"workingset_restore_file workingset_nodereclaim "
	node_stats = node_stats "nr_anon_pages nr_mapped nr_file_pages nr_dirty nr_writeback " \
		(gen < 618 ? "nr_writeback_temp " : "") "nr_shmem nr_shmem_hugepages nr_shmem_pmdmapped " \
		(gen < 612 ? "" : "nr_file_hugepages nr_file_pmdmapped ") "nr_anon_transparent_hugepages " \
		(gen < 612 ? "nr_unstable " : "") \
		"nr_vmscan_write nr_vmscan_immediate_reclaim nr_dirtied nr_written "
	if (gen >= 612)
		node_stats = node_stats "nr_throttled_written nr_kernel_misc_reclaimable " \
			"nr_foll_pin_acquired nr_foll_pin_released nr_kernel_stack nr_page_table_pages " \
			"nr_sec_page_table_pages nr_iommu_pages nr_swapcached pgpromote_success " \
			"pgpromote_candidate pgdemote_kswapd pgdemote_direct pgdemote_khugepaged "
	if (gen >= 618)
		node_stats = node_stats "pgdemote_proactive "
	events = "pgsteal_kswapd pgsteal_direct " (gen < 612 ? "" : "pgsteal_khugepaged ") \
		(gen < 618 ? "" : "pgsteal_proactive ") (gen < 700 ? "" : "pgsteal_anon pgsteal_file ") \
		"pgscan_kswapd pgscan_direct " (gen < 612 ? "" : "pgscan_khugepaged ") \
		(gen < 618 ? "" : "pgscan_proactive ")
	if (gen >= 700) {
		node_stats = node_stats events "pgscan_anon pgscan_file pgrefill nr_hugetlb nr_balloon_pages "
		events = "pgscan_direct_throttle "
	} else {
		node_stats = node_stats (gen < 618 ? "" : "nr_hugetlb nr_balloon_pages ")
		events = "pgrefill " events "pgscan_direct_throttle " \
			(gen < 612 ? "" : "pgscan_anon pgscan_file pgsteal_anon pgsteal_file ")
	}
	events = "pgpgin pgpgout pswpin pswpout pgfree pgactivate pgdeactivate pglazyfree pgfault " \
		"pgmajfault pglazyfreed " events (gen < 612 ? "" : "zone_reclaim_success ") \
		"zone_reclaim_failed pginodesteal slabs_scanned kswapd_inodesteal " \
		"kswapd_low_wmark_hit_quickly kswapd_high_wmark_hit_quickly pageoutrun pgrotated " \
		"drop_pagecache drop_slab oom_kill"
	nzstats = split(zone_stats, zstat, " ")
	nmstats = split(numa_stats, mstat, " ")
	nnstats = split(node_stats, nstat, " ")
	nevents = split(events, event, " ")

	split("pgscan_kswapd 1000003 pgscan_direct 20011 pgscan_khugepaged 307 pgscan_proactive 4001 " \
	      "pgsteal_kswapd 900007 pgsteal_direct 18013 pgsteal_khugepaged 211 pgsteal_proactive 3989 " \
	      "pgscan_direct_throttle 17 pgscan_anon 24019 pgscan_file 1000303 pgsteal_anon 12007 " \
	      "pgsteal_file 910213 pswpin 1201 pswpout 4801 zone_reclaim_failed 31 drop_pagecache 4 " \
	      "pgpgin 331751729 pgpgout 252658013 pgfault 938991301 pgmajfault 82601", kv, " ")
	for (i = 1; kv[i]; i += 2)
		count[kv[i]] = kv[i + 1]

	split("nr_free_pages free nr_free_pages_blocks blocks nr_zone_inactive_anon inactive_anon " \
	      "nr_zone_active_anon active_anon nr_zone_inactive_file inactive_file " \
	      "nr_zone_active_file active_file nr_zone_unevictable unevictable " \
	      "nr_zone_write_pending pending nr_mlock mlocked nr_inactive_anon inactive_anon " \
	      "nr_active_anon active_anon nr_inactive_file inactive_file nr_active_file active_file " \
	      "nr_unevictable unevictable nr_slab_reclaimable slab_r nr_slab_unreclaimable slab_u " \
	      "nr_anon_pages anon nr_mapped all_mapped nr_file_pages file_pages nr_dirty dirty " \
	      "nr_writeback wb nr_shmem shmem nr_page_table_pages pt nr_swapcached swap nr_hugetlb pool", kv2, " ")
	for (i = 1; kv2[i]; i += 2)
		class_of[kv2[i]] = kv2[i + 1]
}

function zone_stat(nid, z, name) {
	if (name == "nr_page_table_pages")
		return z == last_zone[nid] ? class[nid, "pt"] + 0 : 0
	if (name == "nr_kernel_stack")
		return z == last_zone[nid] ? class[nid, "stack"] * page_kb : 0
	return zone[nid, z, class_of[name]] + 0
}

function numa_stat(nid, z, name) {
	if (name == "numa_hit")
		return zone[nid, z, "managed"] * 7 + nid
	if (name == "numa_miss" || name == "numa_foreign" || name == "numa_other")
		return zone[nid, z, "managed"] ? 1009 + nid : 0
	return name == "numa_local" ? zone[nid, z, "managed"] * 7 : 0
}

function node_stat(nid, name) {
	if (name == "nr_kernel_stack")
		return class[nid, "stack"] * page_kb
	if (name == "nr_anon_transparent_hugepages")
		return class[nid, "huge"] / block_pages
	if (name in count)
		return class[nid, "total"] ? int(count[name] / 8) + nid : 0
	return class[nid, class_of[name]] + 0
}

# ---------------------------------------------------------------- files

# Joins the NUMA nodes for which has[nid] is not 0, as "0,2-3"
function nid_list(has,    i, text, first, last) {
	first = -1
	for (i = 0; i <= nnodes; i++) {
		if (i < nnodes && has[nids[i]] && first >= 0 && nids[i] == last + 1) {
			last = nids[i]
			continue
		}
		if (first >= 0)
			text = text (text == "" ? "" : ",") first (last > first ? "-" last : "")
		first = i < nnodes && has[nids[i]] ? nids[i] : -1
		last = first
	}
	return text
}

function write_lists(    i, nid, all, cpu, mem, normal, d, cpus) {
	for (i = 0; i < nnodes; i++) {
		nid = nids[i]
		all[nid] = 1
		cpu[nid] = cpulist[nid] != ""
		mem[nid] = zones_mb[nid] != ""
		normal[nid] = mem[nid] && zones_mb[nid] !~ /^Movable/
		if (cpulist[nid] != "")
			cpus = cpus (cpus == "" ? "" : ",") cpulist[nid]
	}
	d = "sys/devices/system/node/"
	put(d "online", nid_list(all) "\n")
	put(d "possible", (possible ? possible : nid_list(all)) "\n")
	put(d "has_cpu", nid_list(cpu) "\n")
	put(d "has_memory", nid_list(mem) "\n")
	put(d "has_normal_memory", nid_list(normal) "\n")
	cpu_online = merge(cpus)
	put("sys/devices/system/cpu/online", cpu_online "\n")
	put("sys/devices/system/cpu/possible", "0-" last_cpu() "\n")
}

# Sorts and joins a CPU list; also fills bit[]
function merge(list,    n, part, pair, i, j, max, text, first) {
	split("", bit)
	n = split(list, part, ",")
	for (i = 1; i <= n; i++) {
		if (split(part[i], pair, "-") < 2)
			pair[2] = pair[1]
		for (j = pair[1] + 0; j <= pair[2] + 0; j++)
			bit[j] = 1
		if (pair[2] + 0 > max)
			max = pair[2] + 0
	}
	first = -1
	for (i = 0; i <= max + 1; i++) {
		if (i in bit) {
			if (first < 0)
				first = i
		} else if (first >= 0) {
			text = text (text == "" ? "" : ",") first (i - 1 > first ? "-" i - 1 : "")
			first = -1
		}
	}
	return text
}

function mask(list, bits,    word, w, b, v, text) {
	merge(list)
	for (w = int((bits + 31) / 32) - 1; w >= 0; w--) {
		v = 0
		for (b = 31; b >= 0; b--)
			v = v * 2 + ((w * 32 + b) in bit)
		# In two halves: not every awk prints more than 31 bits with %x
		word = sprintf("%04x%04x", int(v / 65536), v % 65536)
		text = text (text == "" ? "" : ",") word
	}
	return text
}

function kb(nid, label, pages) {
	printf "Node %.0f %-15s %8.0f kB\n", nid, label ":", pages * page_kb > out
}

function write_node(nid,    d, i, n, size, pool) {
	d = "sys/devices/system/node/node" nid "/"
	out = d "meminfo"
	kb(nid, "MemTotal", class[nid, "total"])
	kb(nid, "MemFree", class[nid, "free"])
	kb(nid, "MemUsed", class[nid, "total"] - class[nid, "free"])
	if (gen >= 612)
		kb(nid, "SwapCached", class[nid, "swap"])
	kb(nid, "Active", class[nid, "active_anon"] + class[nid, "active_file"])
	kb(nid, "Inactive", class[nid, "inactive_anon"] + class[nid, "inactive_file"])
	kb(nid, "Active(anon)", class[nid, "active_anon"])
	kb(nid, "Inactive(anon)", class[nid, "inactive_anon"])
	kb(nid, "Active(file)", class[nid, "active_file"])
	kb(nid, "Inactive(file)", class[nid, "inactive_file"])
	kb(nid, "Unevictable", class[nid, "unevictable"])
	kb(nid, "Mlocked", class[nid, "mlocked"])
	kb(nid, "Dirty", class[nid, "dirty"])
	kb(nid, "Writeback", class[nid, "wb"])
	kb(nid, "FilePages", class[nid, "file_pages"])
	kb(nid, "Mapped", class[nid, "all_mapped"])
	kb(nid, "AnonPages", class[nid, "anon"])
	kb(nid, "Shmem", class[nid, "shmem"])
	kb(nid, "KernelStack", class[nid, "stack"])
	kb(nid, "PageTables", class[nid, "pt"])
	if (gen >= 612)
		kb(nid, "SecPageTables", 0)
	kb(nid, "NFS_Unstable", 0)
	kb(nid, "Bounce", 0)
	kb(nid, "WritebackTmp", 0)
	if (gen >= 612)
		kb(nid, "KReclaimable", class[nid, "slab_r"])
	kb(nid, "Slab", class[nid, "slab_r"] + class[nid, "slab_u"])
	kb(nid, "SReclaimable", class[nid, "slab_r"])
	kb(nid, "SUnreclaim", class[nid, "slab_u"])
	kb(nid, "AnonHugePages", class[nid, "huge"])
	kb(nid, "ShmemHugePages", 0)
	kb(nid, "ShmemPmdMapped", 0)
	if (gen >= 612) {
		kb(nid, "FileHugePages", 0)
		kb(nid, "FilePmdMapped", 0)
		if (gen == 612)
			kb(nid, "Unaccepted", 0)
	}
	n = split(huge_kb, size, " ")
	pool = page_kb / size[1]
	printf "Node %.0f HugePages_Total: %5.0f\n", nid, class[nid, "pool"] * pool > out
	printf "Node %.0f HugePages_Free:  %5.0f\n", nid, class[nid, "poolfree"] * pool > out
	printf "Node %.0f HugePages_Surp:  %5.0f\n", nid, 0 > out
	close(out)
	for (i = 1; i <= n && class[nid, "total"]; i++) {
		put(d "hugepages/hugepages-" size[i] "kB/nr_hugepages", \
		    (i == 1 ? class[nid, "pool"] * pool : 0) "\n")
		put(d "hugepages/hugepages-" size[i] "kB/free_hugepages", \
		    (i == 1 ? class[nid, "poolfree"] * pool : 0) "\n")
	}

	out = d "vmstat"
	for (i = 1; i <= nzstats; i++)
		printf "%s %.0f\n", zstat[i], sum_zones(nid, zstat[i]) > out
	for (i = 1; i <= nmstats; i++)
		printf "%s %.0f\n", mstat[i], sum_numa(nid, mstat[i]) > out
	for (i = 1; i <= nnstats; i++)
		printf "%s %.0f\n", nstat[i], node_stat(nid, nstat[i]) > out
	close(out)

	put(d "cpulist", cpulist[nid] "\n")
	out = d "distance"
	for (i = 0; i < nnodes; i++)
		printf "%s%.0f", i ? " " : "", distance_of(nid, nids[i]) > out
	printf "\n" > out
	close(out)
	if (gen >= 618)
		put(d "reclaim", "")
}

function sum_zones(nid, name,    z, sum) {
	for (z = 1; z <= nzones; z++)
		sum += zone_stat(nid, z, name)
	return sum
}

function sum_numa(nid, name,    z, sum) {
	for (z = 1; z <= nzones; z++)
		sum += numa_stat(nid, z, name)
	return sum
}

function write_zoneinfo(    i, z, first) {
	out = "proc/zoneinfo"
	for (i = 0; i < nnodes; i++) {
		merge(cpulist[nids[i]])
		split("", own)
		for (z in bit)
			own[z] = 1
		merge(own_pagesets ? cpulist[nids[i]] : cpu_online)
		first = 1
		for (z = 1; z <= nzones; z++) {
			write_zone(nids[i], z, first)
			if (zone[nids[i], z, "managed"])
				first = 0
		}
	}
	close(out)
}

# Pages on the list of a CPU: many where it is at home, elsewhere mostly none
function per_cpu(nid, z, cpu) {
	if (zone_name[z] == "DMA" && arch == "x86")
		return 0
	if (cpu in own)
		return (cpu * 29 + nid) % (1512 / page_kb)
	return cpu % 16 == 3 ? cpu % 7 : 0
}

function write_zone(nid, z, first,    i, m) {
	m = zone[nid, z, "managed"] + 0
	printf "Node %.0f, zone %8s", nid, zone_name[z] > out
	if (m && first) {
		printf "\n  per-node stats" > out
		for (i = 1; i <= nnstats; i++)
			printf "\n      %-12s %.0f", nstat[i], node_stat(nid, nstat[i]) > out
	}
	printf "\n  pages free     %.0f", zone[nid, z, "free"] > out
	if (gen >= 612)
		printf "\n        boost    0" > out
	printf "\n        min      %.0f\n        low      %.0f\n        high     %.0f", \
		zone[nid, z, "min"], zone[nid, z, "low"], zone[nid, z, "high"] > out
	if (gen >= 612)
		printf "\n        promo    %.0f", zone[nid, z, "promo"] > out
	printf "\n        spanned  %.0f\n        present  %.0f\n        managed  %.0f", \
		m + int(m / 50), m + int(m / 64), m > out
	if (gen >= 612)
		printf "\n        cma      0" > out
	printf "\n        protection: (%s)", zone[nid, z, "protection"] > out
	if (!m) {
		printf "\n" > out
		return
	}
	for (i = 1; i <= nzstats; i++)
		printf "\n      %-12s %.0f", zstat[i], zone_stat(nid, z, zstat[i]) > out
	for (i = 1; i <= nmstats; i++)
		printf "\n      %-12s %.0f", mstat[i], numa_stat(nid, z, mstat[i]) > out
	printf "\n  pagesets" > out
	for (i = 0; i < 8192; i++) {
		if (!(i in bit))
			continue
		printf "\n    cpu: %.0f", i > out
		if (gen < 618)
			printf "\n              count: %.0f\n              high:  %.0f\n              batch: %.0f", \
				per_cpu(nid, z, i), 378, 63 > out
		else
			printf "\n              count:    %.0f\n              high:     %.0f\n" \
				"              batch:    %.0f\n              high_min: %.0f\n" \
				"              high_max: %.0f", per_cpu(nid, z, i), 1444, 63, 1444, 48307 > out
		printf "\n  vm stats threshold: %.0f", 125 > out
	}
	printf "\n  node_unreclaimable:  0\n  start_pfn:           %.0f", zone[nid, z, "start"] > out
	if (gen >= 700)
		printf "\n  reserved_highatomic: 0\n  free_highatomic:     0" > out
	printf "\n" > out
}

function write_vmstat(    i, j, sum, name) {
	out = "proc/vmstat"
	for (i = 1; i <= nzstats + nmstats + nnstats; i++) {
		sum = 0
		for (j = 0; j < nnodes; j++) {
			if (i <= nzstats)
				sum += sum_zones(nids[j], zstat[i])
			else if (i <= nzstats + nmstats)
				sum += sum_numa(nids[j], mstat[i - nzstats])
			else
				sum += node_stat(nids[j], nstat[i - nzstats - nmstats])
		}
		name = i <= nzstats ? zstat[i] : i <= nzstats + nmstats ? mstat[i - nzstats] : \
			nstat[i - nzstats - nmstats]
		printf "%s %.0f\n", name, sum > out
	}
	printf "nr_dirty_threshold %.0f\nnr_dirty_background_threshold %.0f\n", 1211298, 604909 > out
	for (i = 1; i <= nevents; i++)
		printf "%s %.0f\n", event[i], count[event[i]] > out
	close(out)
}

function total(name,    i, sum) {
	for (i = 0; i < nnodes; i++)
		sum += class[nids[i], name]
	return sum
}

function mem(label, pages) {
	printf "%-15s %8.0f kB\n", label ":", pages * page_kb > out
}

function write_meminfo(    size) {
	out = "proc/meminfo"
	split(huge_kb, size, " ")
	mem("MemTotal", total("total"))
	mem("MemFree", total("free"))
	mem("MemAvailable", total("free") + int((total("active_file") + total("inactive_file")) / 2))
	mem("Buffers", 0)
	mem("Cached", total("file_pages") - total("swap"))
	mem("SwapCached", total("swap"))
	mem("Active", total("active_anon") + total("active_file"))
	mem("Inactive", total("inactive_anon") + total("inactive_file"))
	mem("Active(anon)", total("active_anon"))
	mem("Inactive(anon)", total("inactive_anon"))
	mem("Active(file)", total("active_file"))
	mem("Inactive(file)", total("inactive_file"))
	mem("Unevictable", total("unevictable"))
	mem("Mlocked", total("mlocked"))
	mem("SwapTotal", int(8388604 / page_kb))
	mem("SwapFree", int(8388604 / page_kb) - 4801)
	mem("Dirty", total("dirty"))
	mem("Writeback", total("wb"))
	mem("AnonPages", total("anon"))
	mem("Mapped", total("all_mapped"))
	mem("Shmem", total("shmem"))
	mem("Slab", total("slab_r") + total("slab_u"))
	mem("SReclaimable", total("slab_r"))
	mem("SUnreclaim", total("slab_u"))
	mem("KernelStack", total("stack"))
	mem("PageTables", total("pt"))
	mem("AnonHugePages", total("huge"))
	printf "HugePages_Total:   %5.0f\nHugePages_Free:    %5.0f\n", total("pool") * page_kb / size[1], \
		total("poolfree") * page_kb / size[1] > out
	printf "Hugepagesize:   %8.0f kB\n", size[1] > out
	close(out)
}

function write_status(pid) {
	put("proc/" pid "/status", \
	    "Cpus_allowed:\t" mask(task_cpus[pid], last_cpu() + 1) "\n" \
	    "Cpus_allowed_list:\t" task_cpus[pid] "\n" \
	    "Mems_allowed:\t" mask(task_mems[pid], 1024) "\n" \
	    "Mems_allowed_list:\t" task_mems[pid] "\n")
}

function last_cpu(    part, n) {
	n = split(task_cpus[1], part, /[-,]/)
	return part[n]
}
