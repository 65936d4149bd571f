package sh_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
	"shardsh/scripts"
)

// guarded is a mock with users: root, and one for each role of scripts/roles.js.
type guarded struct {
	t       *testing.T
	cluster *mock.Cluster
	dialer  options.ContextDialer
	users   *access.Directory
}

func withRoles(t *testing.T, cfg mock.Config) *guarded {
	t.Helper()
	directory := access.NewDirectory()
	root := access.UserSpec{Password: "pw", Roles: []access.Role{{Role: "root", Database: "admin"}}}
	if err := directory.Create("admin", "root", root); err != nil {
		t.Fatal(err)
	}
	g := withUsers(t, cfg, directory)
	c := g.as("root")
	for _, told := range []string{"created", "brought up to date"} { // again, it changes nothing
		lines := ""
		for _, role := range []string{"Look", "Engine", "Helpers"} {
			lines += "shardsh" + role + ": " + told + "\n"
		}
		shelltest.Run(t, c, step{`load("shardsh:roles.js")`, lines + "true"})
	}
	for _, role := range []string{"shardshLook", "shardshEngine", "shardshHelpers"} {
		shelltest.Run(t, c, step{`db.getSiblingDB("admin").createUser({user: "` + role + `", pwd: "pw", roles: ["` + role + `"]}).ok`, "1"})
	}
	return g
}

// withUsers is a mock with users that exist.
func withUsers(t *testing.T, cfg mock.Config, users *access.Directory) *guarded {
	t.Helper()
	cluster, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return &guarded{t, cluster, shelltest.Serve(t, router.New(cluster, nil, router.WithUsers(users, true))).Dialer, users}
}

// as is a shell of a user.
func (g *guarded) as(user string) *connected {
	g.t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://mock:27017/?directConnection=true").SetDialer(g.dialer).
		SetServerMonitoringMode("poll").SetAuth(options.Credential{Username: user, Password: "pw"}))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	c := &connected{Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	c.Shell, err = bindings.New(bindings.Config{
		Client: client, Address: "mongodb://mock:27017/", Deployment: "mock: mongos", Clock: g.cluster.Clock(),
		Stdout: c.Out, Stderr: c.Errs, Version: "1.2.3", Scripts: scripts.Files,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

// The roles are made on every release, of actions that it has.
func TestRolesOfReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70,
		catalog.Release80, catalog.Release83} {
		g := withRoles(t, mock.Config{Release: release})
		got, _ := g.as("root").Show(`db.getSiblingDB("admin").getRole("shardshHelpers", {showPrivileges: true})
			.inheritedPrivileges.flatMap(p => p.actions).includes("moveCollection")`)
		if want := map[bool]string{true: "true", false: "false"}[release.FCVAtLeast(catalog.Release80)]; got != want {
			t.Errorf("%s: moveCollection is there: %s", release, got)
		}
	}
}

// With shardshLook nothing changes, whatever is called. What it may not do names the
// role that may, which is right: that one may, and the one before it may not.
func TestRoleOfLook(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	t.Chdir(t.TempDir())
	looks := 0
	users := map[catalog.Release]*access.Directory{} // whose keys take long to make
	for _, name := range helperNames(t) {
		h, ok := helperOf(t, name)
		if !ok || h.Text == "" {
			continue
		}
		cfg := exampleCluster(name)
		if users[cfg.Release] == nil {
			users[cfg.Release] = withRoles(t, cfg).users
		}
		g := withUsers(t, cfg, users[cfg.Release])
		root := g.as("root")
		prepareExample(t, root, name)
		before, _ := root.Show(catalogState)
		got, failed := g.as(live.RoleReader).Show(h.Example)
		if after, _ := root.Show(catalogState); after != before {
			t.Errorf("%s changes the cluster", h.Example)
		}
		if !failed && !strings.Contains(got, "authoriz") {
			looks++
			continue
		}
		if !failed {
			got = strings.Join(strings.Fields(got), " ") // a text that is broken into lines
		}
		role := regexp.MustCompile(`not authorized to run .* \(grant the role (\w+); `).FindStringSubmatch(got)
		if !strings.Contains(got, "authoriz") {
			continue // it failed for another reason, as it does for root
		}
		if name == "adviseKey" || name == "adviseChunkSize" || name == "verify" {
			if !strings.Contains(got, "not authorized to run aggregate on shop.orders") &&
				!strings.Contains(got, "not authorized to run find on shop.orders") {
				t.Errorf("%s: %s", h.Example, got)
			}
			continue // they read documents, which no role of ours allows
		}
		if role == nil || role[1] == live.RoleReader || strings.Contains(got, "lsid") || failed && strings.Contains(got, "\n") {
			t.Errorf("%s: %s", h.Example, got)
			continue
		}
		if role[1] == live.RoleHelpers {
			if got, _ := g.as(live.RoleEngine).Show(h.Example); !strings.Contains(
				strings.Join(strings.Fields(got), " "), "the role "+role[1]) {
				t.Errorf("%s works for %s: %s", h.Example, live.RoleEngine, got)
			}
		}
		if got, _ := g.as(role[1]).Show(h.Example); strings.Contains(got, "authoriz") {
			t.Errorf("%s as %s: %s", h.Example, role[1], got)
		}
	}
	if looks < 20 {
		t.Errorf("only %d helpers work with %s", looks, live.RoleReader)
	}
}

// Errors of db are the server's, as in mongosh.
func TestRefusalsOfDBStay(t *testing.T) {
	g := withRoles(t, mock.Config{})
	if got, _ := g.as(live.RoleReader).Show("db.getSiblingDB('shop').c.findOne()"); !strings.Contains(got,
		"not authorized on shop to execute command { find: \"c\"") {
		t.Error(got)
	}
}
