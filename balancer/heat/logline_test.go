package heat_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/heat"
)

// Lines are in the form that MongoDB's manual shows, "Log Messages" and "Database Profiler Output".
var logLines = []struct {
	name, line, ns, filter string
	kind                   heat.Kind
	removes, ofShard       bool
}{
	{name: "a find of a router", ns: "shop.orders", filter: `{"k": 5}`,
		line: `{"t":{"$date":"2026-05-01T12:00:01.250+02:00"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn7","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"find":"orders","filter":{"k":5},"$db":"shop"},"nShards":1,"nreturned":1,"durationMillis":120}}`},
	{name: "an aggregation", ns: "shop.orders", filter: `{"k": {"$gte": 3}}`, ofShard: true,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250+00:00"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn7","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"aggregate":"orders","pipeline":[{"$match":{"k":{"$gte":3}}},{"$group":{"_id":null}}],"$db":"shop"},"planSummary":"COLLSCAN","locks":{"Global":{}},"durationMillis":120}}`},
	{name: "a count", ns: "shop.orders", filter: `{"k": 1}`,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"count":"orders","query":{"k":1}}}}`},
	{name: "a statement of an update", ns: "shop.orders", filter: `{"k": 7}`, kind: heat.Write, ofShard: true,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"s":"I","c":"WRITE","id":51803,"ctx":"conn9","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"k":7},"u":{"$inc":{"n":1}},"multi":false,"upsert":false},"keysExamined":1,"durationMillis":300}}`},
	{name: "a statement of a delete", ns: "shop.orders", filter: `{"k": 7}`, kind: heat.Write, removes: true, ofShard: true,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"remove","ns":"shop.orders","command":{"q":{"k":7},"limit":1}}}`},
	{name: "findAndModify", ns: "shop.orders", filter: `{"k": 7}`, kind: heat.Write, removes: true,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"findAndModify":"orders","query":{"k":7},"remove":true}}}`},
	{name: "a delete of a router", ns: "shop.orders", filter: `{"k": 2}`, kind: heat.Write, removes: true,
		line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"delete":"orders","deletes":[{"q":{"k":2},"limit":1}]}}}`},
	{name: "a find of the profiler", ns: "shop.orders", filter: `{"k": 5}`, ofShard: true,
		line: `{"op":"query","ns":"shop.orders","command":{"find":"orders","filter":{"k":5},"$db":"shop"},"keysExamined":1,"locks":{"Global":{}},"millis":12,"ts":{"$date":"2026-05-01T10:00:01.250Z"}}`},
	{name: "an update of the profiler", ns: "shop.orders", filter: `{"k": 5}`, kind: heat.Write, ofShard: true,
		line: `{"op":"update","ns":"shop.orders","command":{"q":{"k":5},"u":{}},"locks":{},"ts":{"$date":{"$numberLong":"1777629601250"}}}`},
	{name: "what reads on", line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"getMore":5,"collection":"orders"},"originatingCommand":{"find":"orders","filter":{}}}}`},
	{name: "an insert has no documents", line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"insert":"orders","ordered":true}}}`},
	{name: "a find that was cut off", line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"find":"orders"},"truncated":{"command":{}}}}`},
	{name: "another line", line: `{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Connection accepted","attr":{"remote":"10.0.0.1:5"}}`},
	{name: "4.2", line: `2020-05-20T20:10:08.731+0000 I COMMAND [conn7] command shop.orders command: find { "Slow query" }`},
}

func TestLoggedBy(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 1, 250e6, time.UTC)
	for _, tt := range logLines {
		list := heat.ParseLogLine([]byte(tt.line))
		if tt.ns == "" {
			if len(list) > 0 {
				t.Errorf("%s: %+v", tt.name, list)
			}
			continue
		}
		if len(list) != 1 {
			t.Errorf("%s: %d operations", tt.name, len(list))
			continue
		}
		var filter bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(tt.filter), false, &filter); err != nil {
			t.Fatal(err)
		}
		got := list[0]
		if got.Namespace != tt.ns || got.Kind != tt.kind || got.Removes != tt.removes || got.FromShard != tt.ofShard ||
			got.Filter.String() != filter.String() || !got.At.Equal(at) || !got.SimpleCollation {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func FuzzLoggedBy(f *testing.F) {
	for _, tt := range logLines {
		f.Add([]byte(tt.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, l := range heat.ParseLogLine(line) {
			if l.Filter == nil || l.Filter.Validate() != nil {
				t.Errorf("%q: filter %v", line, l.Filter)
			}
		}
	})
}
