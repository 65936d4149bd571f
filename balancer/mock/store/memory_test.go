package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mongoerr"
)

// A megabyte again and again costs no memory, but counts.
func megabytes(t testing.TB, n int) []bson.Raw {
	return slices.Repeat([]bson.Raw{marshal(t, bson.D{
		{Key: "_id", Value: 1}, {Key: "k", Value: 1}, {Key: "pad", Value: strings.Repeat("x", 1<<20)},
	})}, n)
}

func runOver(ctx context.Context, t testing.TB, stages string, env pipeline.Env, docs []bson.Raw) error {
	env.Collection = func(string) (iter.Seq[bson.Raw], error) { return slices.Values(docs), nil }
	p, err := pipeline.Compile(storetest.List(t, stages), env)
	if err != nil {
		t.Fatal(err)
	}
	return drained(p.Run(ctx, slices.Values(docs)))
}

// The limits of a server's stages, with its codes: some hold always, some only
// where the stage may not go to the disk.
func TestStagesKeepToTheServersMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	const spilled, always = false, true
	docs := megabytes(t, 101)
	for _, tc := range []struct {
		pipeline string
		code     mongoerr.Code
		always   bool
	}{
		{`[{"$sort": {"k": 1}}]`, 292, spilled},
		{`[{"$group": {"_id": {"$concat": ["$pad", {"$toString": {"$rand": {}}}]}}}]`, 292, spilled},
		{`[{"$sortByCount": {"$concat": ["$pad", {"$toString": {"$rand": {}}}]}}]`, 292, spilled},
		{`[{"$bucketAuto": {"groupBy": "$k", "buckets": 2}}]`, 292, spilled},
		{`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"n": {"$count": {}}}}}]`, 5414201, spilled},
		{`[{"$fill": {"output": {"n": {"value": 1}}}}]`, 5414201, spilled},
		{`[{"$group": {"_id": null, "all": {"$push": "$pad"}}}, {"$count": "n"}]`, 146, always},
		{`[{"$group": {"_id": null, "all": {"$addToSet": {"$concat": ["$pad", {"$toString": {"$rand": {}}}]}}}}]`, 146,
			always},
		{`[{"$group": {"_id": null, "all": {"$firstN": {"input": "$pad", "n": 1000}}}}]`, 146, always},
		{`[{"$group": {"_id": null, "all": {"$minN": {"input": "$pad", "n": 1000}}}}]`, 146, always},
		{`[{"$group": {"_id": null, "all": {"$topN": {"sortBy": {"k": 1}, "output": "$pad", "n": 1000}}}}]`, 146, always},
		{`[{"$facet": {"all": [{"$set": {"a": 1}}]}}]`, 4031700, always},
		{`[{"$limit": 1}, {"$lookup": {"from": "c", "localField": "k", "foreignField": "k", "as": "r"}}]`, 4568, always},
		{`[{"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [], "as": "r"}}]`, 4568, always},
		{`[{"$limit": 1}, {"$graphLookup": {"from": "c", "startWith": 1, "connectFromField": "k", "connectToField": "k",
			"as": "r"}}]`, 40099, always},
		{`[{"$limit": 1}, {"$project": {"n": {"$range": [0, {"$multiply": ["$k", 7000000]}]}}}]`, 146, always},
		{`[{"$limit": 1}, {"$project": {"n": {"$reduce": {"input": {"$range": [0, 30]}, "initialValue": "$pad",
			"in": {"$concat": ["$$value", "$$value"]}}}}}]`, 13548, always},
	} {
		t.Run(tc.pipeline[:min(40, len(tc.pipeline))], func(t *testing.T) {
			for _, noDisk := range []bool{true, false} {
				err := runOver(t.Context(), t, tc.pipeline, pipeline.Env{NoDisk: noDisk}, docs)
				code, _ := mongoerr.CodeOf(err)
				if tc.always || noDisk {
					if code != tc.code {
						t.Errorf("without a disk %v: %v, want code %d", noDisk, err, tc.code)
					}
				} else if err != nil {
					t.Errorf("with a disk: %v", err)
				}
			}
		})
	}
}

// streaming are the stages that keep nothing.
var streaming = []string{
	"$match", "$project", "$set", "$addFields", "$unset", "$limit", "$skip", "$count", "$replaceRoot", "$replaceWith",
	"$unwind", "$redact", "$documents",
}

