package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func (r *reading) readSettings(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("settings", bson.D{}))
	r.retainDocuments("settings", docs)
	// The defaults apply if the settings can't be read, since a simulation without a chunk size would
	// not end.
	r.parts.Settings, r.parts.SettingsProblem = parseSettings(r.parts.Release, docs)
	return err
}

// parseSettings parses the documents of config.settings. problem is the reason why one of them could
// not be parsed.
func parseSettings(release catalog.Release, docs []bson.Raw) (settings catalog.Settings, problem string) {
	settings = catalog.DefaultSettingsOf(release)
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

func (r *reading) readDatabases(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("databases", bson.D{}))
	r.retainDocuments("databases", docs)
	for _, doc := range docs {
		d, err := catalog.ParseDatabase(doc)
		if err != nil {
			r.addGap(catalog.Gap{What: "databases"}, err)
			d = catalog.Database{Name: text(doc, "_id"), Primary: catalog.ShardID(text(doc, "primary"))}
		}
		if d.Name != "" {
			r.parts.Databases = append(r.parts.Databases, d)
		}
	}
	return err
}

func (r *reading) readRouters(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("mongos", bson.D{}))
	for _, doc := range docs {
		router, err := catalog.ParseRouter(doc)
		if err != nil {
			r.addGap(catalog.Gap{What: "mongos"}, err)
			continue
		}
		r.parts.Routers = append(r.parts.Routers, router)
	}
	return err
}

// readZones reads config.tags. Collections whose chunks are read get their zones.
func (r *reading) readZones(ctx context.Context) error {
	filter := bson.D{}
	if len(r.options.Namespaces) > 0 {
		filter = bson.D{{Key: "ns", Value: bson.D{{Key: "$in", Value: r.namespacesToRead()}}}}
	}
	docs, err := r.source.list(ctx, findQuery("tags", filter).sortedBy("ns", 1).sortedBy("min", 1))
	r.retainDocuments("tags", docs)
	if !r.wants(Chunks) {
		return err
	}
	byNamespace := map[string]*catalog.CollectionState{}
	for _, c := range r.parts.Collections {
		byNamespace[c.Namespace] = c
	}
	for _, doc := range docs {
		// Zones may exist before their collection (rules/03-catalog-and-keys §3.5).
		if c := byNamespace[text(doc, "ns")]; c != nil {
			if err := addZone(c, doc); err != nil {
				r.addGap(catalog.Gap{What: "zones", Namespace: c.Namespace}, err)
			}
		}
	}
	return err
}

func addZone(c *catalog.CollectionState, doc bson.Raw) error {
	zone, err := catalog.ParseZone(c.Pattern, doc)
	if err != nil {
		return err
	}
	if c.Zones == nil {
		c.Zones = catalog.NewZoneSet(c.Pattern)
	}
	return c.Zones.Add(zone)
}
