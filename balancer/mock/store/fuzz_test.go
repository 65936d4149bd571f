package store

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mock/store/value"
)

// fuzzDocuments returns what fuzzed requests meet.
func fuzzDocuments(t testing.TB) []bson.Raw {
	return storetest.List(t, `[{}, {"_id": 1, "a": 5, "b": {"c": [1, 2, {"d": 3}]}, "s": "abc"},
		{"a": [1, [2], {"b": null}], "s": [], "d": {"$date": "2026-01-01T00:00:00Z"}, "n": {"$numberDecimal": "1.5"}}]`)
}

// fromText takes extended JSON, or BSON as it is.
func fromText(text string) (bson.Raw, bool) {
	if len(text) > 4096 {
		return nil, false
	}
	var d bson.D
	if bson.UnmarshalExtJSON([]byte(text), false, &d) != nil {
		return bson.Raw(text), true
	}
	b, err := bson.Marshal(d)
	return b, err == nil
}

func addSeeds(f *testing.F, pick func(rec recordedQueries) [][]recordedStep) {
	var rec recordedQueries
	readRecording(f, "queries.json", &rec)
	for _, steps := range pick(rec) {
		for _, s := range steps {
			f.Add(`{"v":` + string(s.Ask) + `}`)
		}
	}
}

func FuzzCompileFilter(f *testing.F) {
	addSeeds(f, func(rec recordedQueries) [][]recordedStep { return [][]recordedStep{rec.Match} })
	docs := fuzzDocuments(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, ok := fromText(text)
		if !ok {
			t.Skip()
		}
		for _, query := range []bson.Raw{doc, document.Lookup(doc, "v").Value} {
			filter, err := filter.Compile(query)
			if err != nil {
				continue
			}
			for _, d := range append(docs, doc) {
				filter.Match(d)
				filter.Position(nil, d)
			}
			// By indexes or by a scan, the same documents are found.
			c := collectionOf(t, docs[1:2])
			for _, key := range []string{`{"a": 1}`, `{"b.c": -1}`, `{"s": "hashed"}`} {
				if err := c.CreateIndex(IndexSpec{Name: key, Key: storetest.Raw(t, key)}); err != nil {
					t.Fatal(err)
				}
			}
			found := 0
			for range c.Find(filter) {
				found++
			}
			if want, err := filter.Test(docs[1]); err == nil && want != (found == 1) {
				t.Errorf("%s finds %d documents, and matches: %v", query, found, want)
			}
			_ = filter.ParsedQuery()
			_ = filter.Shape()
		}
	})
}

func FuzzCompileUpdate(f *testing.F) {
	addSeeds(f, func(rec recordedQueries) [][]recordedStep { return [][]recordedStep{rec.Update, rec.Match} })
	docs := fuzzDocuments(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, ok := fromText(text)
		if !ok {
			t.Skip()
		}
		for _, ask := range []value.Value{value.Object(doc), document.Lookup(doc, "v")} {
			u, err := update.Compile(ask, update.Options{ArrayFilters: []bson.Raw{document.Lookup(doc, "f").Value}})
			if err != nil {
				u, err = update.Compile(ask, update.Options{})
			}
			if err != nil {
				continue
			}
			for _, d := range docs {
				out, _, err := u.Apply(d)
				if err == nil && out.Validate() != nil && doc.Validate() == nil {
					t.Errorf("%s made a damaged document", ask)
				}
			}
			_, _ = u.BuildUpsertDocument(t.Context(), doc)
		}
	})
}

func FuzzCompilePipeline(f *testing.F) {
	addSeeds(f, func(rec recordedQueries) [][]recordedStep {
		return [][]recordedStep{rec.Pipeline, rec.Project, rec.Match}
	})
	var rec struct{ Steps []recordedStep }
	readRecording(f, "expressions.json", &rec)
	for _, s := range rec.Steps {
		f.Add(`{"v": [{"$project": {"r": ` + string(s.Ask) + `}}]}`)
	}
	docs := fuzzDocuments(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, ok := fromText(text)
		if !ok {
			t.Skip()
		}
		var stages []bson.Raw
		for _, s := range document.Fields(document.Lookup(doc, "v").Value) {
			stages = append(stages, s.Value)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if p, err := pipeline.Compile(stages, pipeline.Env{}); err == nil {
			n := 0
			for _, err := range p.Run(ctx, sequence(docs)) {
				if n++; err != nil || n > 1000 {
					break
				}
			}
		}
		if p, err := projection.Compile(document.Lookup(doc, "v").Value); err == nil {
			for _, d := range docs {
				_, _ = p.Apply(d)
			}
		}
		if s, err := order.Compile(document.Lookup(doc, "v").Value); err == nil {
			s.Compare(docs[1], docs[2])
		}
	})
}
