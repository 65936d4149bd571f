package call

import "shardsh/balancer/mongoerr"

// CheckCollectionUUID rejects a command whose collectionUUID differs from its collection's UUID, or that
// expects an encrypted collection.
func CheckCollectionUUID(cmd *Command, c *Call) error {
	if c.Args.Has("encryptionInformation") {
		return ErrEncrypted()
	}
	if !c.Args.Has("collectionUUID") {
		return nil
	}
	return c.Cluster.Collections().CheckUUID(c.TargetNamespace(cmd), c.Args.Binary("collectionUUID"))
}

// ErrEncrypted returns the error for collections with client-side encryption.
func ErrEncrypted() error {
	return mongoerr.New(mongoerr.NotImplemented, "the mock does not support encrypted collections")
}
