package router

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkNamed refuses a command that expects its collection to have another
// UUID, or to be encrypted.
func checkNamed(cmd *call.Command, c *call.Call) error {
	if c.Args.Has("encryptionInformation") {
		return errEncrypted()
	}
	if !c.Args.Has("collectionUUID") {
		return nil
	}
	return checkUUID(c.Cluster, c.Subject(cmd), c.Args["collectionUUID"])
}

func errEncrypted() error {
	return mongoerr.New(mongoerr.NotImplemented, "the mock does not support encrypted collections")
}

// checkUUID fails with CollectionUUIDMismatch, and tells which collection of the
// database has the UUID, if one has.
func checkUUID(cluster *mock.Cluster, ns string, expected bson.RawValue) error {
	db, name, _ := strings.Cut(ns, ".")
	_, want, isBinary := expected.BinaryOK()
	var actual any
	for _, info := range cluster.Statistics().Collections(db) {
		if isBinary && !info.View && bytes.Equal(info.UUID.Data, want) {
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
