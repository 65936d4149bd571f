//go:build unix

package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
	"shardsh/balancer/live/suite/recorded"
)

// namespace is the collection that work is done on.
const namespace = database + ".orders"

// The collection: keys from 0, documents of a size, in chunks of some keys.
const (
	chunkKeys   = 50
	chunks      = 12
	documentPad = 10_000
)

// rig is a mock cluster as a process, with a collection that is all on one shard, and
// a folder for plans and journals.
type rig struct {
	t      testing.TB
	served *served
	client *mongo.Client
	dir    string
	runs   int // of works, for names
}

// newRig starts a cluster in real time whose own balancer is off.
func newRig(t testing.TB, args ...string) *rig {
	t.Helper()
	args = append(append([]string{"--mock-time", "real"}, recorded.ServerParameterArgs()...), args...)
	r := &rig{t: t, served: serve(t, args...), dir: t.TempDir()}
	r.client = connect(t, r.served.uri)
	r.admin("balancerStop", 1)
	r.admin("shardCollection", namespace, "key", bson.D{{Key: "k", Value: 1}})
	r.admin("configureCollectionBalancing", namespace, "chunkSize", 1)
	var docs []any
	for k := range chunks * chunkKeys {
		docs = append(docs, bson.D{{Key: "_id", Value: k}, {Key: "k", Value: k}, {Key: "pad", Value: make([]byte, documentPad)}})
	}
	if _, err := r.orders().InsertMany(context.Background(), docs); err != nil {
		t.Fatal(err)
	}
	return r
}

// reconnect has the client notice that its router was another one.
func (r *rig) reconnect() {
	r.t.Helper()
	var err error
	for range 10 { // each connection of the pool may be an old one
		if err = r.client.Ping(context.Background(), nil); err == nil {
			return
		}
	}
	r.t.Fatal(err)
}

func (r *rig) orders() *mongo.Collection { return r.client.Database(database).Collection("orders") }

// admin sends a command that must be answered well.
func (r *rig) admin(pairs ...any) bson.Raw {
	r.t.Helper()
	return (&target{t: r.t, client: r.client}).ask(pairs...)
}

// chunk is a chunk of the collection.
type chunk struct {
	Min, Max bson.Raw
	Shard    string
}

