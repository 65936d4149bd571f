package router

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// analyzers are the samplers of queries by namespace. The cluster's lock guards
// them.
type analyzers map[string]*analyzer

// analyzer samples the queries of one collection.
type analyzer struct {
	perSecond float64
	next      time.Time
	samples   []sampledQuery
	oldest    int // of the samples, once there are enough
}

// sampledQuery is what is kept of a query: how far it would go.
type sampledQuery struct {
	command string // find, aggregate, count, distinct; update, delete, findAndModify
	filter  *filter.Filter
	multi   bool
	// changed are the fields that an update sets.
	changed []string
	shown   bson.D // by $listSampledQueries
	at      time.Time
}

// maxSamples bounds what is kept of one collection's queries: the newest. A
// server keeps them for a week, on its disk.
const maxSamples = 5000

// maxAnalyzed bounds of how many collections queries are kept.
const maxAnalyzed = 100

// maxSampleRate is the largest samplesPerSecond.
const maxSampleRate = 50

// configureQueryAnalyzer begins or ends the sampling of a collection's queries.
func configureQueryAnalyzer(c *call) (bson.D, error) {
	ns, mode := c.args.Text("configureQueryAnalyzer"), c.args.Text("mode")
	rate, hasRate := args.Number(c.args["samplesPerSecond"])
	switch {
	case mode != "full" && mode != "off":
		return nil, mongoerr.New(mongoerr.BadValue,
			"Enumeration value '%s' for field 'configureQueryAnalyzer.mode' is not a valid value.", mode)
	case c.args.Has("samplesPerSecond") && !hasRate:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'configureQueryAnalyzer.samplesPerSecond' is the wrong type '%s', expected types '[double, decimal, "+
				"int, long]'", args.TypeName(c.args["samplesPerSecond"].Type))
	case mode == "off" && hasRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot specify 'samplesPerSecond' when 'mode' is \"off\"")
	case mode == "full" && !hasRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "'samplesPerSecond' must be specified when 'mode' is \"full\"")
	case hasRate && (rate <= 0 || rate > maxSampleRate):
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"'samplesPerSecond' must be greater than 0 and less than or equal to %d", maxSampleRate)
	}
	if err := analyzable(c, ns, "configureQueryAnalyzer"); err != nil {
		return nil, err
	}
	is := bson.D{{Key: "mode", Value: mode}}
	if hasRate {
		is = append(is, bson.E{Key: "samplesPerSecond", Value: rate})
	}
	was, err := c.cluster.Statistics().ConfigureAnalyzer(ns, is)
	if err != nil {
		return nil, err
	}
	c.node.analyzers.sample(ns, mode, rate)
	reply := bson.D{}
	if was != nil {
		reply = append(reply, bson.E{Key: "oldConfiguration", Value: was})
	}
	return append(reply, bson.E{Key: "newConfiguration", Value: is}), nil
}

// sample switches sampling on or off; what was sampled stays.
func (all analyzers) sample(ns, mode string, rate float64) {
	a := all[ns]
	if a == nil {
		a = &analyzer{}
		if len(all) >= maxAnalyzed {
			all.forgetIdle()
		}
		all[ns] = a
	}
	if a.perSecond = 0; mode == "full" {
		a.perSecond = rate
	}
}

// analyzersStatus counts what is sampled.
func analyzersStatus(c *call) any {
	var active, reads, writes int64
	for _, a := range c.node.analyzers {
		if a.perSecond > 0 {
			active++
		}
		for _, sample := range a.samples {
			if sample.writes() {
				writes++
			} else {
				reads++
			}
		}
	}
	return bson.D{
		{Key: "activeCollections", Value: active}, {Key: "totalCollections", Value: int64(len(c.node.analyzers))},
		{Key: "totalSampledReadsCount", Value: reads}, {Key: "totalSampledWritesCount", Value: writes},
	}
}

// writes reports whether the query is a write's.
func (q sampledQuery) writes() bool {
	return slices.Contains([]string{"update", "delete", "findAndModify"}, q.command)
}

// add keeps a query, in the place of the oldest where there are enough.
func (a *analyzer) add(one sampledQuery) {
	if len(a.samples) < maxSamples {
		a.samples = append(a.samples, one)
		return
	}
	a.samples[a.oldest] = one
	a.oldest = (a.oldest + 1) % maxSamples
}

// forgetIdle drops what was sampled where nothing is sampled any more.
func (all analyzers) forgetIdle() {
	maps.DeleteFunc(all, func(_ string, a *analyzer) bool { return a.perSecond == 0 })
}

// of returns the analyzer of a collection whose queries are sampled; nil of others.
func (all analyzers) of(ns string) *analyzer {
	if a := all[ns]; a != nil && a.perSecond > 0 {
		return a
	}
	return nil
}

// note keeps queries that came now, if it is time.
func (a *analyzer) note(list []sampledQuery, now time.Time) {
	for _, one := range list {
		if !now.Before(a.next) {
			one.at = now
			a.next = now.Add(time.Duration(float64(time.Second) / a.perSecond))
			a.add(one)
		}
	}
}

