package snapfile

import (
	"bytes"
	"cmp"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
)

// Parts of a Snapshot that are plain values are stored in the default BSON form, with their field names
// in lower case. Renaming such a field requires a new version. The types below are for the other parts.

// head is the first record. It contains the parts that exist once.
type head struct {
	Source          catalog.Source
	Time            time.Time
	ClusterTime     bson.Timestamp
	ClusterID       bson.ObjectID
	Version         string
	Release         catalog.Release
	Settings        catalog.Settings
	SettingsProblem string
	Balancer        catalog.BalancerState
	Clock           clock // missing in old files
	DeletionsKnown  bool
	Unsharded       []catalog.UnshardedData
	Outcomes        *catalog.MigrationOutcomes
	Lease           *catalog.Lease
	Pause           *catalog.RunsPause    // missing in old files
	Compatibility   catalog.Compatibility // missing in old files
	ConfigVersion   string                // missing in old files
	Members         []catalog.Member      // missing in old files
}

// headRelease returns the release of the config servers. The file contains its line, and the version
// contains the patch.
func headRelease(h head) catalog.Release {
	r, known := catalog.ReleaseOf(cmp.Or(h.ConfigVersion, h.Version))
	if r = r.WithFCV(h.Release.String()); !known || r.FCV() != h.Release {
		return h.Release
	}
	return r
}

// clock is the balancer's clock; without a zone, the logs show it.
type clock struct {
	Zone string
	Seen time.Time
}

func clockOf(c catalog.BalancerClock) clock {
	if c.Location == nil {
		return clock{}
	}
	return clock{c.Location.String(), c.SeenAt}
}

// balancerClock returns the clock; the zero value for a zone that this machine does not know.
func (c clock) balancerClock() catalog.BalancerClock {
	zone, err := catalog.ParseTimeZone(c.Zone)
	if err != nil {
		return catalog.BalancerClock{}
	}
	if !c.Seen.IsZero() {
		c.Seen = c.Seen.UTC()
	}
	return catalog.BalancerClock{Location: zone, SeenAt: c.Seen}
}

// document is a document of config.
type document struct {
	Collection string
	Document   bson.Raw
}

// collection is the first record of a collection.
type collection struct {
	Entry    catalog.Collection
	Table    bool // pages follow
	Zones    bool // zone records follow, or there are none
	Counts   map[catalog.ShardID]catalog.ChunkCount
	Sizes    map[catalog.ShardID]catalog.ShardData
	Reported *catalog.ReportedStatus

	Unindexed    []catalog.ShardID
	IndexesKnown bool
	EmptyZones   []bson.Raw
	Sampled      []bson.Raw // missing in old files
}

// zone is a zone range.
type zone struct {
	ID       bson.ObjectID
	Min, Max bson.Raw
	Zone     string
}

// sizes contains measured sizes of chunks, some hundreds in one record.
type sizes struct {
	Min              []bson.Raw
	Bytes, Documents []int64
	// First and Last are missing in old files.
	First, Last []bson.Raw
}

const sizesInRecord = 500

// registry returns a registry for types that BSON does not support: a key pattern is stored as its
// document, a release as its line, and an empty document as null.
func registry() *bson.Registry {
	r := bson.NewRegistry()
	registerAs(r, func(d bson.Raw) (bson.Raw, bool) { return d, len(d) > 0 },
		func(d bson.Raw) (bson.Raw, error) { return d, nil })
	registerAs(r, func(p catalog.KeyPattern) (bson.Raw, bool) { return p.Doc(), !p.IsZero() }, catalog.ParseKeyPattern)
	registerAs(r, func(l catalog.Release) (string, bool) { return l.FCV().String(), l != catalog.Release{} },
		catalog.ParseRelease)
	return r
}

// registerAs stores values of type T as values of type As, and the zero value as null.
func registerAs[T, As any](r *bson.Registry, to func(T) (As, bool), from func(As) (T, error)) {
	encoder, _ := r.LookupEncoder(reflect.TypeFor[As]()) // every registry has these
	decoder, _ := r.LookupDecoder(reflect.TypeFor[As]())
	r.RegisterTypeEncoder(reflect.TypeFor[T](),
		bson.ValueEncoderFunc(func(ctx bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
			value, _ := v.Interface().(T)
			as, ok := to(value)
			if !ok {
				return w.WriteNull()
			}
			return encoder.EncodeValue(ctx, w, reflect.ValueOf(as))
		}))
	r.RegisterTypeDecoder(reflect.TypeFor[T](),
		bson.ValueDecoderFunc(func(ctx bson.DecodeContext, rd bson.ValueReader, v reflect.Value) error {
			if rd.Type() == bson.TypeNull {
				v.SetZero()
				return rd.ReadNull()
			}
			var as As
			if err := decoder.DecodeValue(ctx, rd, reflect.ValueOf(&as).Elem()); err != nil {
				return err
			}
			value, err := from(as)
			v.Set(reflect.ValueOf(value))
			return err
		}))
}

// encode appends a record's document to a buffer.
func encode(r *bson.Registry, into *bytes.Buffer, v any) error {
	e := bson.NewEncoder(bson.NewDocumentWriter(into))
	e.SetRegistry(r)
	return e.Encode(v)
}

// decode decodes a record's document, which must be well-formed at every depth.
func decode(r *bson.Registry, doc []byte, v any) error {
	if !wellFormed(doc, 0) {
		return ErrDamaged
	}
	d := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(doc)))
	d.SetRegistry(r)
	return d.Decode(v)
}

// maxNesting is greater than the deepest nesting that servers store.
const maxNesting = 256

// wellFormed checks a whole document or array, like bsoncore's Validate, but with a maximum depth: a
// file may contain any depth.
func wellFormed(doc []byte, depth int) bool {
	length, rest, ok := bsoncore.ReadLength(doc)
	if !ok || depth > maxNesting || int(length) != len(doc) || len(doc) < 5 {
		return false
	}
	for len(rest) > 1 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		v, err := e.ValueErr()
		if err != nil {
			return false
		}
		switch v.Type {
		case bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray:
			ok = wellFormed(v.Data, depth+1)
		case bsoncore.TypeCodeWithScope:
			_, scope, _, there := bsoncore.ReadCodeWithScope(v.Data)
			ok = there && wellFormed(scope, depth+1)
		default:
			ok = v.Validate() == nil
		}
		if !ok {
			return false
		}
	}
	return len(rest) == 1 && rest[0] == 0
}