func (r *rig) chunks() (all []chunk) {
	r.t.Helper()
	config := r.client.Database("config")
	var coll struct{ UUID bson.Binary }
	err := config.Collection("collections").FindOne(context.Background(), bson.D{{Key: "_id", Value: namespace}}).Decode(&coll)
	if err == nil {
		var cursor *mongo.Cursor
		cursor, err = config.Collection("chunks").Find(context.Background(), bson.D{{Key: "uuid", Value: coll.UUID}})
		if err == nil {
			err = cursor.All(context.Background(), &all)
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// heap puts all of the collection on the first shard, in its chunks.
func (r *rig) heap() {
	r.t.Helper()
	for i := 1; i < chunks; i++ { // first: larger ones are not moved
		r.splitAt(i * chunkKeys)
	}
	for _, c := range r.chunks() {
		if c.Shard != "shard0" {
			r.admin("moveRange", namespace, "min", c.Min, "max", c.Max, "toShard", "shard0")
		}
	}
}

// splitAt has a chunk begin at a key, if none does.
func (r *rig) splitAt(k int) {
	r.t.Helper()
	err := r.client.Database("admin").RunCommand(context.Background(),
		bson.D{{Key: "split", Value: namespace}, {Key: "middle", Value: bson.D{{Key: "k", Value: k}}}}).Err()
	if answered := new(mongo.CommandError); err != nil && !errors.As(err, answered) { // one begins there
		r.t.Fatal(err)
	}
}

// balanced says what is wrong with how the collection is spread.
func (r *rig) balanced() error {
	status := r.admin("balancerCollectionStatus", namespace)
	if !status.Lookup("balancerCompliant").Boolean() {
		return fmt.Errorf("not balanced: %s", status)
	}
	return nil
}

// untouched says what is left of a run that ought not to be there: a lease, or what
// is switched off.
func (r *rig) untouched() error {
	ctx := context.Background()
	leases, err := live.LeaseCollectionOf(r.client).CountDocuments(ctx, bson.D{})
	if err != nil || leases > 0 {
		return fmt.Errorf("%d leases stay, %w", leases, err)
	}
	off, err := r.client.Database("config").Collection("collections").CountDocuments(ctx,
		bson.D{{Key: "noBalance", Value: true}})
	if err != nil || off > 0 {
		return fmt.Errorf("%d collections stay switched off, %w", off, err)
	}
	return nil
}

// consistent says what is broken in the cluster.
func (r *rig) consistent() error {
	if broken, err := r.admin("mockInvariants", 1).Lookup("broken").Array().Values(); err != nil || len(broken) > 0 {
		return fmt.Errorf("invariants: %v %w", broken, err)
	}
	cursor, err := r.client.Database("admin").RunCommandCursor(context.Background(),
		bson.D{{Key: "checkMetadataConsistency", Value: 1}, {Key: "checkIndexes", Value: true}})
	if err != nil {
		return err
	}
	var found []bson.Raw
	if err := cursor.All(context.Background(), &found); err != nil || len(found) > 0 {
		return fmt.Errorf("checkMetadataConsistency: %v %w", found, err)
	}
	return nil
}

// work is a command that changes a cluster, and may be ended at any moment.
type work struct {
	name string
	// prepare makes what there is to do.
	prepare func(r *rig)
	// first are the words of the command, but for the address; again those of the
	// command after it was ended in the middle.
	first, again func(r *rig) []string
	// done says why it is not done.
	done func(r *rig) error
	// holds is for how long it may go on after --timeout, which limits only its wait.
	holds time.Duration
}

func works() []work {
	return []work{
		{"apply", (*rig).planned, (*rig).applies, (*rig).resumes, (*rig).balanced, 0},
		{"balance", (*rig).heap, (*rig).balances, (*rig).balances, (*rig).balanced, 0},
		{"drain", (*rig).filled, (*rig).drains, (*rig).drains, (*rig).drained, 0},
		{"defragment", (*rig).crumble, (*rig).defragments, (*rig).defragments, (*rig).whole, 0},
		{"presplit", (*rig).lump, (*rig).presplits, (*rig).presplits, (*rig).cut, 0},
		{"quiesce", (*rig).busy, (*rig).quiesces, (*rig).unquiesces, (*rig).balancing, 6 * time.Second},
	}
}

// planned heaps the collection up and makes a plan that balances it.
func (r *rig) planned() {
	r.t.Helper()
	r.heap()
	r.runs++
	well(r.t, "plan", r.served.uri, "--ns", namespace, "--json", "-o", r.file("json"), "--quiet")
}

func (r *rig) file(extension string) string {
	return filepath.Join(r.dir, fmt.Sprintf("plan%d.%s", r.runs, extension))
}

func (r *rig) applies() []string {
	return []string{"apply", r.file("json"), "--yes", "--pause-balancing", "--journal", r.file("journal")}
}

// resumes goes on, if it had begun: the first line of the journal has the plan.
func (r *rig) resumes() []string {
	if journal, err := os.ReadFile(r.file("journal")); err != nil || !bytes.Contains(journal, []byte("\n")) {
		return r.applies()
	}
	return []string{"apply", "--resume", r.file("journal"), "--yes", "--pause-balancing"}
}

func (r *rig) balances() []string {
	return []string{"balance", "--ns", namespace, "--take-over", "--yes"}
}

// spare is the shard that is drained in this run, and removed: only the mock has
// shards to spare.
func (r *rig) spare() string { return fmt.Sprintf("spare%d", r.runs) }

// filled adds a shard, with some chunks of the collection.
func (r *rig) filled() {
	r.t.Helper()
	r.runs++
	r.admin("addShard", fmt.Sprintf("%s/127.0.0.1:%d", r.spare(), r.runs), "name", r.spare())
	r.heap()
	for _, c := range r.chunks()[:3] {
		r.admin("moveRange", namespace, "min", c.Min, "max", c.Max, "toShard", r.spare())
	}
}

func (r *rig) drains() []string {
	return []string{"drain", "--shard", r.spare(), "--remove", "--take-over", "--yes"}
}

func (r *rig) drained() error {
	n, err := r.client.Database("config").Collection("shards").CountDocuments(context.Background(),
		bson.D{{Key: "_id", Value: r.spare()}})
	if err != nil || n > 0 {
		return fmt.Errorf("%s is there yet, %w", r.spare(), err)
	}
	return nil
}

// crumbs is how many chunks are made of each.
const crumbs = 5

// crumble heaps the collection up, cuts its chunks small, and scatters some.
func (r *rig) crumble() {
	r.t.Helper()
	r.heap()
	for k := range chunks * crumbs {
		r.splitAt(k * chunkKeys / crumbs)
	}
	for n, to := range []string{"shard1", "shard2"} { // which have to come back
		k := (3*n + 2) * chunkKeys
		r.admin("moveRange", namespace, "min", bson.D{{Key: "k", Value: k}}, "max",
			bson.D{{Key: "k", Value: k + chunkKeys/crumbs}}, "toShard", to)
	}
}

func (r *rig) defragments() []string {
	return []string{"defragment", "--ns", namespace, "--take-over", "--yes"}
}

func (r *rig) whole() error {
	if n := len(r.chunks()); n > chunks {
		return fmt.Errorf("there are %d chunks", n)
	}
	return nil
}

// lump makes one chunk of the collection, on the first shard, and writes down where it
// is to be cut.
func (r *rig) lump() {
	r.t.Helper()
	all := r.chunks()
	for _, c := range all {
		if c.Shard != "shard0" {
			r.admin("moveRange", namespace, "min", c.Min, "max", c.Max, "toShard", "shard0")
		}
	}
	if len(all) > 1 {
		r.admin("mergeChunks", namespace, "bounds", bson.A{
			bson.D{{Key: "k", Value: bson.MinKey{}}}, bson.D{{Key: "k", Value: bson.MaxKey{}}}})
	}
	var points bytes.Buffer
	for i := 1; i < presplitChunks; i++ {
		fmt.Fprintf(&points, "{\"k\": %d}\n", i*chunks*chunkKeys/presplitChunks)
	}
	if err := os.WriteFile(r.points(), points.Bytes(), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// busy heaps the collection up, and has the cluster's balancer even it out.
func (r *rig) busy() {
	r.t.Helper()
	r.admin("balancerStop", 1)
	r.heap()
	r.admin("balancerStart", 1)
}

func (r *rig) quiesces() []string {
	return []string{"quiesce", "--ignore-deletions", "--hold", "1s"}
}

func (r *rig) unquiesces() []string { return []string{"quiesce", "--end"} }

// balancing says why the balancer is not as it was.
func (r *rig) balancing() error {
	if mode := r.admin("balancerStatus", 1).Lookup("mode").StringValue(); mode != "full" {
		return fmt.Errorf("the balancer is %s", mode)
	}
	return nil
}

// presplitChunks is how many the lump is cut into.
const presplitChunks = 6

func (r *rig) points() string { return filepath.Join(r.dir, "points.json") }

func (r *rig) presplits() []string {
	return []string{"presplit", "--ns", namespace, "--points", r.points(), "--take-over", "--yes"}
}

// cut says what is wrong with the chunks that were to be made.
func (r *rig) cut() error {
	all := r.chunks()
	owned := map[string]int{}
	for _, c := range all {
		owned[c.Shard]++
	}
	if len(all) != presplitChunks || len(owned) != 3 {
		return fmt.Errorf("there are %d chunks, and the shards have %v", len(all), owned)
	}
	for shard, n := range owned {
		if n != presplitChunks/3 {
			return fmt.Errorf("%s has %d chunks", shard, n)
		}
	}
	return nil
}

// writing is a script that changes documents, indexes, settings and chunks, each in a
// way that may be done once more.
func writing() work {
	script := fmt.Sprintf(`
		const coll = db.getSiblingDB(%q).orders;
		for (let k = 0; k < 40; k++) coll.updateOne({ _id: k, k }, { $set: { seen: true } });
		coll.deleteMany({ _id: /^new/ });
		coll.insertMany([1, 2, 3].map(n => ({ _id: "new" + n, k: 90 + n })));
		coll.deleteMany({ _id: /^new/ });
		coll.bulkWrite([{ updateMany: { filter: { k: { $lt: 50 } }, update: { $set: { bulk: 1 } } } }]);
		coll.createIndex({ seen: 1 });
		sh.chunkSize(%q, 1);
		if (!sh.chunks(%[2]q).toArray().some(c => c.min.k === 25)) sh.splitAt(%[2]q, { k: 25 });
		sh.moveRange(%[2]q, "shard1", { k: 25 }, { k: 50 });
		print(coll.countDocuments({ seen: true, bulk: 1 }));`, database, namespace)
	words := func(*rig) []string { return []string{"--eval", script} }
	return work{"script that writes", (*rig).unwritten, words, words, (*rig).written, 0}
}

func (r *rig) unwritten() {
	r.t.Helper()
	r.heap()
	if _, err := r.orders().UpdateMany(context.Background(), bson.D{},
		bson.D{{Key: "$unset", Value: bson.D{{Key: "seen", Value: 1}, {Key: "bulk", Value: 1}}}}); err != nil {
		r.t.Fatal(err)
	}
}

// written says what of the script is not done.
func (r *rig) written() error {
	for filter, want := range map[string]int64{"seen": 40, "bulk": chunkKeys} {
		n, err := r.orders().CountDocuments(context.Background(), bson.D{{Key: filter, Value: bson.D{{Key: "$exists", Value: true}}}})
		if err != nil || n != want {
			return fmt.Errorf("%d documents have %s, %w", n, filter, err)
		}
	}
	for _, c := range r.chunks() {
		if k, is := c.Min.Lookup("k").AsInt64OK(); is && k == 25 && c.Shard == "shard1" {
			return nil
		}
	}
	return errors.New("the range is not on shard1")
}
