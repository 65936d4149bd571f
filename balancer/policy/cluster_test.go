package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// scene is one collection in the notation of rules/01-examples-and-traps §11.1.
type scene struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	Moved       bool              `json:"movedLastRound"`
	Why         string            `json:"why"`
	Unit        string            `json:"unit"`
	Shards      []sceneShard      `json:"shards"`
	MaxChunk    int64             `json:"maxChunk"`
	Chunks      []tuple           `json:"chunks"`
	Layout      []tuple           `json:"layout"`
	Zones       []tuple           `json:"zones"`
	Unavailable []catalog.ShardID `json:"unavailable"`
	NoStats     []catalog.ShardID `json:"noStats"`
	Attempt     bool              `json:"attemptToBalanceJumboChunks"`
	Expect      expectation       `json:"expect"`
}

type sceneShard struct {
	ID       catalog.ShardID `json:"id"`
	Size     int64           `json:"size"`
	Zones    []string        `json:"zones"`
	Draining bool            `json:"draining"`
	MaxSize  int64           `json:"maxSizeMB"`
	CurrSize int64           `json:"currSizeMB"`
}

type expectation struct {
	Migrations  json.RawMessage `json:"migrations"`
	FirstReason string          `json:"firstReason"`
	Status      string          `json:"status"`
	Splits      []struct {
		ChunkMin any   `json:"chunkMin"`
		At       []any `json:"at"`
	} `json:"splits"`
	Log []tuple `json:"log"`
}

type tuple []any

// stage reads a scene.
func stage(t testing.TB, line string) scene {
	t.Helper()
	var s scene
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		t.Fatalf("scene %s: %v", line, err)
	}
	return s
}

// situation is the scene as a round sees it.
func (s scene) situation(t testing.TB) Situation {
	t.Helper()
	unit := int64(mib)
	if s.Unit == "byte" {
		unit = 1
	}
	sit := Situation{Namespace: "db." + s.ID, ForceJumbo: s.Attempt}
	sit.Sizes.ByShard = map[catalog.ShardID]int64{}
	sit.Sizes.MaxChunkSizeBytes = s.MaxChunk * unit
	for _, sh := range s.Shards {
		sit.Shards = append(sit.Shards, catalog.Shard{
			ID: sh.ID, Draining: sh.Draining, Zones: sh.Zones, MaxSizeMB: sh.MaxSize, SizeMB: sh.CurrSize,
		})
		if !slices.Contains(s.NoStats, sh.ID) {
			sit.Sizes.ByShard[sh.ID] = sh.Size * unit
		}
	}
	sit.Table = table(t, s.chunks())
	sit.Zones = catalog.NewZoneSet(pattern(t))
	for _, z := range s.Zones {
		r := catalog.ZoneRange{Min: key(t, z[0]), Max: key(t, z[1]), Zone: z[2].(string)}
		if err := sit.Zones.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return sit
}

func (s scene) chunks() []tuple {
	if s.Layout == nil {
		return s.Chunks
	}
	var chunks []tuple
	var low any = "Min"
	for _, run := range s.Layout {
		for range int(run[1].(float64)) {
			high := float64(10 * (len(chunks) + 1))
			chunks = append(chunks, tuple{run[0], low, high})
			low = high
		}
	}
	chunks[len(chunks)-1][2] = "Max"
	return chunks
}

func (s scene) available(sit Situation) *AvailableShards {
	a := NewAvailableShards(sit.Shards)
	a.Take(s.Unavailable...)
	return a
}

// table has chunks [shard, min, max(, "jumbo" or measured size)] given in any
// order.
func table(t testing.TB, tuples []tuple) *catalog.RoutingTable {
	t.Helper()
	var chunks []catalog.Chunk
	for _, c := range tuples {
		chunk := catalog.Chunk{
			Shard:   catalog.ShardID(c[0].(string)),
			Min:     key(t, c[1]),
			Max:     key(t, c[2]),
			Version: catalog.ChunkVersion{Major: 1, Minor: uint32(len(chunks))},
		}
		if len(c) > 3 && c[3] == "jumbo" {
			chunk.Jumbo = catalog.JumboTrue
		}
		if len(c) > 3 {
			if size, measured := c[3].(int); measured {
				chunk.Estimate = catalog.NewEstimate(int64(size))
			}
		}
		chunks = append(chunks, chunk)
	}
	return tableOf(t, chunks)
}

func tableOf(t testing.TB, chunks []catalog.Chunk) *catalog.RoutingTable {
	t.Helper()
	slices.SortFunc(chunks, func(a, b catalog.Chunk) int { return a.Min.Compare(b.Min) })
	rt, err := catalog.NewRoutingTable(pattern(t), bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func pattern(t testing.TB) catalog.KeyPattern {
	t.Helper()
	p, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "x", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func document(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// key makes a bound of "Min", "Max" or a number.
func key(t testing.TB, v any) catalog.Key {
	t.Helper()
	switch n := v.(type) {
	case string:
		v = map[string]any{"Min": bson.MinKey{}, "Max": bson.MaxKey{}}[n]
	case float64: // a number of JSON
		v = int64(n)
	}
	k, err := pattern(t).ParseKey(document(t, bson.D{{Key: "x", Value: v}}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// show is the reverse of key.
func show(k catalog.Key) string {
	switch v := k.Values()[0]; v.Type {
	case bson.TypeMinKey:
		return "Min"
	case bson.TypeMaxKey:
		return "Max"
	default:
		n, _ := v.AsInt64OK()
		return fmt.Sprint(n)
	}
}

// choices reads "from→to at min, force n" for every migration.
func choices(migrations []Migration) []string {
	lines := []string{}
	for _, m := range migrations {
		lines = append(lines, fmt.Sprintf("%s→%s at %s, force %d", m.From, m.To, show(m.Min), m.Force))
	}
	return lines
}

func (e expectation) choices(t testing.TB) []string {
	t.Helper()
	var migrations []struct {
		From, To   string
		Min        any
		ForceJumbo int
	}
	if err := json.Unmarshal(e.Migrations, &migrations); err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, m := range migrations {
		lines = append(lines, fmt.Sprintf("%s→%s at %v, force %d", m.From, m.To, m.Min, m.ForceJumbo))
	}
	return lines
}

// logged has the events of a report in the notation of the scenes, without
// those of level debug.
func logged(r *Report) []string {
	lines := []string{}
	for _, e := range r.Events {
		switch e.ID {
		case EventDrainStuck:
			lines = append(lines, fmt.Sprint(tuple{"21890", e.Shard, e.Flagged}))
		case EventJumboOutsideZone:
			lines = append(lines, fmt.Sprint(tuple{"21891", show(e.ChunkMin), e.Zone}))
		case EventZoneWithoutShards:
			lines = append(lines, fmt.Sprint(tuple{"21893", e.Zone}))
		case EventNoSizeRecipient:
			lines = append(lines, fmt.Sprint(tuple{"6581600", e.Zone}))
		case EventOnlyJumboChunks:
			lines = append(lines, fmt.Sprint(tuple{"6581602", e.Shard, e.Zone, e.Flagged}))
		case EventNoDrainRecipient, EventNoZoneRecipient:
		default:
			lines = append(lines, fmt.Sprintf("unknown event %d", e.ID))
		}
	}
	return lines
}

func (e expectation) logged() []string {
	lines := []string{}
	for _, event := range e.Log {
		lines = append(lines, fmt.Sprint(event))
	}
	return lines
}

func same[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %v\n  want %v", what, got, want)
	}
}
