package action

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
	"shardsh/balancer/runner"
)

// PreflightOptions configures the preflight checks of a run.
type PreflightOptions struct {
	// PreflightOnly only returns the obstacles. Nothing is changed.
	PreflightOnly bool
	// IgnoreObstacles contains the codes of obstacles that do not stop the run.
	IgnoreObstacles []string
	// AdvisoriesFile is a file that adds known server faults or mutes some.
	AdvisoriesFile string
}

func (p PreflightOptions) validate() error {
	for _, code := range p.IgnoreObstacles {
		if diagnosis.DefinitionOf(diagnosis.Code(code)).Code == "" {
			return refuse("{despite}: there is no code %q; --preflight prints the codes of all obstacles", code)
		}
	}
	_, err := LoadAdvisories(p.AdvisoriesFile)
	return err
}

func (p PreflightOptions) ignoredCodes() (codes []diagnosis.Code) {
	for _, code := range p.IgnoreObstacles {
		codes = append(codes, diagnosis.Code(code))
	}
	return codes
}

// preflightParts are the parts of the cluster that are read if no plan was just made from a snapshot.
const preflightParts = live.Identity | live.Compatibility | live.Settings | live.Balancer | live.WindowClock |
	live.Shards |
	live.ShardSizes | live.Reachability | live.Databases | live.Collections | live.Unsharded | live.ChunkCounts |
	live.Zones |
	live.Routers | live.Sizes | live.RunningMigrations | live.RunningReshardings | live.Leases | live.RecentMoves |
	live.Disks

// preflight checks for obstacles of a run. planSnapshot is the snapshot from which a plan was just
// made, or nil.
// Data that can't be read are listed in the report, and do not stop the run.
func (c Cluster) preflight(
	ctx context.Context,
	b PreflightOptions,
	run preflight.Run,
	planSnapshot *catalog.Snapshot,
	noPlan error,
) (
	report preflight.Report, err error) {
	run.DespiteCodes = b.ignoredCodes()
	if run.Advisories, err = LoadAdvisories(b.AdvisoriesFile); err != nil {
		return report, err
	}
	look := preflightReader{Cluster: c, run: run}
	if err := look.read(ctx, planSnapshot); err != nil {
		return report, err
	}
	look.facts.PlanError = noPlan
	if run.Plan == nil { // a run by rounds
		names, _ := plan.MatchNamespaces(look.facts.Snapshot, run.Namespaces) // the run itself refuses invalid names
		look.run.Namespaces = runner.WithoutServerOwned(names, run.Namespaces)
	}
	look.facts.BelongsToShardsh = isShardshData
	look.facts.BalancerConflict = look.balancerConflict()
	look.readHoldersAndPrivileges(ctx)
	look.readMovingPrimary(ctx)
	look.readIndexes(ctx)
	look.readJumbo(ctx)
	if ctx.Err() != nil {
		return report, context.Cause(ctx)
	}
	report = preflight.Check(look.run, look.facts)
	report.Unread = look.unread
	return report, nil
}

// preflightReader reads the data for a preflight.
type preflightReader struct {
	Cluster
	run    preflight.Run
	facts  preflight.Facts
	unread []string
}

func (l *preflightReader) addUnread(what string, err error) {
	if err != nil {
		l.unread = append(l.unread, fmt.Sprintf("%s could not be read: %s", what, live.ShortenUnauthorized(err.Error())))
	}
}

// read reads the parts of the cluster that planSnapshot does not contain.
func (l *preflightReader) read(ctx context.Context, planSnapshot *catalog.Snapshot) error {
	o := live.ReaderOptions{Parts: preflightParts, TimeZone: l.timeZone, Shard: l.run.Shard}
	if planSnapshot != nil {
		o.Parts = live.RecentMoves | live.Shards | live.Disks
	} else if l.run.Shard == "" && l.run.Plan != nil {
		o.Namespaces = l.namespaces()
	}
	if planSnapshot == nil {
		o.MemberClientOptions = l.ClientOptions
	}
	s, err := live.NewReader(l.Client, o).Read(ctx)
	if err != nil {
		return &NoAnswerError{err}
	}
	l.unread = catalog.GapTexts(s.Parts().Source.Gaps)
	switch {
	case planSnapshot == nil:
		s = apply.WithBalancingResumed(s, live.ReadPausedNamespaces(ctx, l.Client))
	default:
		parts := planSnapshot.Parts()
		parts.Changes, parts.Shards = s.Parts().Changes, slices.Clone(parts.Shards)
		for i, shard := range parts.Shards {
			now, _ := s.Shard(shard.ID)
			parts.Shards[i].Disk = now.Disk
		}
		s = catalog.NewSnapshot(parts)
	}
	l.facts.Snapshot = s
	return nil
}

