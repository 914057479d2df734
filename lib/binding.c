/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a process, a CPU list, a cpuset or a NUMA-node list to the NUMA nodes that a job is served
 * on. */
#include "internal.h"

#include <errno.h>
#include <libcgroup.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_DIR "sys/devices/system/node"
#define NO_NODE (-1)

/* What of the host a binding needs. */
struct topology {
	struct nr_ctx *ctx;
	struct bitmask *online;		  /* NUMA nodes */
	struct bitmask *memory;		  /* NUMA nodes with memory */
	struct bitmask *cpus;		  /* online CPUs */
	int cpu_node[NR_MAX_CPUS];	  /* its own NUMA node, or NO_NODE */
	unsigned int ncpus[NR_MAX_NODES]; /* online CPUs of the NUMA node itself */
};

static void topology_free(struct topology *topo)
{
	if (!topo)
		return;
	nr_set_free(topo->online);
	nr_set_free(topo->memory);
	nr_set_free(topo->cpus);
	free(topo);
}

/* Kernels before 3.8 have no has_memory, and a recorded tree may lack it. */
static int memory_by_meminfo(struct topology *topo)
{
	struct nr_node node;
	unsigned int nid;
	int err;

	for (nid = 0; nid < NR_MAX_NODES; nid++) {
		if (!numa_bitmask_isbitset(topo->online, nid))
			continue;
		memset(&node, 0, sizeof(node));
		node.nid = (int)nid;
		err = nr_node_read(topo->ctx, &node);
		if (err && err != -ENODEV)
			return err;
		if (!err && nr_counter_or_zero(&node, NR_TOTAL))
			numa_bitmask_setbit(topo->memory, nid);
	}
	return 0;
}

static int topology_read(struct nr_ctx *ctx, struct topology **out)
{
	struct topology *topo = calloc(1, sizeof(*topo));
	struct bitmask *cpus = nr_set_new(NR_MAX_CPUS);
	unsigned int nid, cpu;
	int err = -ENOMEM;

	*out = NULL;
	if (!topo || !cpus)
		goto out;
	topo->ctx = ctx;
	topo->online = nr_set_new(NR_MAX_NODES);
	topo->memory = nr_set_new(NR_MAX_NODES);
	topo->cpus = nr_set_new(NR_MAX_CPUS);
	if (!topo->online || !topo->memory || !topo->cpus)
		goto out;
	for (cpu = 0; cpu < NR_MAX_CPUS; cpu++)
		topo->cpu_node[cpu] = NO_NODE;
	err = nr_sys_read_set(ctx, topo->online, NODE_DIR "/online");
	if (err) {
		nr_log(ctx, LOG_ERR, "/" NODE_DIR "/online: %s", strerror(-err));
		goto out;
	}
	if (nr_sys_read_set(ctx, topo->memory, NODE_DIR "/has_memory")) {
		err = memory_by_meminfo(topo);
		if (err)
			goto out;
	}
	for (nid = 0; nid < NR_MAX_NODES; nid++) {
		if (!numa_bitmask_isbitset(topo->online, nid))
			continue;
		err = nr_sys_read_set(ctx, cpus, NODE_DIR "/node%u/cpulist", nid);
		if (err == -ENOENT)
			continue;
		if (err) {
			nr_log(ctx, LOG_ERR, "/" NODE_DIR "/node%u/cpulist: %s", nid,
			       strerror(-err));
			goto out;
		}
		topo->ncpus[nid] = numa_bitmask_weight(cpus);
		for (cpu = 0; topo->ncpus[nid] && cpu < NR_MAX_CPUS; cpu++) {
			if (!numa_bitmask_isbitset(cpus, cpu))
				continue;
			topo->cpu_node[cpu] = (int)nid;
			numa_bitmask_setbit(topo->cpus, cpu);
		}
	}
	*out = topo;
	topo = NULL;
	err = 0;
out:
	topology_free(topo);
	nr_set_free(cpus);
	return err;
}

