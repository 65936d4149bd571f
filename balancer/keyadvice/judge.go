package keyadvice

import (
	"fmt"
	"math"
	"slices"
)

// MinMonotonicCorrelation is the correlation with the insertion order from which a key counts as
// growing (or falling) with time. analyzeShardKey uses the same value. Random keys have almost no
// correlation. Keys that grow with a delay or some disorder stay well above the limit.
const MinMonotonicCorrelation = 0.7

// maxTiedShare is the share of the most common value up to which the server's correlation is used. The
// server orders documents with the same key by insertion, so that a key with a single value appears to
// grow.
const maxTiedShare = 0.5

// Weights of the rating.
const (
	jumboPenalty      = 0.9  // of the spread, if all data has values that exceed a chunk
	fullChunkFactor   = 0.75 // of the spread, for keys whose values are about to exceed a chunk
	ampleRoomLog10    = 3    // powers of ten of free room in a chunk that are sufficient
	oneTargetFactor   = 0.15 // remaining factor for inserts that go to one shard
	insertExponent    = 0.8  // exponent of the factor for inserts
	noQueryFactor     = 0.3  // remaining factor for a key that no query uses
	outOfZoneFactor   = 0.2  // remaining factor for a key that does not fit the zones
	uniqueIndexFactor = 0.1  // remaining factor for a key that a unique index forbids: lower than for any bad key
)

// judge rates shard keys by the known facts.
type judge struct {
	facts   Facts
	table   *sampleTable
	queries []Query
}

func newJudge(f Facts) *judge {
	j := &judge{facts: f, table: newTable(f.Sample), queries: f.Queries}
	if len(j.queries) == 0 {
		j.queries = guessQueries(f.Indexes, j.table)
	}
	return j
}

// Grade is the verdict in one word.
type Grade string

// The grades, the best first.
const (
	Good       Grade = "good"
	Fair       Grade = "fair"
	Poor       Grade = "poor"
	Impossible Grade = "impossible"
)

// Candidate is a key with its rating.
type Candidate struct {
	Key ShardKey `json:"key"`
	// Score is the overall rating from 0 to 100.
	Score float64 `json:"score"`
	Grade Grade   `json:"grade"`
	// MeasuredBy is the source of the values: "sample" or "analyzeShardKey".
	MeasuredBy string `json:"from"`
	// Documents is the number of examined documents, Distinct the number of their distinct values.
	Documents int64 `json:"looked"`
	Distinct  int64 `json:"distinct"`
	// MostCommonShare is the share of the documents with the most common value. MissingShare is the share
	// of those that lack a field. JumboShare is the share of those whose values exceed a chunk.
	MostCommonShare float64 `json:"mostCommon"`
	MissingShare    float64 `json:"missing"`
	JumboShare      float64 `json:"outgrown"`
	// GrowingField is the first field that grows with time, and Correlation is its correlation with the
	// insertion order. Without such a field, Correlation is that of the key's first field. Both are
	// absent when they are unknown.
	GrowingField string   `json:"grows,omitempty"`
	Correlation  *float64 `json:"correlation,omitempty"`
	// InsertShards is the average number of shards that inserts reach at a time.
	InsertShards float64 `json:"insertShards"`
	// SingleShardShare, Several and Every are the shares of queries that go to one shard, to several, and to all.
	SingleShardShare   float64 `json:"toOneShard"`
	MultiShardShare    float64 `json:"toSeveral"`
	ScatterGatherShare float64 `json:"toAll"`
	// KeyUpdateShare is the share of writes that change a document's shard key.
	KeyUpdateShare float64 `json:"keyUpdates,omitempty"`
	// BlockingIndexes are the unique indexes that forbid the key. Impossible is the reason why no collection
	// can have the key.
	BlockingIndexes []string `json:"uniqueIndexesInTheWay,omitempty"`
	Impossible      string   `json:"impossible,omitempty"`
	// Index is the index that serves the key; empty when an index has to be created.
	Index   string   `json:"index,omitempty"`
	Reasons []string `json:"reasons"`
	// Drawback is the most important argument against the key. For keys other than the best one, it is
	// the disadvantage compared with the best key.
	Drawback string `json:"against"`

	mostCommonText string
	queriesKnown   bool // whether the queries are known
	fitsZones      bool
	scoreFactors   []scoreFactor // factors of the score, with their texts; empty for an impossible key
	// Factors of the score: 1 for a perfect key.
	spreadFactor, writeFactor, queryFactor float64
}

