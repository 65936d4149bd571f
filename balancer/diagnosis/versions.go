package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
)

// maxPingAge is the age of its last ping up to which a mongos counts as running.
const maxPingAge = 10 * time.Minute

// RouterVersions returns the versions of the routers that still run, each once.
func RouterVersions(s *catalog.Snapshot) (list []string) {
	for _, r := range s.Parts().Routers {
		if s.Time().Sub(r.Ping) < maxPingAge && !slices.Contains(list, r.Version) {
			list = append(list, r.Version)
		}
	}
	slices.Sort(list)
	return list
}

// fcvFindings finds a feature compatibility version that is older than the router.
func (d *Diagnosis) fcvFindings() []Finding {
	p := d.Parts()
	if !p.Compatibility.IsBehind(p.Version) || p.Compatibility.Changing() {
		return nil
	}
	return []Finding{finding(MixedVersions, Scope{}, fmt.Sprintf("the router runs %s, and the feature compatibility "+
		"version is %s: what differs by release goes by %[2]s", p.Version, p.Compatibility.Version))}
}

// VersionFindings finds routers, config servers and shards that run more than one release: different
// lines, or patches that balance differently. The versions of config servers and shards are known where
// the reader could reach them. VersionFindings also finds a release that is newer than all known ones.
func VersionFindings(s *catalog.Snapshot) (list []Finding) {
	v := versionCollector{}
	for _, r := range s.Parts().Routers {
		if s.Time().Sub(r.Ping) < maxPingAge {
			v.add("routers", r.Version)
		}
	}
	v.add("config servers", s.Parts().ConfigVersion)
	for _, shard := range s.Shards() {
		v.add("shards", shard.Version)
	}
	for _, m := range s.Parts().Members {
		who := "shards"
		if m.Shard == catalog.ConfigServerID {
			who = "config servers"
		}
		v.add(who, m.Version)
	}
	counts := MemberVersions(s)
	if len(v.releaseLines) > 1 {
		slices.Sort(v.releaseLines)
		who := "the " + v.components[0]
		if last := len(v.components) - 1; last > 0 {
			who = strings.Join(v.components[:last], ", ") + " and " + v.components[last]
		}
		list = append(list, finding(MixedVersions, Scope{},
			who+" are of different releases: "+strings.Join(v.releaseLines, " and ")+counts.bracketedText()))
	} else if f, differ := v.patchFinding(s); differ {
		f.Sentence += counts.bracketedText()
		list = append(list, f)
	} else if counts.Differ() {
		list = append(list, finding(MixedVersions, Scope{}, "members run different versions: "+counts.String()))
	}
	if s.Release().IsNewerThanKnown() {
		list = append(list, finding(MixedVersions, Scope{}, fmt.Sprintf("the servers run %s, which is newer than all that "+
			"shardsh knows: what differs by release goes by %s", s.Parts().Version, s.Release().Line())))
	}
	return list
}

// versionCollector records which components run which release.
type versionCollector struct {
	components, releaseLines []string
	releases                 []catalog.Release
}

func (v *versionCollector) add(who, version string) {
	r, known := catalog.ReleaseOf(version)
	if !known {
		return
	}
	if !slices.Contains(v.components, who) {
		v.components = append(v.components, who)
	}
	if line := r.Line().String(); !slices.Contains(v.releaseLines, line) {
		v.releaseLines = append(v.releaseLines, line)
	}
	if !slices.Contains(v.releases, r) {
		v.releases = append(v.releases, r)
	}
}

// patchFinding finds patches of one line that choose donors in different ways.
func (v *versionCollector) patchFinding(s *catalog.Snapshot) (Finding, bool) {
	for _, r := range v.releases {
		if r.DonorBelongsToZone() == v.releases[0].DonorBelongsToZone() {
			continue
		}
		config := s.Parts().ConfigVersion
		if config == "" {
			config = "unknown: " + s.Release().String() + ", the router's, is assumed"
		}
		return finding(MixedVersions, Scope{}, fmt.Sprintf("servers run %s and %s, which choose donors in zones differently "+
			"(SERVER-115962): rounds go by the config servers' version (%s)", v.releases[0], r, config)), true
	}
	return Finding{}, false
}
