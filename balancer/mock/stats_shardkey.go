package mock

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// maxCommonValues is the number of most frequent values that analyzeShardKey returns. monotonicThreshold
// is the minimum correlation of a monotonic key.
const (
	maxCommonValues    = 5
	monotonicThreshold = 0.7
)

// KeyCharacteristics are the characteristics of a shard key according to the data (analyzeShardKey).
// Like on a server, they include orphans.
type KeyCharacteristics struct {
	Docs, Orphans, AverageBytes int64
	Sampled, Distinct           int64
	Unique, Sharded             bool
	Common                      []CommonValue
	// Correlation is the correlation of the key order with the insertion order; NaN if it is undefined.
	Correlation float64
}

// CommonValue is a value of the key with the number of documents that have it.
type CommonValue struct {
	Value     bson.Raw
	Frequency int64
}

// Monotonicity returns the server's name for the correlation.
func (k KeyCharacteristics) Monotonicity() string {
	switch {
	case math.IsNaN(k.Correlation):
		return "unknown"
	case math.Abs(k.Correlation) >= monotonicThreshold:
		return "monotonic"
	}
	return "not monotonic"
}

// arrivedKey is a document's key with its index in insertion order.
type arrivedKey struct {
	key     catalog.Key
	arrival int
}

// AnalyzeKey analyzes the documents of a collection by a shard key. rate returns the sampled share of
// the documents. It returns nil if no index serves the key.
func (st *Statistics) AnalyzeKey(ns string, key bson.Raw, rate func(docs int64) float64) (*KeyCharacteristics, error) {
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return nil, err
	}
	plain, err := withoutHash(pattern)
	if err != nil {
		return nil, err
	}
	parts := st.Collection(ns)
	var result KeyCharacteristics
	var bytesTotal int64
	for _, p := range parts {
		result.Docs += p.Docs
		result.Orphans += p.Orphans
		bytesTotal += p.Bytes
	}
	if result.Docs == 0 {
		return nil, mongoerr.New(mongoerr.IllegalOperation,
			"Cannot analyze the characteristics of a shard key for an empty collection")
	}
	result.AverageBytes = bytesTotal / result.Docs
	index, ok := st.supportingIndex(ns, pattern, plain)
	if !ok {
		return nil, nil
	}
	result.Unique = index.Unique && len(catalog.FieldNames(index.Key)) == pattern.Len()
	_, result.Sharded, err = st.config.ShardedEntry(ns)
	if err != nil {
		return nil, err
	}
	var all []arrivedKey
	result.Correlation = math.NaN()
	most := 0 // the shard with the most keys has the correlation
	for _, p := range parts {
		found := st.keysOn(ns, p.Shard, plain, rate(result.Docs))
		if len(found) > most {
			result.Correlation, most = correlation(found), len(found)
		}
		all = append(all, found...)
	}
	if pattern.HashedField() == 0 {
		result.Correlation = 0
	}
	result.countValues(all, plain)
	return &result, nil
}

// withoutHash returns the pattern with ascending instead of hashed fields.
func withoutHash(p catalog.KeyPattern) (catalog.KeyPattern, error) {
	doc := bson.D{}
	for _, field := range p.Fields() {
		doc = append(doc, bson.E{Key: field, Value: int32(1)})
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return p, err
	}
	return catalog.ParseKeyPattern(raw)
}

// supportingIndex returns an index that begins with one of the patterns, hashed or not.
func (st *Statistics) supportingIndex(ns string, patterns ...catalog.KeyPattern) (store.IndexSpec, bool) {
	specs, _ := st.indexes.List(ns)
	for _, p := range patterns {
		for _, spec := range specs {
			if hasKeyPrefix(spec.Key, p) && !spec.Sparse && !spec.IsPartial() {
				return spec, true
			}
		}
	}
	return store.IndexSpec{}, false
}

