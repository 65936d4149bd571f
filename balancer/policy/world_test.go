package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
)

// world is one cluster.
type world struct {
	rnd        *rand.Rand
	shards     []catalog.Shard
	unmeasured map[catalog.ShardID]bool
	colls      []*populace
	rounds     int
}

// populace is a collection with the bytes of its chunks.
type populace struct {
	sit   Situation
	load  map[string]*load // by lower bound
	moved int64            // bytes
	// start is what there was at the beginning.
	start     []freight
	potential []int64
}

// load is what a chunk holds; its keys go from low to high.
type load struct {
	bytes     int64
	low, high int64
	// oneKey: no split point can be found.
	oneKey bool
}

// spacing is the distance of the bounds of chunks, so that there is room for
// split points.
const spacing = 1 << 20

// features are what the clusters of a kind have.
type features struct {
	name                            string
	zones, draining, jumbo, unsized bool
}

func randomWorld(t testing.TB, seed uint64, f features) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 0x5a7d)), unmeasured: map[catalog.ShardID]bool{}}
	chance := func(percent int) bool { return w.rnd.IntN(100) < percent }
	zones := []string{"A", "B", "C"}
	for i := range 2 + w.rnd.IntN(9) {
		s := catalog.Shard{ID: catalog.ShardID('a' + rune(i))}
		for _, z := range zones {
			if f.zones && chance(40) {
				s.Zones = append(s.Zones, z)
			}
		}
		s.Draining = f.draining && i > 0 && chance(20)
		w.unmeasured[s.ID] = f.unsized && i > 0 && chance(10)
		w.shards = append(w.shards, s)
	}
	for i := range 1 + w.rnd.IntN(4) {
		p := &populace{load: map[string]*load{}}
		p.sit.Namespace = fmt.Sprintf("db.c%d", i)
		p.sit.Sizes.MaxChunkSizeBytes = 50 + w.rnd.Int64N(150)
		p.settle(t, w, f)
		w.colls = append(w.colls, p)
	}
	return w
}

// settle gives the collection chunks and zones.
func (p *populace) settle(t testing.TB, w *world, f features) {
	size := p.sit.Sizes.MaxChunkSizeBytes
	crowd := w.shards[:1+w.rnd.IntN(len(w.shards))]
	if w.rnd.IntN(2) == 0 {
		crowd = w.shards
	}
	n, scale := 1+w.rnd.IntN(60), int64(1)
	if w.rnd.IntN(4) == 0 {
		scale = 1 + w.rnd.Int64N(30)
	}
	chunks := make([]catalog.Chunk, 0, n)
	bound := func(i int) catalog.Key {
		switch i {
		case 0:
			return pattern(t).GlobalMin()
		case n:
			return pattern(t).GlobalMax()
		}
		return key(t, float64(i*spacing))
	}
	for i := range n {
		c := catalog.Chunk{Min: bound(i), Max: bound(i + 1), Shard: crowd[w.rnd.IntN(len(crowd))].ID, Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}}
		l := &load{bytes: scale * w.rnd.Int64N(size+size/3), low: int64(i * spacing), high: int64((i + 1) * spacing)}
		switch w.rnd.IntN(10) {
		case 0:
			l.bytes = 0
		case 1, 2:
			l.bytes = w.rnd.Int64N(6 * size)
			l.oneKey = f.jumbo && w.rnd.IntN(2) == 0
		}
		if f.jumbo && w.rnd.IntN(12) == 0 {
			c.Jumbo = catalog.JumboTrue
		}
		chunks = append(chunks, c)
		p.load[string(c.Min.Bytes())] = l
	}
	p.sit.Table, p.sit.Shards = tableOf(t, chunks), w.shards
	p.sit.Zones = catalog.NewZoneSet(pattern(t))
	for at := 0; f.zones && at < n; {
		from := at + w.rnd.IntN(n)
		to := from + 1 + w.rnd.IntN(n)
		if to > n {
			break
		}
		if err := p.sit.Zones.Add(catalog.ZoneRange{Min: bound(from), Max: bound(to), Zone: string('A' + rune(w.rnd.IntN(3)))}); err != nil {
			t.Fatal(err)
		}
		at = to
	}
	p.measure(w)
	p.start, p.potential = p.freights(), p.toRest()
}

// measure fills in the sizes that shards tell.
func (p *populace) measure(w *world) {
	sizes := map[catalog.ShardID]int64{}
	for _, s := range w.shards {
		if !w.unmeasured[s.ID] {
			sizes[s.ID] = 0
		}
	}
	for c := range p.sit.Table.All() {
		if _, measured := sizes[c.Shard]; measured {
			sizes[c.Shard] += p.load[string(c.Min.Bytes())].bytes
		}
	}
	p.sit.Sizes.ByShard = sizes
}

