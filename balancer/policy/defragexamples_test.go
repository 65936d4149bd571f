package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mongoerr"
)

// The worked examples of rules/02-examples-and-traps §9.2 and §9.3, one a line of a data file: a
// scene, and a trace of what a policy is asked and told.

// phaseCase is a worked example of a defragmentation.
type phaseCase struct {
	ID       string
	MaxChunk int64 // 100 where nothing is said: small chunks have up to 25 bytes
	Chunks   []tuple
	Sizes    map[catalog.ShardID]int64
	Draining []catalog.ShardID
	Zones    [][3]any
	Trace    []phaseStep
	Why      string
}

// phaseStep is a question to a phase, with its answer, or an event. Actions and
// migrations are written as shown does; chunks are told by their positions.
type phaseStep struct {
	Threshold int64
	Phase     PhaseName // begins
	Chunks    []tuple   // as they are when it does
	Remaining *int64
	Complete  *bool
	Next      PhaseName // follows, now that the phase is complete

	Action  string
	MaxSize int64
	Actions map[string][]string // all there are, by shard
	Reply   string              // to an action
	Size    json.RawMessage     // of a reply, or [chunk, size]
	Est     int64               // that is to be stored

	MaxReached bool
	Code       mongoerr.Code
	Text       string
	Wanted     bool // StaleConfig of a shard that knows better

	Move      string
	Available []catalog.ShardID // before; what a selection left when nothing is said
	Left      []catalog.ShardID // after
	Force     *ForceJumbo
	Moved     string // a migration ended

	Score     *[3]int // chunk, sibling, points
	Choice    *[2]int32
	Siblings  *[2]json.RawMessage
	Sizes     map[catalog.ShardID]int64
	Small     map[catalog.ShardID][]int32
	Avoid     *[2]json.RawMessage
	Postponed *int
}

func TestWorkedExamplesOfDefragmentation(t *testing.T) {
	for i, c := range examples.Read[phaseCase](t, "testdata/defragmentation.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %s", c.ID, i, c.Why), func(t *testing.T) { c.play(t) })
	}
}

// phaseExample plays the example whose cases have an id, for tests of traps.
func phaseExample(t *testing.T, id, why string) {
	t.Helper()
	found := false
	for _, c := range examples.Read[phaseCase](t, "testdata/defragmentation.jsonl") {
		if c.ID == id && strings.Contains(c.Why, why) {
			found = true
			c.play(t)
		}
	}
	if !found {
		t.Fatalf("no case of %s with %q", id, why)
	}
}

// phaseActor is a phase under way.
type phaseActor struct {
	Situation
	phase       Phase
	outstanding map[string]StreamAction
	moving      map[string]Migration
	available   *AvailableShards
}

func (c phaseCase) play(t *testing.T) {
	t.Helper()
	x := phaseActor{outstanding: map[string]StreamAction{}, moving: map[string]Migration{}, available: NewAvailableShards(nil)}
	maxChunk := c.MaxChunk
	if maxChunk == 0 {
		maxChunk = 100
	}
	x.Sizes.MaxChunkSizeBytes = maxChunk
	x.scene(t, c, c.Chunks)
	for i, step := range c.Trace {
		if step.Chunks != nil {
			x.scene(t, c, step.Chunks)
		}
		x.act(t, step)
		x.check(t, step)
		if t.Failed() {
			t.Fatalf("at step %d of the trace", i+1)
		}
	}
}