// sampleable returns the queries that a command makes.
func sampleable(name string, body bson.Raw) []sampledQuery {
	of := func(query, update bson.RawValue, multi bool) sampledQuery {
		doc, _ := query.DocumentOK()
		filter, err := filter.Compile(doc)
		if err != nil {
			filter = nil
		}
		return sampledQuery{command: name, filter: filter, multi: multi, changed: changedFields(update),
			shown: shownQuery(name, doc, multi)}
	}
	var none bson.RawValue
	switch name {
	case "find":
		return []sampledQuery{of(body.Lookup("filter"), none, true)}
	case "count", "distinct":
		return []sampledQuery{of(body.Lookup("query"), none, true)}
	case "aggregate":
		return []sampledQuery{of(body.Lookup("pipeline", "0", "$match"), none, true)}
	case "findAndModify":
		return []sampledQuery{of(body.Lookup("query"), body.Lookup("update"), false)}
	}
	list := map[string]string{"update": "updates", "delete": "deletes"}[name]
	statements, err := args.Documents(body.Lookup(list))
	if list == "" || err != nil {
		return nil
	}
	var queries []sampledQuery
	for _, s := range statements {
		multi := args.Truth(s.Lookup("multi")) || name == "delete" && !args.Truth(s.Lookup("limit"))
		queries = append(queries, of(s.Lookup("q"), s.Lookup("u"), multi))
	}
	return queries
}

// changedFields returns the fields that the operators of an update name.
func changedFields(update bson.RawValue) []string {
	doc, isDoc := update.DocumentOK()
	if !isDoc {
		return nil
	}
	elems, err := doc.Elements()
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range elems {
		inner, isDoc := e.Value().DocumentOK()
		if !isDoc || !strings.HasPrefix(e.Key(), "$") {
			continue
		}
		if fields, err := inner.Elements(); err == nil {
			for _, f := range fields {
				names = append(names, f.Key())
			}
		}
	}
	return names
}

// keyRanges is into how many ranges analyzeShardKey cuts the keys.
const keyRanges = 100

// spread is how many sampled queries there are and where they would go with a
// shard key.
type spread struct {
	byCommand              map[string]int64
	total                  int64
	single, several, every int64
	byRange                []int64
	keyUpdates             int64
	singleWithoutKey       int64
	multiWithoutKey        int64
}

// distribution returns the read and the write distribution of sampled queries.
func (all analyzers) distribution(cluster *mock.Cluster, ns string, key bson.Raw) (bson.D, error) {
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return nil, err
	}
	var samples []sampledQuery
	if a := all[ns]; a != nil {
		samples = a.samples
	}
	reads, writes := &spread{byCommand: map[string]int64{}}, &spread{byCommand: map[string]int64{}}
	if len(samples) > 0 {
		bounds, err := cluster.Statistics().KeyRanges(ns, key, keyRanges)
		if err != nil {
			return nil, err
		}
		reads.byRange, writes.byRange = make([]int64, len(bounds)+1), make([]int64, len(bounds)+1)
		for _, s := range samples {
			into := reads
			if slices.Contains([]string{"update", "delete", "findAndModify"}, s.command) {
				into = writes
			}
			into.add(s, pattern, bounds)
		}
	}
	write := writes.doc("Writes", "update", "delete", "findAndModify")
	if writes.total > 0 {
		write = append(write,
			bson.E{Key: "percentageOfShardKeyUpdates", Value: writes.percent(writes.keyUpdates)},
			bson.E{Key: "percentageOfSingleWritesWithoutShardKey", Value: writes.percent(writes.singleWithoutKey)},
			bson.E{Key: "percentageOfMultiWritesWithoutShardKey", Value: writes.percent(writes.multiWithoutKey)})
	}
	return bson.D{
		{Key: "readDistribution", Value: reads.doc("Reads", "find", "aggregate", "count", "distinct")},
		{Key: "writeDistribution", Value: write},
	}, nil
}

func (s *spread) add(q sampledQuery, p catalog.KeyPattern, bounds []catalog.Key) {
	s.total++
	s.byCommand[q.command]++
	ranges, bounded := store.KeyRanges(q.filter, p.Doc())
	whole := q.filter.WholeKey(p.Fields())
	switch {
	case whole:
		s.single++
	case bounded:
		s.several++
	default:
		s.every++
		ranges = []store.KeyRange{{}}
	}
	hit := make([]bool, len(s.byRange))
	for _, r := range ranges {
		first := sort.Search(len(bounds), func(i int) bool { return catalog.Place(r.From).Less(bounds[i]) })
		for i := first; i < len(hit) && (i == first || r.To == nil || bounds[i-1].Less(catalog.Place(r.To))); i++ {
			hit[i] = true
		}
	}
	for i, is := range hit {
		if is {
			s.byRange[i]++
		}
	}
	if slices.ContainsFunc(q.changed, func(name string) bool { return slices.Contains(p.Fields(), name) }) {
		s.keyUpdates++
	}
	if !whole && q.multi {
		s.multiWithoutKey++
	} else if !whole {
		s.singleWithoutKey++
	}
}

func (s *spread) percent(n int64) float64 { return float64(n) * 100 / float64(s.total) }

// doc shows how many queries were sampled, and their spread if there are any.
func (s *spread) doc(kind string, commands ...string) bson.D {
	size := bson.D{{Key: "total", Value: s.total}}
	for _, name := range commands {
		size = append(size, bson.E{Key: name, Value: s.byCommand[name]})
	}
	doc := bson.D{{Key: "sampleSize", Value: size}}
	if s.total == 0 {
		return doc
	}
	return append(doc,
		bson.E{Key: "percentageOfSingleShard" + kind, Value: s.percent(s.single)},
		bson.E{Key: "percentageOfMultiShard" + kind, Value: s.percent(s.several)},
		bson.E{Key: "percentageOfScatterGather" + kind, Value: s.percent(s.every)},
		bson.E{Key: "num" + kind + "ByRange", Value: s.byRange})
}
