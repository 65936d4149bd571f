package sh

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// balancerSummary answers "is it balanced, and is something moving?"
// (spec 04 §8, row 15).
type balancerSummary struct {
	*diagnosis.Diagnosis
	settings bson.Raw
	policy   string // what it evens out
}

func (sh *Helpers) summary() *balancerSummary {
	release, _ := sh.release()
	seen := sh.look(live.Look{
		Parts: live.Settings | live.Balancer | live.Shards | live.Collections | live.Statuses | live.Counts |
			live.Zones | live.Outcomes | live.Migrations,
		Span: diagnosis.FailureSpan, Release: release,
	})
	return &balancerSummary{
		Diagnosis: diagnosis.Of(seen.Snapshot), settings: document(seen, "settings", "balancer"), policy: sh.policyText(),
	}
}

// problems lists what keeps the balancer from doing its work.
func (b *balancerSummary) problems() []string {
	var list []string
	for _, f := range b.Findings {
		switch f.Code {
		case diagnosis.BalancerOff:
			if f.Severity == diagnosis.Info {
				continue
			}
			list = append(list, f.Text())
		case diagnosis.JumboChunks:
			list = append(list, f.Text())
		case diagnosis.MigrationsFailing, diagnosis.NotBalancedHeld, diagnosis.ZoneWithoutShards:
			list = append(list, f.Sentence)
		}
	}
	return list
}

// draining returns the ids of the shards that drain.
func (b *balancerSummary) draining() (ids []string) {
	for _, shard := range b.Shards() {
		if shard.Draining {
			ids = append(ids, string(shard.ID))
		}
	}
	return ids
}

// phase is that of a collection's defragmentation; empty when there is none.
func (b *balancerSummary) phase(of diagnosis.Balance) string {
	if !of.Defragmentation.Running {
		return ""
	}
	return b.Collection(of.Namespace).DefragmentationPhase
}

func shBalancerSummary(c *call, sh *Helpers) goja.Value {
	b := sh.summary()
	collections := make([]any, len(b.Balances))
	for i, one := range b.Balances {
		o := c.JS.NewObject("ns", one.Namespace, "balanced", one.Balanced)
		for _, f := range [][2]string{
			{"violation", one.Why()}, {"leftAlone", one.Hold.String()}, {"defragmentationPhase", b.phase(one)},
		} {
			if f[1] != "" {
				script.Must(o.Set(f[0], f[1]))
			}
		}
		n := b.Collection(one.Namespace).Count()
		script.Must(o.Set("chunks", n.Chunks))
		script.Must(o.Set("jumboChunks", n.Jumbo))
		collections[i] = o
	}
	parts := b.Parts()
	o := c.JS.NewObject(
		"balanced", b.Balanced(),
		"mode", string(parts.Balancer.Mode),
		"policy", b.policy,
		"window", c.s.balancerWindow(b.settings),
		"inBalancerRound", parts.Balancer.InRound,
		"activeMigrations", c.s.activeMigrations(parts.Migrations),
		"drainingShards", c.s.texts(b.draining()),
		"collections", c.JS.Runtime.NewArray(collections...),
		"problems", c.s.texts(b.problems()),
	)
	return c.s.Display.WithTable(o, b.draw)
}

// activeMigrations shows migrations that are under way.
func (s *Host) activeMigrations(list []catalog.ActiveMigration) *goja.Object {
	items := make([]any, len(list))
	for i, m := range list {
		o := s.JS.NewObject("ns", m.Namespace)
		if m.From != "" {
			script.Must(o.Set("from", string(m.From)))
			script.Must(o.Set("to", string(m.To)))
		}
		script.Must(o.Set("since", s.timeOrNull(m.Since)))
		items[i] = o
	}
	return s.JS.Runtime.NewArray(items...)
}

func (b *balancerSummary) draw(t *display.Tables) {
	parts := b.Parts()
	t.Heading("Balancer")
	state := "yes"
	if !b.Balanced() {
		state = "NO"
	}
	t.Line("balanced", state)
	t.Line("mode", string(parts.Balancer.Mode)+", "+roundText(parts.Balancer))
	t.Line("policy", b.policy)
	t.Line("window", windowText(b.settings))
	for _, m := range parts.Migrations {
		t.Line("moving now", m.Namespace+" from "+string(m.From)+" to "+string(m.To))
	}
	if ids := b.draining(); len(ids) > 0 {
		t.Line("draining", strings.Join(ids, " "))
	}
	for _, text := range b.problems() {
		t.Line("problem", text)
	}
	if len(b.Balances) == 0 {
		return
	}
	t.Heading("Collections")
	var rows [][]string
	for _, one := range b.Balances {
		why := "yes"
		if !one.Balanced {
			why = "NO, " + one.Why()
		}
		if phase := b.phase(one); phase != "" {
			why += " (" + phase + ")"
		}
		n := b.Collection(one.Namespace).Count()
		rows = append(rows, []string{one.Namespace, why, one.Hold.String(), fmt.Sprint(n.Chunks), fmt.Sprint(n.Jumbo)})
	}
	t.Grid([]string{"collection", "balanced", "left alone", "chunks#", "jumbo#"}, rows)
}

func roundText(b catalog.BalancerState) string {
	if b.InRound {
		return "in a round"
	}
	return "not in a round"
}
