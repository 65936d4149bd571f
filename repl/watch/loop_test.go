package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/repl/watch"
)

// bubble is the time of a test, which passes when all wait.
type bubble struct{}

func (bubble) Now() time.Time                         { return time.Now() }
func (bubble) After(d time.Duration) <-chan time.Time { return time.After(d) }

// screen is one in memory.
type screen struct {
	keys    chan watch.Key
	resized chan struct{}
	mu      sync.Mutex
	size    watch.Size
	frames  []string
}

func (s *screen) Keys() <-chan watch.Key   { return s.keys }
func (s *screen) Resized() <-chan struct{} { return s.resized }
func (s *screen) Size() watch.Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

func (s *screen) resize(size watch.Size) {
	s.mu.Lock()
	s.size = size
	s.mu.Unlock()
	s.resized <- struct{}{}
}

func (s *screen) Draw(lines []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, strings.Join(lines, "\n"))
	return nil
}

func (s *screen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames[len(s.frames)-1]
}

func newScreen() *screen {
	return &screen{keys: make(chan watch.Key), resized: make(chan struct{}), size: watch.Size{Width: 80, Height: 24}}
}

// reader reads a cluster that grows, and takes its time.
type reader struct {
	t       testing.TB
	takes   time.Duration
	reads   atomic.Int32
	olds    atomic.Int32 // of the reads that had something to go on from
	failing atomic.Bool
	s       *catalog.Snapshot
}

var errNoRoute = errors.New("no route to host")

func (r *reader) read(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error) {
	r.reads.Add(1)
	if old != nil {
		r.olds.Add(1)
	}
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.failing.Load() {
		return nil, errNoRoute
	}
	if r.s == nil {
		r.s = snaptest.Large(r.t, snaptest.Scale{Shards: 3})
	} else {
		r.s = grown(r.s, "db.c0", "s001", 10<<20)
	}
	return r.s, nil
}

// run runs a loop in a bubble of time, on a screen if it is to have one, with what
// else happens meanwhile.
func run(t *testing.T, c watch.Config, onScreen bool, meanwhile func(*screen)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c.Clock = bubble{}
		s := newScreen() // its channels belong to the bubble
		if onScreen {
			c.Screen = s
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			err = watch.Run(ctx, c)
		}()
		meanwhile(s)
		cancel()
		<-done
	})
	return err
}

func TestLoopReadsAndDraws(t *testing.T) {
	r := &reader{t: t, takes: 10 * time.Millisecond}
	err := run(t, watch.Config{Read: r.read, Every: 2 * time.Second}, true, func(s *screen) {
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if r.reads.Load() != 11 || r.olds.Load() != 10 {
			t.Errorf("%d reads in 21 s, %d of them of changes", r.reads.Load(), r.olds.Load())
		}
		if !strings.Contains(s.last(), "+1 MiB/s") { // 10 MiB each 10 s of the cluster's time
			t.Errorf("no rate:\n%s", s.last())
		}
		s.keys <- watch.KeyNext
		synctest.Wait()
		if text := s.last(); !strings.Contains(text, "Shards  ") || strings.Contains(text, "Findings\n") {
			t.Errorf("the next tab:\n%s", text)
		}
		s.resize(watch.Size{Width: 120, Height: 10})
		synctest.Wait()
		if n := strings.Count(s.last(), "\n") + 1; n != 10 {
			t.Errorf("%d lines on a screen of 10", n)
		}
		s.keys <- watch.KeyPause
		synctest.Wait()
		before := r.reads.Load()
		if !strings.Contains(s.last(), " paused") {
			t.Errorf("pausing does not show:\n%s", s.last())
		}
		time.Sleep(time.Minute)
		if r.reads.Load() != before {
			t.Errorf("%d reads while pausing", r.reads.Load()-before)
		}
		s.keys <- watch.KeyPause
		time.Sleep(5 * time.Second)
		if r.reads.Load() < before+2 {
			t.Error("it does not go on after a pause")
		}
		s.keys <- watch.KeyQuit
	})
	if err != nil {
		t.Errorf("quitting is not an error: %v", err)
	}
}

