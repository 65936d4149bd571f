package action

import (
	"context"
	"fmt"
	"path"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/audit"
)

// History shows what the audit has: who has changed a cluster, with which verb, plan and
// command, and the outcome.
type History struct {
	// Audit is where it lies, as in Consent; empty is the cluster's collection.
	Audit string
	// Since is how far back it looks; zero is all of it.
	Since time.Duration
	// Namespaces are collections, by name or pattern; none is all. Verb is that of a run.
	Namespaces []string
	Verb       string
	// Last is how many of the newest entries are returned; zero is all.
	Last int
}

// DefaultLast is how many entries are shown.
const DefaultLast = 20

// HistoryResult is what was found, the newest last.
type HistoryResult struct {
	Records []audit.Record `json:"records"`
	// Torn is how many lines can't be read, as their run was killed while it wrote them.
	Torn int `json:"torn,omitzero"`
}

// Validate checks the options.
func (h History) Validate() error {
	switch {
	case h.Audit == audit.ToSyslog:
		return refuse("syslog can't be read back by shardsh: ask it for the tag shardsh (journalctl -t shardsh)")
	case h.Since < 0:
		return refuse("{since} can't be negative: %v", h.Since)
	case h.Last < 0:
		return refuse("{last} can't be negative: %d", h.Last)
	}
	for _, pattern := range h.Namespaces {
		if _, err := path.Match(pattern, ""); err != nil {
			return refuse("{ns}: %q is not a valid pattern of collections", pattern)
		}
	}
	return nil
}

// ReadsCluster reports whether the cluster is asked.
func (h History) ReadsCluster() bool { return h.Audit == "" || h.Audit == audit.ToCluster }

// Run reads the audit as of a time. The client is that of the cluster; nil where a file is read.
func (h History) Run(ctx context.Context, client *mongo.Client, now time.Time) (result HistoryResult, err error) {
	if err := h.Validate(); err != nil {
		return result, err
	}
	filter := audit.Filter{Namespaces: h.Namespaces, Verb: h.Verb, Last: h.Last}
	if h.Since > 0 {
		filter.Since = now.Add(-h.Since)
	}
	var entries []audit.Entry
	if h.ReadsCluster() {
		entries, err = audit.ReadCluster(ctx, client, filter.Since)
	} else {
		entries, result.Torn, err = audit.ReadFile(h.Audit)
	}
	if err != nil {
		return result, fmt.Errorf("reading the audit: %w", err)
	}
	result.Records = append([]audit.Record{}, filter.Select(audit.Records(entries))...)
	return result, nil
}