// judge rates one key.
func (j *judge) judge(k ShardKey) Candidate {
	c := Candidate{Key: k, MeasuredBy: "sample", queriesKnown: true}
	j.rateValues(&c)
	j.rateGrowth(&c)
	mean, single, several, every := j.isolation(k)
	c.SingleShardShare, c.MultiShardShare, c.ScatterGatherShare = single, several, every
	if math.IsNaN(mean) {
		mean, c.queriesKnown = 0.5, false
	}
	c.BlockingIndexes, c.Index = j.blockingIndexes(k), j.servingIndex(k)
	c.fitsZones = j.fitsZones(k)
	c.Impossible = j.whyImpossible(k)
	shards := float64(j.facts.shards())
	c.writeFactor = math.Pow(oneTargetFactor+(1-oneTargetFactor)*(c.InsertShards-1)/(shards-1), insertExponent)
	c.queryFactor = noQueryFactor + (1-noQueryFactor)*mean
	score := c.spreadFactor * c.writeFactor * c.queryFactor * (1 - c.KeyUpdateShare/2)
	if !c.fitsZones {
		score *= outOfZoneFactor
	}
	if len(c.BlockingIndexes) > 0 {
		score *= uniqueIndexFactor
	}
	c.Score = 100 * score * j.convenienceFactor(c)
	if c.Impossible != "" {
		c.Score = 0
	}
	c.Grade = c.grade(mean)
	j.explain(&c)
	return c
}

// convenienceFactor decides between keys of nearly the same quality. It prefers keys that need no new
// index, have few fields and keep the order.
func (j *judge) convenienceFactor(c Candidate) float64 {
	part := math.Pow(0.995, float64(len(c.Key)-1))
	if c.Index == "" {
		part *= 0.98
	}
	if c.Key.hasHashed() {
		part *= 0.99
	}
	return part
}

func (c Candidate) grade(isolation float64) Grade {
	switch {
	case c.Impossible != "":
		return Impossible
	case len(c.BlockingIndexes) > 0, !c.fitsZones, c.spreadFactor < 0.4, c.writeFactor < 0.4,
		c.queriesKnown && isolation < 0.05:
		return Poor
	case c.spreadFactor < 0.75, c.writeFactor < 0.7, isolation < 0.4:
		return Fair
	}
	return Good
}

// rateValues rates how evenly the values of a key let the data be distributed.
func (j *judge) rateValues(c *Candidate) {
	names, chunk := c.Key.Names(), float64(j.facts.ChunkBytes)
	n := j.table.counts(names)
	c.Documents, c.Distinct, c.MostCommonShare = n.total, int64(len(n.perValue)), n.largestShare()
	for _, name := range names {
		if col := j.table.column(name); n.total > 0 {
			c.MissingShare = max(c.MissingShare, float64(col.nulls)/float64(n.total))
		}
	}
	limit := chunk / float64(j.facts.ratedBytes())
	c.JumboShare = n.shareAbove(limit)
	unique := j.isUnique(c.Key)
	top := ""
	if n.total > 0 {
		top = valueText(j.table.docs[n.mostCommonDoc], names)
	}
	if m := j.serverStats(c.Key); m.Docs > 0 {
		c.MeasuredBy, c.Documents, c.Distinct, unique = "analyzeShardKey", m.Docs, m.Distinct, unique || m.Unique
		measured := counts{total: m.Docs}
		for _, v := range m.CommonValues {
			measured.perValue = append(measured.perValue, v.Count)
		}
		if c.MostCommonShare = measured.largestShare(); len(m.CommonValues) > 0 && !c.Key.hasHashed() {
			top = documentText(m.CommonValues[0].Value)
		}
		c.JumboShare = max(c.JumboShare, measured.shareAbove(limit))
	}
	c.KeyUpdateShare = j.facts.Measurements[c.Key.String()].QueryDistribution.KeyUpdateShare
	if c.mostCommonText = top; unique || c.MostCommonShare*float64(c.Documents) < 1.5 {
		c.MostCommonShare, c.JumboShare = 1/math.Max(1, float64(max(j.facts.Docs, c.Documents))), 0
	}
	documents := float64(c.Documents)
	certain := math.Max(countLowerBound(int64(c.MostCommonShare*documents+0.5))/math.Max(1, documents), 1e-12)
	room := max(0, min(math.Log10(math.Max(1, limit/certain))/ampleRoomLog10, 1))
	c.spreadFactor = (1 - jumboPenalty*c.JumboShare) * (fullChunkFactor + (1-fullChunkFactor)*room)
	if even := 1 / float64(j.facts.shards()); c.MostCommonShare > even {
		c.spreadFactor *= even / c.MostCommonShare
	}
}

