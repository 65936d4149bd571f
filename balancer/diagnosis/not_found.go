package diagnosis

import (
	"cmp"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// NotFoundError says that a named collection, shard or zone does not exist.
type NotFoundError struct {
	Kind ScopeKind // CollectionScope, ShardScope or ZoneScope
	Name string
	// Existing are the names that exist.
	Existing []string
	// Cluster is the name of another cluster that was asked; empty for the one in question.
	Cluster string
}

// Error names the missing object.
func (e *NotFoundError) Error() string {
	switch {
	case e.Cluster != "":
		return e.Cluster + " has no sharded collection " + e.Name
	case e.Kind == CollectionScope && strings.ContainsAny(e.Name, "*?["):
		return "no sharded collection of this cluster matches " + e.Name
	case e.Kind == CollectionScope:
		return e.Name + " is not a sharded collection of this cluster"
	}
	return fmt.Sprintf("the cluster has no %s %q", e.Kind, e.Name)
}

// NewCollectionNotFound returns the error for a name, or a pattern of names, that matches no sharded
// collection.
func NewCollectionNotFound(s *catalog.Snapshot, name string) *NotFoundError {
	e := &NotFoundError{Kind: CollectionScope, Name: name}
	for _, c := range Sharded(s) {
		e.Existing = append(e.Existing, c.Namespace)
	}
	return e
}

// CheckScope returns a *NotFoundError when the cluster does not have the collection, shard or zone
// that a Scope names.
func CheckScope(s *catalog.Snapshot, about Scope) error {
	unknown := &NotFoundError{}
	switch {
	case about.Namespace != "":
		unknown = NewCollectionNotFound(s, about.Namespace)
		if c := s.Collection(about.Namespace); c != nil { // for a time series collection, this is the buckets collection
			unknown.Name = c.Namespace
		}
	case about.Shard != "":
		unknown.Kind, unknown.Name = ShardScope, string(about.Shard)
		for _, shard := range s.Shards() {
			unknown.Existing = append(unknown.Existing, string(shard.ID))
		}
	case about.Zone != "":
		unknown.Kind, unknown.Name = ZoneScope, about.Zone
		for _, z := range Zones(s, "") {
			unknown.Existing = append(unknown.Existing, z.Name)
		}
	default:
		return nil
	}
	for _, name := range unknown.Existing {
		if name == unknown.Name {
			return nil
		}
	}
	unknown.Name = cmp.Or(about.Namespace, unknown.Name)
	return unknown
}

// KeyError says that a document is not a valid shard key of a collection.
type KeyError struct {
	Namespace string
	Pattern   catalog.KeyPattern
	Err       error
}

// Error returns a message that names the expected shard key.
func (e *KeyError) Error() string {
	return fmt.Sprintf("%v; the shard key of %s is %s", e.Err, e.Namespace, e.Pattern)
}

// Unwrap returns the underlying error.
func (e *KeyError) Unwrap() error { return e.Err }

// WhyKey calls WhyChunk for the chunk that owns a document with these fields. Its error is a
// *NotFoundError or a *KeyError, or says that the chunks were not read.
func WhyKey(s *catalog.Snapshot, ns string, doc bson.Raw) (ChunkAnswer, error) {
	if err := CheckScope(s, Scope{Namespace: ns}); err != nil {
		return ChunkAnswer{}, err
	}
	c := s.Collection(ns)
	if c.Table == nil {
		return ChunkAnswer{}, fmt.Errorf("the chunks of %s could not be read", ns)
	}
	key, err := ParseKey(c, doc)
	if err != nil {
		return ChunkAnswer{}, &KeyError{ns, c.Pattern, err}
	}
	return WhyChunk(s, c, key), nil
}

// ParseKey parses a shard key given by the user: the bound of a chunk, or the fields of a document. In
// a document, the value of the hashed field is not hashed yet.
func ParseKey(c *catalog.CollectionState, doc bson.Raw) (catalog.Key, error) {
	key, err := c.Pattern.ParseKey(doc)
	switch {
	case err != nil:
		return catalog.Key{}, err
	case c.Pattern.HashedField() < 0 || c.Table.HasLowerBound(key):
	default:
		if key, err = c.Pattern.DocumentKey(doc); err != nil {
			return catalog.Key{}, err
		}
	}
	if !key.Less(c.Pattern.GlobalMax()) {
		return catalog.Key{}, fmt.Errorf("no chunk contains %s: it is the upper bound of the last one", humanize.Literal(doc))
	}
	return key, nil
}
