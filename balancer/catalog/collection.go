package catalog

import (
	"cmp"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// DefaultMaxChunkSizeBytes is the default chunk size: 128 MiB (rules/01-rounds-and-settings §2.6).
const DefaultMaxChunkSizeBytes = 128 << 20

// Collection is an entry of config.collections (rules/03-catalog-and-keys §3.3).
type Collection struct {
	Namespace            string
	UUID                 bson.Binary
	Epoch                bson.ObjectID
	Timestamp            bson.Timestamp
	LastMod              time.Time
	Pattern              KeyPattern
	Unique               bool
	MaxChunkSizeBytes    int64 // 0 = the global setting
	NoBalance            bool
	Defragment           bool
	DefragmentationPhase string // "" = none
	AllowMigrations      bool   // absent = true
	PermitMigrations     bool   // absent = true
	NoChunkOperations    bool   // allowChunkOperations: false, from 9.0
	EnableAutoMerge      bool   // absent = true
	Unsplittable         bool   // tracked but not sharded
	Resharding           bool   // reshardingFields are set
}

// ParseCollection parses a config.collections document. A missing required field is IDLFailedToParse;
// unknown fields are ignored.
func ParseCollection(raw bson.Raw) (Collection, error) {
	c := Collection{AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true}
	var key bson.Raw
	err := eachField(raw, func(f field) error {
		if f.isNull() {
			return nil
		}
		switch f.name {
		case "_id":
			return f.text(&c.Namespace)
		case "lastmodEpoch":
			return f.objectID(&c.Epoch)
		case "lastmod":
			return f.time(&c.LastMod)
		case "timestamp":
			return f.timestamp(&c.Timestamp)
		case "uuid":
			return f.uuid(&c.UUID)
		case "key":
			return f.document(&key)
		case "unique":
			return f.bool(&c.Unique)
		case "maxChunkSizeBytes":
			return f.int64(&c.MaxChunkSizeBytes)
		case "noBalance":
			return f.lenientBool(&c.NoBalance)
		case "defragmentCollection":
			return f.lenientBool(&c.Defragment)
		case "defragmentationPhase":
			return f.text(&c.DefragmentationPhase)
		case "allowMigrations":
			return f.lenientBool(&c.AllowMigrations)
		case "permitMigrations":
			return f.lenientBool(&c.PermitMigrations)
		case "allowChunkOperations":
			allow := true
			err := f.lenientBool(&allow)
			c.NoChunkOperations = !allow
			return err
		case "enableAutoMerge":
			return f.lenientBool(&c.EnableAutoMerge)
		case "unsplittable":
			return f.lenientBool(&c.Unsplittable)
		case "reshardingFields":
			c.Resharding = true
		}
		return nil
	})
	if err != nil {
		return Collection{}, mongoerr.Wrap(err, "invalid config.collections document")
	}
	for _, required := range []struct {
		name  string
		there bool
	}{
		{"_id", c.Namespace != ""},
		{"uuid", len(c.UUID.Data) > 0},
		{"key", key != nil},
	} {
		if !required.there {
			return Collection{}, mongoerr.New(mongoerr.IDLFailedToParse, "config.collections document lacks the field %q",
				required.name)
		}
	}
	if c.Pattern, err = ParseKeyPattern(key); err != nil {
		return Collection{}, mongoerr.Wrap(err, "config.collections document of "+c.Namespace)
	}
	return c, nil
}

// BalanceableIn reports whether the balancer may choose migrations of the collection
// (rules/01-rounds-and-settings §2.8), by the flags that a release supports. Splits at zone boundaries
// are done in any case.
func (c Collection) BalanceableIn(r Release) bool {
	switch {
	case r.BalancesBySize():
		return !c.NoBalance && !c.Defragment && c.AllowMigrations && c.PermitMigrations && !c.ForbidsChunkOperations(r)
	case r.FCVAtLeast(Release50):
		return !c.NoBalance && c.AllowMigrations && c.PermitMigrations
	}
	return !c.NoBalance
}

// ForbidsChunkOperations reports whether no chunk of the collection may be split, merged or moved.
func (c Collection) ForbidsChunkOperations(r Release) bool {
	return c.NoChunkOperations && r.HasChunkOperationsFlag()
}

// ChunkSize returns the collection's own chunk size, or else that of the cluster's settings, in bytes.
func (c Collection) ChunkSize(s Settings) int64 {
	return cmp.Or(c.MaxChunkSizeBytes, s.MaxChunkSizeBytes)
}

// Doc returns the config.collections document in the order of rules/03-catalog-and-keys §3.3;
// flags at their default are left out, except unique and noBalance.
func (c Collection) Doc() bson.D {
	d := bson.D{
		{Key: "_id", Value: c.Namespace},
		{Key: "lastmodEpoch", Value: c.Epoch},
		{Key: "lastmod", Value: bson.NewDateTimeFromTime(c.LastMod)},
		{Key: "timestamp", Value: c.Timestamp},
		{Key: "uuid", Value: c.UUID},
		{Key: "key", Value: c.Pattern.Doc()},
		{Key: "unique", Value: c.Unique},
	}
	for _, f := range []struct {
		name  string
		value any
		there bool
	}{
		{"maxChunkSizeBytes", c.MaxChunkSizeBytes, c.MaxChunkSizeBytes != 0},
		{"defragmentCollection", true, c.Defragment},
		{"defragmentationPhase", c.DefragmentationPhase, c.DefragmentationPhase != ""},
		{"enableAutoMerge", false, !c.EnableAutoMerge},
		{"noBalance", c.NoBalance, true},
		{"allowMigrations", false, !c.AllowMigrations},
		{"permitMigrations", false, !c.PermitMigrations},
		{"allowChunkOperations", false, c.NoChunkOperations},
		{"unsplittable", true, c.Unsplittable},
	} {
		if f.there {
			d = append(d, bson.E{Key: f.name, Value: f.value})
		}
	}
	return d
}
