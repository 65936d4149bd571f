package swarm

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// scenario is what a seed makes. All chance in it is drawn beforehand, so that parts can be left
// out when a failure is shrunk; what the director decides in a run comes from the seed again.
type scenario struct {
	Seed     uint64
	Release  catalog.Release
	FCV      string
	Flaws    mock.ServerBugs
	Shards   int
	Colls    []collection
	Balancer string // mode
	Writable int    // collections that are written
	Writers  int
	Ops      int // of each writer
	Runners  []runner
	Cuts     []cut
	Things   []thing
}

// collection is one of the cluster, with a key of one number.
type collection struct {
	NS     string
	Chunks []chunk
	Zoned  bool // the third to fifth chunk are in zone EU, of the second and third shard
}

// chunk is one in order; the next one begins at 10 times its place.
type chunk struct {
	On   int
	Size int // in MiB
}

// runner is a process of ours, and who starts it again.
type runner struct {
	Verb     string // balance, apply, drain
	NS       string // what it is about; empty is all
	Shard    int    // to drain
	After    time.Duration
	Parallel int
	MaxMoves int
	Pause    bool
	Tries    int
	Undo     bool // the plan is undone when it has been carried out
}

// cut is something that becomes of the Nth command of an actor: it fails with Code or loses its
// connection, before or after it was carried out, and the sender may be killed.
type cut struct {
	Actor string
	Nth   int
	Kill  bool
	After bool // after the server has carried it out
	Code  int  // 0 drops the connection
	// Stall has the process stand still for so long, and nothing else becomes of the command.
	Stall time.Duration
}

func (c cut) String() string {
	what := fmt.Sprintf("fails with code %d", c.Code)
	switch {
	case c.Stall > 0:
		return fmt.Sprintf("%s stands still for %v from its command %d on", c.Actor, c.Stall, c.Nth)
	case c.Kill:
		what = "kills its process"
	case c.Code == 0:
		what = "loses its connection"
	}
	when := "before"
	if c.After {
		when = "after"
	}
	return fmt.Sprintf("command %d of %s %s, %s it was carried out", c.Nth, c.Actor, what, when)
}

// thing is what an administrator or fate does at a time: a command of the database admin, as
// extended JSON.
type thing struct {
	At      time.Duration
	By      string // admin or fate
	Command string
	// On is an event of migrations, and Nth how many of them come first: At is the time after that.
	On  string
	Nth int
}

func (t thing) String() string {
	when := t.At.String()
	if t.On != "" {
		when += fmt.Sprintf(" after event %q number %d", t.On, t.Nth)
	}
	return fmt.Sprintf("%s %s: %s", when, t.By, t.Command)
}

// releases are those of the swarm.
func releases() []catalog.Release {
	return []catalog.Release{
		catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70, catalog.Release80.WithPatch(10),
		catalog.Release80.WithPatch(20), catalog.Release82.WithPatch(6), catalog.Release90,
	}
}

// mended has the mock do without the faults that are in servers and would break rules in each run: what
// balancerStop answers, and what secondaries show, means little with them.
func mended() mock.ServerBugs { return mock.ServerBugs{FixBalancerStop: true, FixSecondaryReads: true} }

// draw makes the scenario of a seed.
func draw(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 15))
	all := releases()
	s := &scenario{
		Flaws: mended(),
		Seed:  seed, Release: all[r.IntN(len(all))], Shards: 2 + r.IntN(3),
		Balancer: []string{"full", "full", "off"}[r.IntN(3)],
		Writers:  1 + r.IntN(2), Ops: 20 + r.IntN(20),
	}
	for n := range 1 + r.IntN(2) {
		s.Colls = append(s.Colls, drawCollection(r, n, s.Shards))
	}
	if s.Release == catalog.Release90 && r.IntN(2) == 0 {
		s.FCV = "8.3"
	}
	s.Writable = len(s.Colls)
	if r.IntN(3) == 0 {
		spare := drawCollection(r, 9, s.Shards)
		spare.NS, spare.Zoned = spareName, false
		s.Colls = append(s.Colls, spare)
	}
	for range 1 + r.IntN(3) {
		s.Runners = append(s.Runners, drawRunner(r, s))
	}
	if r.IntN(6) == 0 { // a plan that nobody else gets in the way of
		alone := s.Runners[0]
		alone.Verb, alone.NS, alone.Undo, s.Balancer = "apply", "", true, "off"
		s.Runners = []runner{alone}
	}
	for n := range s.Runners {
		for range r.IntN(4) {
			s.Cuts = append(s.Cuts, drawCut(r, fmt.Sprintf("r%d", n)))
		}
	}
	for n := range s.Writers {
		if r.IntN(2) == 0 {
			s.Cuts = append(s.Cuts, cut{Actor: fmt.Sprintf("w%d", n), Nth: r.IntN(s.Ops), After: r.IntN(2) == 0})
		}
	}
	for range r.IntN(12) {
		s.Things = append(s.Things, drawThings(r, s)...)
	}
	if s.Shards > 2 && s.Balancer == "full" && r.IntN(5) == 0 {
		s.empty()
	}
	if s.Release.FCVAtLeast(catalog.Release80) {
		s.shardConfig(rand.New(rand.NewPCG(seed, 125)))
	}
	return s
}

