package keyadvice

import (
	"fmt"
	"math"
	"slices"
)

// MinMonotonicCorrelation is the correlation with the order of arrival from which a key counts as
// growing (or falling) with time. It is that of analyzeShardKey: what is shuffled has
// next to none, what grows with a delay or some disorder stays well above.
const MinMonotonicCorrelation = 0.7

// maxTiedShare is the share of the most common value up to which the correlation that a
// server measured is believed: it counts documents with the same key in the order of
// arrival, so that a key with one value looks as if it grew.
const maxTiedShare = 0.5

// Weights of the judgement.
const (
	jumboPenalty      = 0.9  // of the spread, if all data is in values that outgrow a chunk
	narrowFactor      = 0.75 // of the spread, for keys whose values are about to outgrow one
	ampleDigits       = 3    // powers of ten of room in a chunk that are enough
	oneTargetFactor   = 0.15 // what is left of inserts that go to one shard
	insertExponent    = 0.8  // exponent
	noQueryFactor     = 0.3  // what is left of a key no query has
	outOfZoneFactor   = 0.2  // what is left of a key that knows no zones
	uniqueIndexFactor = 0.1  // what is left of a key that a unique index forbids: less than of any bad one
)

// judge rates shard keys by the known facts.
type judge struct {
	facts   Facts
	table   *table
	queries []Query
}

func newJudge(f Facts) *judge {
	j := &judge{facts: f, table: newTable(f.Sample), queries: f.Queries}
	if len(j.queries) == 0 {
		j.queries = guessQueries(f.Indexes, j.table)
	}
	return j
}

// Grade is a verdict in a word.
type Grade string

// The grades, from the best on.
const (
	Good       Grade = "good"
	Fair       Grade = "fair"
	Poor       Grade = "poor"
	Impossible Grade = "impossible"
)

// Candidate is a key with what speaks for and against it.
type Candidate struct {
	Key Key `json:"key"`
	// Score is from 0 to 100, of all that follows together.
	Score float64 `json:"score"`
	Grade Grade   `json:"grade"`
	// From is what measured the values: "sample" or "analyzeShardKey".
	From string `json:"from"`
	// Looked is how many documents were looked at, Distinct how many values they have.
	Looked   int64 `json:"looked"`
	Distinct int64 `json:"distinct"`
	// MostCommon is the share of the documents that has the most common value, Missing
	// of those that lack a field, Outgrown of those whose values outgrow a chunk.
	MostCommon float64 `json:"mostCommon"`
	Missing    float64 `json:"missing"`
	Outgrown   float64 `json:"outgrown"`
	// Grows is the first field that grows with time, and Correlation how closely: of the
	// key's first field where none does; absent when it is not known.
	Grows       string   `json:"grows,omitempty"`
	Correlation *float64 `json:"correlation,omitempty"`
	// Inserts is how many shards inserts reach at a time, as a mean.
	Inserts float64 `json:"insertShards"`
	// Single, Several and Every are the shares of queries to one shard, some, all.
	Single  float64 `json:"toOneShard"`
	Several float64 `json:"toSeveral"`
	Every   float64 `json:"toAll"`
	// KeyUpdates is the share of writes that change a document's key.
	KeyUpdates float64 `json:"keyUpdates,omitempty"`
	// Blocked are the unique indexes that forbid the key; Impossible why it cannot be.
	Blocked    []string `json:"uniqueIndexesInTheWay,omitempty"`
	Impossible string   `json:"impossible,omitempty"`
	// Index is the index that serves the key; empty when one has to be made.
	Index   string   `json:"index,omitempty"`
	Reasons []string `json:"reasons"`
	// Against is what weighs most against the key: beside the best one, what it lacks.
	Against string `json:"against"`

	mostCommonText string
	queriesKnown   bool // what queries do
	zoned          bool
	parts          []part // of the score, with their texts; none for a key that is impossible
	// What is left of a perfect key's score by each of these.
	spread, writes, queries float64
}

// judge rates one key.
func (j *judge) judge(k Key) Candidate {
	c := Candidate{Key: k, From: "sample", queriesKnown: true}
	j.rateValues(&c)
	j.rateGrowth(&c)
	mean, single, several, every := j.isolation(k)
	c.Single, c.Several, c.Every = single, several, every
	if math.IsNaN(mean) {
		mean, c.queriesKnown = 0.5, false
	}
	c.Blocked, c.Index = j.blockingIndexes(k), j.servingIndex(k)
	c.zoned = j.fitsZones(k)
	c.Impossible = j.whyImpossible(k)
	shards := float64(j.facts.shards())
	c.writes = math.Pow(oneTargetFactor+(1-oneTargetFactor)*(c.Inserts-1)/(shards-1), insertExponent)
	c.queries = noQueryFactor + (1-noQueryFactor)*mean
	score := c.spread * c.writes * c.queries * (1 - c.KeyUpdates/2)
	if !c.zoned {
		score *= outOfZoneFactor
	}
	if len(c.Blocked) > 0 {
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

// convenienceFactor decides between keys that are as good: no index to make, few fields,
// order kept.
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
	case len(c.Blocked) > 0, !c.zoned, c.spread < 0.4, c.writes < 0.4, c.queriesKnown && isolation < 0.05:
		return Poor
	case c.spread < 0.75, c.writes < 0.7, isolation < 0.4:
		return Fair
	}
	return Good
}

