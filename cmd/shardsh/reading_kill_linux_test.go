package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

const (
	readDocs = 560
	readSize = 128 << 10 // of a document: 70 MB, which are read in five steps
	// afterTwo is a pause between steps with which progress is saved after two of them: every ten seconds.
	afterTwo = "5s"
)

// reading is a cluster whose documents the program reads, and counts what it reads of them.
type reading struct {
	*liveCluster
	victim

	counting sync.Mutex
	scanned  int // documents of the reads that go on to the last one
}

func (c *reading) around(next wire.Handler) wire.Handler {
	return c.victim.around(handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
		reply := next.Handle(ctx, r)
		for _, batch := range []string{"firstBatch", "nextBatch"} {
			if list, ok := reply.Lookup("cursor", batch).ArrayOK(); ok && scans(r) {
				docs, _ := list.Values()
				c.counting.Lock()
				c.scanned += len(docs)
				c.counting.Unlock()
			}
		}
		return reply
	}))
}

// scans reports whether a command reads the collection to its end, readsAgain whether it reads what differs.
func scans(r wire.Request) bool {
	name, _ := r.Body.Lookup("find").StringValueOK()
	more, _ := r.Body.Lookup("collection").StringValueOK()
	return r.Database == "app" && (name == "c" || more == "c") && !readsAgain(r)
}

func readsAgain(r wire.Request) bool {
	name, _ := r.Body.Lookup("find").StringValueOK()
	filter, _ := r.Body.Lookup("filter").DocumentOK()
	_, bounded := r.Body.Lookup("max").DocumentOK()
	return r.Database == "app" && name == "c" && (bounded || bytes.Contains(filter, []byte("_id\x00")))
}

