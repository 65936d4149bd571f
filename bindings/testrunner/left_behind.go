package testrunner

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
)

// balancerState is the state of balancing and draining in a cluster, which a failing script must not
// leave changed.
type balancerState struct {
	balancerEnabled bool
	// balancingDisabled are the collections with disabled balancing.
	balancingDisabled map[string]bool
	draining          map[string]bool
}

// balancerState reads the catalog directly, without commands, because nodes may be down.
func (t *testCluster) balancerState() balancerState {
	t.cluster.Lock()
	defer t.cluster.Unlock()
	now := balancerState{balancerEnabled: true, balancingDisabled: map[string]bool{}, draining: map[string]bool{}}
	config := t.cluster.ConfigDB()
	for _, doc := range config.Collection("settings").Scan() {
		if id, _ := doc.Lookup("_id").StringValueOK(); id != "balancer" {
			continue
		}
		mode, known := doc.Lookup("mode").StringValueOK()
		now.balancerEnabled = !(known && mode == "off") && !boolField(doc, "stopped")
	}
	for _, doc := range config.Collection("collections").Scan() {
		ns, _ := doc.Lookup("_id").StringValueOK()
		permitted, known := doc.Lookup("permitMigrations").BooleanOK()
		if boolField(doc, "noBalance") || known && !permitted {
			now.balancingDisabled[ns] = true
		}
	}
	for _, doc := range config.Collection("shards").Scan() {
		if id, _ := doc.Lookup("_id").StringValueOK(); boolField(doc, "draining") {
			now.draining[id] = true
		}
	}
	return now
}

func boolField(doc bson.Raw, field string) bool {
	v, _ := doc.Lookup(field).BooleanOK()
	return v
}

// leftBehindProblems lists the problems that a script has left behind after a fault has ended it:
// inconsistent metadata, lost data, a lease, and disabled balancing, unless it was disabled before, or
// is disabled after the script without the fault. Shards may drain until the script has run again,
// because a started draining continues.
func (t *testCluster) leftBehindProblems(before, withoutFault balancerState, r scriptResult) (wrong []string) {
	wrong = append(wrong, t.inconsistencies()...)
	for _, lost := range t.lostDocuments {
		wrong = append(wrong, "lost: "+lost)
	}
	for _, lease := range t.heldLeases() {
		wrong = append(wrong, "a lease is left: "+lease)
	}
	now := t.balancerState()
	if before.balancerEnabled && withoutFault.balancerEnabled && !now.balancerEnabled {
		wrong = append(wrong, "the balancer is off")
	}
	for _, ns := range slices.Sorted(maps.Keys(now.balancingDisabled)) {
		if !before.balancingDisabled[ns] && !withoutFault.balancingDisabled[ns] {
			wrong = append(wrong, ns+" is not balanced any more")
		}
	}
	return withOutput(wrong, r)
}

// leftDrainingProblems lists the shards that still drain after the script has run again without a
// fault, unless they were draining before, or drain after the script without a fault.
func (t *testCluster) leftDrainingProblems(before, withoutFault balancerState, r scriptResult) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(t.balancerState().draining)) {
		if !before.draining[id] && !withoutFault.draining[id] {
			wrong = append(wrong, id+" is still draining after the script has run again")
		}
	}
	return withOutput(wrong, r)
}

// withOutput appends the script's output to a list of problems, unless the list is empty.
func withOutput(wrong []string, r scriptResult) []string {
	if len(wrong) == 0 {
		return nil
	}
	said := strings.TrimRight(r.output, "\n") + "\n" + r.errors
	return append(wrong, "The script has said:\n"+quoted(said))
}

// maxQuoted is the maximum length of a script's output in a problem.
const maxQuoted = 2000

func quoted(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "  (nothing)"
	}
	if len(text) > maxQuoted {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxQuoted:], "")
	}
	return "  " + strings.ReplaceAll(plaintext.EscapeText(text), "\n", "\n  ")
}

// heldLeases returns the leases that are held.
func (t *testCluster) heldLeases() (held []string) {
	t.cluster.Lock()
	defer t.cluster.Unlock()
	for doc := range t.cluster.Documents(live.LeaseDatabase+"."+live.LeaseCollection, nil) {
		expires, _ := doc.Lookup("expires").TimeOK()
		if expires.After(time.UnixMilli(t.cluster.Now().UnixMilli())) {
			held = append(held, strings.Trim(doc.Lookup("_id").String(), `"`))
		}
	}
	return held
}
