package keyadvice

import (
	"fmt"
	"math"
	"slices"
)

// Monotonic is the correlation with the order of arrival from which a key counts as
// growing (or falling) with time. It is that of analyzeShardKey: what is shuffled has
// next to none, what grows with a delay or some disorder stays well above.
const Monotonic = 0.7

// mostTied is the share of the most common value up to which the correlation that a
// server measured is believed: it counts documents with the same key in the order of
// arrival, so that a key with one value looks as if it grew.
const mostTied = 0.5

// Weights of the judgement.
const (
	jumboLost    = 0.9  // of the spread, if all data is in values that outgrow a chunk
	narrowest    = 0.75 // of the spread, for keys whose values are about to outgrow one
	ample        = 3    // powers of ten of room in a chunk that are enough
	oneTarget    = 0.15 // what is left of inserts that go to one shard
	insertsCount = 0.8  // exponent
	blind        = 0.3  // what is left of a key no query has
	outOfZone    = 0.2  // what is left of a key that knows no zones
	inTheWay     = 0.1  // what is left of a key that a unique index forbids: less than of any bad one
)

// judge judges keys by what is known.
type judge struct {
	facts   Facts
	t       *table
	queries []Query
}

func newJudge(f Facts) *judge {
	j := &judge{facts: f, t: newTable(f.Sample), queries: f.Queries}
	if len(j.queries) == 0 {
		j.queries = guessed(f.Indexes, j.t)
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
	known          bool // what queries do
	zoned          bool
	parts          []part // of the score, with their texts; none for a key that is impossible
	// What is left of a perfect key's score by each of these.
	spread, writes, queries float64
}

// judge returns what there is to say of a key.
func (j *judge) judge(k Key) Candidate {
	c := Candidate{Key: k, From: "sample", known: true}
	j.values(&c)
	j.growth(&c)
	mean, single, several, every := j.isolation(k)
	c.Single, c.Several, c.Every = single, several, every
	if math.IsNaN(mean) {
		mean, c.known = 0.5, false
	}
	c.Blocked, c.Index = j.blocking(k), j.serving(k)
	c.zoned = j.zoned(k)
	c.Impossible = j.impossible(k)
	shards := float64(j.facts.shards())
	c.writes = math.Pow(oneTarget+(1-oneTarget)*(c.Inserts-1)/(shards-1), insertsCount)
	c.queries = blind + (1-blind)*mean
	score := c.spread * c.writes * c.queries * (1 - c.KeyUpdates/2)
	if !c.zoned {
		score *= outOfZone
	}
	if len(c.Blocked) > 0 {
		score *= inTheWay
	}
	c.Score = 100 * score * j.convenience(c)
	if c.Impossible != "" {
		c.Score = 0
	}
	c.Grade = c.grade(mean)
	j.explain(&c)
	return c
}

// convenience decides between keys that are as good: no index to make, few fields,
// order kept.
func (j *judge) convenience(c Candidate) float64 {
	part := math.Pow(0.995, float64(len(c.Key)-1))
	if c.Index == "" {
		part *= 0.98
	}
	if c.Key.hashed() {
		part *= 0.99
	}
	return part
}

func (c Candidate) grade(isolation float64) Grade {
	switch {
	case c.Impossible != "":
		return Impossible
	case len(c.Blocked) > 0, !c.zoned, c.spread < 0.4, c.writes < 0.4, c.known && isolation < 0.05:
		return Poor
	case c.spread < 0.75, c.writes < 0.7, isolation < 0.4:
		return Fair
	}
	return Good
}

// values judges how far the values of a key let its data spread.
func (j *judge) values(c *Candidate) {
	names, chunk := c.Key.Names(), float64(j.facts.ChunkBytes)
	n := j.t.counts(names)
	c.Looked, c.Distinct, c.MostCommon = n.total, int64(len(n.of)), n.share()
	for _, name := range names {
		if col := j.t.column(name); n.total > 0 {
			c.Missing = max(c.Missing, float64(col.nulls)/float64(n.total))
		}
	}
	limit := chunk / float64(j.facts.judged())
	c.Outgrown = n.beyond(limit)
	unique := j.uniqueBy(c.Key)
	top := ""
	if n.total > 0 {
		top = valueText(j.t.docs[n.first], names)
	}
	if m := j.measured(c.Key); m.Docs > 0 {
		c.From, c.Looked, c.Distinct, unique = "analyzeShardKey", m.Docs, m.Distinct, unique || m.Unique
		measured := counts{total: m.Docs}
		for _, v := range m.Common {
			measured.of = append(measured.of, v.Count)
		}
		if c.MostCommon = measured.share(); len(m.Common) > 0 && !c.Key.hashed() {
			top = documentText(m.Common[0].Value)
		}
		c.Outgrown = max(c.Outgrown, measured.beyond(limit))
	}
	c.KeyUpdates = j.facts.Measured[c.Key.String()].Asked.KeyUpdates
	if c.mostCommonText = top; unique || c.MostCommon*float64(c.Looked) < 1.5 {
		c.MostCommon, c.Outgrown = 1/math.Max(1, float64(max(j.facts.Docs, c.Looked))), 0
	}
	certain := math.Max(atLeast(int64(c.MostCommon*float64(c.Looked)+0.5))/math.Max(1, float64(c.Looked)), 1e-12)
	room := clamp(math.Log10(math.Max(1, limit/certain))/ample, 0, 1)
	c.spread = (1 - jumboLost*c.Outgrown) * (narrowest + (1-narrowest)*room)
	if even := 1 / float64(j.facts.shards()); c.MostCommon > even {
		c.spread *= even / c.MostCommon
	}
}

// measured is what the server measured of the values of a key: a hash has as many of
// them, as often, as the field has.
func (j *judge) measured(k Key) Measured {
	if m := j.facts.Measured[k.String()]; m.Docs > 0 {
		return m
	}
	return j.facts.Measured[by(k.Names()...).String()]
}

// growth judges how many shards inserts reach: by the first field that grows with
// time, all documents of the moment with the same values before it go to one chunk.
func (j *judge) growth(c *Candidate) {
	busiest := c.MostCommon
	for i, part := range c.Key {
		r := j.grows(c.Key[:i], part)
		if i == 0 && !math.IsNaN(r) {
			c.Correlation = &r
		}
		if part.Hashed || !(math.Abs(r) >= Monotonic) {
			continue
		}
		c.Grows, c.Correlation, busiest = part.Name, &r, 1
		if i > 0 {
			busiest = j.t.counts(c.Key[:i].Names()).share()
		}
		break
	}
	c.Inserts = clamp(1/math.Max(busiest, 1e-9), 1, float64(j.facts.shards()))
}

// grows is the correlation of a field with the order of arrival, behind others.
func (j *judge) grows(prefix Key, part Part) float64 {
	if len(prefix) == 0 {
		m := j.facts.Measured[by(part.Name).String()]
		if m.Docs > 0 && !math.IsNaN(m.Correlation) && (counts{of: []int64{most(m)}, total: m.Docs}).share() < mostTied {
			return m.Correlation
		}
	}
	return j.t.correlation(prefix.Names(), part.Name)
}

func most(m Measured) int64 {
	if len(m.Common) == 0 {
		return 0
	}
	return m.Common[0].Count
}

// zoned reports whether ranges of the key can be in the zones of the collection.
func (j *judge) zoned(k Key) bool {
	for i, name := range j.facts.Zones {
		if i >= len(k) || k[i].Name != name || k[i].Hashed {
			return false
		}
	}
	return true
}

// uniqueBy reports whether a unique index says that no two documents have the same
// values of the key.
func (j *judge) uniqueBy(k Key) bool {
	return slices.ContainsFunc(j.facts.Indexes, func(x Index) bool {
		isID := len(x.Fields()) == 1 && x.Fields()[0] == "_id"
		return (x.Unique && !x.Partial || isID) && among(x.Fields(), k.Names())
	})
}

// among reports whether all of a list are in another one.
func among(list, in []string) bool {
	return !slices.ContainsFunc(list, func(name string) bool { return !slices.Contains(in, name) })
}

// blocking lists the unique indexes that a collection with this key can't have: those
// that do not begin with all of its fields. A hash is in none.
func (j *judge) blocking(k Key) (names []string) {
	for _, x := range j.facts.Indexes {
		fields := x.Fields()
		if !x.Unique || len(fields) == 1 && fields[0] == "_id" {
			continue
		}
		if k.hashed() || len(fields) < len(k) || !slices.Equal(fields[:len(k)], k.Names()) {
			names = append(names, x.Name)
		}
	}
	return names
}

// serving returns the index that the key can use: one that begins with it.
func (j *judge) serving(k Key) string {
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

// impossible says why no collection can have the key; empty when it can.
func (j *judge) impossible(k Key) string {
	for _, p := range k {
		if col := j.t.column(p.Name); col.arrays > 0 {
			return fmt.Sprintf("%s is an array in %d of %d documents, and a shard key can have none", p.Name, col.arrays,
				len(j.t.docs))
		}
		if col := j.t.column(p.Name); col.nulls > 0 && !j.facts.compoundHashed() {
			return fmt.Sprintf("%s is missing in %d of %d documents, and before release 4.4 each has to have it", p.Name,
				col.nulls, len(j.t.docs))
		}
	}
	if k.hashed() && len(k) > 1 && !j.facts.compoundHashed() {
		return "before release 4.4 no key has a hashed field and others"
	}
	return ""
}