func newReading(t *testing.T) *reading {
	t.Helper()
	c := new(reading)
	const topology = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}}, "collections": [
		{"ns": "app.c", "key": {"x": 1}, "chunks": [{"shard": "a", "max": {"x": 280}}, {"shard": "b"}]}]}`
	c.liveCluster = serve(t, topology, func(s *setting) { s.around, s.members = c.around, true })
	coll, pad := clientOf(t, c.address).Database("app").Collection("c"), strings.Repeat("x", readSize)
	var docs []any
	for i := range readDocs {
		docs = append(docs, document("_id", i, "x", i, "pad", pad))
		if len(docs) == 80 {
			if _, err := coll.InsertMany(t.Context(), docs); err != nil {
				t.Fatal(err)
			}
			docs = nil
		}
	}
	return c
}

func (c *reading) insert(t *testing.T, shard string, pairs ...any) {
	t.Helper()
	raw, err := bson.Marshal(document(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range c.mock.ShardIDs() {
		if string(id) != shard {
			continue
		}
		if err := c.mock.Corrupter().Insert(id, "app.c", raw); err != nil {
			t.Fatal(err)
		}
	}
}

// ended runs the program to its end, and returns its result without the time that it took, and how
// many documents it scanned.
func (c *reading) ended(t *testing.T, args ...string) (result map[string]any, scanned int) {
	t.Helper()
	c.counting.Lock()
	c.scanned = 0
	c.counting.Unlock()
	exit, out, errs := runProgram(t, "", args...)
	if err := json.Unmarshal([]byte(out), &result); err != nil || exit != exitFindings {
		t.Fatalf("exit code %d, %v: %s%s", exit, err, out, errs)
	}
	delete(result, "millis")
	c.counting.Lock()
	defer c.counting.Unlock()
	return result, c.scanned
}

// dies starts the program as a process, and kills it at a command, or once something is there. For the latter
// two of the program's pauses take no time, and the third does not end.
func (c *reading) dies(t *testing.T, at func(wire.Request) bool, there func() bool, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), onTerminal+"=1")
	if there != nil {
		cmd.Env = append(cmd.Env, waitsOfChild+"=2")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	c.victim.mu.Lock()
	c.killed, c.at = false, at
	if err := cmd.Start(); err != nil {
		c.victim.mu.Unlock()
		t.Fatal(err)
	}
	c.process = cmd.Process
	c.victim.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed
		close(ended)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(servePatience)
	for {
		select {
		case <-late:
			_ = cmd.Process.Kill()
			t.Fatalf("no moment to kill it: %.2000s", &out)
		case <-ended:
			c.victim.mu.Lock()
			defer c.victim.mu.Unlock()
			if c.process = nil; !c.killed {
				t.Fatalf("it ended by itself: %.2000s", &out)
			}
			return
		case <-tick.C:
			if there == nil || !there() {
				continue
			}
			c.victim.mu.Lock()
			c.killed = cmd.Process.Kill() == nil
			c.victim.mu.Unlock()
			there = nil
		}
	}
}

// "verify" and "audit" are processes that are killed when they begin, when they have kept some progress,
// and when they read again what differs. Entered again they come to the result of one that was
// not, and go on where there is progress.
func TestReadingKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("reads for half a minute")
	}
	t.Parallel() // most of it is waiting
	c, dir := newReading(t), t.TempDir()
	before := filepath.Join(dir, "before")
	if exit, out, errs := runProgram(t, "", "verify", "start", c.address, "--ns", "app.c", "-o", before); exit != exitOK {
		t.Fatalf("exit code %d: %s%s", exit, out, errs)
	}
	c.insert(t, "b", "_id", 100.5, "x", 300) // added
	c.insert(t, "b", "_id", -1, "x", 3)      // lone
	c.insert(t, "b", "_id", 200, "x", 200)   // an orphan
	c.insert(t, "a", "_id", 700.5, "x", 500) // lone
	address := "mongodb://" + c.address + "/?directConnection=true"
	for _, verb := range []struct {
		name, file string
		kept       *regexp.Regexp // in the file, when it has some of the documents
		args       []string
		most       int // documents to scan, after the kill while it reads again
	}{
		{"verify", before + ".after.part", regexp.MustCompile(`"docs": ?[1-9]`),
			[]string{"--against", before, "--settle-pause", "1ms"}, 0},
		{"audit", filepath.Join(dir, "kept"), regexp.MustCompile(`"docs":\{"\$numberLong":"[1-9]`),
			[]string{"--checkpoint", filepath.Join(dir, "kept"), "--ns", "app.c", "--settle-pause", "1ms"}, readDocs + 4},
	} {
		args := append([]string{verb.name, address, "--json", "--quiet"}, verb.args...)
		want, all := c.ended(t, args...)
		if all < readDocs {
			t.Fatalf("%s scans %d documents", verb.name, all)
		}
		for _, m := range []struct {
			name  string
			at    func(wire.Request) bool
			there func() bool
			pause string
			most  int
		}{
			{"at the first read", scans, nil, "1ms", 2 * all},
			{"when progress is kept", func(wire.Request) bool { return false }, func() bool {
				text, err := os.ReadFile(verb.file)
				return err == nil && verb.kept.Match(text)
			}, afterTwo, readDocs - 64},
			{"while it reads again", readsAgain, nil, "1ms", verb.most},
		} { // what the one that is killed has asked for counts, too
			c.dies(t, m.at, m.there, append(args, "--pause-between", m.pause)...)
			got, scanned := c.ended(t, args...)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s killed %s has\n%v, want\n%v", verb.name, m.name, got, want)
			}
			if scanned > m.most {
				t.Errorf("%s killed %s scans %d documents, want %d at most", verb.name, m.name, scanned, m.most)
			}
			if _, err := os.Stat(verb.file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s killed %s: the progress stays", verb.name, m.name)
			}
			t.Logf("%s killed %s: %d of %d documents are scanned again", verb.name, m.name, scanned, all)
		}
	}
}

// digesting is "verify" with a list of documents, whose files are in a directory.
type digesting struct {
	*reading
	*testing.T
	dir string
}

func (d digesting) in(name string) string { return filepath.Join(d.dir, name) }

