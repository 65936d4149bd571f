package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

var errKilled = errors.New("killed")

// mortal is a process that dies at one of its moments: before a command is sent,
// after it was carried out and before the answer, before a line of the journal
// is on the disk, and in the middle of one. Then nothing works any more.
type mortal struct {
	apply.Cluster
	journal *apply.Journal
	end     context.CancelFunc

	mu   sync.Mutex // steps of a round run side by side
	left int        // moments until it dies
	dead bool
}

// dies counts a moment.
func (m *mortal) dies() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left < 0 && !m.dead {
		m.dead = true
		m.end()
	}
	return m.dead
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Do(ctx context.Context, c apply.Command) error {
	if m.dies() {
		return errKilled
	}
	err := m.Cluster.Do(ctx, c)
	if m.dies() {
		return errKilled
	}
	return err
}

func (m *mortal) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	if m.dies() {
		return errKilled
	}
	err := m.Cluster.SetBalancing(ctx, namespaces, on)
	if m.dies() {
		return errKilled
	}
	return err
}

func (m *mortal) Snapshot(ctx context.Context, names []string) (*catalog.Snapshot, error) {
	if m.isDead() {
		return nil, errKilled
	}
	return m.Cluster.Snapshot(ctx, names)
}

func (m *mortal) Write(r apply.Record) error {
	if m.dies() {
		return errKilled
	}
	if m.dies() { // with half a line written
		return errors.Join(errKilled, tear(m.journal.Path(), r))
	}
	return m.journal.Write(r)
}

// tear appends a line that was not written to its end.
func tear(path string, r apply.Record) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"what":"%s","at":"2026-`, r.What)
	return errors.Join(err, f.Close())
}

// holdsOther reports whether a plan was stopped because chunks hold much more or less than it
// expected: uneven ones may.
func holdsOther(err error) bool {
	changed, is := errors.AsType[*apply.ChangedError](err)
	return is && changed.ContentsOnly
}

// life runs a plan, or goes on with a journal, until it is done or dies after so
// many moments. It reports whether it lived.
func (w *world) life(path string, p *plan.Plan, o apply.Options, moments int) (lived bool) {
	w.Helper()
	j, err := apply.OpenJournal(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, apply.ErrNoJournal) {
		j, err = apply.CreateJournal(path)
	}
	if err != nil {
		w.Fatal(err)
	}
	if o.EarlierJournal = j.History; o.EarlierJournal != nil {
		p = nil // the journal alone is enough
		if o.Undo = o.Undo && j.History.Plan().Goal.Kind != plan.Undo; o.Undo {
			if p, err = apply.UndoPlan(j.History); err != nil {
				w.Fatal(err)
			}
		}
	}
	defer func() { _ = j.Close() }()
	hard, end := context.WithCancel(context.Background())
	defer end()
	m := &mortal{Cluster: w.steps, journal: j, left: moments, end: end}
	o.Journal, o.MovesContext = m, hard
	r, err := apply.Run(hard, m, p, o)
	switch {
	case m.dead:
		return false
	case holdsOther(err): // its end
	case err != nil || !r.Finished:
		w.Fatalf("finished %v, stopped %q, %v", r.Finished, r.Stopped, err)
	}
	return true
}

// Killed at every moment of random plans, apply goes on to the same end: with the
// journal alone, and however often it is killed.
func TestKilledAtEveryMoment(t *testing.T) {
	moments := 0
	for seed := range several(2, 50) {
		release := releases()[seed%uint64(len(releases()))]
		goal := goals(release)[int(seed)%len(goals(release))]
		topology := uneven(rand.New(rand.NewPCG(seed, 2)))
		if !release.ShowsSplitPoints() { // halves are not what was planned: it would stop at what they hold
			topology = even(rand.New(rand.NewPCG(seed, 2)))
		}
		t.Run(fmt.Sprintf("%s, %s, seed %d", release, goal.Kind, seed), func(t *testing.T) {
			undisturbed := newWorld(t, topology, release, seed)
			p := undisturbed.plan(goal)
			if _, err := apply.Run(t.Context(), undisturbed.steps, p, undisturbed.options()); err != nil && !holdsOther(err) {
				t.Fatal(err)
			}
			want := undisturbed.layout()
			step := 1
			if !*full {
				step = 23 * usualPart // the moments are many
			}
			for moment := 0; ; moment += step {
				w := newWorld(t, topology, release, seed)
				o := w.options()
				o.PauseBalancing = seed%2 == 0
				path := filepath.Join(t.TempDir(), "journal")
				if w.life(path, p, o, moment) {
					break // it was done before the moment came
				}
				moments++
				for again := moment % 11; !w.life(path, p, o, again); again += 3 {
					continue
				}
				w.sameLayout(fmt.Sprintf("killed at moment %d", moment), want)
				w.balancedAgain()
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Logf("killed at %d moments", moments)
	if moments == 0 {
		t.Error("nothing was killed")
	}
}

// balancedAgain checks that what was switched off meanwhile is on.
func (w *world) balancedAgain() {
	w.Helper()
	for _, c := range w.snapshot().Collections() {
		if c.NoBalance && strings.HasPrefix(c.Namespace, "db.") {
			w.Errorf("the balancing of %s is still off", c.Namespace)
		}
	}
}
