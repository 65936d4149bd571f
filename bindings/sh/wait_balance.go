package sh

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
)

// shardBalanceMethods returns the helpers that report whether the cluster is balanced, and those that
// wait until it is.
func shardBalanceMethods() []helper {
	return []helper{
		{"isBalancerInRound", "", func(c *call, sh *Helpers) goja.Value {
			return c.JS.Runtime.ToValue(sh.readBalancer().InRound)
		}, "Returns whether a balancer round is running; between rounds there may still be work."},
		{"balancerSummary", "", shBalancerSummary,
			"Returns what the balancer does and what is out of balance, and why."},
		{"waitForBalance", "ns?:string|object options?:object{" + waitOptionNames + "}", shWaitForBalance,
			"Waits until a collection is balanced, or all are; {timeout, interval, progress}, times in ms or as \"1h30m\"."},
	}
}

// readBalancer reads the balancer's status.
func (h *Helpers) readBalancer() catalog.BalancerState {
	return h.readCluster(live.ReaderOptions{Parts: live.Balancer}).Parts().Balancer
}

// balancerOffText returns a text which says that the event named by what cannot happen while the
// balancer is off. It returns an empty string while the balancer is on.
func (h *Helpers) balancerOffText(what string) string {
	if h.readBalancer().Mode == catalog.ModeOff {
		return what + ", and the balancer is off: run sh.startBalancer()"
	}
	return ""
}

func shWaitForBalance(c *call, sh *Helpers) goja.Value {
	at := 1
	if o := c.Object(0); o != nil && !isCollection(o) { // only options
		at = 0
	}
	o := c.options("waitForBalance", at)
	w := o.newWait("the balancer continues", "sh.balancerSummary() shows its progress")
	if at == 0 || !c.Has(0) || goja.IsNull(c.Arg(0)) || c.Arg(0).String() == "all" {
		var list []*catalog.CollectionState
		var left []string
		release, _ := sh.release()
		for _, one := range diagnosis.Sharded(sh.readCluster(live.ReaderOptions{Parts: live.Collections}).Snapshot) {
			if diagnosis.DisabledByOf(one.Collection, release) != diagnosis.NotDisabled {
				left = append(left, one.Namespace)
			} else {
				list = append(list, one)
			}
		}
		waited, watch := sh.waitForCollections(w, "", list)
		return c.JS.NewObject("balanced", true, "collections", len(list), "leftAlone", c.host.textArray(left),
			"moves", watch.pollMoves(), "waitedMS", waited.Milliseconds())
	}
	ns := c.namespaceArgument(0)
	waited, watch := sh.waitForCollections(w, ns, []*catalog.CollectionState{sh.requireCollection(ns)})
	return c.JS.NewObject("balanced", true, "ns", ns, "moves", watch.pollMoves(), "waitedMS", waited.Milliseconds())
}

// requireCollection returns the state of a sharded collection, or throws.
func (h *Helpers) requireCollection(ns string) *catalog.CollectionState {
	seen := h.readCluster(live.ReaderOptions{Parts: live.Collections, Namespaces: []string{ns}})
	c := seen.Collection(ns)
	if c == nil {
		h.throwNotSharded(ns)
	}
	return c
}

// readBalances reads whether collections are balanced.
func (h *Helpers) readBalances(list []*catalog.CollectionState) []diagnosis.Balance {
	if len(list) == 0 {
		return nil
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Namespace
	}
	seen := h.readCluster(live.ReaderOptions{Parts: live.BalanceStatuses, Namespaces: names})
	balances := make([]diagnosis.Balance, len(list))
	release, _ := h.release()
	for i, c := range list {
		balances[i] = diagnosis.BalanceOf(seen.Snapshot, seen.Collection(c.Namespace))
		balances[i].DisabledBy = diagnosis.DisabledByOf(c.Collection, release)
	}
	return balances
}

