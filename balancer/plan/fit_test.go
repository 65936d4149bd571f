package plan_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// tight draws a cluster whose volumes have little room below the limit.
func tight(t *rapid.T, shards, collections, mostChunks int, limit float64) *catalog.Snapshot {
	var colls []*catalog.CollectionState
	held := make([]int64, shards)
	for i := range collections {
		n := rapid.IntRange(1, mostChunks).Draw(t, "chunks")
		c := snaptest.NewCollection(t, fmt.Sprintf("db.c%d", i), shards, n, func(int) (int, int64) {
			on := rapid.IntRange(0, shards-1).Draw(t, "shard")
			return on, rapid.Int64Range(1, 240).Draw(t, "MiB") * mib / 2
		})
		asked := rapid.Bool().Draw(t, "files are known")
		for k := range shards {
			id := snaptest.ShardID(k)
			data := c.Sizes[id]
			if asked && data.Bytes > 0 {
				data.Reusable = rapid.Int64Range(0, 60).Draw(t, "reusable") * mib
				data.Stored = data.Bytes*rapid.Int64Range(2, 10).Draw(t, "tenths")/10 + data.Reusable
				data.IndexBytes = data.Bytes / 20
				c.Sizes[id] = data
			}
			held[k] += max(data.Stored+data.IndexBytes, data.Bytes)
		}
		colls = append(colls, c)
	}
	s := snaptest.SnapshotOf(shards, colls...)
	for k := range shards {
		shard, _ := s.Shard(snaptest.ShardID(k))
		shard.Disk.Used = held[k] + 100*mib
		room := rapid.Int64Range(-20, 300).Draw(t, "room") * mib
		shard.Disk.Total = int64(float64(shard.Disk.Used+room)/limit) + 1
		s = s.WithShard(shard)
	}
	return s
}

// disks replay plans by what is known of files: they grow with what comes, and never become
// smaller. It is rewritten, without catalog.Volumes.
type disks struct {
	s     *catalog.Snapshot
	limit float64
	live  map[[2]string]float64
	file  map[[2]string]float64
	used  map[string]float64
}

func newDisks(s *catalog.Snapshot, limit float64) *disks {
	d := &disks{s, limit, map[[2]string]float64{}, map[[2]string]float64{}, map[string]float64{}}
	for _, shard := range s.Shards() {
		d.used[string(shard.ID)] = float64(shard.Disk.Used)
		for _, c := range s.Collections() {
			at, data := [2]string{c.Namespace, string(shard.ID)}, c.Sizes[shard.ID]
			d.file[at] = float64(data.Stored + data.IndexBytes)
			d.live[at] = d.file[at] - float64(data.Reusable)
			if data.Stored == 0 {
				d.live[at] = d.ratio(c) * float64(data.Bytes)
				d.file[at] = d.live[at]
			}
		}
	}
	return d
}

func (d *disks) ratio(c *catalog.CollectionState) float64 {
	var disk, data float64
	for _, have := range c.Sizes {
		if have.Stored > 0 {
			disk += float64(have.Stored - have.Reusable + have.IndexBytes)
			data += float64(have.Bytes)
		}
	}
	if data == 0 {
		return 1
	}
	return disk / data
}

// comes has data arrive, and reports whether the volume keeps its limit.
func (d *disks) comes(ns, to string, bytes int64) bool {
	at := [2]string{ns, to}
	if d.file[at] == 0 { // an empty collection and its indexes take something, too
		d.live[at] += 32 << 10
	}
	d.live[at] += d.ratio(d.s.Collection(ns)) * float64(bytes)
	grows := d.live[at] - d.file[at]
	if grows <= 0.5 {
		return true
	}
	d.file[at] += grows
	d.used[to] += grows
	shard, _ := d.s.Shard(catalog.ShardID(to))
	return d.used[to] <= d.limit*float64(shard.Disk.Total)+1
}

func (d *disks) goes(ns, from string, bytes int64) {
	at := [2]string{ns, from}
	d.live[at] = max(0, d.live[at]-d.ratio(d.s.Collection(ns))*float64(bytes))
}

// replay carries a plan out by its times, and returns the first step that takes a volume over
// its limit. What moved is deleted when its time has come, and not before.
func replay(s *catalog.Snapshot, p *plan.Plan, limit float64) error {
	d := newDisks(s, limit)
	type deletion struct {
		at   time.Duration
		step plan.Step
	}
	var later []deletion
	steps := slices.Clone(p.Steps)
	slices.SortStableFunc(steps, func(a, b plan.Step) int { return int(a.Start - b.Start) })
	for _, step := range steps {
		if step.Kind != plan.Move {
			continue
		}
		later = slices.DeleteFunc(later, func(x deletion) bool {
			gone := x.at <= step.Start
			if gone {
				d.goes(x.step.Namespace, string(x.step.From), x.step.Bytes)
			}
			return gone
		})
		if !d.comes(step.Namespace, string(step.To), step.Bytes) {
			return fmt.Errorf("step %d, %s of %s from %s to %s after %s, takes the volume over its limit", step.Number,
				step.Min, step.Namespace, step.From, step.To, step.Start)
		}
		later = append(later, deletion{step.Start + step.Takes + 15*time.Minute, step})
	}
	return nil
}

