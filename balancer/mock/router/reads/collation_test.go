package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// A collation changes how texts are compared and nothing else: what compares none is answered, and what
// would come out otherwise is refused.
func TestCollationWithoutTexts(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	english := bson.D{{Key: "locale", Value: "en"}}
	doc := func(kv ...any) bson.D {
		d := bson.D{}
		for i := 0; i < len(kv); i += 2 {
			d = append(d, bson.E{Key: kv[i].(string), Value: kv[i+1]})
		}
		return d
	}
	x.OK("db", doc("insert", "c", "documents", bson.A{doc("_id", 1, "n", 1, "s", "b"), doc("_id", 2, "n", 2, "s", "A")}))
	group := func(by string) bson.A { return bson.A{doc("$group", doc("_id", by))} }
	for _, c := range []struct {
		command bson.D
		code    int
	}{
		{doc("find", "c", "filter", doc("n", 1)), 0},
		{doc("find", "c", "filter", doc("s", "a")), 238},
		{doc("find", "c", "filter", doc("n", doc("$in", bson.A{1, "x"}))), 238},
		{doc("find", "c", "sort", doc("n", -1)), 0},
		{doc("find", "c", "sort", doc("s", 1)), 238},
		{doc("count", "c", "query", doc("n", 1)), 0},
		{doc("distinct", "c", "key", "n"), 0},
		{doc("distinct", "c", "key", "s"), 238},
		{doc("aggregate", "c", "pipeline", bson.A{doc("$match", doc("n", 2)), doc("$limit", 1)}, "cursor", doc()), 0},
		{doc("aggregate", "c", "pipeline", group("$s"), "cursor", doc()), 238},
	} {
		command := append(c.command, bson.E{Key: "collation", Value: english})
		if c.code == 0 {
			x.OK("db", command)
		} else if got := x.Code("db", command); got != c.code {
			t.Errorf("%v: code %d, want %d", c.command, got, c.code)
		}
	}
}