// waitForCollections waits until all collections are balanced at the same time. The result is sorted by
// name.
func (h *Helpers) waitForCollections(
	w *wait, ns string, collections []*catalog.CollectionState,
) (time.Duration, *moveWatch) {
	watch := h.watchMoves(ns)
	goal := plan.Goal{Kind: plan.Balance}
	for _, c := range collections {
		goal.Namespaces = append(goal.Namespaces, c.Namespace)
	}
	w.forecast = &waitForecast{sh: h, goal: goal}
	waited := w.waitUntilDone(func() workState {
		var list []diagnosis.Balance
		stuck := ""
		for _, b := range h.readBalances(collections) {
			switch {
			case b.Balanced:
				continue
			case b.DisabledBy != diagnosis.NotDisabled:
				stuck = fmt.Sprintf("%s is not balanced (%s), and %s: run sh.enableBalancing or sh.enableMigrations",
					b.Namespace, b.ViolationText(), b.DisabledBy)
			}
			list = append(list, b)
		}
		if len(list) == 0 {
			return workState{done: true}
		}
		text := notBalancedText(list)
		return workState{
			stuckReason: cmp.Or(stuck, h.balancerOffText(text)), unfinishedText: text, activity: waitSubjectText(list),
			amount: func() *display.Amount { return watch.progressAmount(list) },
		}
	})
	return waited, watch
}

func notBalancedText(list []diagnosis.Balance) string {
	const shown = 5
	var parts []string
	for _, b := range list[:min(shown, len(list))] {
		parts = append(parts, b.Namespace+" ("+b.ViolationText()+")")
	}
	text := "not balanced: " + strings.Join(parts, ", ")
	if more := len(list) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func waitSubjectText(list []diagnosis.Balance) string {
	if len(list) > 1 {
		return humanize.Count(len(list), "collection")
	}
	return list[0].Namespace + " (" + list[0].ViolationText() + ")"
}

func (h *Host) textArray(list []string) *goja.Object {
	items := make([]any, len(list))
	for i, text := range list {
		items[i] = text
	}
	return h.JS.Runtime.NewArray(items...)
}

// moveWatch counts the migrations in the change log from a position on.
type moveWatch struct {
	sh            *Helpers
	ns            string // empty means all collections
	position      live.LogPosition
	count, bytes  int64
	sizesReported bool // the server reports the data of shards
}

func (h *Helpers) watchMoves(ns string) *moveWatch {
	at, err := live.ReadEndOfLogQuickly(h.host.JS.Context(), h.commandRunner(), live.ChangeLog)
	if err != nil {
		h.host.Gateway.Throw(err)
	}
	return &moveWatch{sh: h, ns: ns, position: at,
		sizesReported: h.version().AtLeast(catalog.ServerVersion{Major: 6, Patch: 3})}
}

// pollMoves returns the number of migrations that were committed since the watch began.
func (m *moveWatch) pollMoves() any {
	m.poll()
	return script.IntegerIfExact(float64(m.count))
}

// poll adds the migrations that were logged since the last call.
func (m *moveWatch) poll() {
	entries, at, _, err := live.ReadEntriesAfter(m.sh.host.JS.Context(), m.sh.commandRunner(), m.position)
	if err != nil {
		m.sh.host.Gateway.Throw(err)
	}
	m.position = at
	for _, e := range entries {
		if e.What == catalog.MigrationCommitted && (m.ns == "" || e.Namespace == m.ns) {
			bytes, _ := e.Detail("counts", "clonedBytes").AsInt64OK()
			m.count, m.bytes = m.count+1, m.bytes+bytes
		}
	}
}

// progressAmount returns the data moved so far, and the data left to move for the unbalanced
// collections. Servers before 6.0.3 do not report the data of shards.
func (m *moveWatch) progressAmount(list []diagnosis.Balance) *display.Amount {
	if !m.sizesReported {
		return nil
	}
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.Namespace
	}
	seen := m.sh.readCluster(live.ReaderOptions{Parts: live.Shards | live.Zones | live.Sizes, Namespaces: names})
	if !seen.hasSizes() {
		return nil
	}
	m.poll()
	a := &display.Amount{Done: float64(m.bytes), Format: humanize.Bytes[float64]}
	for _, b := range list {
		left, known := diagnosis.MisplacedBytes(seen.Snapshot, seen.Collection(b.Namespace), b.Violation)
		if !known {
			a.Remaining = math.NaN()
			break
		}
		a.Remaining += float64(left)
	}
	return a
}