// shardConfig has the config server be a shard for a while, in some scenarios: something is moved there, and it
// is to become a dedicated one again while it is slow, so that what it gives away takes a while to come to its end.
func (s *scenario) shardConfig(r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	admin := func(at time.Duration, format string, args ...any) {
		s.Things = append(s.Things, thing{At: at, By: "admin", Command: fmt.Sprintf(format, args...)})
	}
	admin(time.Millisecond, `{"transitionFromDedicatedConfigServer": 1}`)
	for range 1 + r.IntN(3) {
		c := s.Colls[r.IntN(s.Writable)]
		key, back := 10*r.IntN(len(c.Chunks))+1, r.IntN(s.Shards)
		admin(time.Duration(1+r.IntN(20))*time.Second, `{"moveChunk": %q, "find": {"x": %d}, "to": "config"}`, c.NS, key)
		admin(time.Duration(60+r.IntN(20))*time.Second,
			`{"moveChunk": %q, "find": {"x": %d}, "to": "s%d", "_waitForDelete": true}`, c.NS, key, back)
	}
	slow := time.Duration(30+r.IntN(30)) * time.Second
	s.Things = append(s.Things,
		thing{At: slow, By: "fate", Command: fmt.Sprintf(`{"mockSlow": "config", "latency": "%dms"}`, 100+r.IntN(900))},
		thing{At: 3 * slow, By: "fate", Command: `{"mockSlow": "config"}`})
	for at := slow; at < 3*slow; at += time.Duration(300+r.IntN(1500)) * time.Millisecond {
		admin(at, `{"transitionToDedicatedConfigServer": 1}`)
	}
}

// empty has the last shard own nothing, and drain from early on, while others differ: it is the one with
// the least. By chance alone a shard that drains has mostly something left, and so takes part in its round.
func (s *scenario) empty() {
	last := s.Shards - 1
	for n, c := range s.Colls {
		for i, chunk := range c.Chunks {
			switch {
			case chunk.On != last:
			case c.Zoned && i >= 2 && i < 5:
				s.Colls[n].Chunks[i].On = 1
			default:
				s.Colls[n].Chunks[i].On = 0
			}
		}
	}
	s.Things = append(s.Things, thing{At: time.Millisecond, By: "admin", Command: fmt.Sprintf(`{"removeShard": "s%d"}`, last)})
}

func drawCollection(r *rand.Rand, n, shards int) collection {
	c := collection{NS: fmt.Sprintf("db.c%d", n), Zoned: shards > 2 && r.IntN(3) == 0}
	heavy := r.IntN(shards) // has most
	for i := range 5 + r.IntN(8) {
		on := heavy
		switch {
		case c.Zoned && i >= 2 && i < 5:
			on = 1 + r.IntN(2)
		case r.IntN(3) == 0:
			on = r.IntN(shards)
		}
		c.Chunks = append(c.Chunks, chunk{On: on, Size: 1 + r.IntN(6)})
	}
	return c
}

func drawRunner(r *rand.Rand, s *scenario) runner {
	one := runner{
		Verb: []string{"balance", "balance", "apply", "drain"}[r.IntN(4)], Shard: r.IntN(s.Shards),
		After: time.Duration(r.IntN(60)) * time.Second, Parallel: 1 + r.IntN(2), Pause: r.IntN(4) > 0, Tries: 4 + r.IntN(4),
		MaxMoves: action.NoLimit, Undo: r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		one.NS = s.Colls[r.IntN(len(s.Colls))].NS
	}
	if r.IntN(3) == 0 {
		one.MaxMoves = 1 + r.IntN(4)
	}
	return one
}

