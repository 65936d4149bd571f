package router_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

var mutationsOut = flag.String("mutations", "", "a file for the mutated commands that are answered otherwise")

// mutatedCommand is a valid command of which one thing was changed, and what a real mongos of
// 8.0.10 answered.
type mutatedCommand struct {
	ID, DB string
	Body   bson.D
	Answer mutatedAnswer
}

type mutatedAnswer struct {
	Code    int
	Errmsg  string
	OK      int
	Fields  []string
	Timeout bool
	// WriteError is the code of the first one, FirstError that of a bulkWrite's.
	WriteError int `bson:"writeError"`
	FirstError int `bson:"firstError"`
	// Failed is the message of an error without a code.
	Failed string
}

// both returns the answer without and with the text of an error.
func (a mutatedAnswer) both() (code, text string) {
	switch {
	case a.Timeout:
		return "timeout", "timeout"
	case a.Code != 0:
		return fmt.Sprint("code ", a.Code), a.Errmsg
	case a.WriteError != 0:
		return fmt.Sprint("write error ", a.WriteError), ""
	case a.FirstError != 0:
		return fmt.Sprint("first error ", a.FirstError), ""
	case a.OK == 0:
		return "no code", a.Failed + a.Errmsg
	}
	return "ok " + strings.Join(a.Fields, ","), ""
}

// How many answers are as recorded: those that are not have reasons in docs/boundary.md.
const leastCodes, leastTexts = 2901, 2238

// Valid commands of which one thing was changed are answered as by a real mongos. Each begins
// with the cluster as it was.
func TestRecordedMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	var out *os.File
	if *mutationsOut != "" {
		var err error
		if out, err = os.Create(*mutationsOut); err != nil {
			t.Fatal(err)
		}
		defer out.Close()
	}
	var x *tester
	cases, codes, texts, errors := 0, 0, 0, 0
	for c := range recordedLines[mutatedCommand](t, "23-mutations.jsonl.gz") {
		if c.Answer.Timeout {
			continue
		}
		if x == nil {
			x = beforeMutations(t)
		}
		reply := x.Run(c.DB, c.Body)
		got := answered(t, reply)
		if got.Code == 0 {
			x = nil
		}
		gotCode, gotText := got.both()
		wantCode, wantText := c.Answer.both()
		cases++
		if wantText != "" {
			errors++
		}
		switch {
		case gotCode != wantCode:
			if out != nil {
				fmt.Fprintf(out, "CODE %s\n  got  %s: %s\n  want %s: %s\n", c.ID, gotCode, gotText, wantCode, wantText)
			}
		case !sameText(gotText, wantText):
			codes++
			if out != nil {
				fmt.Fprintf(out, "TEXT %s\n  got  %s\n  want %s\n", c.ID, gotText, wantText)
			}
		default:
			codes++
			if wantText != "" {
				texts++
			}
		}
	}
	if cases != 2957 || codes < leastCodes || texts < leastTexts {
		t.Errorf("of %d answers %d have the recorded code (at least %d), of %d errors %d the recorded text (at least %d)", cases,
			codes, leastCodes, errors, texts, leastTexts)
	}
	t.Logf("%d of %d codes, %d of %d texts", codes, cases, texts, errors)
}

// cutAt is how many characters of a text were recorded.
const cutAt = 240

// sameText compares as much of a text as was recorded.
func sameText(got, want string) bool {
	if n := len(want); n >= cutAt-1 && len(got) > n { // of some a blank at the end was taken off
		got, want = strings.TrimRight(got[:cutAt], " "), strings.TrimRight(want, " ")
	}
	return got == want
}

func answered(t *testing.T, reply bson.Raw) (a mutatedAnswer) {
	t.Helper()
	if err := bson.Unmarshal(reply, &a); err != nil {
		t.Fatal(err)
	}
	a.Fields = nil
	elems, err := reply.Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elems {
		if e.Key() != "$clusterTime" && e.Key() != "operationTime" {
			a.Fields = append(a.Fields, e.Key())
		}
	}
	slices.Sort(a.Fields)
	var failed struct {
		Concern struct {
			Code   int
			Errmsg string
		} `bson:"writeConcernError"`
		WriteErrors []bson.Raw `bson:"writeErrors"`
		Cursor      struct {
			FirstBatch []bson.Raw `bson:"firstBatch"`
		}
	}
	if bson.Unmarshal(reply, &failed) == nil {
		first := func(docs []bson.Raw, code *int) {
			for _, doc := range docs {
				if n, ok := doc.Lookup("code").AsInt64OK(); ok && n != 0 && *code == 0 {
					*code = int(n)
				}
			}
		}
		if failed.Concern.Code != 0 { // mongosh threw it, as its driver does
			a.Code, a.Errmsg = failed.Concern.Code, failed.Concern.Errmsg
		}
		first(failed.WriteErrors, &a.WriteError)
		first(failed.Cursor.FirstBatch, &a.FirstError)
	}
	return a
}

func beforeMutations(t *testing.T) *tester { return mutationsOn(t, mock.Config{}) }

func mutationsOn(t *testing.T, cfg mock.Config) *tester {
	t.Helper()
	x := routertest.New(t, cfg)
	x.OK("admin", d("balancerStop", 1))
	x.OK("admin", d("enableSharding", "conf2", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "conf2.c", "key", d("k", 1)))
	x.OK("admin", d("split", "conf2.c", "middle", d("k", 0)))
	x.OK("admin", d("split", "conf2.c", "middle", d("k", 100)))
	docs := bson.A{}
	for i, k := range []int{1, 2, 60, 150} {
		docs = append(docs, d("_id", i, "k", k))
	}
	x.OK("conf2", d("insert", "c", "documents", docs))
	for _, name := range []string{"r", "s"} {
		x.OK("admin", d("shardCollection", "conf2."+name, "key", d("k", 1)))
	}
	x.OK("conf2", d("createIndexes", "r", "indexes", bson.A{d("key", d("k", 1, "b", 1), "name", "k_1_b_1")}))
	x.OK("conf2", d("createIndexes", "s", "indexes", bson.A{d("key", d("b", 1), "name", "b_1")}))
	x.OK("conf2", d("insert", "s", "documents", bson.A{d("_id", 1, "k", 1, "b", 1), d("_id", 2, "k", 2, "b", 2)}))
	x.OK("conf2", d("insert", "u", "documents", bson.A{d("_id", 1)}))
	x.OK("admin", d("enableSharding", "conf4", "primaryShard", "shard0"))
	x.OK("admin", d("addShardToZone", "shard0", "zone", "Z0"))
	return x
}
