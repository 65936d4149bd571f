package router_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// otherCodes are the commands that answer a field that nobody knows with another
// code than was recorded, by reason.
var otherCodes = map[string]string{
	"the mock looks at the database first": `conf.changePrimary conf.enableSharding conf.getDatabaseVersion
		conf.removeQuerySettings conf.rotateFTDC conf.setClusterParameter conf.setProfilingFilterGlobally
		conf.setQuerySettings`,
	"pt-mongodb-summary sends a field that servers refuse": "admin.getCmdLineOpts conf.getCmdLineOpts",
	"another check comes first": `admin.convertToCapped conf.convertToCapped admin.getDatabaseVersion
		admin.getShardVersion conf.setDefaultRWConcern conf.shardCollection admin.split admin.untrackUnshardedCollection
		admin.validate conf.getLog`,
}

// A field that no server knows is refused, or not, as a real mongos did it, for
// every command that it lists.
func TestUnknownFieldsAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/unknown-fields.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var excused []string
	for _, names := range otherCodes {
		excused = append(excused, strings.Fields(names)...)
	}
	compared := 0
	for line := range strings.Lines(string(data)) {
		var c struct {
			Command, DB string
			Body        json.RawMessage
			Answer      struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		var body bson.D
		if err := bson.UnmarshalExtJSON(c.Body, false, &body); err != nil {
			t.Fatal(err)
		}
		x := newTester(t, mock.Config{})
		x.ok("admin", d("enableSharding", "conf", "primaryShard", "shard0"))
		x.ok("admin", d("shardCollection", "conf.c", "key", d("k", 1)))
		x.ok("conf", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1), d("_id", 2, "k", 2)}))
		x.ok("conf", d("insert", "u", "documents", bson.A{d("_id", 1)}))
		reply := x.run(c.DB, body)
		code, _ := reply.Lookup("code").AsInt64OK()
		if code == 238 || code == 31082 {
			continue // docs/boundary.md names it
		}
		compared++
		name := c.DB + "." + c.Command
		if same := int(code) == c.Answer.Code; same == slices.Contains(excused, name) {
			t.Errorf("%s: code %d, recorded %d: %s", name, code, c.Answer.Code, reply)
		}
		x.cluster.Close()
	}
	if compared < 180 {
		t.Errorf("only %d commands", compared)
	}
}
