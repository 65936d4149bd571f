package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// catalog reads the small collections of config but for config.collections,
// which is read with the chunks.
func (r *reading) catalog(ctx context.Context) error {
	r.parts.Config = map[string][]bson.Raw{}
	for _, c := range []struct {
		name string
		use  func(context.Context, []bson.Raw) error
	}{
		{"version", r.version},
		{"settings", r.settings},
		{"shards", r.shards},
		{"databases", r.databases},
		{"tags", nil},
		{"mongos", r.routers},
	} {
		docs, err := r.documents(ctx, c.name, bson.D{})
		if err := r.part(ctx, catalog.Gap{What: c.name}, err); err != nil {
			return err
		}
		if c.name != "mongos" && len(docs) > 0 {
			r.parts.Config[c.name] = docs
		}
		if c.use == nil {
			continue
		}
		if err := c.use(ctx, docs); err != nil {
			return err
		}
	}
	return nil
}

// version learns which cluster this is, and what time it is there: the clock of
// hello may be another one, that of a server which plays a cluster.
func (r *reading) version(ctx context.Context, docs []bson.Raw) error {
	cursor, err := r.config.Collection("version").Aggregate(ctx, bson.A{
		bson.D{{Key: "$limit", Value: 1}}, bson.D{{Key: "$project", Value: bson.D{{Key: "now", Value: "$$NOW"}}}},
	})
	if err == nil {
		err = each(ctx, cursor, func(doc bson.Raw) error {
			r.parts.Time = date(doc, "now")
			return nil
		})
	}
	if err := r.part(ctx, catalog.Gap{What: "time"}, err); err != nil {
		return err
	}
	for _, doc := range docs {
		if id, ok := doc.Lookup("clusterId").ObjectIDOK(); ok {
			r.parts.ClusterID = id
		}
	}
	if r.old != nil && r.old.Parts().ClusterID != r.parts.ClusterID {
		r.old = nil
	}
	return nil
}

func (r *reading) settings(_ context.Context, docs []bson.Raw) error {
	r.parts.Settings, r.parts.SettingsProblem = settingsOf(r.parts.Release, docs)
	return nil
}

// settingsOf reads the documents of config.settings, and says why one could not be
// read.
func settingsOf(release catalog.Release, docs []bson.Raw) (settings catalog.Settings, problem string) {
	settings = catalog.SettingsOf(release)
	err := settings.Load(func(id string) (bson.Raw, error) {
		for _, doc := range docs {
			if text(doc, "_id") == id {
				return doc, nil
			}
		}
		return nil, nil
	})
	if err != nil {
		problem = err.Error()
	}
	return settings, problem
}

func (r *reading) shards(ctx context.Context, docs []bson.Raw) error {
	limited := false
	for _, doc := range docs {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			r.gap(catalog.Gap{What: "shards"}, err)
			continue
		}
		limited = limited || shard.MaxSizeMB > 0
		r.parts.Shards = append(r.parts.Shards, catalog.ShardState{Shard: shard})
	}
	if !limited || !r.parts.Release.LimitsShards() {
		return nil
	}
	return r.part(ctx, catalog.Gap{What: "shard sizes"}, r.shardSizes(ctx))
}

// shardSizes sums up what the databases take on each shard, for the limits of
// shards that releases up to 5.0 know (rules/01-rounds-and-settings §3.1).
func (r *reading) shardSizes(ctx context.Context) error {
	reply, err := r.run(ctx, bson.D{{Key: "listDatabases", Value: 1}})
	if err != nil {
		return err
	}
	databases, ok := reply.Lookup("databases").ArrayOK()
	if !ok {
		return mongoerr.New(mongoerr.NoSuchKey, "listDatabases answers no databases")
	}
	list, err := databases.Values()
	if err != nil {
		return err
	}
	bytes := map[catalog.ShardID]int64{}
	for _, v := range list {
		doc, _ := v.DocumentOK()
		shards, _ := doc.Lookup("shards").DocumentOK()
		elements, err := shards.Elements()
		if err != nil {
			continue // it tells nothing of its shards
		}
		for _, e := range elements {
			n, _ := e.Value().AsInt64OK()
			bytes[catalog.ShardID(e.Key())] += n
		}
	}
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i].Shard
		s.SizeMB = bytes[s.ID] / 1024 / 1024
	}
	return nil
}

func (r *reading) databases(_ context.Context, docs []bson.Raw) error {
	for _, doc := range docs {
		d, err := catalog.ParseDatabase(doc)
		if err != nil {
			r.gap(catalog.Gap{What: "databases"}, err)
			continue
		}
		r.parts.Databases = append(r.parts.Databases, d)
	}
	return nil
}

func (r *reading) routers(_ context.Context, docs []bson.Raw) error {
	for _, doc := range docs {
		router, err := catalog.ParseRouter(doc)
		if err != nil {
			r.gap(catalog.Gap{What: "mongos"}, err)
			continue
		}
		r.parts.Routers = append(r.parts.Routers, router)
	}
	return nil
}

// zones gives the collections their zones.
func (r *reading) zones(context.Context) error {
	byNamespace := map[string]*catalog.CollectionState{}
	for _, c := range r.parts.Collections {
		byNamespace[c.Namespace] = c
	}
	for _, doc := range r.parts.Config["tags"] {
		ns := text(doc, "ns")
		c := byNamespace[ns]
		if c == nil {
			continue // zones may wait for their collection (rules/03-catalog-and-keys §3.5)
		}
		zone, err := catalog.ParseZone(c.Pattern, doc)
		if err == nil {
			if c.Zones == nil {
				c.Zones = catalog.NewZoneSet(c.Pattern)
			}
			err = c.Zones.Add(zone)
		}
		if err != nil {
			r.gap(catalog.Gap{What: "zones", Namespace: ns}, err)
		}
	}
	return nil
}
