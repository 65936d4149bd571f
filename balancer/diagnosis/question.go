package diagnosis

import (
	"cmp"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// UnknownError says that a cluster does not have what was asked about.
type UnknownError struct {
	Kind ScopeKind // OfCollection, OfShard or OfZone
	Name string
	// Names are those that there are.
	Names []string
}

// Error names what is not there.
func (e *UnknownError) Error() string {
	switch {
	case e.Kind == OfCollection && strings.ContainsAny(e.Name, "*?["):
		return "no sharded collection of this cluster matches " + e.Name
	case e.Kind == OfCollection:
		return e.Name + " is not a sharded collection of this cluster"
	}
	return fmt.Sprintf("the cluster has no %s %q", e.Kind, e.Name)
}

// UnknownCollection returns the error for a name, or a pattern of names, that is of no
// sharded collection.
func UnknownCollection(s *catalog.Snapshot, name string) *UnknownError {
	e := &UnknownError{Kind: OfCollection, Name: name}
	for _, c := range Sharded(s) {
		e.Names = append(e.Names, c.Namespace)
	}
	return e
}

// Check returns an *UnknownError when the cluster does not have what a Scope
// names: a collection, a shard, or a zone.
func Check(s *catalog.Snapshot, about Scope) error {
	unknown := &UnknownError{}
	switch {
	case about.Namespace != "":
		unknown = UnknownCollection(s, about.Namespace)
		if c := s.Collection(about.Namespace); c != nil { // of a time series that of its buckets
			unknown.Name = c.Namespace
		}
	case about.Shard != "":
		unknown.Kind, unknown.Name = OfShard, string(about.Shard)
		for _, shard := range s.Shards() {
			unknown.Names = append(unknown.Names, string(shard.ID))
		}
	case about.Zone != "":
		unknown.Kind, unknown.Name = OfZone, about.Zone
		for _, z := range Zones(s, "") {
			unknown.Names = append(unknown.Names, z.Name)
		}
	default:
		return nil
	}
	for _, name := range unknown.Names {
		if name == unknown.Name {
			return nil
		}
	}
	unknown.Name = cmp.Or(about.Namespace, unknown.Name)
	return unknown
}

// KeyError says that a document has no shard key of a collection.
type KeyError struct {
	Namespace string
	Pattern   catalog.KeyPattern
	Err       error
}

// Error names the shard key that was expected.
func (e *KeyError) Error() string {
	return fmt.Sprintf("%v; the shard key of %s is %s", e.Err, e.Namespace, e.Pattern)
}

// Unwrap returns what is wrong with the document.
func (e *KeyError) Unwrap() error { return e.Err }

// WhyKey is WhyChunk for the chunk that has a document with these fields. Its
// error is an *UnknownError, a *KeyError, or says that the chunks were not read.
func WhyKey(s *catalog.Snapshot, ns string, doc bson.Raw) (ChunkAnswer, error) {
	if err := Check(s, Scope{Namespace: ns}); err != nil {
		return ChunkAnswer{}, err
	}
	c := s.Collection(ns)
	if c.Table == nil {
		return ChunkAnswer{}, fmt.Errorf("the chunks of %s could not be read", ns)
	}
	key, err := keyOf(c, doc)
	if err != nil {
		return ChunkAnswer{}, &KeyError{ns, c.Pattern, err}
	}
	return WhyChunk(s, c, key), nil
}

// keyOf reads a shard key as users have it: the bound of a chunk, or the fields
// of a document, whose hashed one is not hashed yet.
func keyOf(c *catalog.CollectionState, doc bson.Raw) (catalog.Key, error) {
	key, err := c.Pattern.Key(doc)
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
