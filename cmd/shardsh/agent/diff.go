package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
	"shardsh/balancer/live"
	"shardsh/balancer/timespan"
	"shardsh/bindings/actiontext"
)

// maxSnapshots is the number of snapshots that a session keeps; each may be large.
const maxSnapshots = 3

// snapshots are the snapshots made in this session, by name. The oldest is evicted first.
type snapshots struct {
	mu      sync.Mutex
	created int
	list    []keptSnapshot
}

type keptSnapshot struct {
	name string
	*catalog.Snapshot
}

// add stores a snapshot, and returns its name.
func (k *snapshots) add(s *catalog.Snapshot) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.created++
	name := fmt.Sprint("snapshot-", k.created)
	k.list = append(k.list[max(0, len(k.list)-maxSnapshots+1):], keptSnapshot{name, s})
	return name
}

// byName returns the snapshot with a name.
func (k *snapshots) byName(name string) (*catalog.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, s := range k.list {
		if s.name == name {
			return s.Snapshot, nil
		}
		names = append(names, s.name)
	}
	if len(names) == 0 {
		return nil, errors.New("there is no snapshot yet: the tool snapshot makes one, and returns its name")
	}
	return nil, fmt.Errorf("there is no snapshot %q; there are %s", name, strings.Join(names, ", "))
}

type diffArguments struct {
	From string   `json:"from" jsonschema:"a name that the tool snapshot returned; with a history also 90m, 1d"`
	NS   []string `json:"ns,omitempty" jsonschema:"only these collections; * is a wildcard"`
	Long bool     `json:"long,omitempty" jsonschema:"all changes, with examples of chunks"`
}

func (s *Server) addDiff() {
	add(s, tool{name: "diff", description: "What has changed in the cluster since a snapshot: shards, zones, settings, " +
		"collections, chunks moved, and who did it by the logs."}, diffTool)
}

func diffTool(ctx context.Context, c *call, in diffArguments) (Answer, error) {
	verb := action.Diff{Namespaces: in.NS}
	if err := verb.Validate(); err != nil {
		return Answer{}, argumentError(err)
	}
	source, err := c.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	after, err := source.Read(ctx, live.ReaderOptions{Parts: diffParts})
	if err != nil {
		return Answer{}, err
	}
	before, err := c.earlierSnapshot(in.From, after.Time())
	if err != nil {
		return Answer{}, err
	}
	result, err := verb.Run(before, after)
	if err != nil {
		return Answer{}, argumentError(err)
	}
	a := Answer{Answer: actiontext.Diff(result, in.Long), Sources: append(sourcesOf(after), sourcesOf(before)...)}
	if !result.Empty() {
		a.NextSteps = []string{"why {}: whether anything is wrong now"}
		if !in.Long && hasFlows(result.Result) {
			a.NextSteps = append(a.NextSteps, "diff with long: which chunks")
		}
	}
	return a, nil
}

func hasFlows(r diff.Result) bool {
	return slices.ContainsFunc(r.Changes, func(c diff.Change) bool { return len(c.Flows) > 0 })
}

// earlierSnapshot returns a snapshot of this session, or one from --history.
func (s *Server) earlierSnapshot(from string, now time.Time) (*catalog.Snapshot, error) {
	span, err := timespan.ParseCommandLine(from)
	switch {
	case err != nil || span <= 0:
		return s.snapshots.byName(from)
	case s.History == nil:
		return nil, errors.New("there is no history here (--history): compare with a snapshot of this session")
	}
	return s.History(now.Add(-span))
}
