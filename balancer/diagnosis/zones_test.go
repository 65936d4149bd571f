package diagnosis

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// Which ends of zone ranges the config servers of 9.0 call suspicious: one or more leading
// MaxKey followed by one or more MinKey up to the end, and nothing else.
func TestMeantEnd(t *testing.T) {
	highest, lowest := bson.MaxKey{}, bson.MinKey{}
	for _, tt := range []struct {
		name  string
		bound bson.D
		want  string // "" = as it was meant
	}{
		{"MaxKey completed", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: lowest}},
			`{"x": MaxKey(), "y": MaxKey()}`},
		{"of three fields", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: lowest}, {Key: "z", Value: lowest}},
			`{"x": MaxKey(), "y": MaxKey(), "z": MaxKey()}`},
		{"two leading", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: highest}, {Key: "z", Value: lowest}},
			`{"x": MaxKey(), "y": MaxKey(), "z": MaxKey()}`},
		{"the global maximum", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: highest}}, ""},
		{"one field", bson.D{{Key: "x", Value: highest}}, ""},
		{"the global minimum", bson.D{{Key: "x", Value: lowest}, {Key: "y", Value: lowest}}, ""},
		{"a value first", bson.D{{Key: "x", Value: 5}, {Key: "y", Value: lowest}}, ""},
		{"a value after", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: 5}}, ""},
		{"a value between", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: 5}, {Key: "z", Value: lowest}}, ""},
		{"MaxKey again", bson.D{{Key: "x", Value: highest}, {Key: "y", Value: lowest}, {Key: "z", Value: highest}}, ""},
		{"nothing", bson.D{}, ""},
	} {
		raw, err := bson.Marshal(tt.bound)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if end, early := catalog.IntendedUpperBound(raw); early {
			got = humanize.Literal(end)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
