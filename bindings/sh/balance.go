package sh

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

// shardBalanceMethods() report whether the cluster is balanced.
func shardBalanceMethods() []helper {
	return []helper{
		{"isBalancerInRound", "", func(c *call, sh *Helpers) goja.Value {
			return c.JS.Runtime.ToValue(sh.balancer().InRound)
		}, "Returns whether a balancer round is running; between rounds there may still be work."},
		{"balancerSummary", "", shBalancerSummary,
			"Returns what the balancer does and what is out of balance, and why."},
		{"waitForBalance", "ns?:string|object options?:object{" + waitOptions + "}", shWaitForBalance,
			"Waits until a collection is balanced, or all are; {timeout, interval, progress}, times in ms or as \"1h30m\"."},
	}
}

// balancer asks what the balancer says of itself.
func (sh *Helpers) balancer() catalog.BalancerState {
	return sh.look(live.ReaderOptions{Parts: live.Balancer}).Parts().Balancer
}

// withoutBalancer says that what is waited for will not come when the balancer is off;
// nothing while it is on.
func (sh *Helpers) withoutBalancer(what string) string {
	if sh.balancer().Mode == catalog.ModeOff {
		return what + ", and the balancer is off: run sh.startBalancer()"
	}
	return ""
}

func shWaitForBalance(c *call, sh *Helpers) goja.Value {
	at := 1
	if o := c.Object(0); o != nil && !isCollection(o) { // options alone
		at = 0
	}
	o := c.options("waitForBalance", at)
	w := o.wait("the balancer continues", "sh.balancerSummary() shows its progress")
	if at == 0 || !c.Has(0) || goja.IsNull(c.Arg(0)) || c.Arg(0).String() == "all" {
		var list []*catalog.CollectionState
		var left []string
		release, _ := sh.release()
		for _, one := range sh.look(live.ReaderOptions{Parts: live.Collections}).Collections() {
			if diagnosis.HoldOf(one.Collection, release) != diagnosis.NotHeld {
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
	seen := sh.look(live.ReaderOptions{Parts: live.Collections, Namespaces: []string{ns}})
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
	balances := diagnosis.Balances(sh.look(live.ReaderOptions{Parts: live.Statuses, Namespaces: names}).Snapshot)
	release, _ := sh.release()
	for i, c := range list {
		balances[i].Hold = diagnosis.HoldOf(c.Collection, release)
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
	waited := w.until(func() workState {
		var list []diagnosis.Balance
		stuck := ""
		for _, b := range sh.balances(collections) {
			switch {
			case b.Balanced:
				continue
			case b.Hold != diagnosis.NotHeld:
				stuck = fmt.Sprintf("%s is not balanced (%s), and %s for it: run sh.enableBalancing or sh.enableMigrations",
					b.Namespace, b.Why(), b.Hold)
			}
			list = append(list, b)
		}
		if len(list) == 0 {
			return workState{done: true}
		}
		text := notBalanced(list)
		return workState{
			stuck: cmp.Or(stuck, sh.withoutBalancer(text)), why: text, what: balancingText(list),
			amount: func() *display.Amount { return watch.amount(list) },
		}
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
		return humanize.Count(len(list), "collection")
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

// moveWatch follows what the balancer moves from a place in the change log on.
type moveWatch struct {
	sh           *Helpers
	ns           string // empty for all collections
	at           live.LogPosition
	count, bytes int64
	known        bool // the server tells the data of shards
}

func (sh *Helpers) watchMoves(ns string) *moveWatch {
	at, err := live.LogEnd(sh.s.JS.Context(), sh.commandRunner(), live.ChangeLog)
	if err != nil {
		sh.s.Gateway.Throw(err)
	}
	return &moveWatch{sh: sh, ns: ns, at: at, known: sh.version().AtLeast(server.Version{6, 0, 3})}
}

// moves returns how many were committed since the watch began.
func (m *moveWatch) moves() any {
	m.read()
	return script.Whole(float64(m.count))
}

// read counts what was logged since the last reading.
func (m *moveWatch) read() {
	entries, at, _, err := live.EntriesAfter(m.sh.s.JS.Context(), m.sh.commandRunner(), m.at)
	if err != nil {
		m.sh.s.Gateway.Throw(err)
	}
	m.at = at
	for _, e := range entries {
		if e.What == catalog.MigrationCommitted && (m.ns == "" || e.Namespace == m.ns) {
			bytes, _ := e.Detail("counts", "clonedBytes").AsInt64OK()
			m.count, m.bytes = m.count+1, m.bytes+bytes
		}
	}
}

// amount returns the data moved so far, and what is left for the collections
// that are not balanced. Servers before 6.0.3 do not report the data of shards.
func (m *moveWatch) amount(list []diagnosis.Balance) *display.Amount {
	if !m.known {
		return nil
	}
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.Namespace
	}
	seen := m.sh.look(live.ReaderOptions{Parts: live.Shards | live.Zones | live.Sizes, Namespaces: names})
	if !seen.sized() {
		return nil
	}
	m.read()
	a := &display.Amount{Done: float64(m.bytes), Text: humanize.Bytes[float64]}
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
