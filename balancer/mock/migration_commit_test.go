package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// commitCase is a migration whose data has been copied, as it comes to the
// config server: the worked examples VR-01 to VR-06 of rules/02-examples-and-traps §9.5.
type commitCase struct {
	ID    string
	Now   string // of the commit
	Given []string
	Move  [4]string // min, max, from, to
	// Before is the version of the chunk when the migration began: absent, or
	// what it is now when nothing is said. Other is what of the collection has
	// changed since.
	Before, Other, Draining, Forbidden string

	Then      []string // nil: unchanged
	Reply     string
	Placement *string // the owners logged, "" when nothing is logged
	Code      mongoerr.Code
	Why       string
}

func TestWorkedExamplesOfCommits(t *testing.T) {
	for i, tt := range examples.Read[commitCase](t, "testdata/commits.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %s", tt.ID, i, tt.Why), tt.play)
	}
}

func (cc commitCase) play(t *testing.T) {
	now := bson.Timestamp{T: 900, I: 1}
	if cc.Now != "" {
		now = readStamp(t, cc.Now)
	}
	c := exampleCluster(t, int64(now.T), catalog.Release80, cc.Given...)
	if cc.Draining != "" {
		c.setField(t, configShards, cc.Draining, "draining", true)
	}
	if cc.Forbidden != "" {
		c.setField(t, configCollections, exampleNS, cc.Forbidden, false)
	}
	before := c.config.Collection(configPlacement).Count()
	reply, err := cc.migration(t, c).commitCatalog(func() bson.Timestamp { return now })
	if code, _ := mongoerr.CodeOf(err); code != cc.Code || (err == nil) != (cc.Code == 0) {
		t.Fatalf("ended with %v, want code %d", err, cc.Code)
	}
	want := cc.Then
	if want == nil {
		want = cc.Given
	}
	sameChunks(t, c, want...)
	if got := fmt.Sprintf("%d|%d", reply.Major, reply.Minor); cc.Reply != "" && got != cc.Reply {
		t.Errorf("the reply is %s, want %s", got, cc.Reply)
	}
	if got := c.placedSince(before); cc.Placement != nil && got != *cc.Placement {
		t.Errorf("placement %q, want %q", got, *cc.Placement)
	}
}

func (c *Cluster) setField(t *testing.T, coll, id, name string, value any) {
	t.Helper()
	if found, err := c.config.modify(coll, id, func(doc *bson.D) { setDocField(doc, name, value) }); !found || err != nil {
		t.Fatal(found, err)
	}
}

func (cc commitCase) migration(t *testing.T, c *Cluster) *migration {
	t.Helper()
	coll := c.exampleCollection(t)
	m := &migration{
		ms:   c.migrations,
		coll: coll, min: exampleKey(t, coll.Pattern, cc.Move[0]), max: exampleKey(t, coll.Pattern, cc.Move[1]),
		req: MoveRequest{Namespace: exampleNS, From: catalog.ShardID(cc.Move[2]), To: catalog.ShardID(cc.Move[3])},
	}
	switch cc.Before {
	case "":
		m.initialVersion = c.config.Table(exampleNS).Find(m.min).Version
	case "absent":
	default:
		m.initialVersion = readVersion(t, cc.Before)
	}
	m.coll = otherwise(m.coll, cc.Other)
	return m
}

// placedSince are the owners in the entry that the placement history got, but
// for D, which owns the rest of the key space.
func (c *Cluster) placedSince(count int64) string {
	if c.config.Collection(configPlacement).Count() == count {
		return ""
	}
	var last bson.Raw
	for _, doc := range c.config.Collection(configPlacement).Scan() {
		last = doc
	}
	var owners []string
	values, _ := last.Lookup("shards").Array().Values()
	for _, v := range values {
		if name := v.StringValue(); name != "D" {
			owners = append(owners, name)
		}
	}
	return strings.Join(owners, " ")
}

// jumboCase is about flags, fences and the size rule: VR-08 and VR-11.
type jumboCase struct {
	ID         string
	Given      []string
	ClearJumbo []string
	Fence      []string // min, max, version
	Other      string
	Then       []string // nil: unchanged
	Code       mongoerr.Code

	Release                                       string
	MaxChunkSizeBytes, DataSize, NumRecords, Docs int64
	Force                                         policy.ForceJumbo
	Why                                           string
}

