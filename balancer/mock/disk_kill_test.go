package mock_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

var kills = flag.Int("kills", 12, "how often TestKill kills a process that writes")

// The child of TestKill is this test binary with the directory in its
// environment.
const (
	childDir  = "SHARDSH_TEST_DBPATH"
	childSeed = "SHARDSH_TEST_SEED"
)

const writers = 3

// victim is a cluster under load. Each writer says on standard output what it
// is about to do, and when it was acknowledged.
type victim struct {
	cluster *mock.Cluster
	router  *router.Router
}

func openVictim(dir string, realTime bool, seed uint64) (*victim, error) {
	c, err := mock.New(mock.Config{DBPath: dir, RealTime: realTime, Seed: seed, Parameters: map[string]any{
		"orphanCleanupDelaySecs": 0, "rangeDeleterBatchSize": 5, "rangeDeleterBatchDelayMS": 5,
		"balancerMigrationsThrottlingMs": 10, "chunkDefragmentationThrottlingMS": 1,
		"reshardingMinimumOperationDurationMillis": 0, "minSnapshotHistoryWindowInSeconds": 0,
	}})
	if err != nil {
		return nil, err
	}
	return &victim{c, router.New(c, nil)}, nil
}

func (v *victim) run(db string, command bson.D) (bson.Raw, bool) {
	body, err := bson.Marshal(command)
	if err != nil {
		panic(err)
	}
	reply := v.router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1},
	})
	n, _ := reply.Lookup("ok").AsFloat64OK()
	return reply, n == 1 && reply.Lookup("writeErrors").IsZero()
}

func (v *victim) prepare() {
	v.run("config", d("update", "settings", "updates", bson.A{
		d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true),
	}))
	v.run("admin", d("shardCollection", ns, "key", d("k", 1)))
	for k := -40; k <= 40; k += 20 {
		v.run("admin", d("split", ns, "middle", d("k", k)))
	}
}

// increment is a retryable write: the n-th of a writer's session.
func (v *victim) increment(writer int, n int64) (bson.Raw, bool) {
	id := make([]byte, 16)
	id[0] = byte(writer + 1)
	return v.run("db", d("update", "counters",
		"updates", bson.A{d("q", d("_id", writer), "u", d("$inc", d("n", 1)), "upsert", true)},
		"lsid", d("id", bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}), "txnNumber", n))
}

// apply writes a document, or deletes it when the value is negative.
func (v *victim) apply(id, value int64, k int32) (bson.Raw, bool) {
	if value < 0 {
		return v.run("db", d("delete", "c", "deletes", bson.A{d("q", d("_id", id), "limit", 1)}))
	}
	update := d("update", "c", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("v", value)))})
	if reply, ok := v.run("db", update); !ok || reply.Lookup("n").AsInt64() == 1 {
		return reply, ok
	}
	doc := d("_id", id, "k", k, "v", value, "pad", make([]byte, 30_000))
	return v.run("db", d("insert", "c", "documents", bson.A{doc}))
}

// disturb makes the cluster move, split, merge and reshard.
func (v *victim) disturb(r *rand.Rand) {
	v.cluster.Lock()
	table := v.cluster.ConfigDB().Table(ns)
	chunk := table.At(r.IntN(table.Len()))
	v.cluster.Unlock()
	p := table.Pattern()
	switch r.IntN(8) {
	case 0:
		v.run("admin", d("reshardCollection", ns, "key", d("k", 1), "forceRedistribution", true, "numInitialChunks", 4))
	case 1:
		v.run("admin", d("configureCollectionBalancing", ns, "defragmentCollection", r.IntN(2) == 0))
	case 2:
		v.run("admin", d("split", ns, "middle", d("k", r.IntN(121)-60)))
	default:
		v.run("admin", d("moveRange", ns, "min", p.Bound(chunk.Min), "max", p.Bound(chunk.Max),
			"toShard", fmt.Sprintf("shard%d", r.IntN(3)), "waitForDelete", r.IntN(3) == 0, "forceJumbo", true))
	}
}

// write is one step of a writer.
func (v *victim) write(r *rand.Rand, writer int, next *int64) {
	if r.IntN(4) == 0 {
		*next++
		fmt.Printf("increment %d %d 0\n", writer, *next)
		_, ok := v.increment(writer, *next)
		fmt.Printf("done %d 0 0 %v\n", writer, ok)
		return
	}
	id, value := int64(r.IntN(60)*writers+writer), r.Int64N(1e9)
	if r.IntN(3) == 0 {
		value = -1
	}
	fmt.Printf("write %d %d %d\n", writer, id, value)
	// Refused where the new owner still has an orphan with this _id.
	_, ok := v.apply(id, value, int32(r.IntN(121)-60))
	fmt.Printf("done %d 0 0 %v\n", writer, ok)
}

// TestVictim is not a test but the process that TestKill kills.
func TestVictim(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only in a process of TestKill")
	}
	seed, err := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	v, err := openVictim(dir, seed%2 == 0, seed)
	if err != nil {
		t.Fatal(err)
	}
	v.prepare()
	first := int64(seed) << 32 // of the session's numbers: they only grow
	if seed%2 == 1 {
		v.alone(rand.New(rand.NewPCG(seed, 1)), first)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			r, next := rand.New(rand.NewPCG(seed, uint64(w))), first
			for {
				v.write(r, w, &next)
			}
		})
	}
	for r := rand.New(rand.NewPCG(seed, 99)); ; {
		v.disturb(r)
	}
}

