package catalog

import (
	"fmt"
	"strings"
	"time"
)

// Pause is an operator's request that no run of shardsh begins another step. Times are cluster
// times.
type Pause struct {
	Reason string
	// User is who has set it on Host; Login is that user's name in the cluster, if there is one.
	User, Host, Login string
	Since, Until      time.Time
	// Active says that Until had not come.
	Active bool
}

// Author is "ann on ops1 (admin.ann)".
func (p Pause) Author() string {
	by := p.User + " on " + p.Host
	if p.Login != "" {
		by += " (" + p.Login + ")"
	}
	return by
}

// String is "backup of shard2 (by ann on ops1, since 2026-03-02T12:00:00Z, until 2026-03-02T14:00:00Z)".
func (p Pause) String() string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	return fmt.Sprintf("%s (by %s, since %s, until %s)", p.Reason, p.Author(), at(p.Since), at(p.Until))
}

// Compatibility is the feature compatibility version of a cluster, as the config servers have it.
type Compatibility struct {
	// Version is such as 7.0; empty if it may not be read, or there is none.
	Version string
	// Target is that of a change under way, or one that has failed; else empty.
	Target string
}

// Changing reports whether the version is being changed.
func (c Compatibility) Changing() bool { return c.Target != "" }

// MovesMetadataToShards reports whether the version is being changed to that of which on each shard has the
// metadata of its chunks: until it is, chunks are not split, merged or moved, and movePrimary is
// refused.
func (c Compatibility) MovesMetadataToShards() bool {
	target, known := ReleaseOf(c.Target)
	is, _ := ReleaseOf(c.Version)
	return known && target.ShardsOwnMetadata() && !is.ShardsOwnMetadata()
}

// String is "7.0", or "being changed to 8.0".
func (c Compatibility) String() string {
	if c.Changing() {
		return "being changed to " + c.Target
	}
	return c.Version
}

// Release returns what runs on a server with this compatibility version, by which most of what
// differs by release goes; without it, where it can't be read.
func (c Compatibility) Release(server Release) Release { return server.WithFCV(c.Version) }

// IsBehind reports whether the server's release is newer than the compatibility version.
func (c Compatibility) IsBehind(server string) bool {
	r, known := ReleaseOf(server)
	return known && c.Version != "" && !strings.HasPrefix(server, c.Version+".") && c.Release(r).FCV() != r.Line()
}