/* nodeN/distance: one number for each online NUMA node, in their order. */
static int read_distances(struct topology *topo, int nid, unsigned int distance[NR_MAX_NODES])
{
	unsigned int to;
	unsigned long v;
	char *text, *p, *end;
	size_t len;
	int err;

	for (to = 0; to < NR_MAX_NODES; to++)
		distance[to] = UINT_MAX;
	err = nr_sys_read(topo->ctx, &text, &len, NODE_DIR "/node%d/distance", nid);
	if (err)
		return err;
	for (p = text, to = 0; to < NR_MAX_NODES; to++) {
		if (!numa_bitmask_isbitset(topo->online, to))
			continue;
		v = strtoul(p, &end, 10);
		if (end == p)
			break;
		distance[to] = v > UINT_MAX ? UINT_MAX : (unsigned int)v;
		p = end;
	}
	free(text);
	return 0;
}

/* The NUMA node of @candidates that serves CPUs of @nid. */
static int nearest(struct topology *topo, int nid, const struct bitmask *candidates)
{
	unsigned int distance[NR_MAX_NODES], i;
	int best = NO_NODE;

	if (numa_bitmask_isbitset(candidates, (unsigned int)nid))
		return nid;
	if (read_distances(topo, nid, distance))
		nr_log(topo->ctx, LOG_WARNING,
		       "/" NODE_DIR
		       "/node%d/distance: not readable, NUMA nodes taken as equally far",
		       nid);
	for (i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(candidates, i) &&
		    (best == NO_NODE || distance[i] < distance[best]))
			best = (int)i;
	return best;
}

/* For each NUMA node with CPUs, the one that serves it. */
static void map_nodes(struct topology *topo, const struct bitmask *candidates,
		      int served_by[NR_MAX_NODES])
{
	int nid;

	for (nid = 0; nid < NR_MAX_NODES; nid++)
		served_by[nid] = topo->ncpus[nid] ? nearest(topo, nid, candidates) : NO_NODE;
}

/* Is CPU-less NUMA node @nid as near to one of the job's CPUs as to any other CPU? */
static bool nearest_to_job(struct topology *topo, int nid, const bool job_node[NR_MAX_NODES])
{
	unsigned int distance[NR_MAX_NODES], best = UINT_MAX, i;
	bool ours = false;

	if (read_distances(topo, nid, distance))
		return false;
	for (i = 0; i < NR_MAX_NODES; i++) {
		if (!topo->ncpus[i] || distance[i] > best)
			continue;
		ours = job_node[i] || (ours && distance[i] == best);
		best = distance[i];
	}
	return ours;
}

static struct nr_binding *binding_new(void)
{
	struct nr_binding *binding = calloc(1, sizeof(*binding));

	if (!binding)
		return NULL;
	binding->cpus = nr_set_new(NR_MAX_CPUS);
	binding->nodes = nr_set_new(NR_MAX_NODES);
	binding->reachable = nr_set_new(NR_MAX_NODES);
	if (!binding->cpus || !binding->nodes || !binding->reachable) {
		nr_binding_free(binding);
		return NULL;
	}
	return binding;
}

NR_EXPORT void nr_binding_free(struct nr_binding *binding)
{
	if (!binding)
		return;
	nr_set_free(binding->cpus);
	nr_set_free(binding->nodes);
	nr_set_free(binding->reachable);
	free(binding);
}

