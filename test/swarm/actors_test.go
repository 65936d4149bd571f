package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
	"shardsh/test/swarm/trace"
)

// write is a client that increments keys and reads them: at any time, or where and when a range moves.
func (w *world) write(n int) {
	actor := fmt.Sprintf("w%d", n)
	p, err := w.begin(actor, 0)
	if err != nil {
		panic(err)
	}
	p.quiet = true
	defer p.end()
	r := rand.New(rand.NewPCG(w.scenario.Seed, uint64(100+n)))
	for done := 0; done < w.scenario.Ops; {
		pause := time.Duration(r.IntN(8000)) * time.Millisecond
		if r.IntN(2) == 0 {
			time.Sleep(pause)
			c := w.scenario.Colls[r.IntN(w.scenario.Writable)]
			w.operation(p, r, c.NS, int64(r.IntN(12))*int64(10*len(c.Chunks))/12)
			done++
			continue
		}
		near, there := w.events.next([]string{"clone", "catchUp", "committed"}[r.IntN(3)], pause)
		if !there {
			continue
		}
		for range 1 + r.IntN(4) {
			w.operation(p, r, near.ns, near.key+5*int64(r.IntN(2)))
			done++
		}
	}
}

func (w *world) operation(p *process, r *rand.Rand, ns string, key int64) {
	switch r.IntN(5) {
	case 0:
		w.read(p, ns, key)
	case 1:
		w.scan(p, ns)
	default:
		w.increment(p, ns, key)
	}
}

// patience is how long a writer waits, and longer where it reads slowly: a batch each so often.
const (
	patience = 20 * time.Second
	slowly   = 10 * time.Second
)

func (w *world) collection(p *process, ns string) *mongo.Collection {
	db, name, _ := catalog.SplitNamespace(ns)
	return p.client.Database(db).Collection(name)
}

// did notes an operation of a writer.
func (w *world) did(p *process, what, ns string, key int64, do func(ctx context.Context) (int64, []trace.Row, error)) {
	op := w.newOp()
	w.note(trace.Event{Kind: trace.OpBegin, Op: op, By: p.actor, Cmd: what, NS: ns, Key: key})
	ctx, cancel := context.WithCancel(context.Background()) // with a deadline the driver would never cease to retry
	defer cancel()
	wait := patience
	if what == "scan" {
		wait += 12 * slowly
	}
	defer time.AfterFunc(wait, cancel).Stop()
	number, rows, err := do(ctx)
	end := trace.Event{Kind: trace.OpEnd, Op: op, By: p.actor, Cmd: what, NS: ns, Key: key, Number: number, Rows: rows}
	if err != nil {
		end.ReplyLost = true
		end.Code = errorCode(err)
	}
	w.note(end)
}

// errorCode is the code of an error; 1 where it has none.
func errorCode(err error) int {
	if err == nil {
		return 0
	}
	if code, known := mongoerr.CodeOf(live.ServerError(err)); known {
		return int(code)
	}
	return 1
}

func (w *world) increment(p *process, ns string, key int64) {
	w.did(p, "inc", ns, key, func(ctx context.Context) (int64, []trace.Row, error) {
		_, err := w.collection(p, ns).UpdateOne(ctx, bson.D{{Key: "_id", Value: key}, {Key: "x", Value: key}},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}}, options.UpdateOne().SetUpsert(true))
		return 0, nil, err
	})
}

type document struct {
	X int64 `bson:"x"`
	N int64 `bson:"n"`
}

func (w *world) read(p *process, ns string, key int64) {
	w.did(p, "read", ns, key, func(ctx context.Context) (int64, []trace.Row, error) {
		var doc document
		err := w.collection(p, ns).FindOne(ctx, bson.D{{Key: "x", Value: key}}).Decode(&doc)
		if errors.Is(err, mongo.ErrNoDocuments) {
			err = nil
		}
		return doc.N, nil, err
	})
}

