package sh

import (
	"fmt"
	"math"
	"strings"
	"time"

	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardBalanceMethods() tell whether the cluster is balanced.
func shardBalanceMethods() []helper {
	return []helper{
		{"isBalancerInRound", "", checked(func(c *call, sh *Helpers) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.TruthyAt(sh.balancerStatus(), "inBalancerRound"))
		}), "Tells whether the balancer is in a round right now; between two rounds there may still be work."},
		{"balancerSummary", "", checked(shBalancerSummary), "Returns what the balancer does and what is out of balance, and why."},
		{"waitForBalance", "ns?:string|object options?:object", checked(shWaitForBalance),
			"Waits until a collection is balanced, or all are; {timeout, interval, progress}, times in ms."},
	}
}

func (sh *Helpers) collectionStatus(ns string) bson.Raw {
	return sh.current().Admin(bson.D{{Key: "balancerCollectionStatus", Value: ns}}, server.Reads)
}

// needBalancer throws when the balancer is off: what is waited for will not come.
func (sh *Helpers) needBalancer(what string) {
	if rawdoc.Text(sh.balancerStatus(), "mode") == "off" {
		sh.s.JS.Throw(script.RuntimeError, "%s, and the balancer is off: sh.startBalancer()", what)
	}
}

// balancedCollections are the entries of the collections the balancer may touch,
// and the names of those it may not.
func (sh *Helpers) balancedCollections() (entries []bson.Raw, left []string) {
	for _, entry := range sh.s.shardedCollections(sh.config()) {
		if leftAlone(entry) != "" {
			left = append(left, rawdoc.Text(entry, "_id"))
			continue
		}
		entries = append(entries, entry)
	}
	return entries, left
}

func (s *Host) shardedCollections(config *server.Database) []bson.Raw {
	return config.FindAll("collections", bson.D{NotDropped, NotUnsplittable}, server.SortedBy("_id", 1))
}

// leftAlone says why the balancer does not touch a collection; empty when it
// may.
func leftAlone(entry bson.Raw) string {
	switch {
	case rawdoc.TruthyAt(entry, "noBalance"):
		return "balancing is disabled"
	case isFalse(entry, "permitMigrations"), isFalse(entry, "allowMigrations"):
		return "migrations are disabled"
	}
	return ""
}

// violation says why a collection is not balanced; empty when it is.
func (sh *Helpers) violation(ns string) string {
	status := sh.collectionStatus(ns)
	if rawdoc.TruthyAt(status, "balancerCompliant") {
		return ""
	}
	if why := rawdoc.Text(status, "firstComplianceViolation"); why != "" {
		return why
	}
	return "the server does not say why"
}

func shWaitForBalance(c *call, sh *Helpers) goja.Value {
	at := 1
	if o := c.Object(0); o != nil && !isCollection(o) { // options alone
		at = 0
	}
	o := c.options("waitForBalance", at, waitOptionNames()...)
	w := o.wait("the balancer goes on")
	if at == 0 || !c.Has(0) || goja.IsNull(c.Arg(0)) || c.Arg(0).String() == "all" {
		entries, left := sh.balancedCollections()
		waited, watch := sh.waitForEntries(w, "", entries)
		return c.JS.NewObject("balanced", true, "collections", len(entries), "leftAlone", c.s.texts(left),
			"moves", watch.moves(), "waitedMS", waited.Milliseconds())
	}
	ns := c.namespaceArgument(0)
	waited, watch := sh.waitForEntries(w, ns, []bson.Raw{sh.sharded(ns)})
	return c.JS.NewObject("balanced", true, "ns", ns, "moves", watch.moves(), "waitedMS", waited.Milliseconds())
}

// unbalanced is a collection that is not balanced, and why.
type unbalanced struct{ ns, why string }

// waitForEntries waits until all of some collections are balanced at one time.
func (sh *Helpers) waitForEntries(w *wait, ns string, entries []bson.Raw) (time.Duration, *moveWatch) {
	watch := sh.watchMoves(ns)
	waited := w.until(func() standing {
		var list []unbalanced
		for _, entry := range entries {
			name := rawdoc.Text(entry, "_id")
			why := sh.violation(name)
			if why == "" {
				continue
			}
			if reason := leftAlone(entry); reason != "" {
				sh.s.JS.Throw(script.RuntimeError, "%s is not balanced (%s), and %s for it: sh.enableBalancing, sh.enableMigrations", name, why, reason)
			}
			list = append(list, unbalanced{name, why})
		}
		if len(list) == 0 {
			return standing{done: true}
		}
		text := notBalanced(list)
		sh.needBalancer(text)
		return standing{why: text, what: balancingText(list), amount: func() *display.Amount { return watch.amount(list) }}
	})
	return waited, watch
}

