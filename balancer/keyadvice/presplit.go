package keyadvice

import (
	"fmt"
	"math"
	"slices"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Presplit is the advice on splitting a collection before data is loaded.
type Presplit struct {
	Namespace string   `json:"ns"`
	Verdict   string   `json:"verdict"`
	Key       ShardKey `json:"key"`
	// Chunks is the advised number of chunks, PerShard the number for each shard.
	Chunks   int64 `json:"chunks"`
	PerShard int64 `json:"perShard"`
	// Points are the split points, derived from the existing documents. Hashed keys have none: their
	// chunks are split evenly.
	Points []Point `json:"points,omitempty"`
	// Zones are the zone ranges, with the data in them.
	Zones    []ZonePart `json:"zones,omitempty"`
	Reasons  []string   `json:"reasons"`
	Commands []string   `json:"commands"`
	Notes    []string   `json:"notes,omitempty"`
}

// Point is a split point, as a document.
type Point bson.Raw

// MarshalJSON returns the split point as extended JSON.
func (p Point) MarshalJSON() ([]byte, error) { return bson.MarshalExtJSON(bson.Raw(p), false, false) }

// ZoneRange is a range of a zone, with its bounds in config.tags and the number of the zone's shards.
type ZoneRange struct {
	Name     string
	Min, Max bson.Raw
	Shards   int
}

// ZonePart is the data in the ranges of a zone. The last element has no name, and holds the data
// outside of all zones.
type ZonePart struct {
	Zone   string  `json:"zone"`
	Shards int     `json:"shards"`
	Share  float64 `json:"share"`
	Chunks int64   `json:"chunks"`
}

// maxPresplitChunks limits the number of chunks.
const maxPresplitChunks = 100_000

// AdvisePresplit returns into how many chunks to split a collection by a key, and the split points.
func AdvisePresplit(f Facts, k ShardKey) Presplit {
	a := Presplit{Namespace: f.Namespace, Key: k, Notes: f.Notes}
	j := newJudge(f)
	c := j.judge(k)
	if c.Impossible != "" {
		a.Verdict = fmt.Sprintf("%s can't be the shard key of %s: %s", k, f.Namespace, c.Impossible)
		return a
	}
	f.setChunkCounts(&a)
	empty := len(f.Sample.Docs) == 0
	switch {
	case k[0].Hashed:
		a.Commands = f.evenCommands(a)
		a.Reasons = append(a.Reasons, "the key begins with a hash: its values are spread evenly, and split evenly")
		if len(f.Current) == 0 && f.Docs == 0 && !f.Release.FCVAtLeast(catalog.Release70) {
			a.Notes = append(a.Notes, fmt.Sprintf("while it is empty, sh.shardCollection(%s, %s, false, {numInitialChunks: "+
				"%d}) cuts it, too; later releases ignore that", humanize.TextLiteral(f.Namespace), k, a.Chunks))
		}
	case empty:
		a.Reasons = append(a.Reasons, "there are no documents to choose split points from")
		a.Commands = f.pointsCommands(a)
	default:
		a.Points = j.splitPoints(k, a.Chunks)
		a.Commands = f.sampleCommands(a)
		a.Reasons = append(a.Reasons, fmt.Sprintf("cut where as many of %s lie between any two bounds: load what they "+
			"stand for",
			humanize.Count(int64(len(f.Sample.Docs)), "document")))
	}
	a.Verdict = fmt.Sprintf("cut %s into %s, %d for each shard", f.Namespace, humanize.Count(a.Chunks, "chunk"),
		a.PerShard)
	if n := int64(len(a.Points)) + 1; !k[0].Hashed && !empty && n < a.Chunks {
		a.Verdict = fmt.Sprintf("cut %s into %s: there are no more values to cut between", f.Namespace,
			humanize.Count(n, "chunk"))
		a.PerShard = (a.PerShard*n + a.Chunks - 1) / a.Chunks
		a.Chunks = n
	}
	f.addZoneParts(&a)
	if c.GrowingField == k[0].Name {
		a.Points, a.Commands = nil, nil
		a.Verdict = fmt.Sprintf("cutting %s does not help what is inserted in order: %s grows with time, and all inserts "+
			"go to the last chunk; sh.adviseKey(%s) says which key would spread them", f.Namespace, c.GrowingField,
			humanize.TextLiteral(f.Namespace))
	}
	return a
}

// setChunkCounts computes the advised number of chunks.
func (f Facts) setChunkCounts(a *Presplit) {
	shards := int64(f.shards())
	if f.Shards == 1 {
		shards = 1
	}
	size := f.expectedBytes()
	full := int64(math.Ceil(float64(size) / float64(shards) / float64(f.ChunkBytes)))
	a.PerShard = max(1, min(full, maxPresplitChunks/shards))
	text := fmt.Sprintf("%s on %s with chunks of %s are %s a shard", humanize.Bytes(size), humanize.Count(shards, "shard"),
		humanize.Bytes(f.ChunkBytes), humanize.Count(full, "chunk"))
	switch {
	case size == 0:
		a.PerShard = MinChunksPerShard
		text = fmt.Sprintf("its future size is not given ({expect: \"500GB\"}): %d chunks a shard are enough to begin "+
			"with",
			MinChunksPerShard)
	case f.Release.FCVAtLeast(catalog.Release60) && full > MinChunksPerShard:
		a.PerShard = MinChunksPerShard
		text += fmt.Sprintf("; from 6.0 on chunks may outgrow their size and are cut as they move, so that %d are enough "+
			"for data to go everywhere at once", MinChunksPerShard)
	}
	a.Chunks = a.PerShard * shards
	a.Reasons = append(a.Reasons, text)
}

// splitPoints divides the sample into parts with the same number of documents.
func (j *judge) splitPoints(k ShardKey, chunks int64) (points []Point) {
	raw, err := bson.Marshal(k.Doc())
	if err != nil {
		return nil
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		return nil
	}
	var keys []catalog.Key
	for _, doc := range j.table.docs {
		if key, err := p.DocumentKey(doc); err == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, catalog.Key.Compare)
	var last catalog.Key
	for i := int64(1); i < chunks && len(keys) > 0; i++ {
		at := keys[i*int64(len(keys))/chunks]
		if last.Less(at) && keys[0].Less(at) {
			points = append(points, Point(p.Bound(at)))
			last = at
		}
	}
	return points
}

func (f Facts) evenCommands(a Presplit) []string {
	return f.planCommands(a, fmt.Sprintf("perShard: %d", a.PerShard), fmt.Sprintf("--per-shard %d", a.PerShard))
}

func (f Facts) sampleCommands(a Presplit) []string {
	return f.planCommands(a, fmt.Sprintf("fromSample: %d", a.Chunks), fmt.Sprintf("--from-sample %d", a.Chunks))
}

func (f Facts) pointsCommands(a Presplit) []string {
	return f.planCommands(a, "points: [...]", "--points FILE")
}

// planCommands returns the commands that carry out a presplit, in the shell or, alternatively, in a
// terminal.
func (f Facts) planCommands(a Presplit, goal, flags string) []string {
	var list []string
	ns := humanize.TextLiteral(f.Namespace)
	if len(f.Current) == 0 {
		list = append(list, fmt.Sprintf("sh.shardCollection(%s, %s)", ns, a.Key))
	}
	return append(list, fmt.Sprintf("sh.apply(sh.plan(%s, {goal: {presplit: {%s}}}), {pauseBalancing: true})", ns, goal),
		fmt.Sprintf("shardsh presplit ADDRESS --ns %s %s --pause-balancing   # the same, in a terminal", f.Namespace, flags))
}

// addZoneParts adds the data in the ranges of each zone.
func (f Facts) addZoneParts(a *Presplit) {
	if len(f.ZoneRanges) == 0 {
		return
	}
	parts, free := f.zoneParts(a.Key)
	total := float64(max(1, len(f.Sample.Docs)))
	for i := range parts {
		z := &parts[i]
		z.Share = z.Share / total
		z.Chunks = max(1, int64(z.Share*float64(a.Chunks)+0.5))
		fair := float64(z.Shards) / float64(f.shards())
		switch {
		case z.Shards == 0:
			a.Notes = append(a.Notes, fmt.Sprintf("zone %s has ranges and no shard: nothing can go there", z.Zone))
		case len(f.Sample.Docs) > 0 && z.Share > 2*fair:
			a.Notes = append(a.Notes, fmt.Sprintf("zone %s has %s of the documents and %d of %d shards: they will have more "+
				"than others, however it is cut", z.Zone, humanize.Percent(z.Share), z.Shards, f.shards()))
		case z.Chunks < int64(z.Shards):
			a.Notes = append(a.Notes, fmt.Sprintf("zone %s has %d shards and gets %s: cut finer there, with points", z.Zone,
				z.Shards, humanize.Count(z.Chunks, "chunk")))
		}
	}
	a.Zones = append(parts, ZonePart{Share: free / total, Shards: f.Shards,
		Chunks: int64(free/total*float64(a.Chunks) + 0.5)})
	if !newJudge(f).fitsZones(a.Key) {
		a.Notes = append(a.Notes, fmt.Sprintf("the zones have ranges by %v, and the key does not begin with it",
			f.ZoneFields))
	}
	a.Reasons = append(a.Reasons, "chunks are cut at the bounds of zones as well, and those in a zone go to its shards "+
		"only")
}

// zoneParts returns the share of the sampled documents in each zone, and the share outside of all
// zones.
func (f Facts) zoneParts(k ShardKey) (parts []ZonePart, free float64) {
	raw, _ := bson.Marshal(k.Doc()) // names and numbers can always be marshalled
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		return nil, 0
	}
	index := map[string]int{}
	type ranged struct {
		min, max catalog.Key
		zone     int
	}
	var ranges []ranged
	for _, z := range f.ZoneRanges {
		if _, known := index[z.Name]; !known {
			index[z.Name] = len(parts)
			parts = append(parts, ZonePart{Zone: z.Name, Shards: z.Shards})
		}
		low, errLow := p.ExtendBound(z.Min)
		high, errHigh := p.ExtendBound(z.Max)
		if errLow == nil && errHigh == nil {
			ranges = append(ranges, ranged{low, high, index[z.Name]})
		}
	}
	for _, doc := range f.Sample.Docs {
		key, err := p.DocumentKey(doc)
		i := slices.IndexFunc(ranges, func(r ranged) bool { return err == nil && !key.Less(r.min) && key.Less(r.max) })
		if i < 0 {
			free++
			continue
		}
		parts[ranges[i].zone].Share++
	}
	return parts, free
}