func (pa *phaseActor) scene(t *testing.T, c phaseCase, chunks []tuple) {
	t.Helper()
	if chunks == nil {
		return
	}
	for _, c := range chunks {
		if size, measured := c[len(c)-1].(float64); measured && len(c) > 3 {
			c[3] = math.MaxInt64 // a float can't say it
			if size < math.MaxInt64 {
				c[3] = int(size)
			}
		}
	}
	s := defragmenting(t, maxSmallChunk(pa.Sizes.MaxChunkSizeBytes), chunks)
	s.Sizes.MaxChunkSizeBytes = pa.Sizes.MaxChunkSizeBytes
	if c.Sizes != nil {
		s = s.withSizes(c.Sizes)
	}
	for _, z := range c.Zones {
		if err := s.Zones.Add(catalog.ZoneRange{Min: key(t, z[0]), Max: key(t, z[1]), Zone: z[2].(string)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.Shards {
		s.Shards[i].Draining = slices.Contains(c.Draining, s.Shards[i].ID)
	}
	pa.Situation = s
}

// act lets an event happen.
func (pa *phaseActor) act(t *testing.T, step phaseStep) {
	t.Helper()
	switch {
	case step.Phase != "":
		pa.phase = NewPhase(step.Phase, pa.Situation)
	case step.Action == "none":
		wantNoAction(t, pa.phase)
	case step.Action != "":
		a := wantAction(t, pa.phase, step.Action)
		pa.outstanding[step.Action] = a
		if step.MaxSize != 0 {
			want(t, "maxSize", a.MaxBytes, step.MaxSize)
		}
	case step.Reply != "":
		pa.reply(t, step)
	case step.Move != "":
		pa.move(t, step)
	case step.Moved != "":
		m, there := pa.moving[step.Moved]
		if !there {
			t.Fatalf("%s is not under way", step.Moved)
		}
		delete(pa.moving, step.Moved)
		pa.phase.RecordMigrationResult(m, step.failure())
	}
}

// failure is the error of a reply.
func (step phaseStep) failure() error {
	if step.Code == 0 {
		return nil
	}
	err := mongoerr.New(step.Code, "%s", step.Text)
	if step.Wanted {
		err.Extra = bson.D{{Key: "vWanted", Value: bson.D{}}}
	}
	return err
}

func (pa *phaseActor) reply(t *testing.T, step phaseStep) {
	t.Helper()
	a, there := pa.outstanding[step.Reply]
	if !there {
		t.Fatalf("%s is not outstanding", step.Reply)
	}
	delete(pa.outstanding, step.Reply)
	r := StreamActionResult{Err: step.failure(), MaxReached: step.MaxReached}
	if step.Size != nil {
		if err := json.Unmarshal(step.Size, &r.MeasuredBytes); err != nil {
			t.Fatal(err)
		}
	}
	m := pa.phase.RecordActionResult(a, r)
	switch {
	case (m != nil) != (step.Est != 0):
		t.Errorf("measurement %v, want %d", m, step.Est)
	case m != nil:
		want(t, "est", m.Size.Bytes(), step.Est)
	}
}

func (pa *phaseActor) move(t *testing.T, step phaseStep) {
	t.Helper()
	if step.Available != nil {
		var shards []catalog.Shard
		for _, id := range step.Available {
			shards = append(shards, catalog.Shard{ID: id})
		}
		pa.available = NewAvailableShards(shards)
	}
	if step.Move == "none" {
		wantNoMove(t, pa.phase, pa.available)
	} else {
		m := wantMove(t, pa.phase, pa.available, step.Move)
		pa.moving[step.Move] = m
		if step.Force != nil {
			want(t, "forceJumbo", m.Force, *step.Force)
		}
	}
	if step.Left != nil {
		want(t, "available after", pa.available.Len(), len(step.Left))
		for _, id := range step.Left {
			want(t, "available after: "+string(id), pa.available.IsFree(id), true)
		}
	}
}

// check compares the phase with what a step says of it.
func (pa *phaseActor) check(t *testing.T, step phaseStep) {
	t.Helper()
	if step.Threshold != 0 {
		want(t, "threshold", maxSmallChunk(pa.Sizes.MaxChunkSizeBytes), step.Threshold)
	}
	if step.Remaining != nil {
		want(t, "remaining", pa.phase.Remaining(), *step.Remaining)
	}
	if step.Complete != nil {
		want(t, "complete", pa.phase.IsComplete(), *step.Complete)
	}
	if step.Next != "" {
		want(t, "complete", pa.phase.IsComplete(), true)
		want(t, "next phase", pa.phase.NextPhase(), step.Next)
	}
	if step.Actions != nil {
		got := map[string][]string{}
		for shard := range step.Actions {
			got[shard] = []string{}
		}
		for _, a := range allActions(pa.phase) {
			shard := a[strings.LastIndex(a, " ")+1:]
			got[shard] = append(got[shard], a)
		}
		want(t, "actions", fmt.Sprint(got), fmt.Sprint(step.Actions))
	}
	pa.checkMoves(t, step)
}

// checkMoves compares what the second phase keeps in memory.
func (pa *phaseActor) checkMoves(t *testing.T, step phaseStep) {
	t.Helper()
	p, isMove := pa.phase.(*movePhase)
	if !isMove {
		return
	}
	shardOf := func(id catalog.ShardID) int32 {
		return int32(slices.IndexFunc(p.shards, func(s movePhaseShard) bool { return s.id == id }))
	}
	siblings := func(chunk int32) []int32 {
		list, n := p.siblings(chunk)
		return list[:n]
	}
	if s := step.Score; s != nil {
		want(t, "score", p.score(int32(s[0]), int32(s[1])), s[2])
	}
	if c := step.Choice; c != nil {
		want(t, "choice", p.recipient(c[0], siblings(c[0])), c[1])
	}
	if step.Siblings != nil {
		chunk, list := pairOf[[]int32](t, *step.Siblings)
		want(t, "siblings", fmt.Sprint(siblings(int32(chunk))), fmt.Sprint(list))
	}
	if step.Size != nil && step.Reply == "" {
		var of [2]int64
		if err := json.Unmarshal(step.Size, &of); err != nil {
			t.Fatal(err)
		}
		want(t, "size", p.chunks[of[0]].size, of[1])
	}
	for id, size := range step.Sizes {
		want(t, "size of "+string(id), p.shards[shardOf(id)].size, size)
	}
	for id, chunks := range step.Small {
		got := []int32{}
		for i := range p.chunks {
			if c := &p.chunks[i]; c.listed && c.shard == shardOf(id) {
				got = append(got, int32(i))
			}
		}
		slices.SortFunc(got, func(a, b int32) int {
			if p.before(a, b) {
				return -1
			}
			return 1
		})
		want(t, "small chunks on "+string(id), fmt.Sprint(got), fmt.Sprint(chunks))
	}
	if step.Avoid != nil {
		chunk, shards := pairOf[[]catalog.ShardID](t, *step.Avoid)
		got := []catalog.ShardID{}
		for _, n := range p.refusedBy[int32(chunk)] {
			got = append(got, p.shards[n].id)
		}
		want(t, "avoid", fmt.Sprint(got), fmt.Sprint(shards))
	}
	if step.Postponed != nil {
		want(t, "last failed", p.chunks[*step.Postponed].postponedAt, scheduled.UnixNano())
	}
}

func pairOf[T any](t *testing.T, pair [2]json.RawMessage) (n int, value T) {
	t.Helper()
	if err := json.Unmarshal(pair[0], &n); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(pair[1], &value); err != nil {
		t.Fatal(err)
	}
	return n, value
}

// mergerCase is a worked example of the auto-merger, at the beginning of a
// round.
type mergerCase struct {
	ID    string
	Work  [][]string // by shard s0, s1, …
	Trace []struct {
		Request   string // "shard namespace", or none
		Throttled bool
		Reply     string // to a request
		Merged    int
		Code      mongoerr.Code
		Wakes     bool
		Check     float64 // for a new round, seconds after the last one began
		Enable    bool
		Disable   bool
		Log       []MergerEvent
	}
	Why string
}

func TestWorkedExamplesOfTheAutoMerger(t *testing.T) {
	for i, c := range examples.Read[mergerCase](t, "testdata/automerger.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %s", c.ID, i, c.Why), func(t *testing.T) { c.play(t) })
	}
}

func (c mergerCase) play(t *testing.T) {
	t.Helper()
	m := merging(c.Work...)
	outstanding := map[string]StreamAction{}
	for i, step := range c.Trace {
		var log []MergerEvent
		switch {
		case step.Request != "":
			var a StreamAction
			var ok bool
			a, ok, log = m.Next()
			text := "none"
			if ok {
				text = string(a.Shard) + " " + a.Namespace
			}
			want(t, "request", text, step.Request)
			want(t, "throttled", a.Throttled, step.Throttled)
			outstanding[text] = a
		case step.Reply != "":
			r := StreamActionResult{MergedChunks: step.Merged}
			if step.Code != 0 {
				r.Err = mongoerr.New(step.Code, "failed")
			}
			wakes := m.RecordMergeResult(outstanding[step.Reply], r)
			if step.Wakes {
				want(t, "wake-up", wakes, true)
			}
		case step.Check != 0:
			log = m.BeginDueRound(scheduled.Add(time.Duration(step.Check*float64(time.Second))), time.Hour)
		case step.Enable:
			log = m.Enable(scheduled)
		case step.Disable:
			log = m.Disable()
		}
		if !slices.Equal(log, step.Log) && len(log)+len(step.Log) > 0 {
			t.Errorf("logged %v, want %v", log, step.Log)
		}
		if t.Failed() {
			t.Fatalf("at step %d of the trace", i+1)
		}
	}
}
