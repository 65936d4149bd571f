package catalog

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// ParseDatabase reads a config.databases document (rules/03-catalog-and-keys §3.2).
func ParseDatabase(raw bson.Raw) (Database, error) {
	var d Database
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "_id":
			return f.text(&d.Name)
		case "primary":
			return f.text((*string)(&d.Primary))
		}
		return nil
	})
	switch {
	case err != nil:
		return Database{}, mongoerr.Wrap(err, "invalid config.databases document")
	case d.Name == "":
		return Database{}, missingFieldError("config.databases document", "_id")
	}
	return d, nil
}

// ParseRouter parses a config.mongos document (rules/03-catalog-and-keys §3.8). Only _id is required.
func ParseRouter(raw bson.Raw) (Router, error) {
	var r Router
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "_id":
			return f.text(&r.ID)
		case "mongoVersion":
			return f.text(&r.Version)
		case "ping":
			return f.time(&r.Ping)
		}
		return nil
	})
	switch {
	case err != nil:
		return Router{}, mongoerr.Wrap(err, "invalid config.mongos document")
	case r.ID == "":
		return Router{}, missingFieldError("config.mongos document", "_id")
	}
	return r, nil
}

// ParseLogEntry parses a document of config.changelog or config.actionlog (rules/03-catalog-and-keys
// §3.7), and keeps the document. Fields of unexpected types count as missing.
func ParseLogEntry(raw bson.Raw) LogEntry {
	e := LogEntry{Raw: raw}
	// Entries are only displayed, so no entry is rejected.
	_ = eachField(raw, func(f field) error {
		switch f.name {
		case "time":
			_ = f.time(&e.Time)
		case "what":
			_ = f.text(&e.What)
		case "ns":
			_ = f.text(&e.Namespace)
		case "shard":
			_ = f.text((*string)(&e.Shard))
		}
		return nil
	})
	return e
}

// ChunkDoc returns the config.chunks document of a chunk in the form of the
// collection's release: since 5.0 with the uuid of the collection, before with
// its namespace and epoch (rules/03-catalog-and-keys §3.4).
func (c Collection) ChunkDoc(chunk Chunk) bson.D {
	doc := chunk.Doc(c.Pattern, c.UUID)
	if c.HasChunksByUUID() {
		return doc
	}
	old := bson.D{doc[0], {Key: "ns", Value: c.Namespace}}
	for _, e := range doc[2:] {
		if old = append(old, e); e.Key == "lastmod" {
			old = append(old, bson.E{Key: "lastmodEpoch", Value: c.Epoch})
		}
	}
	return old
}

// HasChunksByUUID reports whether the chunks of the collection contain its UUID. This is the case if the
// collection has a timestamp, as all collections have in 5.0.
func (c Collection) HasChunksByUUID() bool { return !c.Timestamp.IsZero() }

// ChunkFilter returns the condition that selects the chunks of the collection in config.chunks.
func (c Collection) ChunkFilter() bson.E {
	if c.HasChunksByUUID() {
		return bson.E{Key: "uuid", Value: c.UUID}
	}
	return bson.E{Key: "ns", Value: c.Namespace}
}
