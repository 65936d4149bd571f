package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// VersionCounts counts the members of shards and config servers by version.
type VersionCounts struct {
	ByVersion map[string]int // number of members
	// Unanswered are the members that did not answer.
	Unanswered []catalog.Member
}

// MemberVersions counts the members of a cluster by their versions.
func MemberVersions(s *catalog.Snapshot) VersionCounts {
	c := VersionCounts{ByVersion: map[string]int{}}
	for _, m := range s.Parts().Members {
		if m.Version == "" {
			c.Unanswered = append(c.Unanswered, m)
		} else {
			c.ByVersion[m.Version]++
		}
	}
	return c
}

// HasAnswers reports whether any member has answered.
func (c VersionCounts) HasAnswers() bool { return len(c.ByVersion) > 0 }

// Differ reports whether the members that answered run more than one version.
func (c VersionCounts) Differ() bool { return len(c.ByVersion) > 1 }

// Versions returns the versions, the oldest first.
func (c VersionCounts) Versions() []string {
	return slices.SortedFunc(maps.Keys(c.ByVersion), func(a, b string) int {
		first, _ := catalog.ParseServerVersion(a)
		second, _ := catalog.ParseServerVersion(b)
		return first.Compare(second)
	})
}

// String returns text such as "2 run 8.0.20, 3 run 8.2.6; 1 member did not answer (h:27018)".
func (c VersionCounts) String() string {
	var parts []string
	for _, v := range c.Versions() {
		verb := "run"
		if c.ByVersion[v] == 1 {
			verb = "runs"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", c.ByVersion[v], verb, v))
	}
	text := strings.Join(parts, ", ")
	if len(c.Unanswered) == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	text += humanize.Count(int64(len(c.Unanswered)), "member") + " did not answer (" + c.Unanswered[0].Host
	if len(c.Unanswered) > 1 {
		text += " and others"
	}
	return text + ")"
}

// bracketedText returns String in parentheses, or an empty string if no member has answered.
func (c VersionCounts) bracketedText() string {
	if !c.HasAnswers() {
		return ""
	}
	return " (members: " + c.String() + ")"
}