/* Online CPUs of the core of the first online CPU. */
static unsigned int cpus_per_core(struct topology *topo)
{
	struct bitmask *siblings = nr_set_new(NR_MAX_CPUS);
	unsigned int cpu = 0, n = 0;

	while (cpu < NR_MAX_CPUS && topo->cpu_node[cpu] == NO_NODE)
		cpu++;
	if (siblings &&
	    nr_sys_read_set(topo->ctx, siblings,
			    "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu) == 0)
		n = numa_bitmask_weight(siblings);
	nr_set_free(siblings);
	return n ? n : 1;
}

static void count_all_cpus(struct topology *topo, struct nr_binding *binding,
			   int served_by[NR_MAX_NODES])
{
	int nid;

	binding->cpus_per_core = cpus_per_core(topo);
	binding->online_cpus = numa_bitmask_weight(topo->cpus);
	map_nodes(topo, topo->memory, served_by);
	for (nid = 0; nid < NR_MAX_NODES; nid++)
		if (served_by[nid] != NO_NODE)
			binding->node_cpus[served_by[nid]] += topo->ncpus[nid];
}

/* @cpus: what the job may run on; @allowed: NUMA nodes that it may use, NULL for all. */
static int from_cpus(struct topology *topo, const struct bitmask *cpus,
		     const struct bitmask *allowed, struct nr_binding **out)
{
	struct nr_binding *binding = binding_new();
	struct bitmask *candidates = nr_set_new(NR_MAX_NODES);
	bool job_node[NR_MAX_NODES] = { false };
	int served_by[NR_MAX_NODES];
	unsigned int i;
	int err = -ENOMEM;

	if (!binding || !candidates)
		goto out;
	for (i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(topo->memory, i) &&
		    (!allowed || numa_bitmask_isbitset(allowed, i)))
			numa_bitmask_setbit(candidates, i);
	map_nodes(topo, candidates, served_by);
	for (i = 0; i < NR_MAX_CPUS; i++) {
		int own = topo->cpu_node[i];

		if (own == NO_NODE || !numa_bitmask_isbitset(cpus, i) || served_by[own] == NO_NODE)
			continue;
		numa_bitmask_setbit(binding->cpus, i);
		job_node[own] = true;
		numa_bitmask_setbit(binding->nodes, (unsigned int)served_by[own]);
		binding->ncpus[served_by[own]]++;
	}
	err = -ENODEV;
	if (!numa_bitmask_weight(binding->nodes))
		goto out;
	for (i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(binding->nodes, i) ||
		    (numa_bitmask_isbitset(candidates, i) && !topo->ncpus[i] &&
		     nearest_to_job(topo, (int)i, job_node)))
			numa_bitmask_setbit(binding->reachable, i);
	count_all_cpus(topo, binding, served_by);
	*out = binding;
	binding = NULL;
	err = 0;
out:
	nr_binding_free(binding);
	nr_set_free(candidates);
	return err;
}

/* /proc/PID/status, "Cpus_allowed_list:\t0-1". */
struct status {
	struct bitmask *cpus, *mems;
	bool have_cpus, have_mems, bad;
};

static bool status_set(struct status *status, const char *line, size_t len, const char *name,
		       struct bitmask *set)
{
	size_t n = strlen(name);
	char *list;

	if (len <= n || memcmp(line, name, n))
		return false;
	for (line += n, len -= n; len && (*line == ' ' || *line == '\t'); len--)
		line++;
	list = strndup(line, len);
	if (!list || nr_set_parse(list, set, NULL))
		status->bad = true;
	free(list);
	return true;
}

static void status_line(void *data, const char *line, size_t len)
{
	struct status *status = data;

	if (status_set(status, line, len, "Cpus_allowed_list:", status->cpus))
		status->have_cpus = true;
	else if (status_set(status, line, len, "Mems_allowed_list:", status->mems))
		status->have_mems = true;
}

NR_EXPORT int nr_binding_from_pid(struct nr_ctx *ctx, pid_t pid, struct nr_binding **out)
{
	struct status status = { nr_set_new(NR_MAX_CPUS), nr_set_new(NR_MAX_NODES), false, false,
				 false };
	struct topology *topo = NULL;
	int err = -ENOMEM;

	*out = NULL;
	if (!status.cpus || !status.mems)
		goto out;
	if (pid == 0)
		pid = getpid();
	err = nr_sys_lines(ctx, status_line, &status, "proc/%d/status", (int)pid);
	if (err) {
		err = err == -ENOENT ? -ESRCH : err;
		nr_log(ctx, LOG_ERR, "process %d: %s", (int)pid, strerror(-err));
		goto out;
	}
	if (!status.have_cpus || status.bad) {
		nr_log(ctx, LOG_ERR, "/proc/%d/status: no list of allowed CPUs and NUMA nodes",
		       (int)pid);
		err = -EBADMSG;
		goto out;
	}
	err = topology_read(ctx, &topo);
	if (!err)
		err = from_cpus(topo, status.cpus, status.have_mems ? status.mems : NULL, out);
out:
	topology_free(topo);
	nr_set_free(status.cpus);
	nr_set_free(status.mems);
	return err;
}

NR_EXPORT int nr_binding_from_cpus(struct nr_ctx *ctx, const char *list, struct nr_binding **out)
{
	struct bitmask *cpus = nr_set_new(NR_MAX_CPUS), *possible = nr_set_new(NR_MAX_CPUS);
	struct topology *topo = NULL;
	unsigned int i;
	int err = -ENOMEM;
	size_t bad;

	*out = NULL;
	if (!cpus || !possible)
		goto out;
	err = nr_set_parse(list, cpus, &bad);
	if (err) {
		nr_log(ctx, LOG_ERR, "CPU list, byte %zu: %s; allowed: as in 0,2-3, up to %d", bad,
		       err == -ERANGE ? "no such CPU" : "not a list", NR_MAX_CPUS - 1);
		goto out;
	}
	err = topology_read(ctx, &topo);
	if (err)
		goto out;
	if (nr_sys_read_set(ctx, possible, "sys/devices/system/cpu/possible"))
		copy_bitmask_to_bitmask(topo->cpus, possible);
	for (i = 0; i < NR_MAX_CPUS; i++) {
		if (numa_bitmask_isbitset(cpus, i) && !numa_bitmask_isbitset(possible, i)) {
			nr_log(ctx, LOG_ERR, "this host has no CPU %u", i);
			err = -ERANGE;
			goto out;
		}
	}
	err = from_cpus(topo, cpus, NULL, out);
	if (err == -ENODEV)
		nr_log(ctx, LOG_ERR, "none of these CPUs is online");
out:
	topology_free(topo);
	nr_set_free(cpus);
	nr_set_free(possible);
	return err;
}

NR_EXPORT int nr_binding_from_nodes(struct nr_ctx *ctx, const char *list, struct nr_binding **out)
{
	struct nr_binding *binding = binding_new();
	struct topology *topo = NULL;
	int served_by[NR_MAX_NODES];
	unsigned int i;
	int err = -ENOMEM;
	size_t bad;

	*out = NULL;
	if (!binding)
		goto out;
	err = topology_read(ctx, &topo);
	if (err)
		goto out;
	if (list) {
		err = nr_set_parse(list, binding->nodes, &bad);
		if (err) {
			nr_log(ctx, LOG_ERR,
			       "NUMA-node list, byte %zu: %s; allowed: as in 0,2-3, up to %d", bad,
			       err == -ERANGE ? "no such NUMA node" : "not a list",
			       NR_MAX_NODES - 1);
			goto out;
		}
	} else {
		copy_bitmask_to_bitmask(topo->memory, binding->nodes);
	}
	for (i = 0; i < NR_MAX_NODES; i++) {
		if (!numa_bitmask_isbitset(binding->nodes, i) ||
		    (numa_bitmask_isbitset(topo->online, i) &&
		     numa_bitmask_isbitset(topo->memory, i)))
			continue;
		nr_log(ctx, LOG_ERR, "NUMA node %u %s", i,
		       numa_bitmask_isbitset(topo->online, i) ? "has no memory"
							      : "is not online on this host");
		err = -ERANGE;
		goto out;
	}
	err = -ENODEV;
	if (!numa_bitmask_weight(binding->nodes))
		goto out;
	copy_bitmask_to_bitmask(binding->nodes, binding->reachable);
	count_all_cpus(topo, binding, served_by);
	for (i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(binding->nodes, i))
			binding->ncpus[i] = binding->node_cpus[i];
	for (i = 0; i < NR_MAX_CPUS; i++) {
		int own = topo->cpu_node[i];

		if (own != NO_NODE && served_by[own] != NO_NODE &&
		    numa_bitmask_isbitset(binding->nodes, (unsigned int)served_by[own]))
			numa_bitmask_setbit(binding->cpus, i);
	}
	*out = binding;
	binding = NULL;
	err = 0;
out:
	nr_binding_free(binding);
	topology_free(topo);
	return err;
}

/* No "." or ".." component: the path stays below the mount point. */
static bool cpuset_path_ok(const char *path)
{
	size_t len;

	if (*path != '/' || strlen(path) > NR_PATH_MAX / 2)
		return false;
	for (; *path; path += len) {
		path++;
		len = strcspn(path, "/");
		if ((len == 1 && path[0] == '.') || (len == 2 && !memcmp(path, "..", 2)))
			return false;
	}
	return true;
}

/* cgroup v1 names the file in force cpuset.effective_X, v2 cpuset.X.effective. */
static int read_cpuset(struct nr_ctx *ctx, struct bitmask *set, const char *mount, const char *path,
		       const char *what)
{
	int err = nr_sys_read_set(ctx, set, "%s%s/cpuset.effective_%s", mount, path, what);

	if (err == -ENOENT)
		err = nr_sys_read_set(ctx, set, "%s%s/cpuset.%s.effective", mount, path, what);
	return err;
}

static pthread_mutex_t cgroup_lock = PTHREAD_MUTEX_INITIALIZER; /* libcgroup keeps its own tables */

NR_EXPORT int nr_binding_from_cpuset(struct nr_ctx *ctx, const char *path, struct nr_binding **out)
{
	struct bitmask *cpus = nr_set_new(NR_MAX_CPUS), *mems = nr_set_new(NR_MAX_NODES);
	struct topology *topo = NULL;
	char *mount = NULL;
	int err = -ENOMEM;

	*out = NULL;
	if (!cpus || !mems)
		goto out;
	err = -EOPNOTSUPP;
	if (ctx->recorded)
		goto out;
	err = -EINVAL;
	if (!cpuset_path_ok(path)) {
		nr_log(ctx, LOG_ERR, "cpuset path: allowed: an absolute path without . and ..");
		goto out;
	}
	pthread_mutex_lock(&cgroup_lock);
	err = cgroup_init();
	if (!err)
		err = cgroup_get_subsys_mount_point("cpuset", &mount);
	pthread_mutex_unlock(&cgroup_lock);
	if (err || !mount || mount[0] != '/') {
		nr_log(ctx, LOG_ERR, "no cpuset controller is mounted: %s",
		       err ? cgroup_strerror(err) : "no mount point");
		err = -ENOENT;
		goto out;
	}
	err = read_cpuset(ctx, cpus, mount + 1, path, "cpus");
	if (!err)
		err = read_cpuset(ctx, mems, mount + 1, path, "mems");
	if (err) {
		nr_log(ctx, LOG_ERR, "cpuset %s%s: %s", mount, path, strerror(-err));
		goto out;
	}
	err = topology_read(ctx, &topo);
	if (!err)
		err = from_cpus(topo, cpus, mems, out);
out:
	topology_free(topo);
	free(mount);
	nr_set_free(cpus);
	nr_set_free(mems);
	return err;
}

NR_EXPORT int nr_binding_limit(struct nr_binding *binding, const struct bitmask *nodes)
{
	unsigned int i;

	for (i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(nodes, i) &&
		    !numa_bitmask_isbitset(binding->reachable, i))
			return -ERANGE;
	copy_bitmask_to_bitmask((struct bitmask *)nodes, binding->nodes);
	return 0;
}
