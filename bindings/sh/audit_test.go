package sh_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// withMembers is a shell on a mock whose members are reached as well.
func withMembers(t *testing.T, topology string) (*connected, *mock.Cluster) {
	t.Helper()
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: parsed, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	routers, err := router.NewRouters(router.New(cluster, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	settings := shelltest.Serve(t, routers)
	c := &connected{Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	c.Shell, err = bindings.New(bindings.Config{
		Client: shelltest.Dial(t, routers), Address: "mongodb://mock:27017/", Deployment: "mock: mongos", Clock: cluster.Clock(),
		ClientOptions: options.Client().SetDialer(settings.Dialer).SetServerMonitoringMode("poll"),
		Stdout:        c.Out, Stderr: c.Errs, Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, cluster
}

const auditedTopology = `{"shards": [{"id": "a", "zones": ["z"]}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "app", "primary": "a"}], "collections": [{"ns": "app.c", "key": {"x": 1, "y": 1}, "chunks": [
	{"shard": "a", "docs": 0, "max": {"x": 50, "y": {"$minKey": 1}}}, {"shard": "b", "docs": 0}]}]}`

func configDocument(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The commands of a finding that are for the router mend it: they are entered as they are shown.
func TestAuditMends(t *testing.T) {
	entry := func(k string, v any) bson.E { return bson.E{Key: k, Value: v} }
	for _, c := range []struct {
		kind, after string
		plant       func(t *testing.T, c *connected, p mock.Corrupter) error
		export      bool
	}{
		{kind: "lone", after: "orphan", plant: func(t *testing.T, _ *connected, p mock.Corrupter) error {
			return p.Insert("b", "app.c", configDocument(t, bson.D{entry("_id", "lone"), entry("x", 7), entry("when", time.UnixMilli(5)), entry("long", int64(5))}))
		}},
		{kind: "lone", after: "orphan", export: true, plant: func(t *testing.T, _ *connected, p mock.Corrupter) error {
			return p.Insert("b", "app.c", configDocument(t, bson.D{entry("_id", 77.5), entry("x", 7), entry("y", "it's \"quoted\"\n")}))
		}},
		{kind: "index-missing", after: "", plant: func(_ *testing.T, _ *connected, p mock.Corrupter) error {
			return p.DropIndex("b", "app.c", "s_1")
		}},
		{kind: "index-differs", after: "", plant: func(t *testing.T, _ *connected, p mock.Corrupter) error {
			if err := p.DropIndex("b", "app.c", "s_1"); err != nil {
				return err
			}
			return p.AddIndex("b", "app.c", store.IndexSpec{Name: "s_1", Key: configDocument(t, bson.D{entry("s", -1)})})
		}},
		{kind: "options-differ", after: "", plant: func(t *testing.T, _ *connected, p mock.Corrupter) error {
			return p.SetOptions("b", "app.c", bson.D{entry("validator", configDocument(t, bson.D{entry("x", 5)}))})
		}},
		{kind: "zone-empty", after: "", plant: func(_ *testing.T, c *connected, _ mock.Corrupter) error {
			c.Show(`db.getSiblingDB("config").tags.insertOne({ns: "app.c", tag: "z", min: {x: 5, y: MinKey()}, max: {x: 5, y: MinKey()}})`)
			return nil
		}},
		{kind: "zone-end", after: "", plant: func(_ *testing.T, c *connected, _ mock.Corrupter) error {
			c.Show(`sh.updateZoneKeyRange("app.c", {x: 5}, {x: MaxKey()}, "z")`)
			return nil
		}},
		{kind: "duplicate-id", after: "", plant: func(_ *testing.T, c *connected, _ mock.Corrupter) error {
			c.Show(`db.getSiblingDB("app").c.insertOne({_id: 1, x: 99})`)
			return nil
		}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			shell, cluster := withMembers(t, auditedTopology)
			shell.Show(`db.getSiblingDB("app").c.createIndex({s: 1}); db.getSiblingDB("app").c.insertMany([{_id: 1, x: 1}, {_id: 2, x: 60}])`)
			if err := c.plant(t, shell, cluster.Corrupter()); err != nil {
				t.Fatal(err)
			}
			call := `sh.audit({ settlePause: 1, progress: false`
			if c.export {
				call += `, export: "` + filepath.ToSlash(filepath.Join(t.TempDir(), "saved")) + `"`
			}
			kinds := `.findings.map(f => f.kind).join()`
			shell.Show(`const found = ` + call + ` })`)
			if got, _ := shell.Show(`found` + kinds); got != c.kind {
				t.Fatal(got)
			}
			commands, _ := shell.Show(`print(found.findings[0].mend.filter(l => !l.startsWith("//")).join("\n"))`)
			for i, command := range strings.Split(strings.TrimSpace(commands), "\n") {
				if c.kind == "duplicate-id" && i > 0 {
					break // one is kept
				}
				if got, failed := shell.Show(command); failed {
					t.Fatalf("%s shows %s", command, got)
				}
			}
			shell.Show(`const again = sh.audit({ settlePause: 1, progress: false })`)
			if got, _ := shell.Show(`again` + kinds); got != c.after {
				shown, _ := shell.Show(`again`)
				t.Errorf("after %s there is %q, want %q: %s", commands, got, c.after, shown)
			}
			if c.kind == "lone" {
				same := `db.getSiblingDB("app").c.countDocuments({x: 7})`
				if got, _ := shell.Show(same); got != "1" {
					t.Errorf("%s documents were inserted", got)
				}
			}
		})
	}
}

// A document that was lone comes out of its file, and out of the command, to the byte.
func TestAuditKeepsTypes(t *testing.T) {
	shell, cluster := withMembers(t, auditedTopology)
	doc := configDocument(t, bson.D{{Key: "_id", Value: bson.ObjectID{1}}, {Key: "x", Value: int64(7)}, {Key: "i", Value: int32(1)},
		{Key: "d", Value: 1.0}, {Key: "at", Value: bson.DateTime(12345)}, {Key: "t", Value: bson.Timestamp{T: 5, I: 6}},
		{Key: "b", Value: bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}}, {Key: "n", Value: nil},
		{Key: "a", Value: bson.A{int64(1), "two", bson.D{{Key: "k", Value: true}}}}})
	if err := cluster.Corrupter().Insert("b", "app.c", doc); err != nil {
		t.Fatal(err)
	}
	shell.Show(`const found = sh.audit("app.c", { settlePause: 1, progress: false })`)
	command, _ := shell.Show(`print(found.findings[0].mend[0])`)
	if got, failed := shell.Show(command); failed {
		t.Fatalf("%s shows %s", command, got)
	}
	kept := cluster.Corrupter().Documents("a", "app.c")
	if len(kept) != 1 || !bytes.Equal(kept[0], doc) {
		t.Errorf("%s\nhas inserted %v\nwant         %v", command, kept, doc)
	}
}

func TestAuditShows(t *testing.T) {
	shell, cluster := withMembers(t, auditedTopology)
	shell.Show(`const sound = sh.audit({ settlePause: 1, progress: false })`)
	if got, _ := shell.Show(`sound`); got != "app.c: read 0 documents.\nNothing was found." {
		t.Error(got)
	}
	if err := cluster.Corrupter().Insert("b", "app.c", configDocument(t, bson.D{{Key: "_id", Value: 5}, {Key: "x", Value: 7}})); err != nil {
		t.Fatal(err)
	}
	shell.Show(`const found = sh.audit(["app.c"], { settlePause: 1, progress: false })`)
	got, _ := shell.Show(`found`)
	want := regexp.MustCompile(`^lone  app\.c: 1 document is on b, which does not own the key, and nowhere else\.
  _id \{"\$numberInt":"5"\} on b
  db\.getSiblingDB\("app"\)\.getCollection\("c"\)\.insertOne\(\{"_id": 5, "x": 7\}\)
app\.c: read 1 document\.
1 finding\.$`)
	if !want.MatchString(got) {
		t.Errorf("it shows\n%s", got)
	}
}
