package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/placement"
)

// Audit checks that data is where the config database says. It reads all shards without going through
// the router, and compares their data and metadata with the config database. Suspicious documents and
// metadata are read again until two consecutive reads agree and nothing has moved in between.
type Audit struct {
	// Namespaces are the collections or databases to audit; none means all.
	Namespaces []string
	// MetadataOnly audits only the metadata, not the documents.
	MetadataOnly bool
	// SampleDocs is the number of documents of each collection to read, beginning at a random _id; zero
	// means all.
	SampleDocs int64
	// CheckpointFile is a file for the progress, from which another run can continue; empty means none. A
	// run that completes removes the file.
	CheckpointFile string
	// ExportDir is a directory for the documents of findings, with one file for each finding.
	ExportDir string
	// MaxRereads is the maximum number of times that suspicious data are read again, with a wait of
	// RereadPause before each read.
	MaxRereads  int
	RereadPause time.Duration
	// MaxBytesPerSecond is the maximum number of bytes read per second; zero means no limit.
	MaxBytesPerSecond int64
	// PauseBetween is the wait after each 16 MiB, MaxDuration is the maximum duration, and Window is the time
	// of day in which to read, by the cluster's clock.
	PauseBetween, MaxDuration time.Duration
	Window                    *pace.Window
	// Secondary reads documents from secondaries of shards that have one.
	Secondary bool

	stepBytes int64 // bytes between two checks of limits and windows; zero means readStepBytes
}

// The verdicts of an audit.
const (
	AuditClean    = "clean"    // nothing was found, and everything was checked
	AuditFindings = "findings" // something was found
	AuditUnknown  = "unknown"  // nothing was found, and not everything could be checked
)

// AuditResult is the result of an audit.
type AuditResult struct {
	Verdict     string              `json:"verdict"`
	Findings    []placement.Finding `json:"findings"`
	Collections []AuditCollection   `json:"collections"`
	// Unchecked lists what could not be checked, with reasons.
	Unchecked []string `json:"unseen,omitempty"`
	// Unsettled lists what was suspicious and changed each time it was read again.
	Unsettled []string `json:"unsettled,omitempty"`
	// Stopped says why the audit ended early. ResumeFile is the file from which another run can continue.
	Stopped    string `json:"stopped,omitzero"`
	ResumeFile string `json:"resume,omitzero"`
	MS         int64  `json:"millis"`
}

// AuditCollection is the summary of one collection.
type AuditCollection struct {
	Namespace string `json:"ns"`
	Sharded   bool   `json:"sharded"`
	// Docs is the number of documents that were read, on all shards.
	Docs int64 `json:"docs"`
	// PendingOrphans is the number of orphans that a pending range deletion will delete and of which the
	// owner has the document.
	PendingOrphans int64 `json:"waiting,omitzero"`
	// DeletedByOwner is the number of orphans with a pending range deletion of which the owner has
	// deleted the document since.
	DeletedByOwner int64    `json:"deleted,omitzero"`
	Notes          []string `json:"notes,omitempty"`
}

// Validate checks the options.
func (a Audit) Validate() error {
	switch {
	case a.MaxRereads < 1:
		return refuse("{settle} must be at least 1")
	case a.RereadPause < 0 || a.PauseBetween < 0 || a.MaxDuration < 0:
		return refuse("{settlePause}, {pauseBetween} and {for} can't be negative")
	case a.MaxBytesPerSecond < 0:
		return refuse("{maxRate} can't be negative: %d", a.MaxBytesPerSecond)
	case a.SampleDocs < 0:
		return refuse("{sample} can't be negative: %d", a.SampleDocs)
	case a.MetadataOnly && a.SampleDocs > 0:
		return refuse("{sample} and {metadata} exclude each other: {metadata} reads no documents")
	case a.CheckpointFile != "" && (a.MetadataOnly || a.SampleDocs > 0):
		return refuse("{checkpoint} is for all documents: leave {metadata} and {sample} out")
	case a.MetadataOnly && a.ExportDir != "":
		return refuse("{export} and {metadata} exclude each other: {metadata} reads no documents")
	}
	for i, ns := range a.Namespaces {
		database, name, dotted := strings.Cut(ns, ".")
		if database == "" || dotted && name == "" {
			return refuse("{ns} takes DB or DB.COLLECTION, not %q", ns)
		}
		if slices.Contains(a.Namespaces[:i], ns) {
			return refuse("{ns} names %s twice", ns)
		}
	}
	return nil
}

