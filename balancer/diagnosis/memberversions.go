package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// VersionCounts says how many members of shards and config servers run which version.
type VersionCounts struct {
	Of map[string]int // by version
	// Silent are the members that did not answer.
	Silent []catalog.Member
}

// MemberVersions counts the members of a cluster by their versions.
func MemberVersions(s *catalog.Snapshot) VersionCounts {
	c := VersionCounts{Of: map[string]int{}}
	for _, m := range s.Parts().Members {
		if m.Version == "" {
			c.Silent = append(c.Silent, m)
		} else {
			c.Of[m.Version]++
		}
	}
	return c
}

// Known reports whether a member has answered.
func (c VersionCounts) Known() bool { return len(c.Of) > 0 }

// Differ reports whether not all members that answered run the same version.
func (c VersionCounts) Differ() bool { return len(c.Of) > 1 }

// Versions returns the versions, the oldest first.
func (c VersionCounts) Versions() []string {
	return slices.SortedFunc(maps.Keys(c.Of), func(a, b string) int {
		first, _ := catalog.ParseServerVersion(a)
		second, _ := catalog.ParseServerVersion(b)
		return first.Compare(second)
	})
}

// String is "2 run 8.0.20, 3 run 8.2.6; 1 did not answer (h:27018)".
func (c VersionCounts) String() string {
	var parts []string
	for _, v := range c.Versions() {
		verb := "run"
		if c.Of[v] == 1 {
			verb = "runs"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", c.Of[v], verb, v))
	}
	text := strings.Join(parts, ", ")
	if len(c.Silent) == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	text += humanize.Count(int64(len(c.Silent)), "member") + " did not answer (" + c.Silent[0].Host
	if len(c.Silent) > 1 {
		text += " and others"
	}
	return text + ")"
}

// aside is String in brackets, or nothing if no member has answered.
func (c VersionCounts) aside() string {
	if !c.Known() {
		return ""
	}
	return " (members: " + c.String() + ")"
}