// No plan takes a volume over its limit at any moment, orphans included, and what it leaves
// for lack of room it names: 200 clusters of up to eight shards with tight disks, others in each run. For
// 1,000: go test -run DiskLimit -plan.clusters 100.
func TestNoPlanGoesOverTheDiskLimit(t *testing.T) {
	hundreds, limited := max(2, int(*clusters)/10), 0
	if testing.Short() {
		hundreds = 1
	}
	for range hundreds {
		rapid.Check(t, func(t *rapid.T) {
			limit := rapid.Float64Range(0.5, 0.95).Draw(t, "limit")
			shards := rapid.IntRange(2, 8).Draw(t, "shards")
			s := tight(t, shards, rapid.IntRange(1, 3).Draw(t, "collections"), 30, limit)
			o := plan.Options{Limits: plan.Limits{Disk: limit}}
			switch rapid.IntRange(0, 2).Draw(t, "goal") {
			case 0:
				drained := rapid.IntRange(0, shards-1).Draw(t, "drained")
				o.Goal = plan.Goal{Kind: plan.Drain, Shard: snaptest.ShardID(drained)}
			case 1:
				o.Goal.Kind = plan.Defragment
			}
			p := mustMake(t, s, o)
			if err := replay(s, p, limit); err != nil {
				t.Fatal(err)
			}
			if lacksRoom(p) {
				limited++
			} else if o.Goal.Kind == plan.Drain && !p.ReachesGoal {
				t.Fatalf("not reached, and nobody lacks room: %+v", p.Left)
			}
		})
	}
	t.Logf("%d of the plans leave something for lack of room", limited)
}

func lacksRoom(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Left, func(f diagnosis.Finding) bool { return f.Code == diagnosis.NoRoom })
}

// world is a small cluster on which all orders of moves are tried. It waits after each move
// until the donor has deleted what it gave, which is never worse than not to wait.
type world struct {
	s      *catalog.Snapshot
	chunks []chunkOf
	done   func(on []int) bool
	seen   map[string]bool
}

type chunkOf struct {
	ns    string
	bytes int64
	zone  string
}

func (w *world) possible(on []int, d *disks) bool {
	if w.done(on) {
		return true
	}
	key := fmt.Sprint(on)
	for _, c := range w.s.Collections() {
		for _, shard := range w.s.Shards() {
			key += fmt.Sprintf(" %d", int64(math.Round(d.file[[2]string{c.Namespace, string(shard.ID)}])))
		}
	}
	if w.seen[key] {
		return false
	}
	w.seen[key] = true
	for i, c := range w.chunks {
		for to, shard := range w.s.Shards() {
			if to == on[i] || shard.Draining || c.zone != "" && !shard.HasZone(c.zone) {
				continue
			}
			next := &disks{d.s, d.limit, cloned(d.live), cloned(d.file), cloned(d.used)}
			if !next.comes(c.ns, string(shard.ID), c.bytes) {
				continue
			}
			next.goes(c.ns, string(snaptest.ShardID(on[i])), c.bytes)
			places := slices.Clone(on)
			places[i] = to
			if w.possible(places, next) {
				return true
			}
		}
	}
	return false
}

func cloned[K comparable](m map[K]float64) map[K]float64 {
	next := make(map[K]float64, len(m))
	for k, v := range m {
		next[k] = v
	}
	return next
}

// everyOrder returns the world of a snapshot, and where its chunks are.
func everyOrder(s *catalog.Snapshot, g plan.Goal) (*world, []int) {
	w := &world{s: s, seen: map[string]bool{}}
	w.done = map[plan.GoalKind]func([]int) bool{
		plan.Balance: w.even,
		plan.Drain: func(on []int) bool {
			return !slices.ContainsFunc(on, func(i int) bool { return snaptest.ShardID(i) == g.Shard })
		},
		plan.Zones: w.zoned,
	}[g.Kind]
	var on []int
	for _, c := range s.Collections() {
		sizes := map[catalog.Key]int64{}
		for _, size := range c.ChunkSizes {
			sizes[size.Min] = size.Bytes
		}
		for chunk := range c.Table.All() {
			w.chunks = append(w.chunks, chunkOf{c.Namespace, sizes[chunk.Min], c.Zones.ZoneOf(chunk.Min, chunk.Max)})
			for i, shard := range s.Shards() {
				if shard.ID == chunk.Shard {
					on = append(on, i)
				}
			}
		}
	}
	return w, on
}