// namespaces returns the collections of the run; nil means all.
func (l *preflightReader) namespaces() (list []string) {
	if l.run.Plan == nil {
		return l.run.Namespaces
	}
	for _, of := range l.run.Plan.Basis.Collections {
		list = append(list, of.Namespace)
	}
	return list
}

// balancerConflict returns the error that a run would get because of the cluster's own balancer.
func (l *preflightReader) balancerConflict() error {
	names, within := l.namespaces(), time.Duration(0)
	if p := l.run.Plan; p != nil {
		within, names = p.Totals.Duration+time.Minute, nil
		for _, s := range p.Steps { // the balancer may work beside a plan without steps
			if !slices.Contains(names, s.Namespace) {
				names = append(names, s.Namespace)
			}
		}
	}
	if l.run.PauseBalancing { // pausing does not end a defragmentation
		names = slices.DeleteFunc(slices.Clone(names), func(ns string) bool {
			of := l.facts.Snapshot.Collection(ns)
			return of == nil || !of.Defragment
		})
	}
	if l.run.Verb == "balance" {
		return runner.CheckBalancerIdle(l.facts.Snapshot, names, within)
	}
	return apply.CheckBalancerIdle(l.facts.Snapshot, names, within)
}

// readHoldersAndPrivileges reads which other runs are in progress, and the privileges of the user.
func (l *preflightReader) readHoldersAndPrivileges(ctx context.Context) {
	commands := live.NewCommandRunner(l.Client)
	var err error
	l.facts.LeaseHeldErr, l.facts.QuiescedErr, err = live.FindBlockingErrors(ctx, l.Client, l.facts.Snapshot.Time())
	l.addUnread("the lease", err)
	l.facts.Privileges, l.facts.Roles, err = live.ReadPrivileges(ctx, commands)
	l.addUnread("the privileges", err)
}

// donorsByNamespace returns the collections of which the steps move chunks, with the donor shards.
func (l *preflightReader) donorsByNamespace() map[string][]catalog.ShardID {
	shards := map[string][]catalog.ShardID{}
	if l.run.Plan == nil {
		return shards
	}
	for _, s := range l.run.Plan.Steps {
		if s.Kind == plan.Move && !slices.Contains(shards[s.Namespace], s.From) {
			shards[s.Namespace] = append(shards[s.Namespace], s.From)
		}
	}
	return shards
}

// isUnreachable reports whether a shard does not answer. No command is sent that would wait for such a
// shard.
func (l *preflightReader) isUnreachable(id catalog.ShardID) bool {
	shard, ok := l.facts.Snapshot.Shard(id)
	return ok && shard.Unreachable != ""
}

// readIndexes reads the indexes of the collections that move.
func (l *preflightReader) readIndexes(ctx context.Context) {
	var of []*catalog.CollectionState
	for _, ns := range slices.Sorted(maps.Keys(l.donorsByNamespace())) {
		c := l.facts.Snapshot.Collection(ns)
		own := strings.HasPrefix(ns, "config.") // managed by the servers
		if c != nil && !own && !slices.ContainsFunc(c.Owners(), l.isUnreachable) {
			of = append(of, c)
		}
	}
	list, skipped, err := live.ReadIndexes(ctx, live.NewCommandRunner(l.Client), l.facts.Snapshot.Release(), of)
	l.facts.Indexes = list
	l.addUnread("indexes", err)
	if skipped > 0 {
		l.unread = append(l.unread, fmt.Sprintf("the indexes of %s were not checked: there are too many",
			humanize.Count(int64(skipped), "collection")))
	}
}

