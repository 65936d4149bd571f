package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/report"
)

// FleetConfig is the configuration of the view of a fleet. It has neither operation counts nor
// forecasts.
type FleetConfig struct {
	Config
	// Members are the clusters. ReadMember reads the cluster with an index. It is never called concurrently
	// for the same index, and must return within a limited time. It may keep data for its next call.
	Members    []report.FleetCluster
	ReadMember func(ctx context.Context, i int) (*report.Overview, error)
	// Parallel is the number of clusters that are read concurrently.
	Parallel int
}

// RunFleet shows a line for each cluster, the worst first, until ctx ends or the user quits. Each
// cluster is read independently: one that does not answer keeps its line and does not delay the others.
func RunFleet(ctx context.Context, c FleetConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &fleet{
		FleetConfig: c, members: append([]report.FleetCluster{}, c.Members...), slots: make(chan struct{}, c.Parallel),
	}
	for i := range f.members {
		f.members[i].Error = "not read yet"
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	first := &sync.WaitGroup{}
	for i := range f.members {
		first.Add(1)
		reading.Go(func() { f.pollMember(ctx, i, first.Done) })
	}
	if c.Once {
		first.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f.show()
	}
	return f.loop(ctx, first)
}

// fleet is the state of RunFleet.
type fleet struct {
	FleetConfig
	slots chan struct{}

	mu      sync.Mutex
	members []report.FleetCluster
}

// pollMember reads a cluster repeatedly.
func (f *fleet) pollMember(ctx context.Context, i int, read func()) {
	for n := 0; ; n++ {
		f.readMember(ctx, i)
		if n == 0 {
			read()
		}
		if f.Once || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-f.Clock.After(f.Every):
		}
	}
}

// readMember reads a cluster once.
func (f *fleet) readMember(ctx context.Context, i int) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return
	}
	var overview *report.Overview
	err := mongoerr.CatchPanic(nil, "watching "+f.Members[i].Cluster, func() (err error) {
		overview, err = f.ReadMember(ctx, i)
		return err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[i].Overview, f.members[i].Error = overview, ""
	if err != nil {
		f.members[i].Overview, f.members[i].Error = nil, cmp.Or(err.Error(), "not read")
	}
}

// loop redraws until the end. The first time is when all clusters were read once, or after the
// interval.
func (f *fleet) loop(ctx context.Context, first *sync.WaitGroup) error {
	var keys <-chan Key
	var resized <-chan struct{}
	if f.Screen != nil {
		keys, resized = f.Screen.Keys(), f.Screen.Resized()
	}
	ready := make(chan struct{})
	go func() { // ends with the first reads, whose time is limited
		first.Wait()
		close(ready)
	}()
	next := f.Clock.After(f.Every)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case key, open := <-keys:
			if !open || key == KeyQuit || key == KeyInterrupt {
				return nil
			}
			continue
		case <-resized:
		case <-ready:
			ready = nil
		case <-next:
			next = f.Clock.After(f.Every)
		}
		if err := f.show(); err != nil {
			return err
		}
	}
}

// show draws or writes the current state.
func (f *fleet) show() error {
	f.mu.Lock()
	members := append([]report.FleetCluster{}, f.members...)
	f.mu.Unlock()
	report.SortFleet(members)
	if f.JSON {
		encoder := json.NewEncoder(f.Out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(members)
	}
	width := cmp.Or(f.Width, plainSize.Width)
	if f.Screen != nil {
		size := f.Screen.Size()
		lines := FleetFrame(members, f.Clock.Now(), size.Width, f.Color)
		return f.Screen.Draw(lines[:min(len(lines), size.Height)])
	}
	_, err := fmt.Fprintln(f.Out, strings.Join(FleetFrame(members, f.Clock.Now(), width, f.Color), "\n")+"\n")
	return err
}

// verdictStyles are the styles of verdicts.
var verdictStyles = map[string]style{
	"critical": red, report.VerdictUnknown: yellow, "warning": yellow, "info": cyan, "fine": green,
}

// FleetFrame returns the lines of a fleet, in the order of the members.
func FleetFrame(members []report.FleetCluster, now time.Time, width int, color bool) []string {
	name := len("cluster")
	for _, m := range members {
		name = max(name, len(m.Cluster))
	}
	name = min(name, 30)
	lines := []line{
		{newSpan(report.FleetHeadline(members), bold), newSpan("  "+now.Format(time.TimeOnly), dim)},
		{cell("state", 9, dim), cell("cluster", name+2, dim), rightCell("shards", 7, dim), rightCell("data", 11, dim),
			rightCell("uneven", 8, dim), rightCell("moving", 8, dim), rightCell("failed", 8, dim), newSpan("  what", dim)},
	}
	for _, m := range members {
		l := line{cell(m.Verdict(), 9, verdictStyles[m.Verdict()]), cell(m.Cluster, name+2, bold)}
		if o := m.Overview; o != nil {
			l = append(l, rightCell(humanize.Number(o.Totals.Shards), 7, plain),
				rightCell(humanize.Bytes(o.Totals.Bytes), 11, plain), rightCell(humanize.Number(o.Totals.NotBalanced), 8, plain),
				rightCell(humanize.Number(len(o.UnderWay)), 8, plain), rightCell(humanize.Number(o.History.Failed), 8, plain))
		} else {
			l = append(l, rightCell("", 42, plain))
		}
		lines = append(lines, append(l, newSpan("  "+m.Headline(), plain)))
	}
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.render(width, color))
	}
	return texts
}
