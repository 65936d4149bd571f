package catalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Release identifies the software of a server as far as balancing depends on it: a release line such as
// 8.0, the patch if it is known, and the feature compatibility version if it is older. The zero value
// is Release80.
type Release struct {
	line line
	// patchPlusOne is 1 + the patch; 0 if it is not known, which counts as the first patch.
	patchPlusOne uint8
	// betweenLines says that the server is of a minor release without its own line: it counts as having
	// all patches of the line before.
	betweenLines bool
	// fcv is the feature compatibility version; zero means that of the line.
	fcv line
}

// line is a release line.
type line struct{ major, minor uint8 }

func (l line) String() string { return fmt.Sprintf("%d.%d", l.major, l.minor) }

func (l line) atLeast(other line) bool {
	return l.major > other.major || l.major == other.major && l.minor >= other.minor
}

// The lines that differ in balancing.
var (
	Release24 = Release{line: line{2, 4}}
	Release34 = Release{line: line{3, 4}}
	Release36 = Release{line: line{3, 6}}
	Release40 = Release{line: line{4, 0}}
	Release42 = Release{line: line{4, 2}}
	Release44 = Release{line: line{4, 4}}
	Release50 = Release{line: line{5, 0}}
	Release60 = Release{line: line{6, 0}}
	Release70 = Release{line: line{7, 0}}
	Release80 = Release{line: line{8, 0}}
	Release81 = Release{line: line{8, 1}}
	Release82 = Release{line: line{8, 2}}
	Release83 = Release{line: line{8, 3}}
	Release90 = Release{line: line{9, 0}}
)

// Releases returns the lines in order.
func Releases() []Release {
	return []Release{
		Release24, Release34, Release36, Release40, Release42, Release44, Release50, Release60, Release70, Release80,
		Release81, Release82, Release83, Release90,
	}
}

// ParseRelease parses one of Releases, such as "5.0", or a patch of it, such as "8.0.20".
func ParseRelease(text string) (Release, error) {
	var known []string
	for _, r := range Releases() {
		if r.String() == text {
			return r, nil
		}
		if patch, found := strings.CutPrefix(text, r.String()+"."); found {
			if n, err := strconv.ParseUint(patch, 10, 8); err == nil && strconv.FormatUint(n, 10) == patch && n < maxPatches {
				return r.WithPatch(uint8(n)), nil
			}
		}
		known = append(known, r.String())
	}
	return Release{}, fmt.Errorf("unknown server version %q: choose one of %s, or a patch of one, such as 8.0.20", text,
		strings.Join(known, ", "))
}

const maxPatches = 255

// ReleaseOf returns the release of a server with a version such as 5.0.7. Its line is the newest line
// that is not newer than the version. ok is false if the text is not a version, or if the version is
// older than all lines.
func ReleaseOf(version string) (r Release, ok bool) {
	v, err := ParseServerVersion(version)
	if err != nil || v.Major > math.MaxUint8 || v.Minor > math.MaxUint8 {
		return Release{}, false
	}
	is := line{uint8(v.Major), uint8(v.Minor)}
	for _, known := range Releases() {
		if is.atLeast(known.line) {
			r, ok = known, true
		}
	}
	if r.betweenLines = ok && is != r.line; r.betweenLines {
		return r, ok
	}
	if ok && v.Patch < maxPatches && strings.HasPrefix(version, v.String()) { // not only "8.0"
		r = r.WithPatch(uint8(v.Patch))
	}
	return r, ok
}

// WithPatch returns the patch n of the release's line.
func (r Release) WithPatch(n uint8) Release {
	r = r.orDefault()
	r.patchPlusOne = n + 1
	return r
}

// WithFCV returns the release with a feature compatibility version, such as "8.0". The version of the
// line is used if version is empty, unknown, or not older.
func (r Release) WithFCV(version string) Release {
	r = r.orDefault()
	r.fcv = line{}
	if fcv, known := ReleaseOf(version); known && !fcv.line.atLeast(r.line) {
		r.fcv = fcv.line
	}
	return r
}

// Line returns the line without patch and compatibility version.
func (r Release) Line() Release { return Release{line: r.orDefault().line} }

// Patch returns the number of the patch, such as 20 for 8.0.20, and whether it is known.
func (r Release) Patch() (n int, known bool) { return int(r.patchPlusOne) - 1, r.patchPlusOne > 0 }

// FCV returns the line of the feature compatibility version.
func (r Release) FCV() Release {
	r = r.orDefault()
	if r.fcv != (line{}) {
		return Release{line: r.fcv}
	}
	return r.Line()
}

// IsNewerThanKnown reports whether the server is newer than all known lines; it is treated as the newest one.
func (r Release) IsNewerThanKnown() bool {
	return r.betweenLines && r.line == slices.MaxFunc(Releases(), Release.compare).line
}

func (r Release) compare(other Release) int {
	switch {
	case r.line == other.line:
		return 0
	case r.line.atLeast(other.line):
		return 1
	}
	return -1
}

func (r Release) orDefault() Release {
	if r.line == (line{}) {
		r.line = Release80.line
	}
	return r
}

// String returns the release as "8.0", or "8.0.20" if the patch is known.
func (r Release) String() string {
	r = r.orDefault()
	if patch, known := r.Patch(); known {
		return fmt.Sprintf("%s.%d", r.line, patch)
	}
	return r.line.String()
}

// FCVAtLeast reports whether the release's feature compatibility version is not older than a line.
func (r Release) FCVAtLeast(other Release) bool { return r.FCV().line.atLeast(other.FCV().line) }

// binaryAtLeast reports whether the server's binary is at least the given patch of a line, whatever the
// feature compatibility version.
func (r Release) binaryAtLeast(other Release, patch uint8) bool {
	r = r.orDefault()
	if r.line != other.line {
		return r.line.atLeast(other.line)
	}
	return patch == 0 || r.betweenLines || r.patchPlusOne > patch
}
