package action

import (
	"context"
	"path"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/audit"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
)

// Diff compares two snapshots.
type Diff struct {
	// Ignore contains the kinds of changes that are not reported. Namespaces are the collections to
	// compare, by name or pattern; none means all.
	Ignore     []string
	Namespaces []string
}

// Validate checks the options.
func (d Diff) Validate() error {
	for _, kind := range d.Ignore {
		if !slices.ContainsFunc(diff.Kinds(), func(k diff.KindInfo) bool { return string(k.Kind) == kind }) {
			return refuse("{ignore}: there is no kind of change %q", kind)
		}
	}
	for _, pattern := range d.Namespaces {
		if _, err := path.Match(pattern, ""); err != nil {
			return refuse("{ns}: %q is not a valid pattern of collections", pattern)
		}
	}
	return nil
}

// DiffResult contains the changes, and the runs of shardsh between the two snapshots if an audit log
// was read.
type DiffResult struct {
	diff.Result
	Runs []audit.Record `json:"runs,omitzero"`
}

// AddRuns adds the runs that began or ended after the older snapshot. It reads them from the cluster's
// audit log or from a file, as of the time now. client is the client of the cluster; nil if a file is
// read.
func (r *DiffResult) AddRuns(ctx context.Context, client *mongo.Client, path string, now time.Time) error {
	since := now.Sub(r.Old.Time)
	if since <= 0 {
		return nil
	}
	found, err := ReadAuditLog{AuditDestination: path, MaxAge: since}.Run(ctx, client, now)
	for _, record := range found.Records {
		if record.IsRun() && !record.At.After(r.New.Time) {
			r.Runs = append(r.Runs, record)
		}
	}
	return err
}

// Run compares an older snapshot with a newer one.
func (d Diff) Run(before, after *catalog.Snapshot) (DiffResult, error) {
	if err := d.Validate(); err != nil {
		return DiffResult{}, err
	}
	r := diff.Compare(before, after)
	r.Changes = slices.DeleteFunc(r.Changes, func(c diff.Change) bool {
		return slices.Contains(d.Ignore, string(c.Kind)) || c.Namespace != "" && !d.selects(c.Namespace)
	})
	r.MostChanged = slices.DeleteFunc(r.MostChanged, func(c diff.CollectionData) bool { return !d.selects(c.Namespace) })
	return DiffResult{Result: r}, nil
}

// selects reports whether a collection is to be compared.
func (d Diff) selects(ns string) bool {
	return len(d.Namespaces) == 0 || slices.ContainsFunc(d.Namespaces, func(pattern string) bool {
		is, _ := path.Match(pattern, catalog.TimeSeriesNamespace(ns))
		return is
	})
}
