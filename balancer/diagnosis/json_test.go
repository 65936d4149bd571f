package diagnosis

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

// The names of fields are for others to rely on.
func TestJSONForm(t *testing.T) {
	c := lopsided(newCluster(t)).with(off)
	c.Collections[0].Sizes["b"] = catalog.ShardData{Bytes: 1}
	a := Why(c.snapshot(), Scope{Namespace: "x.y"})
	a.Causes[0].Since = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := `{"headline":"x.y is not balanced (chunksImbalance): the balancer is off","healthy":false,` +
		`"time":"2026-11-20T12:00:00Z","about":{"ns":"x.y"},"symptoms":[` +
		`{"code":"notBalanced","severity":"info","actor":"balancer","about":{"ns":"x.y"},` +
		`"sentence":"x.y is not balanced (chunksImbalance)",` +
		`"numbers":[{"name":"misplaced","value":1048576000,"unit":"bytes"},` +
		`{"name":"donor","value":2097152000,"unit":"bytes"},{"name":"recipient","value":1,"unit":"bytes"},` +
		`{"name":"ideal","value":1048576000,"unit":"bytes"},{"name":"threshold","value":402653184,"unit":"bytes"}],` +
		`"remedy":"The balancer moves its chunks by itself while it is on."}],` +
		`"causes":[{"code":"balancerOff","severity":"warning","actor":"operator","about":{},` +
		`"sentence":"the balancer is off","since":"2026-01-02T03:04:05Z","commands":["sh.startBalancer()"],` +
		`"remedy":"sh.startBalancer()"}],"notes":[],` +
		`"spreads":[{"unit":"bytes","ideal":1048576000,"threshold":402653184,"shards":[` +
		`{"shard":"a","bytes":2097152000,"chunks":3,"over":1048576000},` +
		`{"shard":"b","bytes":1,"chunks":0,"over":-1048575999}]}]}`
	if got, err := json.Marshal(a); err != nil || string(got) != want {
		t.Errorf("%s\n%v", got, err)
	}
}

// TestJSONOfFindings: a finding that is read is the one that was written.
func TestJSONOfFindings(t *testing.T) {
	f := finding(Defragmenting, Scope{Namespace: "x.y"}, "x.y is being defragmented")
	f.Numbers, f.Since = countNumbers("remainingChunks", 3), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.BalancerActsAt, f.Commands, f.InsteadOfWaiting = f.Since.Add(time.Hour), []string{"a"}, []string{"b"}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var got Finding
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, want %+v; %v", got, f, err)
	}
}