// scan reads a collection, each other time slowly: ranges that it reads are moved, and to be deleted, meanwhile.
// Some of these read secondaries, which show orphans up to 4.4.
func (w *world) scan(p *process, ns string) {
	p.scans++
	slow := p.scans%2 == 0
	w.did(p, "scan", ns, 0, func(ctx context.Context) (int64, []trace.Row, error) {
		o := options.Find().SetSort(bson.D{{Key: "x", Value: 1}})
		if slow {
			o.SetBatchSize(3)
		}
		from := readpref.Primary()
		if slow && p.scans%4 == 0 && !w.scenario.Release.SecondariesReturnOrphans() {
			from = readpref.SecondaryPreferred()
		}
		db, name, _ := catalog.SplitNamespace(ns)
		coll := p.client.Database(db).Collection(name, options.Collection().SetReadPreference(from))
		cursor, err := coll.Find(ctx, bson.D{}, o)
		var docs []document
		for err == nil && cursor.Next(ctx) {
			var doc document
			err = cursor.Decode(&doc)
			if docs = append(docs, doc); slow && cursor.RemainingBatchLength() == 0 {
				time.Sleep(slowly)
			}
		}
		if err == nil {
			err = cursor.Err()
		}
		if cursor != nil {
			_ = cursor.Close(ctx) // what it has read counts
		}
		var rows []trace.Row
		for _, doc := range docs {
			rows = append(rows, trace.Row{Key: doc.X, Increments: doc.N})
		}
		return 0, rows, err
	})
}

// operate is somebody who starts a runner, and starts it again when it fails or was killed.
func (w *world) operate(n int, r runner) {
	actor := fmt.Sprintf("r%d", n)
	time.Sleep(r.After)
	task := job{runner: r}
	for life := range r.Tries {
		p, err := w.begin(actor, life)
		if err != nil {
			panic(err)
		}
		done := make(chan error, 1)
		now := task
		w.note(trace.Event{Kind: trace.ProcessBegin, By: p.name, Cmd: now.verb(), NS: r.NS, MaxMoves: r.MaxMoves, Text: now.resumes()})
		w.all.Go(func() {
			defer p.end()
			done <- w.work(p, now)
		})
		select {
		case err = <-done:
			w.note(trace.Event{Kind: trace.ProcessEnd, By: p.name, Cmd: now.verb(), Code: errorCode(err), Text: outcome(err)})
			task.goesOn(kept(p.journal), err)
		case <-p.gone:
			err = errKilled
			task.goesOn(kept(p.journal+".kept"), err)
		}
		if err == nil && (!task.undoes || now.undoes) || errors.Is(err, errStopped) {
			return
		}
		time.Sleep(20 * time.Second)
	}
}

// job is what a runner has to do in its next life.
type job struct {
	runner
	journal string // of the life before, to go on with
	undoes  bool   // what the journal says
}

func (j job) verb() string {
	if j.undoes {
		return "undo"
	}
	return j.Verb
}

func (j job) resumes() string {
	if j.journal == "" {
		return ""
	}
	return "goes on"
}

// goesOn decides what comes after a life that has ended with err and left a journal, or none.
func (j *job) goesOn(journal string, err error) {
	switch {
	case err == nil && j.Verb == "apply" && j.Undo && !j.undoes && (journal != "" || j.journal != ""):
		j.undoes = true
		if journal != "" {
			j.journal = journal
		}
	case journal != "" && !j.undoes:
		j.journal = journal
	case err != nil && !errors.Is(err, errKilled) && !errors.As(err, new(*live.HeldError)) && !j.undoes:
		j.journal = "" // it is of no use: make a new plan
	}
}