// selects reports whether a collection is to be audited.
func (a Audit) selects(ns string) bool {
	database := catalog.DatabaseOf(ns)
	return len(a.Namespaces) == 0 || slices.Contains(a.Namespaces, ns) || slices.Contains(a.Namespaces, database)
}

// Run audits the cluster. It changes nothing.
func (a Audit) Run(ctx context.Context, c Cluster, r Reporter) (result AuditResult, err error) {
	result.Verdict, result.Findings, result.Collections = AuditUnknown, []placement.Finding{}, []AuditCollection{}
	if err := a.Validate(); err != nil {
		return result, err
	}
	if a.ExportDir != "" {
		if err := os.MkdirAll(a.ExportDir, 0o700); err != nil {
			return result, err
		}
	}
	began := c.Clock.Now()
	report := &serialReporter{next: r}
	run := &auditRun{
		Audit: a, cluster: c, report: report, result: &result,
		tables: map[string]*ownerTable{}, untracked: map[string]bool{},
		rate: readRate{clock: c.Clock, maxBytesPerSecond: a.MaxBytesPerSecond}, readRetry: readRetry{c.Clock, report},
	}
	if err := run.resumeAudit(); err != nil {
		return result, err
	}
	run.shards, err = retryRead(ctx, run.readRetry, func() (*holdings.Shards, error) {
		return holdings.Open(ctx, c.Client, c.ClientOptions)
	})
	if err != nil {
		return result, err
	}
	defer run.shards.Close(ctx)
	run.gate = pace.NewGate(pace.Rules{MaxTime: a.MaxDuration, Window: a.Window, PauseBetween: a.PauseBetween}, c.Clock,
		pace.WithTime(c.now), pace.WithEvents(func(e pace.Event) { run.report.Report(Wait{e}) }))
	if err = run.auditAll(ctx); err == nil {
		err = run.checkpoint.remove()
	} else if run.checkpoint.At != nil || len(run.checkpoint.Done) > 0 {
		err = errors.Join(err, run.checkpoint.save(c.Clock.Now()))
		result.ResumeFile = run.checkpoint.file
	}
	result.MS = c.Clock.Now().Sub(began).Milliseconds()
	if over := new(pace.RunOverError); errors.As(err, &over) {
		result.Stopped, err = over.Why, nil
	}
	placement.Sort(result.Findings)
	switch {
	case len(result.Findings) > 0:
		result.Verdict = AuditFindings
	case err == nil && result.Stopped == "" && len(result.Unchecked)+len(result.Unsettled) == 0:
		result.Verdict = AuditClean
	}
	return result, err
}

// auditRun is a run of Audit.
type auditRun struct {
	Audit
	cluster    Cluster
	report     *serialReporter
	gate       *pace.Gate
	rate       readRate
	readRetry  readRetry
	shards     *holdings.Shards
	config     holdings.ClusterConfig
	colls      []*placement.Collection
	resharding []string // collections that are not audited, as of the latest read
	result     *AuditResult
	checkpoint *checkpoint

	tables map[string]*ownerTable // as of the latest read
	// untracked contains the collections that are not in config.collections.
	untracked map[string]bool

	docsExpected, docsRead int64
}

func (a *auditRun) addUnchecked(format string, args ...any) {
	a.result.Unchecked = append(a.result.Unchecked, fmt.Sprintf(format, args...))
}

func (a *auditRun) addUnsettled(format string, args ...any) {
	a.result.Unsettled = append(a.result.Unsettled, fmt.Sprintf(format, args...))
}

