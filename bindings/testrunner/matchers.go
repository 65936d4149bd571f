package testrunner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/verify"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/expect"
	"shardsh/bindings/script"
)

// clusterMatchers returns the matchers of expect(cluster).
func (f *file) clusterMatchers() []expect.Matcher {
	about := func(holds func(m *expect.Match) []string) func(m *expect.Match) bool {
		return func(m *expect.Match) bool {
			f.needCluster(m)
			wrong := holds(m)
			m.Details = wrong
			return len(wrong) == 0
		}
	}
	say := func(fine string) func(m *expect.Match) string {
		return func(m *expect.Match) string {
			wrong, _ := m.Details.([]string)
			if len(wrong) == 0 {
				return fine
			}
			return strings.Join(wrong, "\n")
		}
	}
	return []expect.Matcher{
		{Name: "toBeBalanced", Signature: "ns?:string", Holds: about(f.unbalanced), Explain: say("It is balanced."),
			Help: "The cluster, or a collection, is balanced by the rules of its release."},
		{Name: "toHaveLostNothing", Holds: about(f.lostData), Explain: say("Nothing is lost."),
			Help: "Every document that existed before a script still exists exactly once."},
		{Name: "toBeConsistent", Holds: about(f.inconsistent), Explain: say("It is consistent."),
			Help: "Chunks cover the key space, no document is doubled, catalog and shards agree."},
		{Name: "toBeUnchanged", Holds: f.isUnchanged, Explain: say("All documents are as they were."),
			Help: "A collection has the same documents, to the byte, as when sh.verify(ns) returned this."},
		{Name: "toPassAudit", Holds: f.isAuditClean, Explain: say("The audit finds nothing."),
			Help: "sh.audit(ns) finds nothing wrong with a collection, a database, or the cluster."},
	}
}

// isUnchanged compares a collection with the result of sh.verify.
func (f *file) isUnchanged(m *expect.Match) bool {
	js := f.shell.JS
	o, _ := m.Received.(*goja.Object)
	digest := script.Property(o, "digest")
	if digest == nil || f.testCluster == nil {
		js.Throw(expect.ErrorName, "this is for what sh.verify(ns) returned, inside of a test\nReceived: %s",
			expect.ValueText(js, m.Received))
	}
	result, err := action.Verify{BaselineDigest: digest.String()}.Run(js.Context(),
		action.Cluster{Client: f.testCluster.client, Clock: js.Clock}, nil)
	wrong := actiontext.VerifyResult(result)
	switch {
	case err != nil:
		wrong = []string{"it can't be compared: " + err.Error()}
	case result.Verdict == string(verify.Same):
		wrong = nil
	}
	m.Details = wrong
	return len(wrong) == 0
}

// isAuditClean audits a collection, a database, or the cluster. It fails for data that could not be
// read or kept changing.
func (f *file) isAuditClean(m *expect.Match) bool {
	js := f.shell.JS
	a := action.Audit{MaxRereads: action.DefaultMaxRereads, RereadPause: action.DefaultRereadPause}
	ns, named := m.Received.Export().(string)
	if named {
		a.Namespaces = []string{ns}
	} else {
		f.needCluster(m)
	}
	if f.testCluster == nil {
		js.Throw(expect.ErrorName, "this is for a test's cluster\nReceived: %s", expect.ValueText(js, m.Received))
	}
	result, err := a.Run(js.Context(), action.Cluster{
		Client: f.testCluster.client, ClientOptions: f.testCluster.memberOptions(), Clock: js.Clock,
	}, nil)
	wrong := actiontext.AuditResult(result)
	switch {
	case err != nil:
		wrong = []string{"it can't be audited: " + err.Error()}
	case result.Verdict == action.AuditClean:
		wrong = nil
	}
	m.Details = wrong
	return len(wrong) == 0
}

func (f *file) needCluster(m *expect.Match) {
	js := f.shell.JS
	js.Runtime.GlobalObject().Get("cluster")
	if o, ok := m.Received.(*goja.Object); !ok || f.testCluster == nil || f.clusterObject == nil ||
		!o.SameAs(f.clusterObject) {
		js.Throw(expect.ErrorName, "this is for expect(cluster), inside of a test\nReceived: %s",
			expect.ValueText(js, m.Received))
	}
}

// unbalanced lists the unbalanced collections.
func (f *file) unbalanced(m *expect.Match) []string {
	s, err := live.NewReader(f.testCluster.client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus}).
		Read(f.shell.JS.Context())
	if err != nil {
		return []string{"it can't be asked: " + err.Error()}
	}
	balances := diagnosis.Balances(s)
	if m.Has(0) {
		ns := m.Text(0)
		balances = slices.DeleteFunc(balances, func(b diagnosis.Balance) bool { return b.Namespace != ns })
		if len(balances) == 0 {
			return []string{ns + " is not sharded"}
		}
	}
	var wrong []string
	for _, b := range balances {
		switch {
		case !b.Known:
			wrong = append(wrong, fmt.Sprintf("%s: unknown: %s", b.Namespace, b.Reason))
		case !b.Balanced:
			wrong = append(wrong, fmt.Sprintf("%s is not balanced: %s%s", b.Namespace, b.Violation,
				distribution(s, b.Namespace)))
		}
	}
	return wrong
}

// distribution describes how many chunks each shard has.
func distribution(s *catalog.Snapshot, ns string) string {
	coll := s.Collection(ns)
	if coll == nil || coll.Table == nil {
		return ""
	}
	var parts []string
	for _, shard := range s.Shards() {
		parts = append(parts, fmt.Sprintf("%s has %d", shard.ID, coll.Table.CountOn(shard.ID)))
	}
	return "\nChunks: " + strings.Join(parts, ", ")
}

func (f *file) lostData(*expect.Match) []string { return f.testCluster.losses() }

func (f *file) inconsistent(*expect.Match) []string { return f.testCluster.inconsistencies() }

// inconsistencies lists the violated invariants of the cluster.
func (t *testCluster) inconsistencies() []string {
	t.cluster.Lock()
	defer t.cluster.Unlock()
	var wrong []string
	if err := t.cluster.CheckInvariants(); err != nil {
		wrong = strings.Split(err.Error(), "\n")
	}
	found, err := t.cluster.Inconsistencies("", "", false)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, i := range found {
		wrong = append(wrong, i.Type+": "+i.Description)
	}
	return wrong
}