// kept returns a journal, if it is there.
func kept(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// outcome is why a process has ended: the kind of error, as its text has names of files in it.
func outcome(err error) string {
	if err == nil {
		return ""
	}
	if *texts {
		return fmt.Sprintf("%T: %v", err, err)
	}
	if errors.Is(err, apply.ErrNothingToUndo) {
		return trace.NothingToUndo
	}
	return fmt.Sprintf("%T", err)
}

// work is what a runner does in one of its lives.
func (w *world) work(p *process, j job) error {
	r := j.runner
	c := action.Cluster{Client: p.client, Clock: bubbleClock{}}
	pace := action.Pace{Parallel: r.Parallel, MaxMoves: r.MaxMoves}
	o := action.RunOptions{Pace: pace, PauseBalancing: r.Pause, Journal: p.journal}
	switch {
	case j.undoes:
		o.Journal = ""
		return finished(action.Apply{UndoJournal: j.journal, RunOptions: o}.Run(p.ctx, c, listener{p}))
	case j.journal != "":
		o.Journal, o.ResumeJournal = "", j.journal
	}
	switch r.Verb {
	case "apply":
		return w.apply(p, r, c, o)
	case "drain":
		got, err := action.Drain{Shard: catalog.ShardID(fmt.Sprintf("s%d", r.Shard)), MovePrimaries: true, RunOptions: o}.Run(p.ctx, c, listener{p})
		return finished(got, err)
	}
	b := action.Balance{All: r.NS == "", Pace: pace, PauseBalancing: r.Pause, WaitForLease: 2 * time.Minute, Seed: 1}
	if r.NS != "" {
		b.Namespaces = []string{r.NS}
	}
	_, err := b.Run(p.ctx, c, listener{p})
	return err
}

func (w *world) apply(p *process, r runner, c action.Cluster, o action.RunOptions) error {
	a := action.Apply{RunOptions: o}
	if o.ResumeJournal == "" {
		s, err := live.NewReader(p.client, live.ReaderOptions{}).Read(p.ctx)
		if err != nil {
			return err
		}
		goal := plan.Goal{Kind: plan.Balance}
		if r.NS != "" {
			goal.Namespaces = []string{r.NS}
		}
		if a.Plan, err = plan.Make(s, plan.Options{Goal: goal, IgnoreWindow: true}); err != nil {
			return err
		}
	}
	return finished(a.Run(p.ctx, c, listener{p}))
}

// bubbleClock is the time of the bubble.
type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return time.Now() }

func (bubbleClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errStopped says that a run has ended early without a mistake, as by a limit.
var errStopped = errors.New("it has stopped early")

func finished(r action.PlanResult, err error) error {
	switch {
	case err != nil || r.Finished:
		return err
	case r.Stopped != "":
		return errStopped
	}
	return errors.New("it has not finished")
}

// listener hears what a run says. The traces have it only when somebody wants to read them.
type listener struct{ of *process }

func (l listener) Report(e action.Event) {
	if *texts {
		l.of.world.note(trace.Event{Kind: "says", By: l.of.name, Text: fmt.Sprintf("%T %.300v", e, e)})
	}
}

// settle heals all faults, has what was left given back, and looks at what there is.
func (w *world) settle() {
	w.does("fate", `{"mockHeal": 1}`)
	w.does("fate", `{"mockRestart": 1}`)
	w.does("last", `{"balancerStop": 1}`)
	for life := range 5 {
		p, err := w.begin("giveback", life)
		if err != nil {
			panic(err)
		}
		_, err = action.GiveBack{}.Run(p.ctx, action.Cluster{Client: p.client, Clock: bubbleClock{}}, listener{p})
		w.note(trace.Event{Kind: trace.ProcessEnd, By: p.name, Code: errorCode(err), Text: outcome(err)})
		p.end()
		if err == nil {
			break
		}
		time.Sleep(time.Minute)
	}
	time.Sleep(20 * time.Minute)
	p, err := w.begin("last", 0)
	if err != nil {
		panic(err)
	}
	p.quiet = true
	for _, c := range w.scenario.Colls[:w.scenario.Writable] {
		w.scan(p, c.NS)
	}
	p.end()
	w.cluster.Lock()
	broken := w.cluster.BrokenInvariants()
	w.cluster.Unlock()
	for _, c := range w.scenario.Colls[:w.scenario.Writable] {
		w.noteIndexes(c.NS)
	}
	w.noteIdentities()
	w.note(trace.Event{Kind: trace.ClusterAtRest, Names: broken})
}

// noteIdentities notes the uuid of each collection on each shard that has it.
func (w *world) noteIdentities() {
	w.cluster.Lock()
	shards := w.cluster.ShardIDs()
	w.cluster.Unlock()
	for _, ns := range w.watched() {
		for _, id := range shards {
			if uuid, there := w.cluster.Corrupter().UUIDOf(id, ns); there {
				w.note(trace.Event{Kind: trace.Metadata, Node: string(id), NS: ns, Text: fmt.Sprintf("%x", uuid.Data)})
			}
		}
	}
}

// noteIndexes notes the indexes of each owner of a collection.
func (w *world) noteIndexes(ns string) {
	w.cluster.Lock()
	table := w.cluster.ConfigDB().Table(ns)
	w.cluster.Unlock()
	if table == nil {
		return
	}
	for _, id := range table.Owners() {
		w.note(trace.Event{Kind: trace.Index, Node: string(id), NS: ns, Names: w.cluster.Corrupter().Indexes(id, ns)})
	}
}
