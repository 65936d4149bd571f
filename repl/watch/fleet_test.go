package watch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer/report"
)

// realClock is that of a bubble of synctest.
type realClock struct{}

func (realClock) Now() time.Time                         { return time.Now() }
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func someMembers(names ...string) (list []report.FleetCluster) {
	for _, name := range names {
		list = append(list, report.FleetCluster{Cluster: name})
	}
	return list
}

// A cluster that does not answer is a line, and the others are drawn meanwhile as often as
// before.
func TestFleetOneDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var looks [3]atomic.Int32
		ctx, cancel := context.WithCancelCause(t.Context())
		done := errors.New("enough")
		time.AfterFunc(21*time.Second, func() { cancel(done) })
		err := RunFleet(ctx, FleetConfig{
			Config:  Config{Every: 2 * time.Second, Clock: realClock{}, Out: &out},
			Members: someMembers("a", "b", "c"), Parallel: 2,
			ReadMember: func(ctx context.Context, i int) (*report.Overview, error) {
				looks[i].Add(1)
				if i == 1 {
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Second):
					}
					return nil, errors.New("nobody at home")
				}
				return &report.Overview{}, nil
			},
		})
		if !errors.Is(err, done) {
			t.Error(err)
		}
		if a, c := looks[0].Load(), looks[2].Load(); a < 10 || c < 10 {
			t.Errorf("the others were read %d and %d times in 21 seconds", a, c)
		}
		frames := strings.Split(strings.TrimSpace(out.String()), "\n\n")
		if len(frames) < 10 {
			t.Errorf("%d frames", len(frames))
		}
		if last := frames[len(frames)-1]; !strings.Contains(last, "nobody at home") || !strings.Contains(last, "3 clusters: 1 unknown, 2 fine") {
			t.Errorf("the last frame is\n%s", last)
		}
	})
}

// Once is one frame, of all clusters, of which no more are read at a time than may be.
func TestFleetOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var mu sync.Mutex
		now, most := 0, 0
		err := RunFleet(t.Context(), FleetConfig{
			Config:  Config{Every: time.Second, Clock: realClock{}, Out: &out, Once: true},
			Members: someMembers("a", "b", "c", "d", "e"), Parallel: 2,
			ReadMember: func(context.Context, int) (*report.Overview, error) {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return &report.Overview{}, nil
			},
		})
		if err != nil || most != 2 {
			t.Errorf("%d at a time, %v", most, err)
		}
		if got := out.String(); strings.Count(got, "fine") != 6 || strings.Contains(got, "not read") {
			t.Errorf("it writes\n%s", got)
		}
	})
}

// No name or message of a cluster is obeyed by a terminal, and no line is too wide.
func TestFleetFrame(t *testing.T) {
	members := []report.FleetCluster{{Cluster: strings.Repeat("x", 60), Error: "can't \x1b[31mreach\n it"},
		{Cluster: "ok", Overview: &report.Overview{}}}
	for _, text := range FleetFrame(members, time.Time{}, 80, false) {
		if strings.ContainsAny(text, "\x1b\n") || len([]rune(text)) > 80 {
			t.Errorf("%q", text)
		}
	}
}