func TestWorkedExamplesOfJumboChunks(t *testing.T) {
	for i, tt := range examples.Read[jumboCase](t, "testdata/jumbo.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %s", tt.ID, i, tt.Why), tt.play)
	}
}

func (j jumboCase) play(t *testing.T) {
	release := catalog.Release80
	if j.Release == "4.4" {
		release = catalog.Release44
	}
	c := exampleCluster(t, 900, release, j.Given...)
	coll := c.exampleCollection(t)
	key := func(text string) catalog.Key { return exampleKey(t, coll.Pattern, text) }
	var err error
	switch {
	case j.ClearJumbo != nil:
		err = c.config.ClearJumbo(otherwise(coll, j.Other), key(j.ClearJumbo[0]), key(j.ClearJumbo[1]))
	case j.Fence != nil:
		c.config.fence(exampleNS, key(j.Fence[0]), key(j.Fence[1]), readVersion(t, j.Fence[2]))
	default:
		local := &localCollection{docs: newStoreCollection(expr.Language{}, exampleNS)}
		local.virtual.docs, local.virtual.bytes = j.NumRecords, j.DataSize
		req := MoveRequest{MaxChunkSizeBytes: j.MaxChunkSizeBytes, Force: j.Force}
		m := &migration{ms: c.migrations, virtualDocs: j.Docs, req: req}
		err = m.checkSize(local)
	}
	if code, _ := mongoerr.CodeOf(err); code != j.Code || (err == nil) != (j.Code == 0) {
		t.Fatalf("ended with %v, want code %d", err, j.Code)
	}
	want := j.Then
	if want == nil {
		want = j.Given
	}
	sameChunks(t, c, want...)
}

// sentCase is a command of the balancer as a shard gets it: MF-10.
type sentCase struct {
	ID   string
	Move *struct {
		NS, Min           string
		From, To          catalog.ShardID
		MaxChunkSizeBytes int64
	}
	Action       string
	Range        [2]string
	Shard        catalog.ShardID
	ShardVersion string
	Sent         json.RawMessage
	Why          string
}

func TestWorkedExamplesOfCommandsSent(t *testing.T) {
	for _, tt := range examples.Read[sentCase](t, "testdata/commands.jsonl") {
		t.Run(tt.ID+"/"+tt.Action, tt.play)
	}
}

func (sc sentCase) play(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80, "a 5 20 B 7|3 1")
	coll := c.exampleCollection(t)
	key := func(text string) catalog.Key { return exampleKey(t, coll.Pattern, text) }
	var sent bson.D
	if sc.Move != nil {
		min := coll.Pattern.Bound(key(sc.Move.Min))
		req := MoveRequest{Namespace: sc.Move.NS, From: sc.Move.From, To: sc.Move.To, Min: min,
			MaxChunkSizeBytes: sc.Move.MaxChunkSizeBytes}
		sent = moveCommand(catalog.Release80, req, coll)
	} else {
		kinds := map[string]policy.StreamActionKind{"merge": policy.MergeRange, "dataSize": policy.MeasureRange,
			"mergeAllOnShard": policy.MergeAll}
		a := policy.StreamAction{Kind: kinds[sc.Action], Namespace: exampleNS, UUID: coll.UUID, Shard: sc.Shard, MaxBytes: 33554425}
		if a.Kind != policy.MergeAll {
			a.Min, a.Max = key(sc.Range[0]), key(sc.Range[1])
		}
		sent = c.balancer.actionCommand(a)
	}
	// The example says E and S for the epoch and the timestamp.
	text, err := bson.MarshalExtJSON(sent, false, false)
	if err != nil {
		t.Fatal(err)
	}
	stamp := func(s bson.Timestamp) string { return fmt.Sprintf(`{"$timestamp":{"t":%d,"i":%d}}`, s.T, s.I) }
	got := strings.NewReplacer(
		fmt.Sprintf(`{"$oid":"%s"}`, coll.Epoch.Hex()), `"E"`, stamp(coll.Timestamp), `"S"`, stamp(bson.Timestamp{T: 7,
			I: 3}), `"7|3"`,
	).Replace(string(text))
	if got != string(sc.Sent) {
		t.Errorf("sent %s\nwant %s", got, sc.Sent)
	}
}

