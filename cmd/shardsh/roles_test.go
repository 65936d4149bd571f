package main

import (
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/live"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
)

// rolesCluster is a cluster with a user for each role of scripts/roles.js, whose
// password is pw.
func rolesCluster(t *testing.T, topology string) (address func(user string) string) {
	t.Helper()
	directory := access.NewDirectory()
	root := access.Draft{Password: "pw", Roles: []access.Role{{Role: "root", Database: "admin"}}}
	if err := directory.Create("admin", "root", root); err != nil {
		t.Fatal(err)
	}
	cluster := serve(t, topology, func(s *setting) { s.options = append(s.options, router.WithUsers(directory, true)) })
	address = func(user string) string { return "mongodb://" + user + ":pw@" + cluster.address + "/" }
	users := `for (const role of ["shardshLook", "shardshEngine", "shardshHelpers"])
		db.getSiblingDB("admin").createUser({user: role, pwd: "pw", roles: [role]}); null`
	for _, args := range [][]string{{"../../scripts/roles.js"}, {"--eval", users}} {
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
	looker := address(live.RoleLook)
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
	const refused = `(the role shardshEngine is: load("shardsh:roles.js") makes it)`
	if code, told := apply(live.RoleLook); code != exitFailure || !strings.Contains(told, refused) ||
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
	if code, stdout, stderr := runProgram(t, "", append(balance, address(live.RoleEngine))...); code != exitOK {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}