// maxFlaggedChunks is the maximum number of flagged chunks that are checked before a run.
const maxFlaggedChunks = 100

// readJumbo asks the donors which flagged chunks can't be split, and how large they are. A chunk
// without a flag is detected only when its step runs.
func (l *preflightReader) readJumbo(ctx context.Context) {
	donors := l.donorsByNamespace()
	var steps *live.StepExecutor
	looked, all := 0, int64(0)
	for _, ns := range slices.Sorted(maps.Keys(donors)) {
		coll := l.facts.Snapshot.Collection(ns)
		for _, from := range donors[ns] {
			if coll == nil || coll.CountOn(from).Jumbo == 0 || l.isUnreachable(from) {
				continue
			}
			if all += coll.CountOn(from).Jumbo; looked >= maxFlaggedChunks {
				continue
			}
			var err error
			if steps == nil {
				if steps, err = live.NewStepExecutor(ctx, live.NewCommandRunner(l.Client)); err != nil {
					l.addUnread("jumbo chunks", err)
					return
				}
			}
			found, flagged, err := readUnmovable(ctx, steps, ns, from, maxFlaggedChunks-looked)
			l.addUnread("jumbo chunks of "+ns, err)
			looked += flagged
			l.facts.Unmovable = append(l.facts.Unmovable, found...)
		}
	}
	if all > maxFlaggedChunks {
		l.unread = append(l.unread, fmt.Sprintf("%d of %d chunks that are flagged jumbo were checked", maxFlaggedChunks, all))
	}
}

// readUnmovable checks at most the given number of flagged chunks of a shard. It returns those that can't be split,
// and how many it has checked.
func readUnmovable(ctx context.Context, steps *live.StepExecutor, ns string, from catalog.ShardID, most int) (
	list []preflight.Unmovable, flagged int, err error) {
	coll, chunks, err := steps.ReadJumboChunks(ctx, ns, from, int64(most))
	if err != nil {
		return nil, 0, err
	}
	for _, chunk := range chunks {
		move := apply.Command{
			Kind: plan.Move, Namespace: ns, Pattern: coll.Pattern, Min: chunk.Min, Max: chunk.Max,
			ChunkSize: coll.MaxChunkSizeBytes,
		}
		can, err := steps.CanCut(ctx, move)
		if err != nil {
			return list, len(chunks), err
		}
		if can {
			continue
		}
		size, err := steps.RangeSize(ctx, move)
		if err != nil {
			return list, len(chunks), err
		}
		if size.Counted && size.Bytes <= preflight.MaxMoveBytes(steps.Release(), move.ChunkSize) {
			continue // the chunk is small enough in spite of its flag
		}
		list = append(list, preflight.Unmovable{
			Namespace:  ns,
			Pattern:    coll.Pattern,
			Chunk:      chunk,
			Bytes:      size.Bytes,
			WriteBlock: apply.EstimateForcedMove(size.Bytes).BlockedFor,
			Estimated:  !size.Counted,
		})
	}
	return list, len(chunks), nil
}

// notedCodes are the codes that a run reports before it begins. A run reports other obstacles when it
// encounters them.
var notedCodes = []diagnosis.Code{diagnosis.ChunkUnmovable, diagnosis.ConfigShardLeaves, diagnosis.KnownFault}

// checkObstacles returns an error if an obstacle stops a run, before any command is sent. A dry run,
// which needs fewer privileges, reports the obstacles that would stop the run.
func checkObstacles(report preflight.Report, dryRun bool, r *serialReporter) error {
	for _, o := range report.Obstacles {
		text := o.Text(func(option string) string { return option })
		switch {
		case !o.Stops && slices.Contains(notedCodes, o.Code):
			r.note(humanize.Capitalized(text) + ".")
		case dryRun && o.Stops && o.Err == nil && !o.Waits:
			r.Report(ObstacleFound{o})
		}
	}
	if dryRun {
		return nil
	}
	return report.Err()
}
