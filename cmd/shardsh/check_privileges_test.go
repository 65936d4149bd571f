package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
)

// checkPrivileges are those that docs/check.md asks for: what a role for check has
// to have, and the rules that are not known without it.
var checkPrivileges = []struct{ resource, action, rule string }{
	{"{db: 'config', collection: ''}", "find", ""}, // nothing works without
	{"{cluster: true}", "connPoolStats", "shards"},
	{"{cluster: true}", "shardedDataDistribution", "orphans"},
	{"{db: 'admin', collection: ''}", "dbStats", "disk"},
	{"{cluster: true}", "checkMetadataConsistency", "metadata"},
}

// TestCheckPrivileges: a user with just these can have every rule checked, and
// without one of them a rule is not known. clusterMonitor has all but the last.
func TestCheckPrivileges(t *testing.T) {
	directory := access.NewDirectory()
	root := access.UserSpec{Password: "pw", Roles: []access.Role{{Role: "root", Database: "admin"}}}
	err := directory.Create("admin", "root", root)
	if err != nil {
		t.Fatal(err)
	}
	cluster := serve(t, wellTopology, func(s *setting) {
		s.options = append(s.options, router.WithUsers(directory, true))
	})
	user := func(name string, without int) {
		var list []string
		for i, p := range checkPrivileges {
			if i != without {
				list = append(list, fmt.Sprintf("{resource: %s, actions: ['%s']}", p.resource, p.action))
			}
		}
		script := fmt.Sprintf("db.adminCommand({createRole: '%s', privileges: [%s], roles: []}); "+
			"db.getSiblingDB('admin').createUser({user: '%s', pwd: 'pw', roles: ['%s']}); null",
			name, strings.Join(list, ", "), name, name)
		asRoot := "mongodb://root:pw@" + cluster.address
		if code, out, stderr := runProgram(t, "", asRoot, "--quiet", "--eval", script); code != 0 {
			t.Fatalf("%s%s", out, stderr)
		}
	}
	unknown := func(name string) (list []string) {
		address := fmt.Sprintf("mongodb://%s:pw@%s/admin", name, cluster.address)
		_, stdout, _ := runProgram(t, "", "check", "--json", "--rules", "all", address)
		doc := checkDocument(t, stdout)
		if doc.Error != nil {
			return []string{""}
		}
		for _, r := range doc.Rules {
			if r.Status != "passed" && r.Name != "advisories" { // which finds the faults of this release
				list = append(list, r.Name)
			}
		}
		return list
	}
	page := checkPage(t)
	for _, p := range checkPrivileges {
		if !strings.Contains(page, `actions: ["`+p.action+`"]`) {
			t.Errorf("docs/check.md does not ask for %s", p.action)
		}
	}
	user("all", -1)
	if got := unknown("all"); got != nil {
		t.Errorf("with all privileges %v are not known", got)
	}
	for i, p := range checkPrivileges {
		name := "without" + p.action
		user(name, i)
		if got := unknown(name); !slices.Contains(got, p.rule) {
			t.Errorf("without %s %v are not known, and %q ought to be", p.action, got, p.rule)
		}
	}
	script := "db.getSiblingDB('admin').createUser({user: 'mon', pwd: 'pw', roles: ['clusterMonitor']}); null"
	if code, _, stderr := runProgram(t, "", "mongodb://root:pw@"+cluster.address, "--quiet", "--eval", script); code != 0 {
		t.Fatal(stderr)
	}
	if got := unknown("mon"); !slices.Equal(got, []string{"metadata"}) {
		t.Errorf("with clusterMonitor %v are not known", got)
	}
	code, stdout, stderr := runProgram(t, "", "check", fmt.Sprintf("mongodb://mon:pw@%s/", cluster.address))
	if code != exitOK || stdout != "x.y  balanced\nOK\n" || stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}
