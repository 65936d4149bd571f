package live_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// Each shard says how large its volume is and what is used of it; what moved away stays in
// the collection's file.
func TestReadsDisks(t *testing.T) {
	cluster := mocktest.Cluster(t, `{"shards": [{"id": "a", "disk": "100GB"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
		"collections": [{"ns": "shop.c", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}, "bytes": "30GB", "docs": 100},
			{"shard": "a", "bytes": "10GB", "docs": 100}]}]}`,
		mock.Config{})
	client := mocktest.Connect(t, router.New(cluster, nil))
	read := func() (*catalog.Snapshot, catalog.Disk) {
		t.Helper()
		s, err := live.NewReader(client, live.ReaderOptions{Parts: live.DefaultParts | live.ReusableSpace}).Read(t.Context())
		if err != nil || len(s.Parts().Source.Gaps) > 0 {
			t.Fatal(err, s.Parts().Source.Gaps)
		}
		a, _ := s.Shard("a")
		return s, a.Disk
	}
	s, disk := read()
	if disk.Total != 100e9 || disk.Used < 40e9 || disk.Used > 40e9+1e6 || disk.Free() != disk.Total-disk.Used {
		t.Errorf("%+v", disk)
	}
	if room := disk.FreeBelow(0.5); room > 10e9 || room < 10e9-1e6 {
		t.Error(room)
	}
	if b, _ := s.Shard("b"); !b.Disk.Known() || b.Disk.UsedShare() > 0.01 {
		t.Errorf("%+v", b.Disk)
	}
	move := bson.D{{Key: "moveRange", Value: "shop.c"}, {Key: "min", Value: bson.D{{Key: "k", Value: bson.MinKey{}}}},
		{Key: "max", Value: bson.D{{Key: "k", Value: 0}}}, {Key: "toShard", Value: "b"}, {Key: "forceJumbo", Value: true}}
	if err := client.Database("admin").RunCommand(t.Context(), move).Err(); err != nil {
		t.Fatal(err)
	}
	s, after := read()
	if after.Used < disk.Used || s.Collection("shop.c").Sizes["a"].Reusable != 30e9 {
		t.Errorf("%+v, %+v", after, s.Collection("shop.c").Sizes)
	}
}

// A shard that does not answer is named, and not waited for.
func TestDisksOfAShardThatIsDown(t *testing.T) {
	cluster := mocktest.Cluster(t, `{"shards": [{"id": "a"}, {"id": "b"}]}`, mock.Config{})
	client := mocktest.Connect(t, router.New(cluster, nil))
	if err := cluster.Faults().Crash("b"); err != nil {
		t.Fatal(err)
	}
	s, err := live.NewReader(client, live.ReaderOptions{Parts: live.Shards | live.Reachability | live.Disks}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gaps := s.Parts().Source.Gaps
	if len(gaps) != 1 || gaps[0].What != "disks" || !strings.Contains(gaps[0].Reason, "shard b") {
		t.Errorf("%+v", gaps)
	}
}

// The key of a shard's reply has the members that the mongos knows.
func TestVolumeOf(t *testing.T) {
	volume := func(total, used float64) bson.D {
		return bson.D{{Key: "fsUsedSize", Value: used}, {Key: "fsTotalSize", Value: total}}
	}
	reply, err := bson.Marshal(bson.D{{Key: "raw", Value: bson.D{
		{Key: "rs0/a.example:1,b.example:1", Value: volume(100, 40)}, {Key: "rs1/c.example:1", Value: volume(-1, -1)},
		{Key: "rs2/d.example:1", Value: volume(0, 0)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]catalog.Disk{
		"rs0/a.example:1,b.example:1": {Total: 100, Used: 40}, "rs0/b.example:1,a.example:1,c.example:1": {Total: 100, Used: 40},
		"rs1/c.example:1": {}, "rs2/d.example:1": {}, "rs3/e.example:1": {}, "a.example:1": {},
	} {
		if got := live.ParseVolume(reply, host); got != want {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
}
