package mock_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// shape is what differs between releases, as a client sees it.
type shape struct {
	release  catalog.Release
	version  string
	wire     int32
	round    string // the fields of a round in the action log; "" = there is none
	status   string // the fields of balancerStatus; "" = no such command
	comply   string // those of balancerCollectionStatus
	settings string // what balancerStop leaves in config.settings
	lock     string // holder of the balancer lock
}

// rules/01-rounds-and-settings §1.7, §1.9, rules/01-selection §7 and §9.5.
func TestReleases(t *testing.T) {
	const old = "executionTimeMillis errorOccured candidateChunks chunksMoved"
	const now = "executionTimeMillis errorOccurred candidateChunks chunksMoved candidateUnshardedCollections " +
		"unshardedCollectionsMoved imbalancedCachedCollections times"
	const oldStatus, status = "mode inBalancerRound numBalancerRounds", "mode inBalancerRound numBalancerRounds term"
	const byCount, bySize = "balancerCompliant firstComplianceViolation", "chunkSize balancerCompliant " +
		"firstComplianceViolation"
	for _, tt := range []shape{
		{catalog.Release24, "2.4.14", 9, "", "", "", "", "mongos"},
		{catalog.Release34, "3.4.24", 9, old, oldStatus, "", "autosplit balancer", "ConfigServer"},
		{catalog.Release36, "3.6.23", 9, old, oldStatus, "", "autosplit balancer", ""},
		{catalog.Release40, "4.0.28", 9, old, oldStatus, "", "autosplit balancer", ""},
		{catalog.Release42, "4.2.25", 9, old, oldStatus, "", "autosplit balancer", ""},
		{catalog.Release44, "4.4.6", 9, old, oldStatus, byCount, "autosplit balancer", ""},
		{catalog.Release50, "5.0.7", 13, old, oldStatus, byCount, "autosplit balancer", ""},
		{catalog.Release60, "6.0.19", 17, old, status, bySize, "balancer", ""},
		{catalog.Release70, "7.0.15", 21, strings.Replace(old, "errorOccured", "errorOccurred", 1), status, bySize,
			"automerge balancer", ""},
		{catalog.Release80, "8.0.10", 25, now, status, bySize, "automerge balancer", ""},
		{catalog.Release81, "8.1.2", 26, now, status, bySize, "automerge balancer", ""},
		{catalog.Release82, "8.2.1", 27, now, status, bySize, "automerge balancer", ""},
		{catalog.Release83, "8.3.0", 28, now, status, bySize, "automerge balancer", ""},
		{catalog.Release90, "9.0.2", 29, now, status, bySize, "automerge balancer", ""},
		{catalog.Release80.WithPatch(23), "8.0.23", 25, now, status, bySize, "automerge balancer", ""},
		{catalog.Release82.WithPatch(9), "8.2.9", 27, now, status, bySize, "automerge balancer", ""},
	} {
		t.Run(tt.release.String(), func(t *testing.T) {
			m := newCluster(t, topologyOf(t, 3, 60, "50MB", 3000), mock.Config{Release: tt.release})
			tt.checkHandshake(t, m)
			if tt.comply != "" {
				reply := m.ok(t, "admin", d("balancerCollectionStatus", "big.data"))
				checkFields(t, "balancerCollectionStatus", reply, tt.comply)
			} else {
				m.refused(t, "admin", d("balancerCollectionStatus", "big.data"), 59)
			}
			tt.checkRounds(t, m)
			tt.checkStop(t, m)
		})
	}
}

func (s shape) checkHandshake(t *testing.T, m *model) {
	t.Helper()
	if got := m.ok(t, "admin", d("buildInfo", 1)).Lookup("version").StringValue(); got != s.version {
		t.Errorf("buildInfo says %s, want %s", got, s.version)
	}
	if got := m.ok(t, "admin", d("hello", 1)).Lookup("maxWireVersion").Int32(); got != s.wire {
		t.Errorf("hello says wire version %d, want %d", got, s.wire)
	}
	if shown := mustString(m.first(t, "config", d("find", "mongos")).Lookup("mongoVersion")); shown != s.version {
		t.Errorf("config.mongos says %s", shown)
	}
	lock := ""
	if doc := m.first(t, "config", d("find", "locks", "filter", d("_id", "balancer"))); doc != nil {
		lock = mustString(doc.Lookup("process"))
		lock, _, _ = strings.Cut(lock, ":")
	}
	if s.lock == "mongos" {
		s.lock, _, _ = strings.Cut(mustString(m.first(t, "config", d("find", "mongos")).Lookup("_id")), ":")
	}
	if lock != s.lock {
		t.Errorf("the balancer lock is held by %q, want %q", lock, s.lock)
	}
}

func (s shape) checkRounds(t *testing.T, m *model) {
	t.Helper()
	m.sleep(time.Hour)
	entry := m.first(t, "config", d("find", "actionlog", "filter", d("what", "balancer.round")))
	switch {
	case entry == nil && s.round != "":
		t.Error("no round in the action log")
	case entry != nil:
		checkFields(t, "a round", entry.Lookup("details").Document(), s.round)
	}
	// Whatever the rules, nothing is left to do after an hour.
	if s.comply != "" && !m.ok(t, "admin", d("balancerCollectionStatus",
		"big.data")).Lookup("balancerCompliant").Boolean() {
		t.Error("not balanced after an hour")
	}
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

func (s shape) checkStop(t *testing.T, m *model) {
	t.Helper()
	if s.status == "" {
		m.refused(t, "admin", d("balancerStop", 1), 59)
		return
	}
	m.ok(t, "admin", d("balancerStop", 1))
	checkFields(t, "balancerStatus", m.ok(t, "admin", d("balancerStatus", 1)), s.status)
	var ids []string
	for _, doc := range m.all(t, "config", d("find", "settings", "sort", d("_id", 1))) {
		ids = append(ids, mustString(doc.Lookup("_id")))
	}
	if got := strings.Join(ids, " "); got != s.settings {
		t.Errorf("balancerStop leaves %q, want %q", got, s.settings)
	}
}

// checkFields compares the names of the fields, without those of every reply.
func checkFields(t *testing.T, what string, doc bson.Raw, want string) {
	t.Helper()
	var names []string
	elems, err := doc.Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elems {
		if !strings.HasPrefix(e.Key(), "$") && e.Key() != "ok" && e.Key() != "operationTime" {
			names = append(names, e.Key())
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s has the fields %s, want %s", what, got, want)
	}
}

func mustString(v bson.RawValue) string {
	s, _ := v.StringValueOK()
	return s
}

// all are the documents of the first batch of a find.
func (m *model) all(t *testing.T, db string, command bson.D) []bson.Raw {
	t.Helper()
	values, err := m.ok(t, db, command).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.Raw
	for _, v := range values {
		docs = append(docs, v.Document())
	}
	return docs
}

func (m *model) first(t *testing.T, db string, command bson.D) bson.Raw {
	t.Helper()
	if docs := m.all(t, db, command); len(docs) > 0 {
		return docs[0]
	}
	return nil
}