// A cluster that takes long to read is read less often: a fifth of the time.
func TestLoopIsNoLoad(t *testing.T) {
	r := &reader{t: t, takes: 3 * time.Second}
	_ = run(t, watch.Config{Read: r.read, Every: 2 * time.Second}, true, func(*screen) {
		time.Sleep(149 * time.Second)
		if r.reads.Load() != 10 {
			t.Errorf("%d reads of 3 s in 149 s, not one each 15", r.reads.Load())
		}
	})
}

// A cluster that can't be read for a while is told, and looked at again.
func TestLoopOutlivesTrouble(t *testing.T) {
	r := &reader{t: t}
	err := run(t, watch.Config{Read: r.read, Every: 2 * time.Second}, true, func(s *screen) {
		time.Sleep(time.Second)
		r.failing.Store(true)
		time.Sleep(4 * time.Second)
		if !strings.Contains(s.last(), "Reading the cluster failed: no route to host") {
			t.Errorf("trouble is not told:\n%s", s.last())
		}
		r.failing.Store(false)
		time.Sleep(4 * time.Second)
		if strings.Contains(s.last(), "no route") {
			t.Errorf("trouble stays:\n%s", s.last())
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	failing := &reader{t: t}
	failing.failing.Store(true)
	err = run(t, watch.Config{Read: failing.read, Every: time.Second}, true, func(*screen) { time.Sleep(time.Minute) })
	if err == nil || failing.reads.Load() != 1 {
		t.Errorf("at the beginning it is an error: %v after %d reads", err, failing.reads.Load())
	}
}

// A terminal that is gone ends it.
func TestLoopEndsWithItsKeys(t *testing.T) {
	err := run(t, watch.Config{Read: (&reader{t: t}).read, Every: time.Second}, true, func(s *screen) {
		close(s.keys)
		time.Sleep(time.Minute)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLoopOnce(t *testing.T) {
	var out bytes.Buffer
	r := &reader{t: t}
	err := run(t, watch.Config{Read: r.read, Every: time.Second, Out: &out, Once: true}, false,
		func(*screen) { time.Sleep(time.Minute) })
	if err != nil || r.reads.Load() != 1 {
		t.Errorf("%v after %d reads", err, r.reads.Load())
	}
	if text := out.String(); !strings.Contains(text, "Balanced") || strings.Contains(text, "quit") ||
		strings.Count(text, "MongoDB 8.0.10") != 1 {
		t.Error(text)
	}
}

func TestLoopWritesLinesOfJSON(t *testing.T) {
	var out bytes.Buffer
	_ = run(t, watch.Config{Read: (&reader{t: t}).read, Every: time.Second, Out: &out, JSON: true}, false,
		func(*screen) { time.Sleep(2500 * time.Millisecond) })
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines in 2.5 s", len(lines))
	}
	var sums []int64
	for _, line := range lines {
		var doc struct{ Totals struct{ Bytes int64 } }
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, doc.Totals.Bytes)
	}
	if sums[1]-sums[0] != 10<<20 || sums[2]-sums[1] != 10<<20 {
		t.Errorf("sums %v", sums)
	}
}

// Without a screen, an error is written once per change of its text.
func TestLoopWritesTrouble(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, errs bytes.Buffer
		r := &reader{t: t}
		_ = run(t, watch.Config{Read: r.read, Every: time.Second, Out: &out, Errors: &errs, JSON: asJSON}, false,
			func(*screen) {
				for _, failing := range []bool{false, true, false, true} {
					r.failing.Store(failing)
					time.Sleep(3500 * time.Millisecond)
				}
			})
		if want := strings.Repeat("Reading the cluster failed: no route to host\n", 2); errs.String() != want {
			t.Errorf("JSON %t: errors %q", asJSON, errs.String())
		}
	}
}

// An entry of a log that arrives late, with the time of an earlier one or before it, is written once too.
func TestLoopWritesLateEvents(t *testing.T) {
	p := snaptest.Large(t, snaptest.Scale{Shards: 3}).Parts()
	p.Changes, p.Actions = nil, nil
	arrive := func(id string, at time.Time) {
		raw, err := bson.Marshal(bson.D{{Key: "_id", Value: id}})
		if err != nil {
			t.Fatal(err)
		}
		p.Changes = append([]catalog.LogEntry{{Time: at, What: "addShard", Raw: raw}}, p.Changes...)
		slices.SortFunc(p.Changes, func(a, b catalog.LogEntry) int { return a.Time.Compare(b.Time) })
	}
	at := p.Time.Add(-time.Minute)
	arrivals := []time.Time{at, at, at.Add(-time.Second)}
	read := func(context.Context, *catalog.Snapshot) (*catalog.Snapshot, error) {
		if n := len(p.Changes); n < len(arrivals) {
			arrive(strconv.Itoa(n), arrivals[n])
		}
		return catalog.NewSnapshot(p), nil
	}
	var out bytes.Buffer
	_ = run(t, watch.Config{Read: read, Every: time.Second, Out: &out, JSON: true}, false,
		func(*screen) { time.Sleep(3500 * time.Millisecond) })
	var counts []int
	for line := range strings.Lines(out.String()) {
		var doc struct{ History struct{ Events []any } }
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(doc.History.Events))
	}
	if !slices.Equal(counts, []int{1, 1, 1, 0}) {
		t.Errorf("events in each line: %v", counts)
	}
}

// Keys that choose: what is sorted, filtered and opened shows, and goes again.
func TestLoopChooses(t *testing.T) {
	r := &reader{t: t, takes: 10 * time.Millisecond}
	err := run(t, watch.Config{Read: r.read, Every: 2 * time.Second}, true, func(s *screen) {
		time.Sleep(time.Second)
		press := func(keys ...watch.Key) string {
			for _, key := range keys {
				s.keys <- key
			}
			synctest.Wait()
			return s.last()
		}
		see := func(text string, want, not []string) {
			t.Helper()
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("no %q in\n%s", w, text)
				}
			}
			for _, n := range not {
				if strings.Contains(text, n) {
					t.Errorf("%q in\n%s", n, text)
				}
			}
		}
		see(press('?'), []string{"Keys", "filter by words", "quit"}, []string{"Moving now"})
		see(press(watch.KeyEscape), []string{"Moving now"}, []string{"filter by words"})
		see(press(watch.KeyNext), []string{"s000", "s001", "s002"}, nil)
		// In a filter letters are letters, q and s as well.
		see(press('/', 's', '0', '0', '1', 'q'), []string{"filter: s001q"}, []string{"  s000"})
		see(press(watch.KeyErase, watch.KeyEnter), []string{"  s001", "/s001"}, []string{"  s000", "  s002"})
		see(press(watch.KeyEscape), []string{"  s000", "  s001"}, []string{"/s001"})
		by := press('s', 's')
		see(by, []string{"by name"}, nil)
		if a, b := strings.Index(by, "  s000"), strings.Index(by, "  s002"); a < 0 || b < a {
			t.Errorf("not by name:\n%s", by)
		}
		see(press(watch.KeyNext, watch.KeyEnter), []string{"db.c0  shard key", "    s001"}, []string{"Collections"})
		see(press(watch.KeyEscape), []string{"Collections"}, []string{"shard key"})
		s.keys <- 'q'
	})
	if err != nil {
		t.Error(err)
	}
}

// A forecast is made again with the reading that finds another cluster, not only when it is old.
func TestForecastIsRenewed(t *testing.T) {
	var off atomic.Bool
	s := snaptest.Large(t, snaptest.Scale{Shards: 3, Chunks: 300})
	p := s.Parts()
	p.Settings.Mode, p.Balancer.Mode = catalog.ModeOff, catalog.ModeOff
	stopped := catalog.NewSnapshot(p)
	read := func(context.Context, *catalog.Snapshot) (*catalog.Snapshot, error) {
		if off.Load() {
			return stopped, nil
		}
		return s, nil
	}
	err := run(t, watch.Config{Read: read, Every: 2 * time.Second}, true, func(s *screen) {
		time.Sleep(3 * time.Second)
		synctest.Wait()
		const proviso = "if the balancer is turned on"
		if text := s.last(); !strings.Contains(text, "Balanced in") || strings.Contains(text, proviso) {
			t.Errorf("at first:\n%s", text)
		}
		off.Store(true)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if text := strings.Join(strings.Fields(s.last()), " "); !strings.Contains(text, proviso) {
			t.Errorf("after a look:\n%s", text)
		}
		s.keys <- 'q'
	})
	if err != nil {
		t.Error(err)
	}
}