// Every stage counts what it keeps to the budget, but for those that keep
// nothing, and gives it back.
func TestStagesCountToTheBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	docs := slices.Collect(func(yield func(bson.Raw) bool) {
		for i := range 20 {
			yield(marshal(t, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: fmt.Sprint(i, strings.Repeat("x", 1<<20))},
				{Key: "gap", Value: i}, {Key: "next", Value: i + 1}, {Key: "list", Value: bson.A{1, 2}}}))
		}
	})
	for _, name := range pipeline.ImplementedStageNames() {
		t.Run(name, func(t *testing.T) {
			use := stageUses[name]
			switch name {
			case "$unwind":
				use = `"$list"`
			case "$documents":
				use = `[{"a": 1}]`
			case "$project":
				use = `{"a": "$k"}`
			case "$graphLookup":
				use = `{"from": "c", "startWith": 0, "connectFromField": "next", "connectToField": "_id", "as": "r"}`
			case "$setWindowFields":
				use = `{"output": {"r": {"$sum": "$v"}}}`
			case "$bucket": // of numbers, which take no room
				use = `{"groupBy": "$gap", "boundaries": [0, 50], "output": {"r": {"$push": "$k"}}}`
			case "$unionWith", "$lookup": // what they read is the collection's own
				use = strings.ReplaceAll(use, `"localField": "k", "foreignField": "_id"`, `"pipeline": [{"$sort": {"k": 1}}]`)
			}
			stages := fmt.Sprintf(`[{%q: %s}]`, name, use)
			budget := quota.NewBudget(8 << 20)
			ctx, account := budget.Open(t.Context())
			err := runOver(ctx, t, stages, pipeline.Env{}, docs)
			if code, _ := mongoerr.CodeOf(err); (code == mongoerr.ExceededMemoryLimit) == slices.Contains(streaming, name) {
				t.Errorf("with 8 MiB for 20: %v", err)
			}
			account.Close()
			if used := budget.Used(); used != 0 {
				t.Errorf("%d bytes are kept in the end", used)
			}
			budget = quota.NewBudget(0)
			ctx, account = budget.Open(t.Context())
			defer account.Close()
			if err := runOver(ctx, t, stages, pipeline.Env{}, docs); err != nil {
				t.Fatal(err)
			}
			if used := budget.Used(); used != 0 {
				t.Errorf("%d bytes are kept when the pipeline has ended", used)
			}
		})
	}
}

// Beyond the budget the largest is refused, of equal ones the newest; what it
// held is there for the others.
func TestBudgetRefusesTheLargest(t *testing.T) {
	for _, tc := range []struct {
		name    string
		held    []int64 // by accounts, in the order they were opened
		asks    int
		for1    int64
		refused int // the account; -1 for none
	}{
		{"room for all", []int64{40, 50}, 0, 10, -1},
		{"the one who asks", []int64{40, 50}, 1, 20, 1},
		{"another, which is larger", []int64{20, 70}, 0, 20, 1},
		{"the newest of equals", []int64{30, 30, 30}, 0, 0, -1},
		{"the newest of equals makes room", []int64{10, 45, 45}, 0, 10, 2},
		{"one is enough", []int64{10, 45, 44}, 0, 30, 1},
		{"itself, when nobody else can make room", []int64{10, 5, 5}, 0, 200, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			budget := quota.NewBudget(100)
			var contexts []context.Context
			var accounts []*quota.Account
			for _, held := range tc.held {
				ctx, account := budget.Open(t.Context())
				if err := account.Reserve(held); err != nil {
					t.Fatal(err)
				}
				contexts, accounts = append(contexts, ctx), append(accounts, account)
			}
			err := accounts[tc.asks].Reserve(tc.for1)
			if code, _ := mongoerr.CodeOf(err); (code == mongoerr.ExceededMemoryLimit) != (tc.refused == tc.asks) {
				t.Errorf("the one who asks gets %v", err)
			}
			for i, ctx := range contexts {
				cause := context.Cause(ctx)
				if code, _ := mongoerr.CodeOf(cause); (code == mongoerr.ExceededMemoryLimit) != (i == tc.refused) {
					t.Errorf("account %d ends with %v", i, cause)
				}
			}
			for _, account := range accounts {
				account.Close()
			}
			if used := budget.Used(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}

// A command whose expressions make large values on their way keeps them in
// mind.
func TestArgumentsCountToTheBudget(t *testing.T) {
	budget := quota.NewBudget(30 << 20)
	large := slices.Repeat([]string{`{"$concat": ["$pad", "$pad", "$pad", "$pad"]}`}, 10)
	for op, fits := range map[string]bool{"$concat": false, "$size": true} {
		ctx, account := budget.Open(t.Context()) // each is a command of its own
		args := strings.Join(large, ", ")
		if fits {
			args = "[" + strings.Join(large[:2], ", ") + "]"
		}
		err := runOver(ctx, t, fmt.Sprintf(`[{"$project": {"n": {%q: [%s]}}}]`, op, args), pipeline.Env{}, megabytes(t, 1))
		if code, _ := mongoerr.CodeOf(err); (code == mongoerr.ExceededMemoryLimit) == fits {
			t.Errorf("arguments of 4 MiB in 30 MiB: %s: %v", op, err)
		}
		account.Close()
	}
}
