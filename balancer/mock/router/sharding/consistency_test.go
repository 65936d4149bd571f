package sharding_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// E111, and what writes to the config database by hand can break.
func TestCheckMetadataConsistency(t *testing.T) {
	x := routertest.NewS0(t)
	check := func(db string, what any) bson.Raw {
		return x.OK(db, d("checkMetadataConsistency", what, "checkIndexes", true)).Lookup("cursor").Document()
	}
	if got := check("admin", 1); got.Lookup("id").Int64() != 0 || got.Lookup("ns").StringValue() != "admin.$cmd.aggregate" || !got.Lookup("firstBatch", "0").IsZero() {
		t.Errorf("a healthy cluster: %s", got)
	}
	if ns := check("shop", "orders").Lookup("ns").StringValue(); ns != "shop.orders" {
		t.Errorf("cursor of %s", ns)
	}
	zone := func(min, max any) bson.D { return d("ns", "shop.orders", "min", min, "max", max, "tag", "EU") }
	for _, tt := range []struct {
		kind     string
		coll     string
		document bson.D
		where    string
	}{
		{kind: "ZonesRangeOverlap", coll: "tags", document: zone(d("a", 0), d("a", 10)), where: "zoneA"},
		{kind: "CorruptedZoneShardKey", coll: "tags", document: zone(d("b", 0), d("b", 10)), where: "zone"},
	} {
		x := routertest.NewS0(t)
		x.OK("admin", d("updateZoneKeyRange", "shop.orders", "min", d("a", -5), "max", d("a", 5), "zone", "EU"))
		x.OK("config", d("insert", tt.coll, "documents", bson.A{tt.document}))
		found := x.OK("shop", d("checkMetadataConsistency", "orders")).Lookup("cursor", "firstBatch", "0").Document()
		if found.Lookup("type").StringValue() != tt.kind || found.Lookup("details", tt.where).IsZero() || found.Lookup("description").StringValue() == "" {
			t.Errorf("want %s, found %s", tt.kind, found)
		}
	}
	x.OK("config", d("update", "databases", "updates", bson.A{d("q", d("_id", "shop"), "u", d("$set", d("primary", "shardB")))}))
	found := check("shop", 1).Lookup("firstBatch", "0").Document()
	if found.Lookup("type").StringValue() != "MisplacedCollection" || found.Lookup("details", "namespace").StringValue() != "shop.users" || found.Lookup("details", "shard").StringValue() != "shardA" {
		t.Errorf("another primary: %s", found)
	}
	x.OK("config", d("delete", "databases", "deletes", bson.A{d("q", d("_id", "logs"), "limit", 1)}))
	hidden := false
	values, err := check("admin", 1).Lookup("firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		hidden = hidden || v.Document().Lookup("type").StringValue() == "HiddenShardedCollection"
	}
	if !hidden {
		t.Errorf("no hidden collection among %v", values)
	}
}

func TestCheckMetadataConsistencyArguments(t *testing.T) {
	x := routertest.NewS0(t)
	for _, tt := range []struct {
		db      string
		command bson.D
		code    int
	}{
		{"admin", d("checkMetadataConsistency", "orders"), 73},
		{"nodb", d("checkMetadataConsistency", 1), 26},
		{"nodb", d("checkMetadataConsistency", "c"), 26},
		{"shop", d("checkMetadataConsistency", true), 14},
		{"shop", d("checkMetadataConsistency", 1, "checkIndexes", "yes"), 14},
		{"shop", d("checkMetadataConsistency", 1, "dbMetadataLockMaxTimeMS", -1), 2},
		{"shop", d("checkMetadataConsistency", 1, "cursor", 5), 14},
	} {
		if code := x.Code(tt.db, tt.command); code != tt.code {
			t.Errorf("%v on %s: code %d, want %d", tt.command, tt.db, code, tt.code)
		}
	}
}
