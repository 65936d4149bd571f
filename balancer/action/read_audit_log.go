package action

import (
	"context"
	"fmt"
	"path"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/audit"
)

// ReadAuditLog reads the audit log: who has changed a cluster, with which verb, plan and command, and with
// which outcome.
type ReadAuditLog struct {
	// AuditDestination is the destination of the audit log, as in Consent; empty means the collection in the
	// cluster.
	AuditDestination string
	// MaxAge is the time in which commands and runs began or ended; zero means any time.
	MaxAge time.Duration
	// Namespaces are the collections, by name or pattern; none means all. Verb is the verb of the runs.
	Namespaces []string
	Verb       string
	// Last is the number of the newest entries to return; zero means all.
	Last int
}

// DefaultAuditLogEntries is the default number of entries to show.
const DefaultAuditLogEntries = 20

// AuditLogResult contains the entries, the newest last.
type AuditLogResult struct {
	Records []audit.Record `json:"records"`
	// TornLines is the number of lines that can't be read because the run was killed while it wrote them.
	TornLines int `json:"torn,omitzero"`
}

// Validate checks the options.
func (h ReadAuditLog) Validate() error {
	switch {
	case h.AuditDestination == audit.SyslogDestination:
		return refuse("syslog can't be read back by shardsh: ask it for the tag shardsh (journalctl -t shardsh)")
	case h.MaxAge < 0:
		return refuse("{since} can't be negative: %v", h.MaxAge)
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

// ReadsCluster reports whether the audit log is read from the cluster.
func (h ReadAuditLog) ReadsCluster() bool {
	return h.AuditDestination == "" || h.AuditDestination == audit.ClusterDestination
}

// Run reads the audit log as of a time. client is the client of the cluster; nil if a file is read.
func (h ReadAuditLog) Run(ctx context.Context, client *mongo.Client, now time.Time) (result AuditLogResult, err error) {
	if err := h.Validate(); err != nil {
		return result, err
	}
	filter := audit.Filter{Namespaces: h.Namespaces, Verb: h.Verb, Last: h.Last}
	if h.MaxAge > 0 {
		filter.Since = now.Add(-h.MaxAge)
	}
	var entries []audit.Entry
	if h.ReadsCluster() {
		entries, err = audit.ReadCollection(ctx, client, filter.Since)
	} else {
		entries, result.TornLines, err = audit.ReadFile(h.AuditDestination)
	}
	if err != nil {
		return result, fmt.Errorf("reading the audit: %w", err)
	}
	result.Records = append([]audit.Record{}, filter.Select(audit.Records(entries))...)
	return result, nil
}
