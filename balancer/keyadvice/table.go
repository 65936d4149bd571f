package keyadvice

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// table has the values of a sample, field by field, in bytes that compare as keys do.
type table struct {
	docs, arrival   []bson.Raw
	random, ordered map[string]column
	counted         map[string]counts
	correlated      map[string]float64
}

// column has the values of a field in documents.
type column struct {
	values []string
	// nulls is how many of the documents lack the field, or have null in it; arrays how
	// many have an array there, with which no shard key is possible.
	nulls, arrays int
}

func newTable(s Sample) *table {
	return &table{docs: s.Docs, arrival: s.Arrival, random: map[string]column{}, ordered: map[string]column{},
		counted: map[string]counts{}, correlated: map[string]float64{}}
}

// column returns a field of the documents that were drawn.
func (t *table) column(name string) column { return columnOf(t.random, t.docs, name) }

func columnOf(known map[string]column, docs []bson.Raw, name string) column {
	if c, ok := known[name]; ok {
		return c
	}
	var c column
	raw, _ := bson.Marshal(plainKey(name).Doc()) // names and numbers can always be marshalled
	if p, err := catalog.ParseKeyPattern(raw); err == nil {
		nothing, _ := p.DocumentKey(bson.Raw{5, 0, 0, 0, 0}) // has no array
		null := string(nothing.Bytes())
		c.values = make([]string, len(docs))
		for i, doc := range docs {
			key, err := p.DocumentKey(doc)
			if err != nil {
				c.arrays++
				continue
			}
			if c.values[i] = string(key.Bytes()); c.values[i] == null {
				c.nulls++
			}
		}
	}
	known[name] = c
	return c
}

// joinColumns returns the values of a key in documents: those of its fields, one after
// another.
func joinColumns(known map[string]column, docs []bson.Raw, names []string) []string {
	values := make([]string, len(docs))
	columns := make([]column, len(names))
	for i, name := range names {
		columns[i] = columnOf(known, docs, name)
	}
	var b strings.Builder
	for i := range docs {
		b.Reset()
		for _, c := range columns {
			if i < len(c.values) {
				b.WriteString(c.values[i])
			}
		}
		values[i] = b.String()
	}
	return values
}

// counts are how often the values of a key occur in the sample.
type counts struct {
	// perValue is how many documents have a value, the most common value first; first is
	// the place of a document with that one.
	perValue []int64
	first    int
	total    int64
}

func (t *table) counts(names []string) counts {
	id := strings.Join(names, "\x00")
	if c, ok := t.counted[id]; ok {
		return c
	}
	c := counts{total: int64(len(t.docs))}
	number, firsts := map[string]int{}, []int(nil)
	for i, v := range joinColumns(t.random, t.docs, names) {
		n, ok := number[v]
		if !ok {
			n = len(c.perValue)
			number[v] = n
			c.perValue, firsts = append(c.perValue, 0), append(firsts, i)
		}
		c.perValue[n]++
	}
	if len(c.perValue) > 0 {
		most := slices.Index(c.perValue, slices.Max(c.perValue))
		c.first = firsts[most]
	}
	slices.SortFunc(c.perValue, func(a, b int64) int { return int(b - a) })
	t.counted[id] = c
	return c
}

// share is the part of the documents that has the most common value.
func (c counts) share() float64 {
	if c.total == 0 || len(c.perValue) == 0 {
		return 0
	}
	return float64(c.perValue[0]) / float64(c.total)
}

// typical is the part of the documents that have the same value as one of them.
func (c counts) typical() (sum float64) {
	for _, n := range c.perValue {
		share := float64(n) / float64(c.total)
		sum += share * share
	}
	return sum
}

// certainCount is a number of documents that n of a sample stand for with some certainty:
// two standard deviations less, so that a few doubles by chance mean nothing.
func certainCount(n int64) float64 { return math.Max(0, float64(n)-2*math.Sqrt(float64(n))) }

// shareAbove is the part of the documents whose values have more of them than a share.
func (c counts) shareAbove(share float64) (sum float64) {
	for _, n := range c.perValue {
		of := certainCount(n) / float64(c.total)
		if of <= share {
			break
		}
		sum += of
	}
	return sum
}

// minPerGroup and minGrouped are how many documents with the same prefix say
// something of the order within it, and how many of those are needed in all.
const (
	minPerGroup = 8
	minGrouped  = 100
)

// correlation is Spearman's coefficient of a field with the order of arrival, among
// documents that have the same values in the fields before it; NaN when it is not known.
func (t *table) correlation(prefix []string, name string) float64 {
	id := strings.Join(append(slices.Clone(prefix), name), "\x00")
	if r, ok := t.correlated[id]; ok {
		return r
	}
	r := math.NaN()
	values := columnOf(t.ordered, t.arrival, name).values
	if len(prefix) > 0 {
		r = meanWithinGroups(joinColumns(t.ordered, t.arrival, prefix), values)
	}
	if math.IsNaN(r) {
		r = spearman(values)
	}
	t.correlated[id] = r
	return r
}

// meanWithinGroups is the mean coefficient in groups that are large enough, by their sizes.
func meanWithinGroups(groups, values []string) float64 {
	members := map[string][]string{}
	for i, g := range groups {
		members[g] = append(members[g], values[i])
	}
	var sum, n float64
	for _, g := range slices.Sorted(maps.Keys(members)) {
		if list := members[g]; len(list) >= minPerGroup {
			if r := spearman(list); !math.IsNaN(r) {
				sum += r * float64(len(list))
				n += float64(len(list))
			}
		}
	}
	if n < minGrouped {
		return math.NaN()
	}
	return sum / n
}

// spearman is the correlation of the ranks of values with their places. Equal values
// share the mean of their ranks; NaN for values that are all equal.
func spearman(values []string) float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return values[order[a]] < values[order[b]] })
	mean := float64(n-1) / 2
	var both, ofRanks, ofPlaces float64
	for from := 0; from < n; {
		to := from + 1
		for to < n && values[order[to]] == values[order[from]] {
			to++
		}
		rank := float64(from+to-1)/2 - mean
		for _, place := range order[from:to] {
			both += rank * (float64(place) - mean)
			ofRanks += rank * rank
		}
		from = to
	}
	for place := range n {
		ofPlaces += (float64(place) - mean) * (float64(place) - mean)
	}
	if ofRanks == 0 || ofPlaces == 0 {
		return math.NaN()
	}
	return both / math.Sqrt(ofRanks*ofPlaces)
}