// round lets the collections choose, in an order drawn, and carries out what
// they chose. It tells whether anything was.
func (w *world) round(t testing.TB) bool {
	w.rounds++
	w.rnd.Shuffle(len(w.shards), func(i, j int) { w.shards[i], w.shards[j] = w.shards[j], w.shards[i] })
	available := NewAvailableShards(w.shards)
	busy := false
	for _, i := range w.rnd.Perm(len(w.colls)) {
		if available.Len() < 2 {
			break
		}
		p := w.colls[i]
		p.sit.Shards = w.shards
		migrations, _, err := SelectMigrations(p.sit, available, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkChoice(t, p.sit, migrations)
		for _, m := range migrations {
			p.move(t, m)
			busy = true
		}
		if len(migrations) == 0 {
			continue
		}
		p.measure(w)
		before := p.potential
		if p.potential = p.toRest(); slices.Compare(p.potential, before) >= 0 {
			t.Fatalf("round %d of %s: %v is no closer to rest than %v, by %v", w.rounds, p.sit.Namespace, p.potential, before, choices(migrations))
		}
	}
	return busy
}

// move is the work of a donor (rules/01-selection §6.8): the whole of a small chunk, half
// of a middling one, a chunk size of a large one. A range of one key is refused
// when it has more than two chunk sizes, unless forced, and then flagged.
func (p *populace) move(t testing.TB, m Migration) {
	c := p.sit.Table.Find(m.Min)
	l, size := p.load[string(m.Min.Bytes())], m.MaxChunkSizeBytes
	next := catalog.ChunkVersion{Major: p.sit.Table.Version().Major + 1}
	moved, changed := c, []catalog.Chunk(nil)
	moved.Shard, moved.Version = m.To, next
	piece := l.bytes
	switch {
	case l.oneKey && l.bytes > 2*size && m.Force == ForceNone:
		moved, piece = c, 0
		moved.Jumbo, moved.Version = catalog.JumboTrue, next
	case l.oneKey || 100*l.bytes < 133*size:
	case 10*l.bytes < 18*size:
		piece = l.bytes / 2
	default:
		piece = size
	}
	if piece > 0 && piece < l.bytes {
		at := l.low + (l.high-l.low)*piece/l.bytes
		rest := c
		rest.Min, rest.Version = key(t, float64(at)), catalog.ChunkVersion{Major: next.Major, Minor: 1}
		moved.Max = rest.Min
		p.load[string(rest.Min.Bytes())] = &load{bytes: l.bytes - piece, low: at, high: l.high}
		l.bytes, l.high = piece, at
		changed = append(changed, rest)
	}
	table, err := p.sit.Table.Apply(append(changed, moved))
	if err != nil {
		t.Fatal(err)
	}
	p.sit.Table = table
	p.moved += piece
}

// toRest is what every round with a migration makes smaller, compared in this
// order: the chunks that will be refused and are not flagged yet, those away from
// home and their bytes, the squares of the sizes, and, for the moves of empty
// chunks, the sizes of all owners. It can't fall for ever: the migrations end.
func (p *populace) toRest() []int64 {
	var stubborn, away, awayBytes, squares, owners int64
	for _, f := range p.freights() {
		if f.refused {
			stubborn++
		}
		if f.from.Draining || f.outside {
			away, awayBytes = away+1, awayBytes+f.bytes
		}
	}
	for _, n := range p.sit.Sizes.ByShard {
		squares += n * n
	}
	for c := range p.sit.Table.All() {
		owners += p.sit.Sizes.ByShard[c.Shard]
	}
	return []int64{stubborn, away, awayBytes, squares, owners}
}

// freight is a chunk as the lower bound sees it.
type freight struct {
	from  catalog.Shard
	zone  string
	bytes int64
	// flagged chunks never move; a refused one will be flagged when it is tried.
	flagged, refused bool
	outside          bool // the shard is not of the zone
}

func (p *populace) freights() (list []freight) {
	shards := map[catalog.ShardID]catalog.Shard{}
	for _, s := range p.sit.Shards {
		shards[s.ID] = s
	}
	for c := range p.sit.Table.All() {
		l := p.load[string(c.Min.Bytes())]
		f := freight{from: shards[c.Shard], zone: p.sit.Zones.ZoneOf(c.Min, c.Max), bytes: l.bytes, flagged: c.Jumbo == catalog.JumboTrue}
		f.outside = f.zone != catalog.NoZone && !f.from.HasZone(f.zone)
		f.refused = !f.flagged && l.oneKey && l.bytes > 2*p.sit.Sizes.MaxChunkSizeBytes
		list = append(list, f)
	}
	return list
}
