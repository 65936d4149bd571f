package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Cluster is the cluster that an action works on.
type Cluster struct {
	Client *mongo.Client
	// ClientOptions are the options with which Client was opened. They are used to connect to the members of
	// the shards. With nil, the members can't be reached.
	ClientOptions *options.ClientOptions
	// Address is the address of Client without secrets, for command lines; empty if there is none.
	Address string
	// ChangeRunner sends the commands that change something; if it is nil, Client sends them.
	ChangeRunner live.CommandRunner
	// SimulatesChanges says that Runner answers these commands itself instead of the cluster: every run is
	// a dry run.
	SimulatesChanges bool
	Clock            apply.Clock
	Consent
	// RunComputation wraps computations that take long or need much memory. If it is nil, they run directly.
	RunComputation func(compute func() (*plan.Plan, error)) (*plan.Plan, error)

	timeZone *time.Location // of the config servers, if the user has named one
	// readsDisks makes snapshots include the shards' volumes and the reusable space in their data files.
	readsDisks bool
}

// now returns the cluster's time.
func (c Cluster) now(ctx context.Context) (time.Time, error) {
	return live.ReadRouterTime(ctx, live.NewCommandRunner(c.Client))
}

// withDiskLimit returns a copy of the cluster that reads the volumes of its shards, if there is a disk
// limit.
func (c Cluster) withDiskLimit(limit float64) Cluster {
	c.readsDisks = limit > 0
	return c
}

// parts returns the parts of a snapshot that a plan needs.
func (c Cluster) parts() live.Part {
	if c.readsDisks {
		return live.BalancerParts | live.Disks | live.ReusableSpace
	}
	return live.BalancerParts
}

// withTimeZone returns a copy of the cluster with the time zone of its config servers. An empty zone is
// determined later.
func (c Cluster) withTimeZone(zone string) (Cluster, error) {
	var err error
	c.timeZone, err = locationOf(zone)
	return c, err
}

func (c Cluster) runner() live.CommandRunner {
	if c.ChangeRunner != nil {
		return c.ChangeRunner
	}
	return live.NewCommandRunner(c.Client)
}

func (c Cluster) compute(make func() (*plan.Plan, error)) (*plan.Plan, error) {
	if c.RunComputation == nil {
		return make()
	}
	return c.RunComputation(make)
}

// NoAnswerError says that the cluster did not answer a request whose answer an action needs before it
// begins.
type NoAnswerError struct{ Err error }

// Error returns the text of the cluster's error.
func (e *NoAnswerError) Error() string { return e.Err.Error() }

// Unwrap returns the cluster's error.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// snapshot reads the cluster for a plan. Collections whose balancing only this run, or an earlier run
// that was killed, has switched off count as enabled. snapshot reports data that could not be read and
// that a plan does not need.
func (c Cluster) snapshot(ctx context.Context, namespaces []string, r *serialReporter) (*catalog.Snapshot, error) {
	s, err := live.NewReader(c.Client, live.ReaderOptions{
		Parts: c.parts(), TimeZone: c.timeZone, OnProgress: r.reportRead, MemberClientOptions: c.ClientOptions,
	}).Read(ctx)
	if err != nil {
		return nil, &NoAnswerError{err}
	}
	if err := checkGaps(s, namespaces); err != nil {
		return nil, err
	}
	for _, text := range catalog.GapTexts(s.Parts().Source.Gaps) {
		r.note(text)
	}
	return apply.WithBalancingResumed(s, live.ReadPausedNamespaces(ctx, c.Client)), nil
}

// GapError returns an error if the data that could not be read are needed for a plan of some
// collections, or of all. Without these data a plan would wrongly say that there is nothing to do.
func GapError(gap catalog.Gap, namespaces []string) error {
	switch gap.What {
	case "shards", "collections", "settings", "tags", "zones", "chunks":
	default:
		return nil
	}
	named := func(name string) bool { return name == gap.Namespace || strings.Contains(name, "*") }
	if gap.Namespace != "" && len(namespaces) > 0 && !slices.ContainsFunc(namespaces, named) {
		return nil
	}
	return errors.New(strings.TrimSpace(gap.What+" "+gap.Namespace) +
		" could not be read, and a plan needs it: " + gap.Reason)
}

// checkGaps returns the error of the first gap whose data a plan needs.
func checkGaps(s *catalog.Snapshot, namespaces []string) error {
	for _, gap := range s.Parts().Source.Gaps {
		if err := GapError(gap, namespaces); err != nil {
			return err
		}
	}
	return nil
}

// checkSizesKnown returns an error for a collection that is balanced by size if its sizes are missing,
// as in a dump of config. Without sizes, balanced and unbalanced collections can't be told apart.
func checkSizesKnown(s *catalog.Snapshot, namespaces []string) error {
	if !s.Release().BalancesBySize() || s.Parts().Source.Origin.Name != catalog.MongoDump {
		return nil
	}
	names, _ := plan.MatchNamespaces(s, namespaces) // invalid names are reported elsewhere
	for _, gap := range s.Parts().Source.Gaps {
		if gap.What != "sizes" {
			continue
		}
		for _, ns := range names {
			c := s.Collection(ns)
			if len(c.Sizes) == 0 && (gap.Namespace == "" || gap.Namespace == ns) && len(c.Owners()) > 0 {
				return fmt.Errorf("it is not known whether %s is balanced, because its sizes are not known: %s", ns, gap.Reason)
			}
		}
	}
	return nil
}

// UnsentCommand is a command that a dry run did not send.
type UnsentCommand struct {
	Database string
	Body     bson.Raw
}

// MarshalJSON returns the command as extended JSON.
func (c UnsentCommand) MarshalJSON() ([]byte, error) {
	return bson.MarshalExtJSON(c.Body, false, false)
}

// recorder records commands that change something instead of sending them. Several goroutines may use it at
// once, as the steps of a round do.
type recorder struct {
	live.CommandRunner
	report *serialReporter

	mu             sync.Mutex
	unsentCommands []UnsentCommand
}

// RunCommand answers commands that change something itself, and sends other commands.
func (r *recorder) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	if live.IsReadCommand(command[0].Key) {
		return r.CommandRunner.RunCommand(ctx, database, command)
	}
	if err := r.recordUnsent(database, command); err != nil {
		return nil, err
	}
	return bson.Marshal(bson.D{{Key: "ok", Value: 1.0}, {Key: "dryRun", Value: true}})
}

// recordUnsent records a command that a dry run does not send.
func (r *recorder) recordUnsent(database string, command bson.D) error {
	raw, err := bson.Marshal(command)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.unsentCommands = append(r.unsentCommands, UnsentCommand{database, raw})
	r.mu.Unlock()
	r.report.Report(WouldSend{database, raw})
	return nil
}