func (a *auditRun) addFindings(list ...placement.Finding) {
	a.result.Findings = append(a.result.Findings, list...)
}

// auditAll audits the metadata of all collections, then the documents of each.
func (a *auditRun) auditAll(ctx context.Context) error {
	for _, s := range a.shards.List {
		if s.Problem != "" {
			a.addUnchecked("what %s has (%s): %s", s.ID, s.Host, s.Problem)
		}
	}
	if err := a.auditMetadata(ctx); err != nil {
		return err
	}
	if a.MetadataOnly {
		return nil
	}
	var read []*placement.Collection
	for _, c := range a.colls {
		if (!c.Tracked || c.Unsplittable) && !a.misplaced(c) {
			continue
		}
		a.untracked[c.Namespace] = !c.Tracked
		if reason := whyNotComparable(c); reason != "" {
			a.addUnchecked("documents of %s: %s", c.Namespace, reason)
			continue
		}
		done, err := a.restoreResult(c)
		switch {
		case err != nil:
			return err
		case !done:
			read = append(read, c)
		}
	}
	if len(a.shards.ReadableShards()) == 0 {
		if len(read) > 0 {
			a.addUnchecked("documents (orphans, duplicates and misplaced documents), because no shard can be read")
		}
		return nil
	}
	a.reportCost(read)
	for _, c := range read {
		before := *a.result
		err := a.auditDocuments(ctx, c)
		if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
			a.addUnsettled("%s was dropped or renamed meanwhile", c.Namespace)
			continue
		}
		if errors.As(err, new(*holdings.OrderError)) {
			a.addUnchecked("documents of %s: a shard does not return them in the order of an index: %v", c.Namespace, err)
			continue
		}
		if err == nil {
			err = a.saveCollection(c, before)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// misplaced reports whether an unsharded collection was found on a shard other than its own. The
// documents on that shard may exist nowhere else.
func (a *auditRun) misplaced(c *placement.Collection) bool {
	return slices.ContainsFunc(a.result.Findings, func(f placement.Finding) bool {
		return f.Kind == placement.CollectionMisplaced && f.Namespace == c.Namespace
	})
}

// whyNotComparable says why documents of a collection can't be compared; empty if they can.
func whyNotComparable(c *placement.Collection) string {
	if c.IsTimeSeries() && catalog.TimeSeriesNamespace(c.Namespace) == c.Namespace {
		return "it is a time series without a collection of its buckets, as from 9.0 on"
	}
	return ""
}

// reportCost reports how much is going to be read.
func (a *auditRun) reportCost(read []*placement.Collection) {
	if len(read) == 0 {
		return
	}
	for _, c := range read {
		n := int64(0)
		for _, h := range c.Holdings {
			n += h.Docs
		}
		if a.SampleDocs > 0 {
			n = min(n, a.SampleDocs)
		}
		a.docsExpected += n
	}
	a.report.note(fmt.Sprintf("Reads about %s of %s, past the router, from %s.",
		humanize.Count(a.docsExpected, "document"),
		humanize.Count(len(read), "collection"), humanize.Count(len(a.shards.ReadableShards()), "shard")))
}

// find reads documents of a shard.
func (a *auditRun) find(
	ctx context.Context, s *holdings.Shard, ns string, q holdings.DocumentQuery,
) ([]bson.Raw, error) {
	return retryRead(ctx, a.readRetry, func() ([]bson.Raw, error) { return s.FindDocs(ctx, ns, q) })
}

// findByID reads the document of an _id on a shard, which has one at most.
func (a *auditRun) findByID(ctx context.Context, s *holdings.Shard, ns string, id bson.RawValue) ([]bson.Raw, error) {
	docs, err := a.find(ctx, s, ns, holdings.DocumentQuery{Filter: bson.D{
		{Key: "_id", Value: bson.D{{Key: "$eq", Value: id}}},
	}})
	return holdings.FilterByExactID(docs, id), err
}
