package sh

import (
	"fmt"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// failureMinutes is how long a summary remembers a migration that failed: some
// rounds, as one that cannot succeed is tried again in every round.
const failureMinutes = 10

// balancerSummary answers "is it balanced, and is something moving?"
// (spec 04 §8, row 15).
type balancerSummary struct {
	settings bson.Raw
	status   bson.Raw

	policy      string // what it evens out
	active      []activeMigration
	failed      []migrationResult // in the last failureMinutes
	collections []collectionBalance
	draining    []bson.Raw // of config.shards
	zones       []zoneLayout
}

// collectionBalance is how the balancer sees a collection.
type collectionBalance struct {
	ns, why   string // why it is not balanced; empty when it is
	alone     string // why the balancer leaves it alone; empty when it does not
	chunks    int64
	jumbo     int64
	defragged string // phase of defragmentation; empty when there is none
}

func (sh *Helpers) summary() *balancerSummary {
	s, config := sh.s, sh.config()
	b := &balancerSummary{
		settings: s.setting(config, "balancer"), status: sh.balancerStatus(),
		policy:   sh.policyText(),
		active:   s.activeMigrations(sh.current(), config),
		draining: config.FindAll("shards", bson.D{{Key: "draining", Value: true}}, server.SortedBy("_id", 1)),
		zones:    s.zones(config, ""),
	}
	for _, m := range s.migrationsAfter(config, s.JS.Clock.Now().Add(-failureMinutes*time.Minute)) {
		if m.from != "" {
			b.failed = append(b.failed, m)
		}
	}
	counts := s.chunkCountsOf(config, bson.D{})
	for _, entry := range s.shardedCollections(config) {
		ns := rawdoc.Text(entry, "_id")
		one := collectionBalance{ns: ns, why: sh.violation(ns), alone: leftAlone(entry)}
		one.chunks, one.jumbo = counts[chunkKey(entry)].total()
		if one.why == "defragmentingChunks" {
			one.defragged = rawdoc.Text(entry, "defragmentationPhase")
		}
		b.collections = append(b.collections, one)
	}
	return b
}

// balanced reports whether the balancer has nothing left to do.
func (b *balancerSummary) balanced() bool {
	for _, c := range b.collections {
		if c.why != "" && c.alone == "" {
			return false
		}
	}
	return len(b.draining) == 0
}

// problems lists what keeps the balancer from doing its work.
func (b *balancerSummary) problems() []string {
	var list []string
	if rawdoc.Text(b.status, "mode") == "off" && !b.balanced() {
		list = append(list, "the balancer is off: sh.startBalancer()")
	}
	for _, m := range b.failed {
		list = append(list, fmt.Sprintf("migrations from %s to %s failed in the last %d minutes: %s, %s", m.from, m.to, failureMinutes, m.id, timesText(m.count)))
	}
	for _, c := range b.collections {
		if c.why != "" && c.alone != "" {
			list = append(list, fmt.Sprintf("%s is not balanced (%s), but %s for it", c.ns, c.why, c.alone))
		}
		if c.jumbo > 0 {
			list = append(list, fmt.Sprintf("%s has %s the balancer does not move: sh.chunks(%q, { jumbo: true })", c.ns, counted(int(c.jumbo), "jumbo chunk"), c.ns))
		}
	}
	for _, z := range b.zones {
		if text := z.problem(); text != "" {
			list = append(list, "zone "+z.name+" "+text)
		}
	}
	return list
}

func timesText(n float64) string {
	if n == 1 {
		return "once"
	}
	return plaintext.PlainNumber(n) + " times"
}

func shBalancerSummary(c *call, sh *Helpers) goja.Value {
	b := sh.summary()
	collections := make([]any, len(b.collections))
	for i, one := range b.collections {
		o := c.JS.NewObject("ns", one.ns, "balanced", one.why == "")
		for _, f := range [][2]string{{"violation", one.why}, {"leftAlone", one.alone}, {"defragmentationPhase", one.defragged}} {
			if f[1] != "" {
				script.Must(o.Set(f[0], f[1]))
			}
		}
		script.Must(o.Set("chunks", one.chunks))
		script.Must(o.Set("jumboChunks", one.jumbo))
		collections[i] = o
	}
	active := make([]any, len(b.active))
	for i, m := range b.active {
		active[i] = m.object(c.s)
	}
	o := c.JS.NewObject(
		"balanced", b.balanced(),
		"mode", rawdoc.Text(b.status, "mode"),
		"policy", b.policy,
		"window", c.s.balancerWindow(b.settings),
		"inBalancerRound", rawdoc.TruthyAt(b.status, "inBalancerRound"),
		"activeMigrations", c.JS.Runtime.NewArray(active...),
		"drainingShards", c.s.texts(names(b.draining)),
		"collections", c.JS.Runtime.NewArray(collections...),
		"problems", c.s.texts(b.problems()),
	)
	return c.s.Display.WithTable(o, b.draw)
}

func (m activeMigration) object(s *Host) *goja.Object {
	o := s.JS.NewObject("ns", m.ns)
	if m.from != "" {
		script.Must(o.Set("from", m.from))
		script.Must(o.Set("to", m.to))
	}
	script.Must(o.Set("since", m.began(s)))
	return o
}