// keysOn returns the keys of one shard's documents in key order.
func (st *Statistics) keysOn(ns string, id catalog.ShardID, p catalog.KeyPattern, rate float64) []arrivedKey {
	var keys []arrivedKey
	came, seen := 0, 0
	for _, doc := range st.shards.collection(id, ns).docs.Scan() {
		// The small constant corrects the rounding errors of products with fractions.
		if seen++; math.Floor(float64(seen)*rate+1e-9) == math.Floor(float64(seen-1)*rate+1e-9) {
			continue
		}
		key, err := p.DocumentKey(doc)
		if err != nil { // a document with an array in a key field; sharded collections have none
			continue
		}
		came++
		keys = append(keys, arrivedKey{key, came})
	}
	slices.SortStableFunc(keys, func(a, b arrivedKey) int { return a.key.Compare(b.key) })
	return keys
}

// correlation returns Pearson's correlation coefficient of the ranks in key order and in insertion
// order.
func correlation(keys []arrivedKey) float64 {
	n := float64(len(keys))
	if n < 2 {
		return math.NaN()
	}
	mean := (n - 1) / 2
	var both, spread float64
	for i, k := range keys {
		both += (float64(i) - mean) * (float64(k.arrival-1) - mean)
		spread += (float64(i) - mean) * (float64(i) - mean)
	}
	return both / spread
}

// countValues determines the number of distinct keys and the most frequent ones.
func (k *KeyCharacteristics) countValues(keys []arrivedKey, p catalog.KeyPattern) {
	k.Sampled = int64(len(keys))
	slices.SortFunc(keys, func(a, b arrivedKey) int { return a.key.Compare(b.key) })
	type group struct {
		key catalog.Key
		n   int64
	}
	var groups []group
	for i, one := range keys {
		if i == 0 || !keys[i-1].key.Equal(one.key) {
			groups = append(groups, group{key: one.key})
		}
		groups[len(groups)-1].n++
	}
	k.Distinct = int64(len(groups))
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.n, a.n) })
	for _, g := range groups[:min(maxCommonValues, len(groups))] {
		k.Common = append(k.Common, CommonValue{p.Bound(g.key), g.n})
	}
}

// KeyRangeBounds divides the keys of a collection into n ranges with about the same number of documents, and
// returns the bounds between them.
func (st *Statistics) KeyRangeBounds(ns string, key bson.Raw, n int) ([]catalog.Key, error) {
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return nil, err
	}
	var keys []catalog.Key
	for doc := range st.locator.documents(ns, nil) {
		if key, err := pattern.DocumentKey(doc); err == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b catalog.Key) int { return bytes.Compare(a.Bytes(), b.Bytes()) })
	var bounds []catalog.Key
	for i := 1; i < n && len(keys) > 0; i++ {
		if at := keys[i*len(keys)/n]; len(bounds) == 0 || bounds[len(bounds)-1].Less(at) {
			bounds = append(bounds, at)
		}
	}
	return bounds, nil
}

// configAnalyzers is the config collection of the query analyzers.
const configAnalyzers = "queryAnalyzers"

// ConfigureAnalyzer writes a collection's entry in config.queryAnalyzers and returns its previous
// configuration, nil if there was none.
func (st *Statistics) ConfigureAnalyzer(ns string, config bson.D) (previous bson.D, err error) {
	if old, ok := st.config.doc(configAnalyzers, ns); ok {
		previous = bson.D{{Key: "mode", Value: old.Lookup("mode")}}
		if rate := old.Lookup("samplesPerSecond"); !rate.IsZero() {
			previous = append(previous, bson.E{Key: "samplesPerSecond", Value: rate})
		}
		st.config.remove(configAnalyzers, ns)
	}
	var uuid bson.Binary
	for _, p := range st.Collection(ns) {
		uuid = st.shards.collection(p.Shard, ns).uuid
	}
	now := bson.NewDateTimeFromTime(st.clock.Now())
	entry := append(bson.D{{Key: "_id", Value: ns}, {Key: "collUuid", Value: uuid}}, config...)
	if config[0].Value == "off" {
		entry = append(entry, bson.E{Key: "stopTime", Value: now})
	} else {
		entry = append(entry, bson.E{Key: "startTime", Value: now})
	}
	st.ids.Tick()
	return previous, st.config.insert(configAnalyzers, entry)
}