func notBalanced(list []unbalanced) string {
	const shown = 5
	var parts []string
	for _, u := range list[:min(shown, len(list))] {
		parts = append(parts, u.ns+" ("+u.why+")")
	}
	text := "not balanced: " + strings.Join(parts, ", ")
	if more := len(list) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func balancingText(list []unbalanced) string {
	if len(list) > 1 {
		return counted(len(list), "collection")
	}
	return list[0].ns + " (" + list[0].why + ")"
}

func (s *Host) texts(list []string) *goja.Object {
	items := make([]any, len(list))
	for i, text := range list {
		items[i] = text
	}
	return s.JS.Runtime.NewArray(items...)
}

// moveWatch follows what the balancer moves from a point in time on.
type moveWatch struct {
	sh    *Helpers
	ns    string // empty for all collections
	since time.Time
	known bool // the server tells the data of shards
}

func (sh *Helpers) watchMoves(ns string) *moveWatch {
	return &moveWatch{sh: sh, ns: ns, since: sh.s.JS.Clock.Now(), known: sh.version().AtLeast(server.Version{6, 0, 3})}
}

// committed finds the migrations since the watch began.
func (m *moveWatch) committed() bson.D {
	filter := bson.D{{Key: "time", Value: bson.D{{Key: "$gte", Value: m.since}}}, {Key: "what", Value: "moveChunk.commit"}}
	if m.ns != "" {
		filter = append(filter, bson.E{Key: "ns", Value: m.ns})
	}
	return filter
}

func (m *moveWatch) moves() any {
	n, _ := m.moved()
	return script.Whole(n)
}

func (m *moveWatch) moved() (moves, bytes float64) {
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	docs := m.sh.config().AggregateAll("changelog",
		bson.D{{Key: "$match", Value: m.committed()}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: sum(int32(1))}, {Key: "bytes", Value: sum("$details.counts.clonedBytes")}}}},
	)
	if len(docs) == 0 {
		return 0, 0
	}
	return rawdoc.Number(docs[0], "n"), rawdoc.Number(docs[0], "bytes")
}

// amount is the data moved so far, and what is left for the collections that are
// not balanced. Servers before 6.0.3 do not tell the data of shards.
func (m *moveWatch) amount(list []unbalanced) *display.Amount {
	if !m.known {
		return nil
	}
	sh := m.sh
	docs, err := sh.current().Sibling("admin").TryAggregate(int32(1), bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}})
	if err != nil {
		return nil
	}
	byNS := map[string]bson.Raw{}
	for _, doc := range docs {
		byNS[rawdoc.Text(doc, "ns")] = doc
	}
	shards := map[string]bool{} // true for those that stay
	for _, doc := range sh.config().FindAll("shards", bson.D{}) {
		shards[rawdoc.Text(doc, "_id")] = !rawdoc.TruthyAt(doc, "draining")
	}
	_, bytes := m.moved()
	a := &display.Amount{Done: bytes, Text: plaintext.SizeText}
	for _, u := range list {
		a.Left += sh.left(u, byNS[u.ns], shards)
	}
	return a
}

// left is the data of a collection that is to move: what lies on draining shards,
// or above an even share. Where zones are, and for other reasons, nobody can
// tell.
func (sh *Helpers) left(u unbalanced, distribution bson.Raw, stays map[string]bool) float64 {
	var draining, above, total float64
	var sizes []float64
	for _, s := range documentsAt(distribution, "shards") {
		size := rawdoc.Number(s, "ownedSizeBytes")
		total += size
		if stays[rawdoc.Text(s, "shardName")] {
			sizes = append(sizes, size)
		} else {
			draining += size
		}
	}
	shards := 0.0
	for _, staying := range stays {
		if staying {
			shards++
		}
	}
	for _, size := range sizes {
		above += max(0, size-total/max(1, shards))
	}
	switch {
	case u.why == "draining":
		return draining
	case u.why == "chunksImbalance" && sh.config().FindOne("tags", bson.D{{Key: "ns", Value: u.ns}}) == nil:
		return above
	}
	return math.NaN()
}

// documentsAt are the documents of an array.
func documentsAt(doc bson.Raw, path ...string) (docs []bson.Raw) {
	array, _ := doc.Lookup(path...).ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		if d, ok := v.DocumentOK(); ok {
			docs = append(docs, d)
		}
	}
	return docs
}
