package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// A collation changes how texts are compared and nothing else: what compares none is answered, and what
// would come out otherwise is refused. Texts of variables count as compared where anything is.
func TestCollationWithoutTexts(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	english := bson.D{{Key: "locale", Value: "en"}}
	x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 1, "n", 1, "s", "b"), d("_id", 2, "n", 2, "s", "A")}))
	group := func(by string) bson.A { return bson.A{d("$group", d("_id", by))} }
	x.OK("db", d("insert", "numbers", "documents", bson.A{d("_id", 1)}))
	same := d("same", d("$eq", bson.A{"$$a", "$$b"}))
	project := bson.A{d("$project", same)}
	for _, c := range []struct {
		command bson.D
		code    int
	}{
		{d("find", "c", "filter", d("n", 1)), 0},
		{d("find", "c", "filter", d("s", "a")), 238},
		{d("find", "c", "filter", d("n", d("$in", bson.A{1, "x"}))), 238},
		{d("find", "c", "sort", d("n", -1)), 0},
		{d("find", "c", "sort", d("s", 1)), 238},
		{d("count", "c", "query", d("n", 1)), 0},
		{d("distinct", "c", "key", "n"), 0},
		{d("distinct", "c", "key", "s"), 238},
		{d("aggregate", "c", "pipeline", bson.A{d("$match", d("n", 2)), d("$limit", 1)}, "cursor", d()), 0},
		{d("aggregate", "c", "pipeline", group("$s"), "cursor", d()), 238},
		{d("aggregate", "numbers", "pipeline", project, "let", d("a", 1, "b", 2), "cursor", d()), 0},
		{d("aggregate", "numbers", "pipeline", project, "let", d("a", "x", "b", "X"), "cursor", d()), 238},
		{d("find", "numbers", "projection", same, "let", d("a", 1, "b", 2)), 0},
		{d("find", "numbers", "projection", same, "let", d("a", "x", "b", "X")), 238},
	} {
		command := append(c.command, bson.E{Key: "collation", Value: english})
		if c.code == 0 {
			x.OK("db", command)
		} else if got := x.Code("db", command); got != c.code {
			t.Errorf("%v: code %d, want %d", c.command, got, c.code)
		}
	}
}
