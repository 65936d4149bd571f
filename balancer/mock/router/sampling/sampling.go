package sampling

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/filter"
)

// Analyzers are the analyzers by namespace. The cluster's lock guards them.
type Analyzers map[string]*Analyzer

// Analyzer samples the queries of one collection.
type Analyzer struct {
	PerSecond float64
	next      time.Time
	Samples   []Query
	oldest    int // index of the oldest sample, once Samples is full
}

// Query is a sampled query: the data that determines which shards it would target.
type Query struct {
	command string // find, aggregate, count, distinct; update, delete, findAndModify
	filter  *filter.Filter
	multi   bool
	// changed are the fields that an update sets.
	changed []string
	cmdDoc  bson.D // the field cmd of $listSampledQueries
	at      time.Time
}

// maxSamples is the maximum number of samples of one collection; newer samples replace the oldest. A
// server stores samples on disk for a week.
const maxSamples = 20_000

// maxAnalyzers is the maximum number of collections with samples.
const maxAnalyzers = 100

// SetSampling switches sampling on or off; existing samples stay.
func (all Analyzers) SetSampling(ns, mode string, rate float64) {
	a := all[ns]
	if a == nil {
		a = &Analyzer{}
		if len(all) >= maxAnalyzers {
			all.dropIdle()
		}
		all[ns] = a
	}
	if a.PerSecond = 0; mode == "full" {
		a.PerSecond = rate
	}
}

// IsWrite reports whether the query belongs to a write.
func (q Query) IsWrite() bool {
	return slices.Contains([]string{"update", "delete", "findAndModify"}, q.command)
}

// add stores a query; if Samples is full, it replaces the oldest.
func (a *Analyzer) add(one Query) {
	if len(a.Samples) < maxSamples {
		a.Samples = append(a.Samples, one)
		return
	}
	a.Samples[a.oldest] = one
	a.oldest = (a.oldest + 1) % maxSamples
}

// dropIdle deletes the samples of collections that are no longer sampled.
func (all Analyzers) dropIdle() {
	maps.DeleteFunc(all, func(_ string, a *Analyzer) bool { return a.PerSecond == 0 })
}

// Active returns the analyzer of a collection if sampling is on, else nil.
func (all Analyzers) Active(ns string) *Analyzer {
	if a := all[ns]; a != nil && a.PerSecond > 0 {
		return a
	}
	return nil
}

// Record stores queries if sampling is on and the rate allows it.
func (a *Analyzer) Record(list []Query, now time.Time) {
	for _, one := range list {
		if a.PerSecond > 0 && !now.Before(a.next) {
			one.at = now
			a.next = now.Add(time.Duration(float64(time.Second) / a.PerSecond))
			a.add(one)
		}
	}
}

// Queries returns the queries in a command.
func Queries(ns, name string, body bson.Raw) []Query {
	of := func(from bson.Raw, query, update bson.RawValue, multi bool) Query {
		doc, _ := query.DocumentOK()
		filter, err := filter.Compile(doc)
		if err != nil {
			filter = nil
		}
		return Query{command: name, filter: filter, multi: multi, changed: changedFields(update),
			cmdDoc: newCmdDoc(ns, name, doc, statementOf(name, from, multi))}
	}
	var none bson.RawValue
	switch name {
	case "find":
		return []Query{of(body, body.Lookup("filter"), none, true)}
	case "count", "distinct":
		return []Query{of(body, body.Lookup("query"), none, true)}
	case "aggregate":
		return []Query{of(body, body.Lookup("pipeline", "0", "$match"), none, true)}
	case "findAndModify":
		return []Query{of(body, body.Lookup("query"), body.Lookup("update"), false)}
	}
	list := map[string]string{"update": "updates", "delete": "deletes"}[name]
	statements, err := args.Documents(body.Lookup(list))
	if list == "" || err != nil {
		return nil
	}
	var queries []Query
	for _, s := range statements {
		multi := args.IsTrueOrNonzero(s.Lookup("multi")) || name == "delete" && !args.IsTrueOrNonzero(s.Lookup("limit"))
		queries = append(queries, of(s, s.Lookup("q"), s.Lookup("u"), multi))
	}
	return queries
}

// changedFields returns the fields that the operators of an update change.
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
