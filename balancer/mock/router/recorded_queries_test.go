package router_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

var showRecorded = flag.Int("recorded.show", 0, "how many differences from the recordings to print")

// recordedQuery are commands that run one after the other, and what a real 8.0.10
// cluster answered to each.
type recordedQuery struct {
	N         int
	Commands  []bson.D
	Answers   []queryReply
	Unordered bool // arrays in the answers have no order
}

type queryReply struct {
	Code      int64
	Documents []bson.Raw
}

// TestRecordedQueries runs 4,000 random commands. At least so many in a thousand must
// give the server's documents or fail as it does, and so many with its code.
func TestRecordedQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, tt := range []struct {
		file        string
		same, coded int
	}{
		{"filter", 999, 997}, {"expr", 1000, 1000}, {"update", 1000, 1000}, {"pipeline", 998, 995},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			x, cases := recordedQueries(t, tt.file)
			same, coded, shown := 0, 0, *showRecorded
			for _, c := range cases {
				alike, code, told := queryAsRecorded(x, c)
				if alike {
					same++
				}
				if alike && code {
					coded++
				} else if shown > 0 {
					shown--
					t.Log(told)
				}
			}
			t.Logf("%d of %d alike, %d with the same code", same, len(cases), coded)
			if same < tt.same || coded < tt.coded {
				t.Errorf("%d of %d alike, %d with the same code; want at least %d and %d", same, len(cases), coded, tt.same,
					tt.coded)
			}
		})
	}
}

// recordedQueries returns a cluster with the documents that a recording begins with,
// and its commands.
func recordedQueries(t *testing.T, name string) (x *tester, cases []recordedQuery) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "recorded", "17-"+name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if x == nil {
			var begin struct{ Documents bson.A }
			if err := bson.UnmarshalExtJSON(lines.Bytes(), true, &begin); err != nil {
				t.Fatal(err)
			}
			x = recordedDocuments(t, begin.Documents)
			continue
		}
		var c recordedQuery
		if err := bson.UnmarshalExtJSON(lines.Bytes(), true, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) != 1000 {
		t.Fatal(len(cases), err)
	}
	return x, cases
}

func recordedDocuments(t *testing.T, docs bson.A) *tester {
	x := routertest.New(t, mock.Config{Parameters: recordedParameters()})
	x.OK("admin", d("enableSharding", "diff", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "diff.s", "key", d("k", 1)))
	for i, at := range []int{20, 40} {
		x.OK("admin", d("split", "diff.s", "middle", d("k", at)))
		x.OK("admin", d("moveChunk", "diff.s", "find", d("k", at), "to", fmt.Sprint("shard", i+1), "_waitForDelete", true))
	}
	for _, coll := range []string{"s", "u"} {
		x.OK("diff", d("insert", coll, "documents", docs))
	}
	return x
}

// queryAsRecorded runs a case. alike is false where a command gives something else than
// on the server, or fails only in one of the two; code, where it fails with another
// code.
func queryAsRecorded(x *tester, c recordedQuery) (alike, code bool, told string) {
	alike, code = true, true
	for i, command := range c.Commands {
		got, want := replyOf(x.Run("diff", command)), c.Answers[i]
		switch {
		case (got.Code != 0) != (want.Code != 0):
			alike = false
		case got.Code != 0:
			code = code && got.Code == want.Code
		default:
			a, codesA := comparable(got.Documents, c.Unordered)
			b, codesB := comparable(want.Documents, c.Unordered)
			alike = alike && a == b
			code = code && slices.Equal(codesA, codesB)
		}
		if told == "" && (!alike || !code) {
			told = fmt.Sprintf("%d: %v\n  got  %v\n  want %v", c.N, command, got, want)
		}
	}
	return alike, code, told
}

// replyOf returns a reply as it was recorded.
func replyOf(reply bson.Raw) (r queryReply) {
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		code, _ := reply.Lookup("code").AsInt64OK()
		return queryReply{Code: max(code, -1)}
	}
	if batch, isArray := reply.Lookup("cursor", "firstBatch").ArrayOK(); isArray {
		values, _ := batch.Values()
		for _, v := range values {
			r.Documents = append(r.Documents, v.Document())
		}
		return r
	}
	return queryReply{Documents: []bson.Raw{reply}}
}

// comparable returns documents as a text to compare, in an order of its own, and
// apart the codes of write errors in it.
func comparable(docs []bson.Raw, unordered bool) (text string, codes []int64) {
	var list []string
	for _, doc := range docs {
		elements, _ := doc.Elements()
		var fields []string
		for _, e := range elements {
			switch e.Key() {
			case "$clusterTime", "operationTime", "electionId", "opTime":
			case "writeErrors":
				values, _ := e.Value().Array().Values()
				for _, v := range values {
					code, _ := v.Document().Lookup("code").AsInt64OK()
					codes = append(codes, code)
				}
				fields = append(fields, fmt.Sprint("writeErrors:", len(values)))
			default:
				fields = append(fields, e.Key()+":"+asScriptsSee(e.Value(), unordered))
			}
		}
		if !doc.Lookup("ok").IsZero() { // a reply
			slices.Sort(fields)
		}
		list = append(list, strings.Join(fields, ","))
	}
	slices.Sort(list)
	return strings.Join(list, "\n"), codes
}

// asScriptsSee returns a value as the recordings have it, in which numbers went
// through JavaScript: an integer is one, whatever its type.
func asScriptsSee(v bson.RawValue, unordered bool) string {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return fmt.Sprint(v.AsInt64())
	case bson.TypeDouble:
		n := v.Double()
		if n == math.Trunc(n) && math.Abs(n) < 1<<63 && (n != 0 || !math.Signbit(n)) {
			return fmt.Sprint(int64(n))
		}
	case bson.TypeRegex:
		if unordered { // who sorted the arrays lost it
			return "{}"
		}
	case bson.TypeEmbeddedDocument:
		elements, _ := v.Document().Elements()
		slices.SortStableFunc(elements, func(a, b bson.RawElement) int {
			return cmp.Compare(placeOf(a.Key()), placeOf(b.Key()))
		})
		var fields []string
		for _, e := range elements {
			fields = append(fields, e.Key()+":"+asScriptsSee(e.Value(), unordered))
		}
		return "{" + strings.Join(fields, ",") + "}"
	case bson.TypeArray:
		values, _ := v.Array().Values()
		var items []string
		for _, item := range values {
			items = append(items, asScriptsSee(item, unordered))
		}
		if unordered {
			slices.Sort(items)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return v.String()
}

// placeOf returns where an object of JavaScript has a name: those that are numbers come
// first, in their order.
func placeOf(name string) int {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		return n
	}
	return math.MaxInt
}
