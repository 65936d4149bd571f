package router_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

func opened(t *testing.T, cfg mock.Config) (*routertest.Tester, *mock.Cluster) {
	t.Helper()
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &routertest.Tester{T: t, Router: router.New(c, nil), Cluster: c}, c
}

// A router has the commands and stages of what was installed on it, whatever the others run.
func TestCommandsOfWhatWasInstalled(t *testing.T) {
	x, c := opened(t, mock.Config{})
	defer c.Close()
	another, err := x.Router.NewSibling("mock2:27017")
	if err != nil {
		t.Fatal(err)
	}
	y := &routertest.Tester{T: t, Router: another, Cluster: c}
	ask := d("shardDrainingStatus", "shard0")
	if code := x.Code("admin", ask); code != 59 {
		t.Errorf("8.0 answers %d", code)
	}
	x.OK("admin", d("mockInstall", 1, "router", "mock2:27017", "version", "8.3"))
	if code := x.Code("admin", ask); code != 59 {
		t.Errorf("a router of 8.0 beside one of 8.3 answers %d", code)
	}
	if code := y.Code("admin", ask); code != 20 {
		t.Errorf("a router of 8.3 answers %d", code)
	}
	if !y.OK("admin", d("listCommands", 1)).Lookup("commands", "shardDrainingStatus").IsZero() !=
		x.OK("admin", d("listCommands", 1)).Lookup("commands", "shardDrainingStatus").IsZero() {
		t.Error("listCommands lists what its router has")
	}
	x.OK("admin", d("mockInstall", 1, "version", "8.0"))
	if code := y.Code("admin", ask); code != 59 {
		t.Errorf("8.0 again answers %d", code)
	}
}

// What was installed stays when the cluster is opened again, unless all servers start with
// another version.
func TestInstalledStaysOnDisk(t *testing.T) {
	dir := t.TempDir()
	x, c := opened(t, mock.Config{DBPath: dir})
	x.OK("admin", d("mockInstall", 1, "configServers", true, "version", "8.2.6"))
	x.OK("admin", d("mockInstall", 1, "shard", "shard1", "version", "8.3"))
	host := c.Addresses().FirstMember("shard1")
	c.Close()
	for _, step := range []struct {
		version              catalog.Release
		config, shard, other string
	}{
		{catalog.Release{}, "8.2.6", "8.3", "8.0"},
		{catalog.Release83, "8.3", "8.3", "8.3"},
		{catalog.Release{}, "8.3", "8.3", "8.3"},
	} {
		_, c := opened(t, mock.Config{DBPath: dir, Release: step.version})
		_, config, _ := strings.Cut(c.Addresses().ConfigServer(), "/")
		for of, want := range map[string]string{
			config: step.config, host: step.shard, c.Addresses().FirstMember("shard0"): step.other,
		} {
			if got := c.InstalledReleases().ReleaseAt(of).String(); got != want {
				t.Errorf("opened with %s, %s runs %s, want %s", step.version, of, got, want)
			}
		}
		c.Close()
	}
}