func (d digesting) read(name string) string {
	d.Helper()
	text, err := os.ReadFile(d.in(name))
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

// start are the arguments that make a digest and its list, compare those that name by them what differs.
func (d digesting) start(to string) []string {
	return []string{"verify", "start", "mongodb://" + d.address + "/?directConnection=true", "--quiet", "--ns", "app.c",
		"-o", d.in(to), "--documents", d.in(to + ".list")}
}

func (d digesting) compare(with, told string) []string {
	return []string{"verify", "mongodb://" + d.address + "/?directConnection=true", "--quiet", "--json", "--settle-pause", "1ms",
		"--against", d.in(with), "--documents", d.in(with + ".list"), "--differences", d.in(told)}
}

// runs runs the program to its end, and returns how many documents it scanned.
func (d digesting) runs(exit int, args []string) int {
	d.Helper()
	d.counting.Lock()
	d.scanned = 0
	d.counting.Unlock()
	if got, out, errs := runProgram(d.T, "", args...); got != exit {
		d.Fatalf("exit code %d, want %d: %s%s", got, exit, out, errs)
	}
	d.counting.Lock()
	defer d.counting.Unlock()
	return d.scanned
}

// The moments at which a process is killed.
const (
	atFirstRead  = "at the first read"
	withProgress = "when progress is kept"
	readingAgain = "while it reads again"
)

// killed kills the program at a moment, and enters it again.
func (d digesting) killed(moment, part string, exit int, args []string, most int) {
	d.Helper()
	at, pause := scans, "1ms"
	var kept func() bool
	switch moment {
	case withProgress:
		at, pause = func(wire.Request) bool { return false }, afterTwo
		some := regexp.MustCompile(`"docs": ?[1-9]`)
		kept = func() bool {
			text, err := os.ReadFile(d.in(part))
			return err == nil && some.Match(text)
		}
	case readingAgain:
		at = readsAgain
	}
	d.dies(d.T, at, kept, append(args, "--pause-between", pause)...)
	scanned := d.runs(exit, args)
	if scanned > most {
		d.Errorf("%s killed %s scans %d documents, want %d at most", part, moment, scanned, most)
	}
	if _, err := os.Stat(d.in(part)); !errors.Is(err, os.ErrNotExist) {
		d.Errorf("%s: the progress stays when it was killed %s", part, moment)
	}
	d.Logf("%s killed %s: %d documents are scanned again", part, moment, scanned)
}

// "verify start" with a list of documents, and a comparison by that list, are processes that are killed in the same
// moments. Entered again the digest and the list tell the same as those of one that was not killed, and little is
// read twice.
func TestDigestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("reads for half a minute")
	}
	t.Parallel() // most of it is waiting
	d := digesting{newReading(t), t, t.TempDir()}
	all := d.runs(exitOK, d.start("whole"))
	digests := map[string]int{atFirstRead: 2 * all, withProgress: readDocs - 64}
	for moment, most := range digests {
		d.killed(moment, moment+".part", exitOK, d.start(moment), most)
		if d.read(moment+".list") != d.read("whole.list") {
			t.Errorf("verify start killed %s has another list", moment)
		}
	}
	d.insert(t, "b", "_id", 100.5, "x", 300) // added, past the router
	for _, id := range d.mock.ShardIDs() {   // lost
		_ = d.mock.Corrupter().Delete(id, "app.c", bson.RawValue{Type: bson.TypeInt32, Value: []byte{44, 1, 0, 0}}) // 300
	}
	coll := clientOf(t, d.address).Database("app").Collection("c")
	if err := coll.FindOneAndDelete(t.Context(), document("_id", 200)).Err(); err != nil { // deleted by somebody
		t.Fatal(err)
	}
	all = d.runs(exitFindings, d.compare("whole", "told"))
	told := d.read("told")
	if !strings.Contains(told, `"300"`) || !strings.Contains(told, `"100.5"`) {
		t.Fatalf("not named: %s", told)
	}
	for moment := range digests {
		d.runs(exitFindings, d.compare(moment, "told by "+moment))
		if by := d.read("told by " + moment); by != told {
			t.Errorf("by a digest killed %s other documents differ:\n%s\n%s", moment, by, told)
		}
	}
	for moment, most := range map[string]int{atFirstRead: 2 * all, withProgress: readDocs - 64, readingAgain: 0} {
		d.killed(moment, "whole.after.part", exitFindings, d.compare("whole", "told again"), most)
		if again := d.read("told again"); again != told {
			t.Errorf("killed %s other documents differ:\n%s\n%s", moment, again, told)
		}
	}
}
