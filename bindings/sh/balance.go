package sh

import (
	"fmt"
	"math"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
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
		{"isBalancerInRound", "", func(c *call, sh *Helpers) goja.Value {
			return c.JS.Runtime.ToValue(sh.balancer().InRound)
		}, "Tells whether the balancer is in a round right now; between two rounds there may still be work."},
		{"balancerSummary", "", shBalancerSummary,
			"Returns what the balancer does and what is out of balance, and why."},
		{"waitForBalance", "ns?:string|object options?:object{" + waitOptions + "}", shWaitForBalance,
			"Waits until a collection is balanced, or all are; {timeout, interval, progress}, times in ms."},
	}
}

// balancer asks what the balancer says of itself.
func (sh *Helpers) balancer() catalog.BalancerState {
	return sh.look(live.Look{Parts: live.Balancer}).Parts().Balancer
}

// needBalancer throws when the balancer is off: what is waited for will not come.
func (sh *Helpers) needBalancer(what string) {
	if sh.balancer().Mode == catalog.ModeOff {
		sh.s.JS.Throw(script.RuntimeError, "%s, and the balancer is off: sh.startBalancer()", what)
	}
}

func shWaitForBalance(c *call, sh *Helpers) goja.Value {
	at := 1
	if o := c.Object(0); o != nil && !isCollection(o) { // options alone
		at = 0
	}
	o := c.options("waitForBalance", at)
	w := o.wait("the balancer goes on")
	if at == 0 || !c.Has(0) || goja.IsNull(c.Arg(0)) || c.Arg(0).String() == "all" {
		var list []*catalog.CollectionState
		var left []string
		for _, one := range sh.look(live.Look{Parts: live.Collections}).Collections() {
			if diagnosis.HoldOf(one.Collection) != diagnosis.NotHeld {
				left = append(left, one.Namespace)
			} else {
				list = append(list, one)
			}
		}
		waited, watch := sh.waitForCollections(w, "", list)
		return c.JS.NewObject("balanced", true, "collections", len(list), "leftAlone", c.s.texts(left),
			"moves", watch.moves(), "waitedMS", waited.Milliseconds())
	}
	ns := c.namespaceArgument(0)
	waited, watch := sh.waitForCollections(w, ns, []*catalog.CollectionState{sh.shardedCollection(ns)})
	return c.JS.NewObject("balanced", true, "ns", ns, "moves", watch.moves(), "waitedMS", waited.Milliseconds())
}

// shardedCollection returns the catalog's entry of a collection; none throws.
func (sh *Helpers) shardedCollection(ns string) *catalog.CollectionState {
	seen := sh.look(live.Look{Parts: live.Collections, Namespaces: []string{ns}})
	c := seen.Collection(ns)
	if c == nil {
		sh.notSharded(ns)
	}
	return c
}

// balances asks whether collections are balanced.
func (sh *Helpers) balances(list []*catalog.CollectionState) []diagnosis.Balance {
	if len(list) == 0 {
		return nil
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Namespace
	}
	balances := diagnosis.Balances(sh.look(live.Look{Parts: live.Statuses, Namespaces: names}).Snapshot)
	for i, c := range list {
		balances[i].Hold = diagnosis.HoldOf(c.Collection)
	}
	return balances
}

// waitForCollections waits until all of some collections are balanced at one
// time. They are sorted by name.
func (sh *Helpers) waitForCollections(
	w *wait, ns string, collections []*catalog.CollectionState,
) (time.Duration, *moveWatch) {
	watch := sh.watchMoves(ns)
	goal := plan.Goal{Kind: plan.Balance}
	for _, c := range collections {
		goal.Namespaces = append(goal.Namespaces, c.Namespace)
	}
	w.outlook = &outlook{sh: sh, goal: goal}
	waited := w.until(func() standing {
		var list []diagnosis.Balance
		for _, b := range sh.balances(collections) {
			switch {
			case b.Balanced:
				continue
			case b.Hold != diagnosis.NotHeld:
				sh.s.JS.Throw(script.RuntimeError,
					"%s is not balanced (%s), and %s for it: sh.enableBalancing, sh.enableMigrations", b.Namespace, b.Why(), b.Hold)
			}
			list = append(list, b)
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

func notBalanced(list []diagnosis.Balance) string {
	const shown = 5
	var parts []string
	for _, b := range list[:min(shown, len(list))] {
		parts = append(parts, b.Namespace+" ("+b.Why()+")")
	}
	text := "not balanced: " + strings.Join(parts, ", ")
	if more := len(list) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func balancingText(list []diagnosis.Balance) string {
	if len(list) > 1 {
		return counted(len(list), "collection")
	}
	return list[0].Namespace + " (" + list[0].Why() + ")"
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
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil}, {Key: "n", Value: sum(int32(1))},
			{Key: "bytes", Value: sum("$details.counts.clonedBytes")},
		}}},
	)
	if len(docs) == 0 {
		return 0, 0
	}
	return rawdoc.Number(docs[0], "n"), rawdoc.Number(docs[0], "bytes")
}

// amount returns the data moved so far, and what is left for the collections
// that are not balanced. Servers before 6.0.3 do not tell the data of shards.
func (m *moveWatch) amount(list []diagnosis.Balance) *display.Amount {
	if !m.known {
		return nil
	}
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.Namespace
	}
	seen := m.sh.look(live.Look{Parts: live.Shards | live.Zones | live.Sizes, Namespaces: names})
	if seen.Distribution == nil {
		return nil
	}
	_, bytes := m.moved()
	a := &display.Amount{Done: bytes, Text: plaintext.SizeText}
	for _, b := range list {
		left, known := diagnosis.Misplaced(seen.Snapshot, seen.Collection(b.Namespace), b.Violation)
		if !known {
			a.Left = math.NaN()
			break
		}
		a.Left += float64(left)
	}
	return a
}