// rateValues judges how far the values of a key let its data spread.
func (j *judge) rateValues(c *Candidate) {
	names, chunk := c.Key.Names(), float64(j.facts.ChunkBytes)
	n := j.table.counts(names)
	c.Looked, c.Distinct, c.MostCommon = n.total, int64(len(n.perValue)), n.share()
	for _, name := range names {
		if col := j.table.column(name); n.total > 0 {
			c.Missing = max(c.Missing, float64(col.nulls)/float64(n.total))
		}
	}
	limit := chunk / float64(j.facts.ratedBytes())
	c.Outgrown = n.shareAbove(limit)
	unique := j.isUnique(c.Key)
	top := ""
	if n.total > 0 {
		top = valueText(j.table.docs[n.first], names)
	}
	if m := j.serverStats(c.Key); m.Docs > 0 {
		c.From, c.Looked, c.Distinct, unique = "analyzeShardKey", m.Docs, m.Distinct, unique || m.Unique
		measured := counts{total: m.Docs}
		for _, v := range m.Common {
			measured.perValue = append(measured.perValue, v.Count)
		}
		if c.MostCommon = measured.share(); len(m.Common) > 0 && !c.Key.hasHashed() {
			top = documentText(m.Common[0].Value)
		}
		c.Outgrown = max(c.Outgrown, measured.shareAbove(limit))
	}
	c.KeyUpdates = j.facts.Measured[c.Key.String()].Asked.KeyUpdates
	if c.mostCommonText = top; unique || c.MostCommon*float64(c.Looked) < 1.5 {
		c.MostCommon, c.Outgrown = 1/math.Max(1, float64(max(j.facts.Docs, c.Looked))), 0
	}
	certain := math.Max(certainCount(int64(c.MostCommon*float64(c.Looked)+0.5))/math.Max(1, float64(c.Looked)), 1e-12)
	room := clamp(math.Log10(math.Max(1, limit/certain))/ampleDigits, 0, 1)
	c.spread = (1 - jumboPenalty*c.Outgrown) * (narrowFactor + (1-narrowFactor)*room)
	if even := 1 / float64(j.facts.shards()); c.MostCommon > even {
		c.spread *= even / c.MostCommon
	}
}

// serverStats is what the server measured of the values of a key: a hash has as many of
// them, as often, as the field has.
func (j *judge) serverStats(k Key) Measured {
	if m := j.facts.Measured[k.String()]; m.Docs > 0 {
		return m
	}
	return j.facts.Measured[plainKey(k.Names()...).String()]
}

// rateGrowth judges how many shards inserts reach: by the first field that grows with
// time, all documents of the moment with the same values before it go to one chunk.
func (j *judge) rateGrowth(c *Candidate) {
	busiest := c.MostCommon
	for i, part := range c.Key {
		r := j.arrivalCorrelation(c.Key[:i], part)
		if i == 0 && !math.IsNaN(r) {
			c.Correlation = &r
		}
		if part.Hashed || !(math.Abs(r) >= MinMonotonicCorrelation) {
			continue
		}
		c.Grows, c.Correlation, busiest = part.Name, &r, 1
		if i > 0 {
			busiest = j.table.counts(c.Key[:i].Names()).share()
		}
		break
	}
	c.Inserts = clamp(1/math.Max(busiest, 1e-9), 1, float64(j.facts.shards()))
}

// arrivalCorrelation is the correlation of a field with the order of arrival, behind others.
func (j *judge) arrivalCorrelation(prefix Key, part Part) float64 {
	if len(prefix) == 0 {
		m := j.facts.Measured[plainKey(part.Name).String()]
		if m.Docs > 0 && !math.IsNaN(m.Correlation) &&
			(counts{perValue: []int64{mostCommonCount(m)}, total: m.Docs}).share() < maxTiedShare {
			return m.Correlation
		}
	}
	return j.table.correlation(prefix.Names(), part.Name)
}

func mostCommonCount(m Measured) int64 {
	if len(m.Common) == 0 {
		return 0
	}
	return m.Common[0].Count
}

// fitsZones reports whether ranges of the key can be in the zones of the collection.
func (j *judge) fitsZones(k Key) bool {
	for i, name := range j.facts.Zones {
		if i >= len(k) || k[i].Name != name || k[i].Hashed {
			return false
		}
	}
	return true
}

// isUnique reports whether a unique index says that no two documents have the same
// values of the key.
func (j *judge) isUnique(k Key) bool {
	return slices.ContainsFunc(j.facts.Indexes, func(x Index) bool {
		isID := len(x.Fields()) == 1 && x.Fields()[0] == "_id"
		return (x.Unique && !x.Partial || isID) && isSubset(x.Fields(), k.Names())
	})
}

// isSubset reports whether all of a list are in another one.
func isSubset(list, in []string) bool {
	return !slices.ContainsFunc(list, func(name string) bool { return !slices.Contains(in, name) })
}

// blockingIndexes lists the unique indexes that a collection with this key can't have: those
// that do not begin with all of its fields. A hash is in none.
func (j *judge) blockingIndexes(k Key) (names []string) {
	for _, x := range j.facts.Indexes {
		fields := x.Fields()
		if !x.Unique || len(fields) == 1 && fields[0] == "_id" {
			continue
		}
		if k.hasHashed() || len(fields) < len(k) || !slices.Equal(fields[:len(k)], k.Names()) {
			names = append(names, x.Name)
		}
	}
	return names
}

// servingIndex returns the index that the key can use: one that begins with it.
func (j *judge) servingIndex(k Key) string {
	for _, x := range j.facts.Indexes {
		if x.Serves(k) {
			return x.Name
		}
	}
	return ""
}

// Serves reports whether a collection with the index can be sharded by the key.
func (x Index) Serves(k Key) bool {
	have, err := ParseKey(x.Key)
	return err == nil && !x.Partial && len(have) >= len(k) && have[:len(k)].Equal(k)
}

// whyImpossible says why no collection can have the key; empty when it can.
func (j *judge) whyImpossible(k Key) string {
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
