package testrunner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
)

// balancerState is how a cluster stands in what a script must not leave behind changed
// without a word.
type balancerState struct {
	balancer bool
	// paused are the collections that are not balanced.
	paused   map[string]bool
	draining map[string]bool
}

// balancerState reads the catalog, not by commands: nodes may be away.
func (w *testCluster) balancerState() balancerState {
	w.cluster.Lock()
	defer w.cluster.Unlock()
	now := balancerState{balancer: true, paused: map[string]bool{}, draining: map[string]bool{}}
	config := w.cluster.ConfigDB()
	for _, doc := range config.Collection("settings").Scan() {
		if id, _ := doc.Lookup("_id").StringValueOK(); id != "balancer" {
			continue
		}
		mode, known := doc.Lookup("mode").StringValueOK()
		now.balancer = !(known && mode == "off") && !truth(doc, "stopped")
	}
	for _, doc := range config.Collection("collections").Scan() {
		ns, _ := doc.Lookup("_id").StringValueOK()
		permitted, known := doc.Lookup("permitMigrations").BooleanOK()
		if truth(doc, "noBalance") || known && !permitted {
			now.paused[ns] = true
		}
	}
	for _, doc := range config.Collection("shards").Scan() {
		if id, _ := doc.Lookup("_id").StringValueOK(); truth(doc, "draining") {
			now.draining[id] = true
		}
	}
	return now
}

func truth(doc bson.Raw, field string) bool {
	v, _ := doc.Lookup(field).BooleanOK()
	return v
}

// leftBehind lists what a script that did not get over a fault must not have left: a
// cluster that contradicts itself, anything lost, a lease, and, unless its output
// says so, balancing that is off and shards that drain.
func (w *testCluster) leftBehind(was balancerState, r scriptResult) (wrong []string) {
	wrong = append(wrong, w.inconsistencies()...)
	for _, lost := range w.lost {
		wrong = append(wrong, "lost: "+lost)
	}
	for _, lease := range w.leases() {
		wrong = append(wrong, "a lease is left: "+lease)
	}
	now, said := w.balancerState(), strings.TrimRight(r.output, "\n")+"\n"+r.errors
	if was.balancer && !now.balancer && !says(said, "balanc", off) {
		wrong = append(wrong, "the balancer is off, which the script's output does not say")
	}
	for _, ns := range slices.Sorted(maps.Keys(now.paused)) {
		if !was.paused[ns] && !says(said, ns, off) {
			wrong = append(wrong, fmt.Sprintf("%s is not balanced any more, which the script's output does not say", ns))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.draining)) {
		if !was.draining[id] && !says(said, id, drains) {
			wrong = append(wrong, fmt.Sprintf("%s is draining, which the script's output does not say", id))
		}
	}
	if len(wrong) > 0 {
		wrong = append(wrong, "The script has said:\n"+quoted(said))
	}
	return wrong
}

// What tells people that something is left off, or drains.
var (
	off = regexp.MustCompile(`(?i)\b(off|stopped|disabled|paused|not (running|enabled|balanced)|startBalancer|` +
		`enableBalanc)`)
	drains = regexp.MustCompile(`(?i)drain`)
)

// says reports whether a line names something and says what of it.
func says(text, name string, what *regexp.Regexp) bool {
	for line := range strings.Lines(text) {
		if strings.Contains(strings.ToLower(line), strings.ToLower(name)) && what.MatchString(line) {
			return true
		}
	}
	return false
}

// mostQuoted is how much of a script's output a problem shows.
const mostQuoted = 2000

func quoted(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "  (nothing)"
	}
	if len(text) > mostQuoted {
		text = "…" + text[len(text)-mostQuoted:]
	}
	return "  " + strings.ReplaceAll(plaintext.Visible(text), "\n", "\n  ")
}

// leases lists those that are held.
func (w *testCluster) leases() (held []string) {
	w.cluster.Lock()
	defer w.cluster.Unlock()
	for doc := range w.cluster.Documents(live.LeaseDatabase+"."+live.LeaseCollection, nil) {
		expires, _ := doc.Lookup("expires").TimeOK()
		if expires.After(time.UnixMilli(w.cluster.Now().UnixMilli())) {
			held = append(held, strings.Trim(doc.Lookup("_id").String(), `"`))
		}
	}
	return held
}