// alone is the load on virtual time: one command after the other, and time that
// jumps between them.
func (v *victim) alone(r *rand.Rand, first int64) {
	next := [writers]int64{first, first, first}
	for {
		w := r.IntN(writers)
		v.write(r, w, &next[w])
		switch r.IntN(12) {
		case 0:
			v.disturb(r)
		case 1:
			_ = v.cluster.Clock().Sleep(context.Background(), time.Duration(r.IntN(3000))*time.Millisecond)
		}
	}
}

// ledger is what the killed processes have said.
type ledger struct {
	values  map[int64]int64  // acknowledged; not there when deleted
	counts  [writers]int64   // acknowledged increments
	numbers [writers]int64   // of the newest retryable write
	trying  [writers]*intent // not acknowledged
	acks    int
}

type intent struct {
	increment bool
	id, value int64
}

func (l *ledger) read(line string, t *testing.T) {
	var what, ok string
	var writer int
	var id, value int64
	if n, _ := fmt.Sscan(line, &what, &writer, &id, &value, &ok); n < 4 {
		return // of the testing package, or cut off by the kill
	}
	switch what {
	case "increment":
		l.trying[writer] = &intent{increment: true}
		l.numbers[writer] = id
	case "write":
		l.trying[writer] = &intent{id: id, value: value}
	case "done":
		was := l.trying[writer]
		switch {
		case ok != "true":
			if ok == "false" && was.increment {
				t.Errorf("writer %d was refused", writer)
			}
		case was.increment:
			l.counts[writer]++
		case was.value < 0:
			delete(l.values, was.id)
		default:
			l.values[was.id] = was.value
		}
		if ok == "true" || ok == "false" {
			l.trying[writer] = nil
			l.acks++
		}
	}
}

// Every write that was acknowledged before a SIGKILL is there when the
// directory is opened again, no retryable write is done twice, and migrations
// and reshardings are over.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := t.TempDir()
	l := &ledger{values: map[int64]int64{}}
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for n := range *kills {
		l.killOne(t, dir, uint64(n+1), time.Duration(chance.IntN(250))*time.Millisecond)
		l.inspect(t, dir, n)
		if t.Failed() {
			t.Fatalf("after %d kills", n+1)
		}
	}
	if l.acks < *kills {
		t.Errorf("only %d writes were acknowledged in %d processes", l.acks, *kills)
	}
	t.Logf("%d writes acknowledged before %d kills", l.acks, *kills)
}

// killOne lets a process write for a while and kills it.
func (l *ledger) killOne(t *testing.T, dir string, seed uint64, after time.Duration) {
	child := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	child.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%d", childSeed, seed))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		if first {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		l.read(lines.Text(), t)
	}
	_ = child.Wait() // it was killed
}

// inspect opens the directory as the next process would.
func (l *ledger) inspect(t *testing.T, dir string, n int) {
	v, err := openVictim(dir, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer v.cluster.Close()
	l.retry(t, v)
	for range 2 { // at once, and when everything has ended
		l.compare(t, v, n)
		if err := v.cluster.Clock().Sleep(context.Background(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// retry sends what was not acknowledged again, as drivers do.
func (l *ledger) retry(t *testing.T, v *victim) {
	for w, was := range l.trying {
		l.trying[w] = nil
		switch {
		case was == nil:
		case was.increment:
			l.counts[w]++
			if reply, ok := v.increment(w, l.numbers[w]); !ok {
				t.Errorf("the increment can't be tried again: %s", reply)
			}
		case was.value < 0:
			l.again(t, v, was)
			delete(l.values, was.id)
		default:
			l.again(t, v, was)
			l.values[was.id] = was.value
		}
	}
}

// again does a write, which may have to wait for the end of an orphan with its _id.
func (l *ledger) again(t *testing.T, v *victim, was *intent) {
	reply, ok := v.apply(was.id, was.value, 0)
	if writeErrorCode(reply) == int64(mongoerr.DuplicateKey) {
		if err := v.cluster.Clock().Sleep(context.Background(), time.Hour); err != nil {
			t.Fatal(err)
		}
		reply, ok = v.apply(was.id, was.value, 0)
	}
	if !ok {
		t.Errorf("the write of %d can't be tried again: %s", was.id, reply)
	}
}

func (l *ledger) compare(t *testing.T, v *victim, n int) {
	v.cluster.Lock()
	defer v.cluster.Unlock()
	if err := v.cluster.CheckInvariants(); err != nil {
		t.Errorf("kill %d: %v", n, err)
	}
	if coll, err := v.cluster.ConfigDB().RequireSharded(ns); err != nil || !coll.AllowMigrations ||
		len(v.cluster.Reshardings().List()) > 0 {
		t.Errorf("kill %d: %v, or a resharding is under way", n, err)
	}
	seen := map[int64]bool{}
	for doc := range v.cluster.Documents(ns, nil) {
		id, value := doc.Lookup("_id").AsInt64(), doc.Lookup("v").AsInt64()
		if want, known := l.values[id]; !known || value != want || seen[id] {
			t.Errorf("kill %d: _id %d shows %d, want %d (known %v, twice %v)", n, id, value, want, known, seen[id])
		}
		seen[id] = true
	}
	if len(seen) != len(l.values) {
		t.Errorf("kill %d: %d documents are there, %d were acknowledged", n, len(seen), len(l.values))
	}
	for doc := range v.cluster.Documents("db.counters", nil) {
		w := doc.Lookup("_id").AsInt64()
		if got := doc.Lookup("n").AsInt64(); got != l.counts[w] {
			t.Errorf("kill %d: the counter of writer %d is at %d after %d increments", n, w, got, l.counts[w])
		}
	}
}
