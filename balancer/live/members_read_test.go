package live

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

func raw(t *testing.T, doc any) bson.Raw {
	t.Helper()
	bytes, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// The lag is that of members who copy: not of those that are down, arbiters, new,
// or late on purpose.
func TestLags(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	member := func(name string, state int32, behind time.Duration) bson.M {
		return bson.M{"name": name, "state": state, "optimeDate": at.Add(-behind)}
	}
	down := bson.M{"name": "down", "state": int32(8), "optimeDate": time.Unix(0, 0)}
	arbiter := bson.M{"name": "arbiter", "state": int32(7)}
	for name, tt := range map[string]struct {
		members bson.A
		want    map[string]float64
	}{
		"all": {bson.A{member("p", 1, 0), member("s", 2, 14*time.Second), member("r", 3, time.Hour), down, arbiter,
			member("new", 5, 24*time.Hour), member("late", 2, time.Hour)}, map[string]float64{"x/s": 14, "x/r": 3600}},
		"ahead":      {bson.A{member("p", 1, 0), member("s", 2, -time.Second)}, map[string]float64{"x/s": 0}},
		"alone":      {bson.A{member("p", 1, 0)}, map[string]float64{"x": 0}},
		"no primary": {bson.A{member("s", 2, time.Second)}, map[string]float64{}},
	} {
		got := map[string]float64{}
		for _, r := range parseLags("x", raw(t, bson.M{"members": tt.members}), map[string]bool{"late": true}) {
			got[r.Member] = r.Values[pace.Lag]
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// What a serverStatus lacks is not told.
func TestLoad(t *testing.T) {
	status := raw(t, bson.M{
		"globalLock":  bson.M{"currentQueue": bson.M{"total": int32(7)}, "activeClients": bson.M{"total": int64(3)}},
		"connections": bson.M{"current": int32(20)},
		"wiredTiger": bson.M{"cache": bson.M{"maximum bytes configured": int64(1000),
			"bytes currently in the cache": 800.0, "tracked dirty bytes in the cache": int32(50)}},
	})
	want := map[pace.Quantity]float64{pace.Queue: 7, pace.Active: 3, pace.Connections: 20, pace.Cache: 0.8, pace.Dirty: 0.05}
	if got := parseLoad(status); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := parseLoad(raw(t, bson.M{"wiredTiger": bson.M{"cache": bson.M{}}})); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// How busy processors were is the difference of two looks that are apart.
func TestBusy(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	c := &replicaSetClient{cores: 4}
	for i, look := range []struct {
		after time.Duration
		micro int64
		share float64
		told  bool
	}{
		{0, 100, 0, false},
		{time.Second, 100 + 2_000_000, 0.5, true},
		{1100 * time.Millisecond, 100 + 2_400_000, 0.5, true}, // too soon after the last one
		{3 * time.Second, 100 + 4_000_000, 0.25, true},
		{5 * time.Second, 7, 0, false}, // it was started again
		{6 * time.Second, 7 + 9_000_000, 1, true},
	} {
		status := raw(t, bson.M{"localTime": at.Add(look.after),
			"extra_info": bson.M{"user_time_us": look.micro - 5, "system_time_us": int64(5)}})
		if share, told := c.cpuShare(t.Context(), nil, status); told != look.told || told && share != look.share {
			t.Errorf("look %d: %v, %v", i, share, told)
		}
	}
	if _, told := c.cpuShare(t.Context(), nil, raw(t, bson.M{"localTime": at})); told {
		t.Error("a server that does not tell has told")
	}
}

// What belongs to the address of the cluster is none of its shards'.
func TestMemberSettings(t *testing.T) {
	from := options.Client().ApplyURI("mongodb://u:p@mongos1,mongos2/?tls=true&directConnection=false&appName=me")
	o := memberSettings(from, "set1/a:1,b:2")
	if fmt.Sprint(o.Hosts) != "[a:1 b:2]" || *o.ReplicaSet != "set1" || o.Direct != nil || o.Auth.Username != "u" ||
		o.TLSConfig == nil || *o.AppName != "me" {
		t.Errorf("%+v", o)
	}
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if o = memberSettings(from, "a:1"); !*o.Direct || o.ReplicaSet != nil {
		t.Errorf("%+v", o)
	}
}

func TestMembersError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
		then policy.FailureClass
	}{
		{errors.New("server selection error"), "cannot be reached; allow connections to them from this host", policy.RetryLater},
		{errors.New("connection() error occurred during connection handshake: auth error: sasl"), "create the user on each shard",
			policy.AskOperator},
		{mongoerr.New(mongoerr.Unauthorized, "no"), "grant the user the role clusterMonitor there", policy.AskOperator},
		{mongoerr.New(mongoerr.PrimarySteppedDown, "no"), "refuse to answer, or leave out", policy.RetryLater},
	} {
		err := &MembersError{"s1", "set/h:1", tt.err}
		if got := err.Error(); !strings.HasPrefix(got, "the members of s1 (set/h:1) ") || !strings.Contains(got, tt.want) ||
			policy.FailureClassOf(err) != tt.then {
			t.Errorf("%s, %s", got, policy.FailureClassOf(err))
		}
	}
}
