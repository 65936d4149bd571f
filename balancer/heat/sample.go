package heat

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds.
const (
	Read   Kind = iota
	Write       // an update, a delete, or findAndModify
	Insert      // servers do not sample inserts: the newest documents stand for them
)

// Statement is a query that the cluster has sampled, or that a server has logged.
type Statement struct {
	Kind            Kind
	At              time.Time
	Filter          bson.Raw
	SimpleCollation bool // the query uses the simple collation
	Removes         bool
}

// SampleExpiration is how long servers keep a sampled query (queryAnalysisSampleExpirationSecs).
const SampleExpiration = 7 * 24 * time.Hour

// ParseSampledQuery returns the queries in a document of config.sampledQueries: one, or one for each
// statement of a write.
func ParseSampledQuery(doc bson.Raw) (list []Statement) {
	cmd, _ := doc.Lookup("cmd").DocumentOK()
	name, _ := doc.Lookup("cmdName").StringValueOK()
	one := Statement{SimpleCollation: isSimpleCollation(cmd.Lookup("collation"))}
	if expires, ok := doc.Lookup("expireAt").TimeOK(); ok {
		one.At = expires.Add(-SampleExpiration)
	}
	for _, field := range []string{"updates", "deletes"} {
		for _, s := range catalog.Documents(cmd.Lookup(field)) {
			write := one
			write.Kind, write.Removes = Write, field == "deletes"
			write.Filter, _ = s.Lookup("q").DocumentOK()
			write.SimpleCollation = isSimpleCollation(s.Lookup("collation"))
			list = append(list, write)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case name == "findAndModify":
		one.Kind = Write
		one.Removes, _ = cmd.Lookup("remove").BooleanOK()
		one.Filter, _ = cmd.Lookup("query").DocumentOK()
	default:
		one.Filter, _ = cmd.Lookup("filter").DocumentOK()
	}
	return append(list, one)
}

func isSimpleCollation(collation bson.RawValue) bool {
	doc, _ := collation.DocumentOK()
	locale, ok := doc.Lookup("locale").StringValueOK()
	return !ok || locale == "simple"
}

// Sample is an operation with the shard keys that it targets.
type Sample struct {
	Kind Kind
	At   time.Time
	// Key is the full shard key that the operation targets or inserts; zero if the operation does not
	// target a single key.
	Key catalog.Key
	// Ranges are the targeted ranges if there is no Key. Without Key and Ranges the operation goes to
	// all shards.
	Ranges []Range
	// Removes says that a write deletes documents.
	Removes bool
}

// NewSample returns the sample of a statement under a shard key.
func NewSample(p catalog.KeyPattern, s Statement) Sample {
	one := Sample{Kind: s.Kind, At: s.At, Removes: s.Removes}
	one.Ranges = QueryRanges(p, s.Filter, s.SimpleCollation)
	if len(one.Ranges) == 1 {
		if key, whole := p.QueryKey(s.Filter); whole && one.Ranges[0].From.Equal(key) {
			one.Key, one.Ranges = key, nil
		}
	}
	return one
}

// NewInsertSample returns the sample of an inserted document. It reports false for a document without a
// shard key.
func NewInsertSample(p catalog.KeyPattern, doc bson.Raw, at time.Time) (Sample, bool) {
	key, err := p.DocumentKey(doc)
	return Sample{Kind: Insert, At: at, Key: key}, err == nil
}

// isScattered reports whether a sample goes to all shards.
func (s Sample) isScattered() bool { return s.Key.IsZero() && s.Ranges == nil }
