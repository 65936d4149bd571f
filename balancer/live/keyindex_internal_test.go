package live

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Which indexes serve a shard key: a compound wildcard index did until 8.0.18 and 8.2.2
// (SERVER-103774), and the simple collation, which 9.0 shows, changes nothing; any other does.
func TestIndexesThatServeTheKey(t *testing.T) {
	p, err := catalog.ParseKeyPattern(encoded(t, bson.D{{Key: "a", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	collation := func(locale string) bson.D {
		return bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: locale}}}}
	}
	simple := collation("simple")
	wildcard := bson.D{{Key: "a", Value: 1}, {Key: "$**", Value: 1}}
	for _, tt := range []struct {
		version string
		key     bson.D
		spec    bson.D
		serves  bool
	}{
		{"9.0.2", bson.D{{Key: "a", Value: 1}}, simple, true},
		{"9.0.2", bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}}, simple, true},
		{"9.0.2", bson.D{{Key: "b", Value: 1}}, simple, false},
		{"8.0.4", bson.D{{Key: "a", Value: 1}}, collation("fr"), false},
		{"8.0.17", wildcard, nil, true}, {"8.0.18", wildcard, nil, false}, {"8.2.1", wildcard, nil, true},
		{"8.2.2", wildcard, nil, false}, {"8.3.0", wildcard, nil, false}, {"9.0.2", wildcard, simple, false},
	} {
		r, err := catalog.ParseRelease(tt.version)
		if err != nil {
			t.Fatal(err)
		}
		index := encoded(t, bson.D{{Key: "key", Value: tt.key}, {Key: "spec", Value: tt.spec}})
		if got := servesKey(r, index, p); got != tt.serves {
			t.Errorf("%s, %v %v: %v", tt.version, tt.key, tt.spec, got)
		}
	}
}

func encoded(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
