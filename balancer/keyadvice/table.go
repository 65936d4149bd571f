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

// sampleTable holds the values of a sample by field, in encodings that compare like keys.
type sampleTable struct {
	docs, arrivalDocs             []bson.Raw
	randomColumns, arrivalColumns map[string]column
	countsCache                   map[string]counts
	correlationCache              map[string]float64
}

// column holds the values of a field in documents.
type column struct {
	values []string
	// nulls is the number of documents in which the field is missing or null. arrays is the number of
	// documents with an array in the field, which no shard key allows.
	nulls, arrays int
}

func newTable(s Sample) *sampleTable {
	return &sampleTable{docs: s.Docs, arrivalDocs: s.Arrival, randomColumns: map[string]column{},
		arrivalColumns: map[string]column{},
		countsCache:    map[string]counts{}, correlationCache: map[string]float64{}}
}

// column returns the values of a field in the randomly drawn documents.
func (t *sampleTable) column(name string) column { return columnOf(t.randomColumns, t.docs, name) }

func columnOf(known map[string]column, docs []bson.Raw, name string) column {
	if c, ok := known[name]; ok {
		return c
	}
	var c column
	raw, _ := bson.Marshal(rangedKey(name).Doc()) // names and numbers can always be marshalled
	if p, err := catalog.ParseKeyPattern(raw); err == nil {
		nothing, _ := p.DocumentKey(bson.Raw{5, 0, 0, 0, 0}) // an empty document has no array
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

// joinColumns returns the values of a key in documents: the concatenated values of its fields.
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

// counts says how often the values of a key occur in the sample.
type counts struct {
	// perValue is the number of documents of each value, the most common value first.
	perValue []int64
	// mostCommonDoc is the index of a document with the most common value.
	mostCommonDoc int
	total         int64
}

func (t *sampleTable) counts(names []string) counts {
	id := strings.Join(names, "\x00")
	if c, ok := t.countsCache[id]; ok {
		return c
	}
	c := counts{total: int64(len(t.docs))}
	number, firsts := map[string]int{}, []int(nil)
	for i, v := range joinColumns(t.randomColumns, t.docs, names) {
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
		c.mostCommonDoc = firsts[most]
	}
	slices.SortFunc(c.perValue, func(a, b int64) int { return int(b - a) })
	t.countsCache[id] = c
	return c
}

// largestShare returns the share of the documents with the most common value.
func (c counts) largestShare() float64 {
	if c.total == 0 || len(c.perValue) == 0 {
		return 0
	}
	return float64(c.perValue[0]) / float64(c.total)
}

// expectedShare returns the expected share of the documents with the same value as a random document.
func (c counts) expectedShare() (sum float64) {
	for _, n := range c.perValue {
		share := float64(n) / float64(c.total)
		sum += share * share
	}
	return sum
}

// countLowerBound returns the number of documents that n sampled documents represent with some certainty.
// It subtracts two standard deviations, so that a few duplicates by chance have no effect.
func countLowerBound(n int64) float64 { return math.Max(0, float64(n)-2*math.Sqrt(float64(n))) }

// shareAbove returns the share of the documents whose value has a larger share than share.
func (c counts) shareAbove(share float64) (sum float64) {
	for _, n := range c.perValue {
		of := countLowerBound(n) / float64(c.total)
		if of <= share {
			break
		}
		sum += of
	}
	return sum
}

// minPerGroup is the minimum number of documents with the same prefix for a correlation within that
// group. minGrouped is the minimum number of documents in all such groups.
const (
	minPerGroup = 8
	minGrouped  = 100
)

// correlation returns Spearman's coefficient of a field with the insertion order, among documents with
// the same values in the fields of prefix; NaN when it is unknown.
func (t *sampleTable) correlation(prefix []string, name string) float64 {
	id := strings.Join(append(slices.Clone(prefix), name), "\x00")
	if r, ok := t.correlationCache[id]; ok {
		return r
	}
	r := math.NaN()
	values := columnOf(t.arrivalColumns, t.arrivalDocs, name).values
	if len(prefix) > 0 {
		r = meanWithinGroups(joinColumns(t.arrivalColumns, t.arrivalDocs, prefix), values)
	}
	if math.IsNaN(r) {
		r = spearman(values)
	}
	t.correlationCache[id] = r
	return r
}

// meanWithinGroups returns the mean coefficient of the groups that are large enough, weighted by their
// sizes.
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

// spearman returns the correlation of the ranks of values with their positions. Equal values share the
// mean of their ranks. The result is NaN if all values are equal.
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