// codes are errors that say nothing of what has become of a command, and so may come before it
// was carried out or after that.
var codes = []int{6, 50, 91, 189, 11600}

func drawCut(r *rand.Rand, actor string) cut {
	c := cut{Actor: actor, Nth: r.IntN(80), Kill: r.IntN(2) == 0, After: r.IntN(2) == 0}
	switch r.IntN(4) {
	case 0:
		return cut{Actor: actor, Nth: c.Nth, Stall: time.Duration(20+r.IntN(200)) * time.Second}
	case 1, 2:
		c.Code = codes[r.IntN(len(codes))]
	}
	return c
}

// drawThings draws something that goes wrong for a while, or a command of an administrator.
func drawThings(r *rand.Rand, s *scenario) []thing {
	at := time.Duration(r.IntN(240_000)) * time.Millisecond
	until := at + time.Duration(1+r.IntN(60_000))*time.Millisecond
	node := func() string {
		if n := r.IntN(s.Shards + 1); n < s.Shards {
			return fmt.Sprintf("s%d", n)
		}
		return "config"
	}
	on, nth := "", 0
	if r.IntN(3) == 0 { // where it hurts
		on, nth = []string{"start", "clone", "catchUp", "commit", "committed"}[r.IntN(5)], r.IntN(6)
		at = time.Duration(r.IntN(250)) * time.Millisecond
		until = at + time.Duration(1+r.IntN(60_000))*time.Millisecond
	}
	fate := func(at time.Duration, format string, args ...any) thing {
		return thing{at, "fate", fmt.Sprintf(format, args...), on, nth}
	}
	one := node()
	switch r.IntN(10) {
	case 0:
		return []thing{fate(at, `{"mockCrash": %q}`, one), fate(until, `{"mockRestart": %q}`, one)}
	case 1:
		other := node()
		if one == other {
			other = "router"
		}
		return []thing{fate(at, `{"mockPartition": [%q, %q]}`, one, other), fate(until, `{"mockHeal": [%q, %q]}`, one, other)}
	case 2:
		latency := fmt.Sprintf("%dms", 10+r.IntN(2000))
		return []thing{fate(at, `{"mockSlow": %q, "latency": %q}`, one, latency), fate(until, `{"mockSlow": %q}`, one)}
	case 3:
		return []thing{fate(at, `{"mockStepDown": 1}`)}
	case 5: // while a migration is under way
		on, at = []string{"clone", "catchUp"}[r.IntN(2)], time.Duration(r.IntN(100))*time.Millisecond
		return []thing{{at, "admin", indexCommands[0], on, nth}, {at, "admin", indexCommands[1], on, nth + 1 + r.IntN(3)}}
	case 4: // and somebody wants the balancer to stop
		return []thing{fate(at, `{"mockStepDown": 1}`), {at + time.Duration(r.IntN(100))*time.Millisecond, "admin",
			`{"balancerStop": 1}`, on, nth}}
	}
	if n := len(s.Colls); s.Colls[n-1].NS == spareName && r.IntN(5) == 0 {
		list := []thing{{at, "admin", fmt.Sprintf(`{"unshardCollection": %q, "toShard": "s%d"}`, spareName, r.IntN(s.Shards)), on, nth}}
		if r.IntN(2) == 0 {
			soon := at + time.Duration(r.IntN(200))*time.Millisecond
			list = append(list, thing{soon, "admin", fmt.Sprintf(`{"abortUnshardCollection": %q}`, spareName), on, nth})
		}
		return list
	}
	command := drawCommand(r, s)
	if strings.Contains(command, "balancerStop") {
		return []thing{{at, "admin", command, on, nth}, {until, "admin", `{"balancerStart": 1}`, on, nth}}
	}
	return []thing{{at, "admin", command, on, nth}}
}

// spareName is a collection that nobody writes into: administrators rename it and drop it.
const spareName, renamedName = "db.spare", "db.spare2"

