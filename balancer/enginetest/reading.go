package enginetest

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

func (s *suite) setting() {
	raw := mustGet(s, func(c balancer.Cluster) (bson.Raw, error) { return c.Setting(s.ctx, catalog.SettingBalancer) })
	if mode, _ := raw.Lookup("mode").StringValueOK(); mode != "off" {
		s.Errorf("settings of the balancer: %v", raw)
	}
	if raw := mustGet(s, func(c balancer.Cluster) (bson.Raw, error) { return c.Setting(s.ctx, "none") }); raw != nil {
		s.Errorf("a setting that is not there: %v", raw)
	}
	settings := mustGet(s, func(c balancer.Cluster) (catalog.Settings, error) {
		return balancer.LoadSettings(s.ctx, c, catalog.DefaultSettingsOf(s.Release))
	})
	s.wantEqual("chunk size", settings.MaxChunkSizeBytes, int64(64<<20))
	s.wantEqual("mode", settings.Mode, catalog.ModeOff)
}

func (s *suite) shards() {
	shards := mustGet(s, func(c balancer.Cluster) ([]catalog.Shard, error) { return c.Shards(s.ctx) })
	var ids []string
	for _, shard := range shards {
		ids = append(ids, string(shard.ID))
		s.wantEqual("draining "+string(shard.ID), shard.Draining, shard.ID == "c")
		s.wantEqual("zone of "+string(shard.ID), shard.HasZone("EU"), shard.ID == "a")
		if shard.Host == "" {
			s.Errorf("shard %s has no host", shard.ID)
		}
	}
	s.wantEqual("shards", ids, []string{"a", "b", "c"})
}

func (s *suite) collections() {
	colls := mustGet(s, func(c balancer.Cluster) ([]catalog.Collection, error) { return c.Collections(s.ctx) })
	var names []string
	for _, coll := range colls {
		names = append(names, coll.Namespace)
		s.wantEqual("noBalance of "+coll.Namespace, coll.NoBalance, coll.Namespace == "app.plain")
		if len(coll.UUID.Data) != 16 || coll.Pattern.Len() == 0 {
			s.Errorf("incomplete entry %+v", coll)
		}
	}
	s.wantEqual("collections", names, []string{"app.even", "app.huge", "app.plain"})
	s.drop("app.huge")
	colls = mustGet(s, func(c balancer.Cluster) ([]catalog.Collection, error) { return c.Collections(s.ctx) })
	s.wantEqual("collections after one was dropped", len(colls), 2)
}

func (s *suite) routing() {
	r := s.routingOf("app.even")
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "a", "a", "b"})
	s.wantEqual("namespace", r.Collection.Namespace, "app.even")
	if !r.Table.HasLowerBound(s.key(r, 100)) || r.Table.HasLowerBound(s.key(r, 50)) {
		s.Error("the bounds of chunks are not those of the topology")
	}
	c := r.Table.Find(s.key(r, 150))
	s.wantEqual("zone", r.Zones.ZoneOf(s.key(r, 10), s.key(r, 20)), "EU")
	s.wantEqual("no zone", r.Zones.ZoneOf(c.Min, c.Max), catalog.NoZone)
	if c.Version.Major == 0 || r.Table.Version().Epoch != r.Collection.Epoch {
		s.Errorf("version %v of a chunk, %v of the table", c.Version, r.Table.Version())
	}
	s.wantCode("a collection that is not there", s.errOf(func(c balancer.Cluster) error {
		_, err := c.Routing(s.ctx, "app.none")
		return err
	}), mongoerr.NamespaceNotFound)
	s.drop("app.even")
	s.wantCode("a collection that was dropped", s.errOf(func(c balancer.Cluster) error {
		_, err := c.Routing(s.ctx, "app.even")
		return err
	}), mongoerr.NamespaceNotFound)
}

func (s *suite) dataSizes() {
	colls := mustGet(s, func(c balancer.Cluster) ([]catalog.Collection, error) { return c.Collections(s.ctx) })
	ask := func(c balancer.Cluster) (map[string]map[catalog.ShardID]int64, error) {
		return c.DataSizes(s.ctx, colls[:2])
	}
	if !s.isSupported("DataSizes", func(c balancer.Cluster) error { _, err := ask(c); return err }) {
		return
	}
	sizes := mustGet(s, ask)
	for ns, want := range map[string]map[catalog.ShardID]int64{
		"app.even": {"a": 30 << 20, "b": 5 << 20, "c": 0},
		"app.huge": {"a": 1 << 30, "b": 0, "c": 0},
	} {
		if len(sizes[ns]) != len(want) {
			s.Errorf("sizes of %s: %v, want one for each shard", ns, sizes[ns])
		}
		for shard, bytes := range want {
			s.wantEqual("bytes of "+ns+" on "+string(shard), sizes[ns][shard], bytes)
		}
	}
	s.wantEqual("collections that were asked for", len(sizes), 2)
}

func (s *suite) mergeable() {
	work := mustGet(s, func(c balancer.Cluster) ([]policy.MergeWork, error) { return c.Mergeable(s.ctx) })
	if len(work) > 0 {
		s.Errorf("chunks that just came are mergeable: %v", work)
	}
	s.command("admin", bson.D{{Key: "mockAdvance", Value: historyWindow.Milliseconds()}})
	work = mustGet(s, func(c balancer.Cluster) ([]policy.MergeWork, error) { return c.Mergeable(s.ctx) })
	var lines []string
	for _, w := range work {
		for _, ns := range w.Namespaces {
			if strings.HasPrefix(ns, "app.") { // the sessions collection is sharded at an unspecified time
				lines = append(lines, string(w.Shard)+" "+ns)
			}
		}
	}
	if !s.Release.AutoMerges() {
		s.wantEqual("mergeable before 7.0", len(lines), 0)
		return
	}
	s.wantEqual("mergeable", lines, []string{"a app.even", "a app.huge", "a app.plain", "b app.even", "b app.huge"})
}

func (s *suite) unsharded() {
	ask := func(c balancer.Cluster) ([]policy.Unsharded, error) { return c.Unsharded(s.ctx) }
	if !s.isSupported("Unsharded", func(c balancer.Cluster) error { _, err := ask(c); return err }) {
		return
	}
	s.command("app", bson.D{{Key: "create", Value: "alone"}})
	list := mustGet(s, ask)
	if len(list) != 1 || list[0].Namespace != "app.alone" || list[0].Shard == "" {
		s.Errorf("unsharded: %+v", list)
	}
}