// serverStats returns the server's measurement of a key's values. A hashed key has the same number of
// values, with the same frequencies, as the plain key.
func (j *judge) serverStats(k ShardKey) Measurement {
	if m := j.facts.Measurements[k.String()]; m.Docs > 0 {
		return m
	}
	return j.facts.Measurements[rangedKey(k.Names()...).String()]
}

// rateGrowth rates how many shards inserts reach. If a field of the key grows with time, all new
// documents with the same values in the fields before it go to one chunk.
func (j *judge) rateGrowth(c *Candidate) {
	busiest := c.MostCommonShare
	for i, part := range c.Key {
		r := j.arrivalCorrelation(c.Key[:i], part)
		if i == 0 && !math.IsNaN(r) {
			c.Correlation = &r
		}
		if part.Hashed || !(math.Abs(r) >= MinMonotonicCorrelation) {
			continue
		}
		c.GrowingField, c.Correlation, busiest = part.Name, &r, 1
		if i > 0 {
			busiest = j.table.counts(c.Key[:i].Names()).largestShare()
		}
		break
	}
	c.InsertShards = max(1, min(1/math.Max(busiest, 1e-9), float64(j.facts.shards())))
}

// arrivalCorrelation returns the correlation of a field with the insertion order, among documents with
// the same values in the fields of prefix.
func (j *judge) arrivalCorrelation(prefix ShardKey, field Field) float64 {
	if len(prefix) == 0 {
		m := j.facts.Measurements[rangedKey(field.Name).String()]
		if m.Docs > 0 && !math.IsNaN(m.Correlation) &&
			(counts{perValue: []int64{mostCommonCount(m)}, total: m.Docs}).largestShare() < maxTiedShare {
			return m.Correlation
		}
	}
	return j.table.correlation(prefix.Names(), field.Name)
}

func mostCommonCount(m Measurement) int64 {
	if len(m.CommonValues) == 0 {
		return 0
	}
	return m.CommonValues[0].Count
}

// fitsZones reports whether the collection's zones can have ranges of the key.
func (j *judge) fitsZones(k ShardKey) bool {
	for i, name := range j.facts.ZoneFields {
		if i >= len(k) || k[i].Name != name || k[i].Hashed {
			return false
		}
	}
	return true
}

// isUnique reports whether a unique index guarantees that no two documents have the same values of the
// key.
func (j *judge) isUnique(k ShardKey) bool {
	return slices.ContainsFunc(j.facts.Indexes, func(x Index) bool {
		isID := len(x.ShardKeyFields()) == 1 && x.ShardKeyFields()[0] == "_id"
		return (x.Unique && !x.CannotServeKey || isID) && isSubset(x.ShardKeyFields(), k.Names())
	})
}

// isSubset reports whether every element of list is also an element of in.
func isSubset(list, in []string) bool {
	return !slices.ContainsFunc(list, func(name string) bool { return !slices.Contains(in, name) })
}

// blockingIndexes returns the names of the unique indexes that a collection with this key can't have:
// those that do not begin with all fields of the key. Unique indexes never contain hashed fields.
func (j *judge) blockingIndexes(k ShardKey) (names []string) {
	for _, x := range j.facts.Indexes {
		fields := x.ShardKeyFields()
		if !x.Unique || len(fields) == 1 && fields[0] == "_id" {
			continue
		}
		if k.hasHashed() || len(fields) < len(k) || !slices.Equal(fields[:len(k)], k.Names()) {
			names = append(names, x.Name)
		}
	}
	return names
}

// servingIndex returns an index that begins with the key.
func (j *judge) servingIndex(k ShardKey) string {
	for _, x := range j.facts.Indexes {
		if x.Serves(k) {
			return x.Name
		}
	}
	return ""
}

// Serves reports whether a collection with the index can be sharded by the key.
func (i Index) Serves(k ShardKey) bool {
	have, err := ParseShardKey(i.Key)
	return err == nil && !i.CannotServeKey && len(have) >= len(k) && have[:len(k)].Equal(k)
}

// whyImpossible returns why no collection can have the key; empty when the key is possible.
func (j *judge) whyImpossible(k ShardKey) string {
	for _, p := range k {
		if col := j.table.column(p.Name); col.arrays > 0 {
			return fmt.Sprintf("%s is an array in %d of %d documents, and a shard key can have none", p.Name, col.arrays,
				len(j.table.docs))
		}
		if col := j.table.column(p.Name); col.nulls > 0 && !j.facts.allowsCompoundHashed() {
			return fmt.Sprintf("%s is missing in %d of %d documents, and before release 4.4 each has to have it", p.Name,
				col.nulls, len(j.table.docs))
		}
	}
	if k.hasHashed() && len(k) > 1 && !j.facts.allowsCompoundHashed() {
		return "before release 4.4 no key has a hashed field and others"
	}
	return ""
}
