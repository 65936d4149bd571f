package catalog

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Documents returns the documents of one of config's small collections: settings, shards, databases,
// collections, tags or version. It returns the documents that the reader has read. If there are none,
// it builds them from the parts of the Snapshot.
func (s *Snapshot) Documents(collection string) ([]bson.Raw, error) {
	if len(s.parts.Config["shards"]) > 0 {
		return s.parts.Config[collection], nil
	}
	var docs []bson.Raw
	for _, d := range s.buildDocuments(collection) {
		raw, err := bson.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("a document of config.%s: %w", collection, err)
		}
		docs = append(docs, raw)
	}
	return docs, nil
}

// buildDocuments builds the documents of a collection from the parts.
func (s *Snapshot) buildDocuments(collection string) (docs []bson.D) {
	switch p := s.parts; collection {
	case "settings":
		for _, id := range []string{SettingBalancer, SettingChunkSize, SettingAutoMerge, SettingAutoSplit} {
			if doc := p.Settings.Doc(id); doc != nil {
				docs = append(docs, doc)
			}
		}
	case "shards":
		for _, shard := range p.Shards {
			doc := shard.Doc()
			if shard.MaxSizeMB > 0 {
				doc = append(doc, bson.E{Key: "maxSize", Value: shard.MaxSizeMB})
			}
			docs = append(docs, doc)
		}
	case "databases":
		for _, d := range p.Databases {
			docs = append(docs, bson.D{{Key: "_id", Value: d.Name}, {Key: "primary", Value: string(d.Primary)},
				{Key: "partitioned", Value: true}})
		}
	case "collections":
		for _, c := range p.Collections {
			docs = append(docs, c.Doc())
		}
	case "tags":
		for _, c := range p.Collections {
			for _, z := range c.Zones.Ranges() {
				docs = append(docs, z.Doc(c.Pattern, c.Namespace))
			}
		}
	case "version":
		docs = append(docs, bson.D{{Key: "_id", Value: int32(1)}, {Key: "clusterId", Value: p.ClusterID}})
	}
	return docs
}
