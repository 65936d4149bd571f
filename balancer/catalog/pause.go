package catalog

import (
	"fmt"
	"strings"
	"time"
)

// RunsPause is an operator's request that no run of shardsh begins another step. Times are cluster times.
type RunsPause struct {
	Reason string
	// User is the user on Host who has set the pause. Login is the name in the cluster under which the
	// user was logged in, if any.
	User, Host, Login string
	Since, Until      time.Time
	// Active says that Until had not passed when the pause was read.
	Active bool
}

// Author returns the author, such as "ann on ops1 (admin.ann)".
func (p RunsPause) Author() string {
	by := p.User + " on " + p.Host
	if p.Login != "" {
		by += " (" + p.Login + ")"
	}
	return by
}

// String returns the pause, such as "backup of shard2 (by ann on ops1, since 2026-03-02T12:00:00Z,
// until 2026-03-02T14:00:00Z)".
func (p RunsPause) String() string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	return fmt.Sprintf("%s (by %s, since %s, until %s)", p.Reason, p.Author(), at(p.Since), at(p.Until))
}

// Compatibility is the feature compatibility version of a cluster, as stored on the config servers.
type Compatibility struct {
	// Version is a version such as 7.0; empty if it can't be read or does not exist.
	Version string
	// Target is the target version of a change in progress, or of a change that has failed; otherwise
	// empty.
	Target string
}

// Changing reports whether the version is being changed.
func (c Compatibility) Changing() bool { return c.Target != "" }

// MovesMetadataToShards reports whether the version is being changed to a version in which each shard
// stores the metadata of its chunks. During the change, chunks are not split, merged or moved, and
// movePrimary is refused.
func (c Compatibility) MovesMetadataToShards() bool {
	target, known := ReleaseOf(c.Target)
	is, _ := ReleaseOf(c.Version)
	return known && target.ShardsOwnMetadata() && !is.ShardsOwnMetadata()
}

// String returns the version, such as "7.0" or "being changed to 8.0".
func (c Compatibility) String() string {
	if c.Changing() {
		return "being changed to " + c.Target
	}
	return c.Version
}

// Release returns the release of a server with this compatibility version, which decides most
// differences between releases. If the version is not known, it returns the server's release.
func (c Compatibility) Release(server Release) Release { return server.WithFCV(c.Version) }

// IsBehind reports whether the server's release is newer than the compatibility version.
func (c Compatibility) IsBehind(server string) bool {
	r, known := ReleaseOf(server)
	return known && c.Version != "" && !strings.HasPrefix(server, c.Version+".") && c.Release(r).FCV() != r.Line()
}
