package router_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store/quota"
)

// budgeted is a tester with 40 documents of a megabyte, and a budget.
func budgeted(t *testing.T, budget *quota.Budget) *tester {
	c, err := mock.New(mock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &tester{T: t, Router: router.New(c, nil, router.WithBudget(budget)), Cluster: c}
	for i := range 40 {
		x.OK("app", d("insert", "big", "documents", bson.A{d("_id", i, "k", -i, "pad", strings.Repeat("x", 1<<20))}))
	}
	return x
}

func aggregation(batch int, stages ...bson.D) bson.D {
	all := bson.A{}
	for _, s := range stages {
		all = append(all, s)
	}
	return d("aggregate", "big", "pipeline", all, "cursor", d("batchSize", batch))
}

// What commands keep counts to the budget as long as they keep it, which is as
// long as their cursors are open.
func TestCommandsCountToTheBudget(t *testing.T) {
	budget := quota.NewBudget(100 << 20)
	x := budgeted(t, budget)
	inOrder := d("$sort", d("pad", 1, "k", 1))
	open := x.OK("app", aggregation(1, d("$set", d("a", 1)), inOrder)).Lookup("cursor", "id").Int64()
	if used := budget.Used(); used < 40<<20 {
		t.Errorf("a cursor on 40 MiB in order keeps %d bytes", used)
	}
	x.OK("app", d("killCursors", "big", "cursors", bson.A{open}))
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are kept after the cursor", used)
	}
	x.OK("app", d("find", "big", "sort", d("pad", 1, "k", 1), "projection", d("_id", 1), "batchSize", 100))
	x.OK("app", aggregation(100, d("$group", d("_id", nil, "n", d("$sum", 1)))))
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are kept in the end", used)
	}
}

// The largest is refused: a newcomer that is larger than the rest, or a cursor
// that nobody reads. Who is small goes on.
func TestTheLargestIsRefused(t *testing.T) {
	budget := quota.NewBudget(60 << 20)
	x := budgeted(t, budget)
	sorted := aggregation(1, d("$set", d("a", 1)), d("$sort", d("k", 1)))
	few := aggregation(1, d("$limit", 5), d("$set", d("a", 1)), d("$sort", d("k", 1)))
	small := x.OK("app", few).Lookup("cursor", "id")
	idle := x.OK("app", sorted).Lookup("cursor", "id").Int64() // keeps 40 of 60
	x.OK("app", aggregation(1, d("$group", d("_id", "$pad", "all", d("$push", "$$ROOT"))), d("$count", "n")))
	for late := time.Now().Add(time.Minute); budget.Used() > 20<<20; runtime.Gosched() { // another goroutine ends it
		if time.Now().After(late) {
			t.Fatalf("%d bytes are kept", budget.Used())
		}
	}
	if code := x.Code("app", d("getMore", idle, "collection", "big", "batchSize", 1)); code != 146 {
		t.Errorf("the idle cursor, which was the largest: code %d, want 146", code)
	}
	x.OK("app", d("getMore", small.Int64(), "collection", "big", "batchSize", 1))
	x.OK("app", d("find", "big", "batchSize", 1))
	if code := x.Code("app", aggregation(1, d("$lookup", d("from", "big", "pipeline", bson.A{d("$set", d("a", 1))},
		"as", "r")))); code != 146 {
		t.Errorf("a join of more than there is room for: code %d, want 146", code)
	}
}

// allowDiskUse is what a release takes it for.
func TestAllowDiskUse(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	x := budgeted(t, quota.NewBudget(0))
	for i := range 70 {
		x.OK("app", d("insert", "big", "documents", bson.A{d("_id", 100+i, "k", -i, "pad", strings.Repeat("x", 1<<20))}))
	}
	inOrder := aggregation(1, d("$set", d("a", 1)), d("$sort", d("k", 1)))
	x.OK("app", inOrder)
	if code := x.Code("app", append(inOrder, bson.E{Key: "allowDiskUse", Value: false})); code != 292 {
		t.Errorf("$sort: code %d, want 292", code)
	}
	find := d("find", "big", "sort", d("k", 1), "batchSize", 1)
	x.OK("app", find)
	if code := x.Code("app", append(find, bson.E{Key: "allowDiskUse", Value: false})); code != 292 {
		t.Errorf("find: code %d, want 292", code)
	}
}
