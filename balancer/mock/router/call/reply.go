package call

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// PrimaryOf returns the primary shard of a database. The config server is the primary of admin and
// config.
func PrimaryOf(cluster *mock.Cluster, db string) string {
	if db == "admin" || db == "config" {
		return string(catalog.ConfigServerID)
	}
	primary, _ := cluster.ConfigDB().Primary(db)
	return string(primary)
}

// MarshalAll encodes documents.
func MarshalAll(docs []bson.D) ([]bson.Raw, error) {
	raws := make([]bson.Raw, len(docs))
	for i, doc := range docs {
		var err error
		if raws[i], err = bson.Marshal(doc); err != nil {
			return nil, err
		}
	}
	return raws, nil
}

// ZeroLongs returns int64 counters that are always zero in the mock.
func ZeroLongs(names ...string) bson.D {
	doc := make(bson.D, len(names))
	for i, name := range names {
		doc[i] = bson.E{Key: name, Value: int64(0)}
	}
	return doc
}

// DocumentValue returns a document as a value.
func DocumentValue(doc bson.Raw) bson.RawValue {
	return bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}
}

// SortFields sorts fields by name.
func SortFields(doc bson.D) {
	slices.SortFunc(doc, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
}

// CheckDatabaseExists returns the error that routing returns first: 26 for an unknown database.
func CheckDatabaseExists(cluster *mock.Cluster, ns string) error {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	if _, known := cluster.ConfigDB().Primary(db); !known && db != "config" && db != "admin" {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	return nil
}

// OpTime returns an oplog time with its term.
func OpTime(at bson.Timestamp, term int64) bson.D {
	return bson.D{{Key: "ts", Value: at}, {Key: "t", Value: term}}
}
