package main

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
)

// rolesCluster is a cluster with a user for each role of scripts/roles.js, whose
// password is pw.
func rolesCluster(t *testing.T, topology string, settings ...func(*setting)) (address func(user string) string) {
	t.Helper()
	directory := access.NewDirectory()
	root := access.UserSpec{Password: "pw", Roles: []access.Role{{Role: "root", Database: "admin"}}}
	if err := directory.Create("admin", "root", root); err != nil {
		t.Fatal(err)
	}
	users := func(s *setting) { s.options = append(s.options, router.WithUsers(directory, true)) }
	cluster := serve(t, topology, append(settings, users)...)
	address = func(user string) string { return "mongodb://" + user + ":pw@" + cluster.address + "/" }
	create := `for (const role of ["shardshLook", "shardshEngine", "shardshHelpers"])
		db.getSiblingDB("admin").createUser({user: role, pwd: "pw", roles: [role]}); null`
	for _, args := range [][]string{{"../../scripts/roles.js"}, {"--eval", create}} {
		if code, stdout, stderr := runProgram(t, "", append([]string{"--quiet", address("root")}, args...)...); code != exitOK {
			t.Fatal(stdout, stderr)
		}
	}
	return address
}

// All subcommands that look have all they need with shardshLook, and what would
// change something is refused in a line, with the role that may.
func TestRolesOfSubcommands(t *testing.T) {
	address := rolesCluster(t, lopsidedTopology)
	looker := address(live.RoleReader)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"check", "--rules", "all"}, {"why"}, {"report", "-o", file("r.html")}, {"map", "--ns", "shop.orders"},
		{"plan", "-o", file("plan.json"), "--output", "json"}, {"forecast"}, {"watch", "--once"}, {"simulate", "--change", "addShard 1"}, {"snapshot", "-o", file("c.snap")},
	} {
		code, stdout, stderr := runProgram(t, "", append(args, looker)...)
		text := strings.Join(strings.Fields(stdout+stderr), " ")
		// These two ask for enableSharding and for the reading of documents.
		for _, unasked := range []string{"balancerCollectionStatus", "dataSize"} {
			text = strings.ReplaceAll(text, "not authorized to run "+unasked+" on shop.orders", "")
		}
		if code != exitOK && code != exitFindings || strings.Contains(text, "authorized") || strings.Contains(text, "lsid") {
			t.Errorf("%s: exit code %d, %s", args[0], code, text)
		}
	}
	apply := func(user string) (int, string) {
		code, stdout, stderr := runProgram(t, "", "apply", "--yes", "--quiet", file("plan.json"), address(user))
		return code, stdout + stderr
	}
	t.Chdir(dir)
	const refused = `(grant the role shardshEngine; load("shardsh:roles.js") creates it, or brings it up to date)`
	if code, told := apply(live.RoleReader); code != exitFailure || !strings.Contains(told, refused) ||
		strings.Contains(told, "lsid") || strings.Count(told, "\n") > 2 {
		t.Errorf("exit code %d, %s", code, told)
	}
	if code, told := apply(live.RoleEngine); code != exitOK {
		t.Errorf("exit code %d, %s", code, told)
	}
	balance := []string{"balance", "--yes", "--ns", "shop.orders", "--take-over", "--max-moves", "1", "--timeout", "20s"}
	if code, stdout, stderr := runProgram(t, "", append(balance, looker)...); code != exitFailure ||
		!strings.Contains(stderr, refused) || strings.Contains(stdout+stderr, "lsid") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	balance = append(balance, "--audit", "cluster")
	if code, stdout, stderr := runProgram(t, "", append(balance, address(live.RoleEngine))...); code != exitOK {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := runProgram(t, "", "history", looker); code != exitOK ||
		!strings.Contains(stdout, "(shardshEngine@admin)") || !strings.Contains(stdout, "run: shop.orders") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

// crumbledTopology has something to do for each subcommand that moves things, each on a
// collection of its own: what comes back to a shard waits for the deletion of orphans.
const crumbledTopology = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
	"databases": [{"name": "shop", "primary": "a"}, {"name": "old", "primary": "c"}], "collections": [
	{"ns": "shop.events", "key": {"h": "hashed"}, "chunks": [{"shard": "a"}]},
	{"ns": "shop.crumbs", "key": {"x": 1}, "chunks": [{"shard": "a", "max": {"x": 10}, "bytes": "1MiB", "docs": 10},
	{"shard": "a", "max": {"x": 20}, "bytes": "1MiB", "docs": 10}, {"shard": "b", "max": {"x": 30}, "bytes": "1MiB", "docs": 10},
	{"shard": "a", "bytes": "1MiB", "docs": 10}]},
	{"ns": "shop.full", "key": {"x": 1}, "chunks": [{"shard": "c", "max": {"x": 10}, "bytes": "9MiB", "docs": 90},
	{"shard": "b", "bytes": "9MiB", "docs": 90}]}]}`

// withSeries is crumbledTopology with the buckets of a time series.
var withSeries = strings.Replace(crumbledTopology, `{"ns": "shop.full"`, `{"ns": "shop.system.buckets.ts", "key": {"meta": 1},
	"chunks": [{"shard": "c", "max": {"meta": 5}, "bytes": "2MiB", "docs": 20}, {"shard": "a", "bytes": "2MiB", "docs": 20}]},
	{"ns": "shop.full"`, 1)

// The role of the engine is enough for what moves ranges, cuts, merges and removes
// shards, on the oldest release and on later ones; the role of those who look is not,
// and nothing is begun.
func TestRolesOfRunners(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds in one goroutine")
	}
	var all sync.WaitGroup
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release70, catalog.Release80, catalog.Release83} {
		all.Go(func() { // most of it is waiting
			t.Run(release.String(), func(t *testing.T) {
				topology := withSeries
				if !release.FCVAtLeast(catalog.Release50) {
					topology = crumbledTopology
				}
				address := rolesCluster(t, topology, inRealTime, func(s *setting) {
					s.mock.Release, s.mock.Parameters = release, map[string]any{"orphanCleanupDelaySecs": 0}
				})
				if code, stdout, stderr := runProgram(t, "", "--quiet", address("root"), "--eval",
					`db.getSiblingDB("old").notes.insertOne({a: 1}).acknowledged`); code != exitOK {
					t.Fatal(stdout, stderr)
				}
				journal := filepath.Join(t.TempDir(), "journal-")
				for _, args := range [][]string{
					{"presplit", "--ns", "shop.events", "--per-shard", "2"},
					{"defragment", "--ns", "shop.crumbs"},
					{"drain", "--shard", "c", "--remove", "--move-primaries"},
				} {
					args = append(args, "--yes", "--timeout", "1m", "--journal", journal+args[0])
					code, stdout, stderr := runProgram(t, "", append(args, address(live.RoleReader))...)
					if code != exitFailure || !strings.Contains(stderr, `(grant the role shardshEngine; load("shardsh:roles.js") creates it, or brings it up to date)`) ||
						strings.Contains(stdout+stderr, "lsid") {
						t.Errorf("%s as one who looks: exit code %d, %s%s", args[0], code, stdout, stderr)
					}
					code, stdout, stderr = runProgram(t, "", append(args, address(live.RoleEngine))...)
					if code != exitOK || strings.Contains(stdout+stderr, "authorized") {
						t.Errorf("%s: exit code %d, %s%s", args[0], code, stdout, stderr)
					}
				}
				state := `[db.getSiblingDB("shardsh").leases.countDocuments(), sh.listShards().length, sh.chunks("shop.crumbs").itcount(),
					sh.chunks("shop.events").itcount() >= 4].join()`
				code, stdout, stderr := runProgram(t, "", "--quiet", address("root"), "--eval", state)
				if code != exitOK || strings.TrimSpace(stdout) != "0,2,1,true" {
					t.Errorf("exit code %d, %s%s", code, stdout, stderr)
				}
			})
		})
	}
	all.Wait()
}

// From 8.3 on whoever looks may ask how far a drain is.
func TestRolesSeeDrains(t *testing.T) {
	const draining = `{"shards": [{"id": "a", "draining": true}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
		"databases": [{"name": "shop", "primary": "a"}], "collections": [{"ns": "shop.orders", "key": {"k": 1}, "chunks": [{"shard": "a"}]}]}`
	for _, release := range []catalog.Release{catalog.Release80, catalog.Release83, catalog.Release90} {
		address := rolesCluster(t, draining, func(s *setting) { s.mock.Release = release })
		code, stdout, stderr := runProgram(t, "", "check", "--rules", "draining", address(live.RoleReader))
		if text := stdout + stderr; code != exitOK || strings.Contains(text, "authorized") || strings.Contains(text, "unknown") {
			t.Errorf("%s: exit code %d, %s", release, code, text)
		}
	}
}
