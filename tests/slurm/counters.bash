# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154,SC2004
#
# The kernel's counters of NUMA node $nid, straight from /sys and /proc.

nid=0

# Memory that the NUMA node can give without reclaim: free pages of each zone above its low
# watermark and above what it keeps from user allocations, which is the value for ZONE_MOVABLE; and
# what waits in the lists of each CPU. Then these lists alone. Zone $without does not count.
allocatable_kb() {
	awk -v node="$nid," -v without="${without-}" -v page="$(getconf PAGESIZE)" '
		function zone() { if (free > low + reserve) sum += free - low - reserve }
		$1 == "Node" { zone(); mine = $2 == node; counted = $4 != "Device" && $4 != without; free = low = reserve = 0 }
		!mine || !counted { next }
		$1 == "pages" && $2 == "free" { free = $3 }
		$1 == "low" { low = $2 }
		$1 == "protection:" { gsub(/[(),]/, ""); reserve = $5 }
		$1 == "count:" { lists += $2 }
		END { zone(); printf "%d %d\n", (sum + lists) * page / 1024, lists * page / 1024 }
		' /proc/zoneinfo
}

# Each read of stat_refresh folds the counters' per-CPU differences, and moves some MB from each
# CPU's list of free pages to where free memory is counted (decay_pcp_high(), mm/page_alloc.c).
refresh() {
	local i
	for ((i = 0; i < 300; i++)); do
		read -r </proc/sys/vm/stat_refresh || true
	done
}

# A balloon driver that reports free pages to the hypervisor takes up to 128 MB of them off the free
# lists for some 0.1 s, every 2 s while there are any (mm/page_reporting.c). Return when one such
# moment is just over, or none has come.
calm() {
	local device free most=0 seen='' end
	for device in /sys/bus/virtio/devices/*; do
		[[ -e $device/features && $(<"$device/device") == 0x0005 ]] || continue
		[[ $(<"$device/features") == ?????1* ]] || continue # VIRTIO_BALLOON_F_REPORTING
		end=$((${EPOCHREALTIME/./} + 2300000))
		while ((${EPOCHREALTIME/./} < end)); do
			read -r free _ < <(allocatable_kb)
			((most = free > most ? free : most))
			if ((free < most - 48 * 1024)); then
				seen=yes
			elif [[ -n $seen ]]; then
				return 0
			fi
			sleep 0.01
		done
	done
}

# snap NAME: the counters of now in the associative array NAME, memory in kB, activity in pages.
# Through cat, as read goes back and forth in a file, and these change meanwhile.
snap() {
	local -n into=$1
	declare -gA "$1"
	refresh
	into=()
	while read -r _ _ key value _; do
		key=${key%:}
		into[${key//[()]/_}]=$value
	done < <(cat "/sys/devices/system/node/node$nid/meminfo")
	while read -r key value; do
		case $key in pgscan_* | pgsteal_* | pswp*) into[$key]=$value ;; esac
	done < <(cat /proc/vmstat)
	into[cache]=$((into[Active_file_] + into[Inactive_file_]))
	into[clean]=$((into[cache] - into[Mapped] - into[Dirty] - into[Writeback]))
	read -r 'into[allocatable]' 'into[lists]' < <(allocatable_kb)
}
