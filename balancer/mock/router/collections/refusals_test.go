package collections_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// What the mock does not have is refused only where a server would make it: what it would refuse has the
// server's code (recording 23, and the server's checks of a time series' shard key).
func TestOptionsAreCheckedBeforeTheyAreRefused(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("shardCollection", "doc1.s", "key", d("k", 1)))
	series := func(more ...any) bson.D { return append(d("timeField", "t", "metaField", "m"), d(more...)...) }
	shard := func(key, series any) bson.D {
		return d("shardCollection", "doc1.ts", "key", key, "timeseries", series)
	}
	english := d("locale", "en")
	index := func(more ...any) bson.D {
		spec := append(d("key", d("b", 1), "name", "b_1", "collation", english), d(more...)...)
		return d("createIndexes", "s", "indexes", bson.A{spec})
	}
	for _, tt := range []struct {
		name    string
		db      string
		command bson.D
		code    int
	}{
		{"a time series", "admin", shard(d("m", 1), series()), 238},
		{"by a part of its metadata and the time", "admin", shard(d("m.a", 1, "t", 1), series()), 238},
		{"without a key", "admin", shard(d(), series()), 2},
		{"with a bad key", "admin", shard(d("m", "x"), series()), 2},
		{"by another field", "admin", shard(d("a", 1), series()), 5914001},
		{"by a field that only begins alike", "admin", shard(d("mm", 1), series()), 5914001},
		{"by its metadata, which it has not", "admin", shard(d("m", 1), d("timeField", "t")), 5914001},
		{"by the time first", "admin", shard(d("t", 1, "m", 1), series()), 5914000},
		{"created", "doc1", d("create", "n", "timeseries", series()), 238},
		{"created with a span only", "doc1", d("create", "n", "timeseries", series("bucketMaxSpanSeconds", 100)), 72},
		{"created with a rounding only", "doc1", d("create", "n", "timeseries", series("bucketRoundingSeconds", 100)), 72},
		{"created with two spans", "doc1",
			d("create", "n", "timeseries", series("bucketMaxSpanSeconds", 100, "bucketRoundingSeconds", 50)), 72},
		{"created with one span", "doc1",
			d("create", "n", "timeseries", series("bucketMaxSpanSeconds", 100, "bucketRoundingSeconds", 100)), 238},
		{"created to expire before", "doc1", d("create", "n", "timeseries", series(), "expireAfterSeconds", -1), 72},
		{"created to expire", "doc1", d("create", "n", "timeseries", series(), "expireAfterSeconds", 0), 238},
		{"an index with a collation", "doc1", index(), 238},
		{"a unique one that the shard key does not begin", "doc1", index("unique", true), 67},
		{"one for a view's collection", "config", index(), 20},
		{"an index hidden by null", "doc1", d("collMod", "s", "index", d("keyPattern", d("k", 1), "hidden", nil)), 72},
	} {
		reply := x.Run(tt.db, tt.command)
		if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != tt.code {
			t.Errorf("%s: %s, want code %d", tt.name, reply, tt.code)
		}
	}
}

// Of what is sharded validate says whether it is valid, and what each shard said; of other collections what
// their shard said (recordings 16 and 23).
func TestValidateOfShardedCollections(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("shardCollection", "doc1.s", "key", d("k", 1)))
	x.OK("doc1", d("create", "u"))
	for name, fields := range map[string]bool{"s": false, "u": true} {
		reply := x.OK("doc1", d("validate", name))
		if _, err := reply.LookupErr("nrecords"); (err == nil) != fields || !reply.Lookup("valid").Boolean() {
			t.Errorf("%s: %s", name, reply)
		}
		raw, err := reply.Lookup("raw").Document().Elements()
		if err != nil || len(raw) != 1 || raw[0].Key() != "shard0" {
			t.Errorf("%s: by shard %v, %v", name, raw, err)
		}
	}
}
