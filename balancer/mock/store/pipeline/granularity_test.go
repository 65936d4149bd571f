package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// The manual's examples of $bucketAuto: a hundred documents, _id 0 to 99, in
// five buckets.
func TestBucketAutoGranularity(t *testing.T) {
	var things []bson.Raw
	for i := range 100 {
		things = append(things, document.New(document.Field{Name: "_id", Value: value.Int32(int32(i))}))
	}
	for granularity, want := range map[string]string{
		"":          "0-20:20 20-40:20 40-60:20 60-80:20 80-99:20",
		"R20":       "0-20:20 20-40:20 40-63:23 63-90:27 90-100:10",
		"E24":       "0-20:20 20-43:23 43-68:25 68-91:23 91-100:9",
		"1-2-5":     "0-20:20 20-50:30 50-100:50",
		"POWERSOF2": "0-32:32 32-64:32 64-128:36",
	} {
		spec := bson.D{{Key: "groupBy", Value: "$_id"}, {Key: "buckets", Value: 5}}
		if granularity != "" {
			spec = append(spec, bson.E{Key: "granularity", Value: granularity})
		}
		raw, err := bson.Marshal(bson.D{{Key: "$bucketAuto", Value: spec}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile([]bson.Raw{raw}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for doc, err := range p.Run(context.Background(), slices.Values(things)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%v-%v:%d", value.ToDouble(doc.Lookup("_id", "min")),
				value.ToDouble(doc.Lookup("_id", "max")),
				doc.Lookup("count").AsInt64()))
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%s: %s, want %s", granularity, have, want)
		}
	}
}

// Rounding never gives the number itself: bounds below are less, and bounds
// above are greater.
func TestGranularityBounds(t *testing.T) {
	for name, g := range preferredNumbers() {
		for _, n := range []float64{1e-7, 0.1, 0.16, 1, 1.5, 2, 7.3, 10, 99, 100, 950, 980, 1024, 12345, 1e9} {
			down, err := g.roundDown(value.Double(n))
			up, err2 := g.roundUp(value.Double(n))
			if err != nil || err2 != nil || !(value.ToDouble(down) < n) || !(value.ToDouble(up) > n) ||
				value.ToDouble(up)/value.ToDouble(down) > 10 {
				t.Errorf("%s: %v lies in [%v, %v)", name, n, value.ToDouble(down), value.ToDouble(up))
			}
		}
	}
	for name, g := range preferredNumbers() { // the bound below the smallest double is 0
		if down, err := g.roundDown(value.Double(math.SmallestNonzeroFloat64)); err != nil || value.ToDouble(down) != 0 {
			t.Errorf("%s: %v is below the smallest double: %v", name, value.ToDouble(down), err)
		}
	}
	for code, v := range map[int32]value.Value{40258: value.String("x"), 40260: value.Int32(-1)} {
		if _, err := (granularity{10, 20, 50}).roundUp(v); storetest.CodeOf(err) != code {
			t.Errorf("%s: %v, want %d", v, err, code)
		}
	}
}
