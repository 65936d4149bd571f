package router_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// recordedCall is a call of a command in one of twelve forms, on admin or on
// conf, and what a real mongos of 8.0.10 answered.
type recordedCall struct {
	Command, DB, Form string
	Body              bson.D
	Answer            recordedReply
}

// recordedReply is a code, the names of the fields of a reply, or of old-style
// errors the message.
type recordedReply struct {
	Code   int
	OK     int
	Fields []string
	Failed string
}

func (r recordedReply) String() string {
	switch {
	case r.OK == 1:
		return "ok " + strings.Join(r.Fields, ",")
	case r.Code != 0:
		return fmt.Sprint("code ", r.Code)
	}
	return "an error without a code"
}

// otherAnswers are the calls, as db.command form, that the mock answers with
// something else than was recorded, by reason.
var otherAnswers = map[string][]string{
	"the recorded cluster kept no history, and a snapshot was gone": {"admin.checkMetadataConsistency one"},
	"pt-mongodb-summary sends a field that servers refuse": {
		"admin.getCmdLineOpts unknown field", "conf.getCmdLineOpts unknown field",
		"admin.getCmdLineOpts unknown field one", "conf.getCmdLineOpts unknown field one",
		"admin.getCmdLineOpts two wrongs", "conf.getCmdLineOpts two wrongs",
	},
	"a pipeline that is missing is found after the level of the read concern": {"admin.aggregate bad rc", "conf.aggregate bad rc"},
	"there is no WiredTiger, whose details of indexes a server shows": {
		"admin.collStats text", "admin.collStats ns", "admin.collStats coll", "admin.collStats none ns",
		"conf.collStats coll", "admin.collStats unsharded", "admin.collStats long ns",
	},
}

// Malformed and plain calls of each command are answered as a real mongos did it:
// with the same code, or with the same fields. They were recorded one after the
// other on one cluster, so that what one makes is there for the next.
func TestRecordedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	recordedForms(t, "16-commands.jsonl.gz", 2976, 8)
	recordedForms(t, "16b-commands.jsonl.gz", 2230, 7)
}

// recordedForms compares the calls of a file; so many of them have another answer.
func recordedForms(t *testing.T, file string, number, others int) {
	t.Helper()
	excused := slices.Concat(slices.Collect(maps.Values(otherAnswers))...)
	x := beforeRecordedCalls(t)
	calls := slices.Collect(recordedLines[recordedCall](t, file))
	same := 0
	for _, c := range calls {
		reply := x.Run(c.DB, c.Body)
		got, want := replyAsRecorded(t, reply), c.Answer.String()
		if got == want {
			same++
		}
		if known := slices.Contains(excused, c.DB+"."+c.Command+" "+c.Form); known == (got == want) {
			t.Errorf("%s %v: got %s, recorded %s: %s", c.DB, c.Body, got, want, reply.Lookup("errmsg"))
		}
	}
	if len(calls) != number || same != number-others {
		t.Errorf("%s: %d of %d as recorded", file, same, len(calls))
	}
}

// recordedLines reads a packed file, a document of extended JSON a line.
func recordedLines[T any](t *testing.T, file string) iter.Seq[T] {
	t.Helper()
	return func(yield func(T) bool) {
		f, err := os.Open(filepath.Join("testdata", "recorded", file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(unpacked)
		for lines.Scan() {
			var one T
			if err := bson.UnmarshalExtJSON(lines.Bytes(), false, &one); err != nil {
				t.Fatalf("%v in %s", err, lines.Bytes())
			}
			if !yield(one) {
				return
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	}
}

// beforeRecordedCalls is a cluster as it was before the first call. The calls had
// been made once already: collections of admin that create had made were still there.
func beforeRecordedCalls(t *testing.T) *tester {
	t.Helper()
	x := routertest.New(t, mock.Config{})
	x.OK("admin", d("enableSharding", "conf", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "conf.c", "key", d("k", 1)))
	x.OK("conf", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1), d("_id", 2, "k", 2)}))
	x.OK("conf", d("insert", "u", "documents", bson.A{d("_id", 1)}))
	for _, name := range []string{"x", "c", "conf.c", "conf.nope"} {
		x.OK("admin", d("create", name))
	}
	return x
}

func replyAsRecorded(t *testing.T, reply bson.Raw) string {
	t.Helper()
	var got recordedReply
	elems, err := reply.Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elems {
		switch n, _ := e.Value().AsInt64OK(); e.Key() {
		case "code":
			got.Code = int(n)
		case "ok":
			got.OK = int(n)
		}
		if e.Key() != "$clusterTime" && e.Key() != "operationTime" {
			got.Fields = append(got.Fields, e.Key())
		}
	}
	slices.Sort(got.Fields)
	return got.String()
}
