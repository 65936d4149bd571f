package access

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The buckets of time series have a resource of their own: "all collections" does not have
// collections of the system.
func TestBucketsOfTimeSeries(t *testing.T) {
	buckets := CollectionResource("shop", "system.buckets.ts")
	for _, tc := range []struct {
		on   Resource
		want bool
	}{
		{DatabaseResource(""), false}, {DatabaseResource("shop"), false}, {CollectionResource("", "ts"), false}, {CollectionResource("shop", "ts"), false},
		{buckets, true}, {Resource{Buckets: true}, true}, {Resource{Database: "shop", Buckets: true}, true},
		{Resource{Database: "other", Buckets: true}, false}, {Resource{Collection: "ts", Buckets: true}, true},
		{Resource{Database: "shop", Collection: "ts", Buckets: true}, true},
		{Resource{Database: "shop", Collection: "u", Buckets: true}, false},
	} {
		g := newGrants([]Privilege{{tc.on, []Action{"moveChunk"}}})
		if got := g.Allows(buckets, "moveChunk"); got != tc.want {
			t.Errorf("%+v allows it: %v", tc.on, got)
		}
		raw, err := bson.Marshal(tc.on.document())
		if err != nil {
			t.Fatal(err)
		}
		if read, err := readResource(raw); err != nil || read != tc.on {
			t.Errorf("%+v is read as %+v, %v", tc.on, read, err)
		}
	}
	if g := newGrants([]Privilege{{Resource{Buckets: true}, []Action{"find"}}}); g.Allows(CollectionResource("shop", "ts"), "find") {
		t.Error("a privilege on buckets is one on collections")
	}
}