// splitCase is a split as it comes to the config server, or a search for split
// points among documents of one size: VR-07, VR-09 and VR-10.
type splitCase struct {
	ID     string
	Given  []string
	Split  []string // min, max
	Points []string
	Then   []string
	Log    []string
	Code   mongoerr.Code

	Docs   int
	Vector *struct {
		ChunkDocs, MaxKeys, MaxPoints int
		Force                         bool
	}
	Forward, Backward []int
}

func TestWorkedExamplesOfSplits(t *testing.T) {
	for i, tt := range examples.Read[splitCase](t, "testdata/splits.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %v", tt.ID, i, tt.Points), func(t *testing.T) {
			switch {
			case tt.Vector != nil:
				tt.splitVector(t)
			case tt.Docs > 0:
				tt.autoSplit(t)
			default:
				tt.commit(t)
			}
		})
	}
}

func (s splitCase) commit(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80, s.Given...)
	coll := c.exampleCollection(t)
	var points []catalog.Key
	for _, text := range s.Points {
		points = append(points, exampleKey(t, coll.Pattern, text))
	}
	min, max := exampleKey(t, coll.Pattern, s.Split[0]), exampleKey(t, coll.Pattern, s.Split[1])
	err := c.Chunks().commitSplit(coll, "A", min, max, points)
	if code, _ := mongoerr.CodeOf(err); code != s.Code || (err == nil) != (s.Code == 0) {
		t.Fatalf("ended with %v, want code %d", err, s.Code)
	}
	want := s.Then
	if want == nil {
		want = s.Given
	}
	sameChunks(t, c, want...)
	var log []string
	for _, what := range []string{"split", "multi-split"} {
		for _, entry := range c.logged(what) {
			log = append(log, what+" "+showSplit(entry))
		}
	}
	if !slices.Equal(log, s.Log) {
		t.Errorf("change log\n%s, want\n%s", strings.Join(log, "\n"), strings.Join(s.Log, "\n"))
	}
	if err != nil {
		return
	}
	// The same request again finds the split done, and logs nothing.
	if err := c.Chunks().commitSplit(coll, "A", min, max, points); err != nil {
		t.Errorf("again: %v", err)
	}
	sameChunks(t, c, want...)
	if again := len(c.logged("split")) + len(c.logged("multi-split")); again != len(log) {
		t.Errorf("%d entries after the same again, want %d", again, len(log))
	}
}

// showSplit is the details of an entry in the order of their fields.
func showSplit(details bson.Raw) string {
	var parts []string
	elems, _ := details.Elements()
	for _, e := range elems {
		switch name := e.Key(); name {
		case "owningShard":
			parts = append(parts, "owner "+e.Value().StringValue())
		case "number":
			parts = append(parts, fmt.Sprintf("%d of %d", e.Value().Int32(), details.Lookup("of").Int32()))
		case "of":
		default:
			doc := e.Value().Document()
			at, minor := doc.Lookup("lastmod", "v").Timestamp()
			parts = append(parts, fmt.Sprintf("%s %d %d %d|%d", name, doc.Lookup("min", "x").Int32(),
				doc.Lookup("max", "x").Int32(), at, minor))
		}
	}
	return strings.Join(parts, ", ")
}

func (s splitCase) splitVector(t *testing.T) {
	const size = 1000
	v := s.Vector
	req := SplitVectorRequest{ChunkBytes: int64(v.ChunkDocs * size), Force: v.Force, MaxKeysPerPiece: int64(v.MaxKeys),
		MaxPoints: int64(v.MaxPoints)}
	if got := splitVectorPoints(keysOf(100), req.keysPerPiece(size, 100), req.MaxPoints); !slices.Equal(got, s.Forward) {
		t.Errorf("%v, want %v", got, s.Forward)
	}
}

// autoSplit: documents of 1 MiB, chunks of 10 MiB, no limit.
func (s splitCase) autoSplit(t *testing.T) {
	keys := keysOf(s.Docs)
	forward := splitPointIndexes(keys, 10, 0)
	slices.Reverse(keys)
	backward := splitPointIndexes(keys, 10, 0)
	for i, at := range backward {
		backward[i] = s.Docs - 1 - at
	}
	if !slices.Equal(forward, s.Forward) || !slices.Equal(backward, s.Backward) {
		t.Errorf("%d documents: %v and backward %v, want %v and %v", s.Docs, forward, backward, s.Forward, s.Backward)
	}
}
