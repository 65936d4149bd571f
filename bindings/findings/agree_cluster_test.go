package findings_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"shardsh/balancer/catalog"
)

// randomCluster is a cluster with what may be wrong with one, drawn by a seed.
type randomCluster struct {
	version  catalog.Release
	topology string
	setup    []string
}

func (r randomCluster) String() string {
	return fmt.Sprintf("%s\n%s\n%s", r.version, r.topology, strings.Join(r.setup, "\n"))
}

// releases are those that balance in different ways.
var releases = []catalog.Release{
	catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70, catalog.Release80, catalog.Release80.WithPatch(20),
	catalog.Release82, catalog.Release82.WithPatch(6), catalog.Release90,
}

func drawCluster(seed uint64) randomCluster {
	r := rand.New(rand.NewPCG(seed, 28))
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	often := func(percent int) bool { return r.IntN(100) < percent }

	names := []string{"a", "b", "c", "d", "e", "f"}[:2+r.IntN(5)]
	zones := make(map[string]string)
	var shards []string
	for i, name := range names {
		shard := fmt.Sprintf(`{"id": %q`, name)
		if often(25) {
			zones[name] = one("EU", "US")
			shard += fmt.Sprintf(`, "zones": [%q]`, zones[name])
		}
		if i == 1 && often(20) {
			shard += `, "draining": true`
		}
		shards = append(shards, shard+"}")
	}
	var collections, namespaces []string
	for i := range 1 + r.IntN(4) {
		ns := fmt.Sprintf("x.y%d", i)
		namespaces = append(namespaces, ns)
		collections = append(collections, drawCollection(r, ns, names, zones))
	}
	c := randomCluster{version: releases[r.IntN(len(releases))]}
	c.topology = fmt.Sprintf(`{"shards": [%s], "settings": {"chunkSizeMB": %s}, "databases": [{"name": "x", "primary": %q}], "collections": [%s]}`,
		strings.Join(shards, ", "), one("1", "64", "128"), one(names...), strings.Join(collections, ",\n"))
	ns, shard := one(namespaces...), one(names...)
	forbid := fmt.Sprintf(`sh.disableMigrations(%q)`, ns)
	if !c.version.FCVAtLeast(catalog.Release50) {
		forbid = fmt.Sprintf(`sh.disableBalancing(%q)`, ns)
	}
	if often(10) {
		c.setup = append(c.setup, `sh.stopBalancer()`)
	}
	for range r.IntN(3) {
		c.setup = append(c.setup, one(
			`sh.balancerWindow("22:00", "06:00")`,
			fmt.Sprintf(`sh.disableBalancing(%q)`, ns),
			forbid,
			fmt.Sprintf(`mock.slow(%q, { latency: "2s" })`, shard),
			fmt.Sprintf(`sh.addShardToZone(%q, "EU")`, shard),
			fmt.Sprintf(`mock.advance(%q)`, one("5s", "31s", "2m")),
			insert("u.z", keys(300), 10000),
		))
	}
	if often(10) {
		c.setup = append(c.setup, fmt.Sprintf(`mock.crash(%q)`, shard), `mock.advance("30s")`)
	}
	return c
}

func drawCollection(r *rand.Rand, ns string, shards []string, zoneOf map[string]string) string {
	c := fmt.Sprintf(`{"ns": %q, "key": {"k": 1}`, ns)
	if r.IntN(8) == 0 {
		c += `, "noBalance": true`
	}
	n := 1 + r.IntN(12)
	if len(zoneOf) > 0 && r.IntN(2) == 0 {
		zone := "EU"
		for _, z := range zoneOf {
			zone = max(zone, z)
		}
		from := r.IntN(n) * 1000
		if r.IntN(3) == 0 {
			from += 500 // within a chunk
		}
		c += fmt.Sprintf(`, "zones": [{"zone": %q, "min": {"k": %d}, "max": {"k": %d}}]`, zone, from, from+1000*(1+r.IntN(3)))
	}
	var chunks []string
	favourite := shards[r.IntN(len(shards))]
	for i := range n {
		shard := shards[r.IntN(len(shards))]
		if r.IntN(2) == 0 {
			shard = favourite
		}
		chunk := fmt.Sprintf(`{"shard": %q`, shard)
		if i < n-1 {
			chunk += fmt.Sprintf(`, "max": {"k": %d}`, 1000*(i+1))
		}
		if r.IntN(8) != 0 {
			megabytes := []int{1, 10, 100, 100, 300, 1000, 5000}[r.IntN(7)]
			chunk += fmt.Sprintf(`, "bytes": "%dMiB", "docs": %d`, megabytes, megabytes*1000)
		}
		if r.IntN(15) == 0 {
			chunk += `, "jumbo": true`
		}
		chunks = append(chunks, chunk+"}")
	}
	return c + `, "chunks": [` + strings.Join(chunks, ",") + "]}"
}
