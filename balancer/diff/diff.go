package diff

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// Change is one difference between two snapshots.
type Change struct {
	Kind      Kind            `json:"kind"`
	Namespace string          `json:"ns,omitzero"`
	Shard     catalog.ShardID `json:"shard,omitzero"`
	Database  string          `json:"database,omitzero"`
	Zone      string          `json:"zone,omitzero"`
	Host      string          `json:"host,omitzero"` // of a member or a router
	Old       string          `json:"old,omitzero"`
	New       string          `json:"new,omitzero"`
	// Count is the number of chunks; 0 for changes of other objects.
	Count int64 `json:"count,omitzero"`
	// Flows count the moved chunks by donor and recipient, the largest first.
	Flows []Flow `json:"flows,omitzero"`
	// Examples are lower bounds of some of the chunks, as literals of the shell.
	Examples []string `json:"examples,omitzero"`
	// Text describes the change in one line.
	Text string `json:"text"`
	// Logged summarizes the entries about the change in the cluster's logs; nil without entries.
	Logged *LogSummary `json:"logged,omitzero"`
}

// Flow counts the chunks that moved between the same shards.
type Flow struct {
	From  catalog.ShardID `json:"from"`
	To    catalog.ShardID `json:"to"`
	Count int64           `json:"count"`
}

// LogSummary summarizes the log entries about a change.
type LogSummary struct {
	Entries int       `json:"entries"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	// Clients are the addresses of the clients that sent the commands, as far as the entries record
	// them.
	Clients []string `json:"clients,omitzero"`
}

// Result holds the differences between two snapshots.
type Result struct {
	Old SnapshotRef `json:"old"`
	New SnapshotRef `json:"new"`
	// Changes are in the order of Kinds, and within a kind by the changed object.
	Changes []Change `json:"changes"`
	// Data are the shards whose data has changed. MostChanged are the collections with the largest
	// changes, in order.
	Data        []ShardData      `json:"data"`
	MostChanged []CollectionData `json:"collections"`
	// NotCompared names the parts that are missing in one of the snapshots, with the reason.
	NotCompared []string `json:"notCompared,omitzero"`
	// LogsSince is the time from which the logs of the newer snapshot are complete.
	LogsSince time.Time `json:"logsSince"`
}

// SnapshotRef identifies a snapshot.
type SnapshotRef struct {
	Name string    `json:"name"`
	Time time.Time `json:"time"`
}

// Empty reports whether nothing has changed except amounts of data.
func (r Result) Empty() bool { return len(r.Changes) == 0 }

// Compare compares an older snapshot of a cluster with a newer one.
func Compare(older, newer *catalog.Snapshot) Result {
	d := &differ{
		old:         older.Parts(),
		new:         newer.Parts(),
		oldSnapshot: older,
		newSnapshot: newer,
		skipped:     map[string]bool{},
		result:      Result{Changes: []Change{}, Data: []ShardData{}, MostChanged: []CollectionData{}},
	}
	d.compareCluster()
	d.compareMembers()
	d.compareRouters()
	d.compareShards()
	d.compareSettings()
	d.compareDatabases()
	d.compareCollections()
	d.compareMissingIndexes()
	d.compareRuns()
	d.compareData()
	d.sortChanges()
	d.attachLogs()
	d.result.Old, d.result.New = snapshotRefOf(older), snapshotRefOf(newer)
	return d.result
}

func snapshotRefOf(s *catalog.Snapshot) SnapshotRef {
	source := s.Parts().Source
	return SnapshotRef{cmp.Or(source.Name, source.Origin.Name), s.Time()}
}

// differ is the state of a comparison.
type differ struct {
	old, new                 catalog.SnapshotParts
	oldSnapshot, newSnapshot *catalog.Snapshot
	skipped                  map[string]bool
	result                   Result
}

func (d *differ) add(c Change, format string, args ...any) {
	c.Text = fmt.Sprintf(format, args...)
	d.result.Changes = append(d.result.Changes, c)
}

// skip adds a part to NotCompared, once.
func (d *differ) skip(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !d.skipped[text] {
		d.skipped[text] = true
		d.result.NotCompared = append(d.result.NotCompared, text)
	}
}

// checkBothHave reports whether both snapshots contain a part, of one collection or of all. If not, it adds
// the part to NotCompared.
func (d *differ) checkBothHave(what, ns string) bool {
	for _, side := range []struct {
		name string
		gaps []catalog.Gap
	}{{"older", d.old.Source.Gaps}, {"newer", d.new.Source.Gaps}} {
		for _, g := range side.gaps {
			if g.What == what && (g.Namespace == ns || g.Namespace == "") {
				d.skip("%s of the %s snapshot: %s", gapText(what, g), side.name, g.Reason)
				return false
			}
		}
	}
	return true
}

func gapText(what string, g catalog.Gap) string {
	if g.Namespace != "" {
		return what + " of " + g.Namespace
	}
	return what
}

// sortChanges sorts the changes by kind, and within a kind by the changed object.
func (d *differ) sortChanges() {
	order := map[Kind]int{}
	for i, k := range Kinds() {
		order[k.Kind] = i
	}
	slices.SortStableFunc(d.result.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Database, b.Database), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Zone, b.Zone))
	})
}

// pair is the old and the new state of an object.
type pair[T any] struct{ old, new *T }

// pairByName pairs the elements of two slices by name, sorted by name. One side of a pair is nil for an
// element that only the other slice has.
func pairByName[T any](older, newer []T, name func(*T) string) (pairs []pair[T], names []string) {
	all := map[string]pair[T]{}
	for i := range older {
		all[name(&older[i])] = pair[T]{old: &older[i]}
	}
	for i := range newer {
		n := name(&newer[i])
		all[n] = pair[T]{old: all[n].old, new: &newer[i]}
	}
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		pairs = append(pairs, all[n])
	}
	return pairs, names
}
