package call

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// CheckCollectionUUID rejects a command whose collectionUUID differs from its collection's UUID, or that
// expects an encrypted collection.
func CheckCollectionUUID(cmd *Command, c *Call) error {
	if c.Args.Has("encryptionInformation") {
		return ErrEncrypted()
	}
	if !c.Args.Has("collectionUUID") {
		return nil
	}
	return CheckUUID(c.Cluster, c.TargetNamespace(cmd), c.Args["collectionUUID"])
}

// ErrEncrypted returns the error for collections with client-side encryption.
func ErrEncrypted() error {
	return mongoerr.New(mongoerr.NotImplemented, "the mock does not support encrypted collections")
}

// CheckUUID fails with CollectionUUIDMismatch. The error names the collection of the database that has
// the UUID, if there is one.
func CheckUUID(cluster *mock.Cluster, ns string, expected bson.RawValue) error {
	db, name, _ := strings.Cut(ns, ".")
	_, want, isBinary := expected.BinaryOK()
	var actual any
	for _, info := range cluster.Statistics().Collections(db) {
		if isBinary && !info.IsView && bytes.Equal(info.UUID.Data, want) {
			if info.Name == name {
				return nil
			}
			actual = info.Name
		}
	}
	err := mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified")
	err.Extra = bson.D{
		{Key: "db", Value: db}, {Key: "collectionUUID", Value: expected},
		{Key: "expectedCollection", Value: name}, {Key: "actualCollection", Value: actual},
	}
	return err
}
