package store

import (
	"context"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// conditional are queries of which every document has to fulfil many conditions.
var conditional = map[string]bool{"many conditions": true, "many ranges": true}

// planTasks read and write a collection with indexes.
func planTasks() []aUse {
	conditions := func(op string, condition func(i int) any) func(n int) any {
		return func(n int) any {
			var all bson.A
			for i := range n {
				all = append(all, condition(i))
			}
			return bson.D{{Key: op, Value: all}}
		}
	}
	some := func(field, op string) func(n int) any {
		return func(n int) any {
			return bson.D{{Key: field, Value: bson.D{{Key: op, Value: numbers(n)}}}}
		}
	}
	var out []aUse
	for name, query := range map[string]func(n int) any{
		"many values": some("k", "$in"), "many values not": some("k", "$nin"), "many hashed values": some("v", "$in"),
		"many values of a list": some("list", "$in"),
		"many values of two fields": func(n int) any {
			in := bson.D{{Key: "$in", Value: numbers(n)}}
			return bson.D{{Key: "k", Value: in}, {Key: "next", Value: in}}
		},
		"many branches": conditions("$or", func(i int) any { return bson.D{{Key: "k", Value: i}} }),
		"many branches of two": conditions("$or", func(i int) any {
			return bson.D{{Key: "k", Value: i}, {Key: "next", Value: bson.D{{Key: "$gt", Value: i}}}}
		}),
		"many conditions": conditions("$and", func(i int) any {
			return bson.D{{Key: "k", Value: bson.D{{Key: "$ne", Value: 2 * i}}}}
		}),
		"many ranges": conditions("$and", func(i int) any {
			return bson.D{{Key: "k", Value: bson.D{{Key: "$gte", Value: -i}}}}
		}),
	} {
		out = append(out, aUse{"plan of " + name, func(t testing.TB, s *size) task {
			c, q := indexed(t, s), marshal(t, query(s.n))
			counts := &Counts{}
			return func(ctx context.Context) error {
				f, err := filter.Compile(q)
				if err != nil {
					return err
				}
				p, err := c.Plan(Query{Filter: f})
				if err != nil {
					return err
				}
				for _, err := range p.Run(ctx, counts) {
					if err != nil {
						return err
					}
					if conditional[name] && counts.Docs%10 == 0 {
						break // each document is tested by all conditions
					}
				}
				ShardKeyRanges(f, document.New(document.Field{Name: "k", Value: value.Int32(1)}))
				return nil
			}
		}})
	}
	return append(out, aUse{"inserting, updating and removing many", func(t testing.TB, s *size) task {
		return func(context.Context) error {
			c := indexed(t, s)
			for _, doc := range s.docs {
				id, _, _ := c.FindByID(document.Lookup(doc, "_id"))
				if err := c.Update(id, document.WithField(doc, "k", value.Int32(-1))); err != nil {
					return err
				}
			}
			for _, doc := range s.docs {
				id, _, _ := c.FindByID(document.Lookup(doc, "_id"))
				c.Delete(id)
			}
			return nil
		}
	}})
}

func indexed(t testing.TB, s *size) *Collection {
	c := New()
	for i, key := range []bson.D{
		{{Key: "k", Value: 1}, {Key: "v", Value: 1}}, {{Key: "v", Value: "hashed"}}, {{Key: "list", Value: 1}},
		{{Key: "next", Value: -1}},
	} {
		spec := IndexSpec{Name: fmt.Sprint("i", i), Key: marshal(t, key), Unique: i == 3}
		if err := c.CreateIndex(spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, doc := range s.docs {
		if _, err := c.Insert(doc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