// even is what the balancer leaves as it is, without zones and drains: no shard below the
// average is three chunk sizes below the largest one.
func (w *world) even(on []int) bool {
	for _, c := range w.s.Collections() {
		sizes := make([]int64, len(w.s.Shards()))
		total := int64(0)
		for i, chunk := range w.chunks {
			if chunk.ns == c.Namespace {
				sizes[on[i]] += chunk.bytes
				total += chunk.bytes
			}
		}
		ideal := total / int64(len(sizes))
		most, least := slices.Max(sizes), slices.Min(sizes)
		if most > ideal && least < ideal && most-least >= 3*c.MaxChunkSizeBytes {
			return false
		}
	}
	return true
}

// Whenever some order of moves of whole chunks leads to the goal within the limit, a plan
// does, too.
func TestFindsAPlanWhereThereIsOne(t *testing.T) {
	reached, another, none := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		const limit = 0.85
		shards := rapid.IntRange(2, 3).Draw(t, "shards")
		collections := rapid.IntRange(1, 2).Draw(t, "collections")
		s := measured(t, tight(t, shards, collections, 6/collections, limit))
		o := plan.Options{Limits: plan.Limits{Disk: limit}}
		o.Goal.Kind = rapid.SampledFrom([]plan.GoalKind{plan.Drain, plan.Balance, plan.Zones}).Draw(t, "goal")
		switch o.Goal.Kind {
		case plan.Drain:
			o.Goal.Shard = snaptest.ShardID(rapid.IntRange(0, shards-1).Draw(t, "drained"))
			shard, _ := s.Shard(o.Goal.Shard)
			shard.Draining = true
			s = s.WithShard(shard)
		case plan.Zones:
			s = zonedAtRandom(t, s)
		}
		w, on := everyOrder(s, o.Goal)
		possible := w.possible(on, newDisks(s, limit))
		p := mustMake(t, s, o)
		if err := replay(s, p, limit); err != nil {
			t.Fatal(err)
		}
		switch {
		case p.ReachesGoal:
			reached++
			if slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return strings.Contains(s.Why, "disk limit") }) {
				another++
			}
		case possible:
			t.Fatalf("there is a way, and the plan has none: %+v, %+v", p.Totals, p.Left)
		default:
			none++
			if !lacksRoom(p) {
				t.Fatalf("no room, and the plan leaves %+v", p.Left)
			}
		}
	})
	t.Logf("%d plans reach their goal, %d of them by an order of their own; for %d there is none", reached, another, none)
}

// zoned tells that each chunk in a zone is on a shard of it.
func (w *world) zoned(on []int) bool {
	for i, c := range w.chunks {
		shard, _ := w.s.Shard(snaptest.ShardID(on[i]))
		if c.zone != "" && !shard.HasZone(c.zone) {
			return false
		}
	}
	return true
}

// measured has the size of each chunk known.
func measured(t *rapid.T, s *catalog.Snapshot) *catalog.Snapshot {
	for _, c := range s.Collections() {
		next := *c
		next.MaxChunkSizeBytes, next.ChunkSizes = 128*mib, nil
		left := map[catalog.ShardID]catalog.ShardData{}
		for id, data := range c.Sizes {
			left[id] = data
		}
		count := map[catalog.ShardID]int{}
		for chunk := range c.Table.All() {
			count[chunk.Shard]++
		}
		for chunk := range c.Table.All() {
			data := left[chunk.Shard]
			docs := data.Documents
			if count[chunk.Shard]--; count[chunk.Shard] > 0 {
				docs = docs * rapid.Int64Range(1, 9).Draw(t, "tenths") / 10
			}
			bytes := docs * 1024
			left[chunk.Shard] = catalog.ShardData{Bytes: data.Bytes - bytes, Documents: data.Documents - docs}
			next.ChunkSizes = append(next.ChunkSizes, catalog.ChunkSize{Min: chunk.Min, Bytes: bytes, Documents: docs})
		}
		s = s.WithCollection(&next)
	}
	return s
}

// zonedAtRandom puts the first chunks of each collection into a zone of one shard, and the
// next ones into that of another.
func zonedAtRandom(t *rapid.T, s *catalog.Snapshot) *catalog.Snapshot {
	for i := range 2 {
		shard, _ := s.Shard(snaptest.ShardID(i))
		shard.Zones = []string{string(rune('A' + i))}
		s = s.WithShard(shard)
	}
	for _, c := range s.Collections() {
		zones := catalog.NewZoneSet(c.Pattern)
		at := c.Pattern.GlobalMin()
		for i := range 2 {
			n := rapid.IntRange(0, c.Table.Len()-1).Draw(t, "zone ends")
			upper := c.Table.At(n).Max
			if !at.Less(upper) {
				continue
			}
			if err := zones.Add(catalog.ZoneRange{Min: at, Max: upper, Zone: string(rune('A' + i))}); err != nil {
				t.Fatal(err)
			}
			at = upper
		}
		s = s.WithCollection(c.WithZones(zones))
	}
	return s
}