// commands are what administrators do: verbs in angle brackets are drawn.
var commands = []string{
	`{"split": "<ns>", "middle": {"x": <key>}}`,
	`{"moveChunk": "<ns>", "find": {"x": <key>}, "to": "<shard>"}`,
	`{"moveChunk": "<ns>", "find": {"x": <key>}, "to": "<shard>", "_waitForDelete": true}`,
	`{"moveRange": "<ns>", "min": {"x": <key>}, "toShard": "<shard>"}`,
	`{"mergeChunks": "<ns>", "bounds": [{"x": <bound>}, {"x": <bound>}]}`,
	`{"mergeAllChunksOnShard": "<ns>", "shard": "<shard>"}`,
	`{"balancerStop": 1}`,
	`{"balancerStart": 1}`,
	`{"configureCollectionBalancing": "<ns>", "enableBalancing": false}`,
	`{"configureCollectionBalancing": "<ns>", "enableBalancing": true}`,
	`{"configureCollectionBalancing": "<ns>", "chunkSize": 4}`,
	`{"addShardToZone": "<shard>", "zone": "EU"}`,
	`{"removeShardFromZone": "<shard>", "zone": "EU"}`,
	`{"updateZoneKeyRange": "<ns>", "min": {"x": 20}, "max": {"x": 50}, "zone": "EU"}`,
	`{"updateZoneKeyRange": "<ns>", "min": {"x": 20}, "max": {"x": 50}, "zone": null}`,
	`{"removeShard": "<shard>"}`,
	`{"startShardDraining": "<shard>"}`,
	`{"stopShardDraining": "<shard>"}`,
	`{"mockAddShard": {"name": "t<key>"}}`,
	`{"createIndexes": "<coll>", "indexes": [{"key": {"n": 1}, "name": "n_1"}], "$db": "db"}`,
	`{"dropIndexes": "<coll>", "index": "n_1", "$db": "db"}`,
	`{"renameCollection": "db.spare", "to": "db.spare2"}`,
	`{"renameCollection": "db.spare2", "to": "db.spare"}`,
	`{"drop": "spare", "$db": "db"}`,
	`{"movePrimary": "db", "to": "<shard>"}`,
	`{"mockChangeFCV": "9.0", "takes": "20s"}`,
	`{"mockFill": "<ns>", "bytes": 8000000}`,
}

var indexCommands = []string{
	`{"createIndexes": "c0", "indexes": [{"key": {"n": 1}, "name": "n_1"}], "$db": "db"}`,
	`{"dropIndexes": "c0", "index": "n_1", "$db": "db"}`,
}

func drawCommand(r *rand.Rand, s *scenario) string {
	c := s.Colls[r.IntN(len(s.Colls))]
	_, name, _ := catalog.SplitNamespace(c.NS)
	text := commands[r.IntN(len(commands))]
	for _, v := range []struct {
		name string
		draw func() string
	}{
		{"<ns>", func() string { return c.NS }}, {"<coll>", func() string { return name }},
		{"<key>", func() string { return strconv.Itoa(r.IntN(10 * len(c.Chunks))) }},
		{"<bound>", func() string { return strconv.Itoa(10 * (1 + r.IntN(len(c.Chunks)))) }},
		{"<shard>", func() string { return fmt.Sprintf("s%d", r.IntN(s.Shards)) }},
	} {
		for strings.Contains(text, v.name) {
			text = strings.Replace(text, v.name, v.draw(), 1)
		}
	}
	return text
}

// topology describes the cluster as a topology file.
func (s *scenario) topology() string {
	var b strings.Builder
	b.WriteString(`{"shards": [`)
	for i := range s.Shards {
		fmt.Fprintf(&b, `%s{"id": "s%d"%s}`, comma(i), i, map[bool]string{true: `, "zones": ["EU"]`}[i == 1 || i == 2])
	}
	fmt.Fprintf(&b, `], "settings": {"chunkSizeMB": 2, "balancer": {"mode": %q}},`, s.Balancer)
	b.WriteString(`"databases": [{"name": "db", "primary": "s0"}, {"name": "shardsh", "primary": "s1"}], "collections": [`)
	for n, c := range s.Colls {
		fmt.Fprintf(&b, `%s{"ns": %q, "key": {"x": 1}, `, comma(n), c.NS)
		if c.Zoned {
			b.WriteString(`"zones": [{"zone": "EU", "min": {"x": 20}, "max": {"x": 50}}], `)
		}
		b.WriteString(`"chunks": [`)
		for i, chunk := range c.Chunks {
			fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), chunk.On, chunk.Size<<20, chunk.Size<<10)
			if i < len(c.Chunks)-1 {
				fmt.Fprintf(&b, `, "max": {"x": %d}`, 10*(i+1))
			}
			b.WriteString("}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}
