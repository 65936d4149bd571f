package advisory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Version is a release of servers with its patch, such as 8.0.20.
type Version struct{ major, minor, patch uint16 }

// ParseVersion reads 8.0.20, also with -rc1 or the like behind it; 8.0 is 8.0.0.
func ParseVersion(text string) (v Version, err error) {
	numbers, _, _ := strings.Cut(text, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return v, fmt.Errorf("%q is not a version such as 8.0.20", text)
	}
	for i, into := range []*uint16{&v.major, &v.minor, &v.patch}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version such as 8.0.20", text)
		}
		*into = uint16(n)
	}
	return v, nil
}

// Compare orders by major, minor, patch.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch))
}

// String is "8.0.20".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// MarshalText is String.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// VersionsOf returns the versions of a cluster's servers as far as the Snapshot has them,
// each once, the oldest first: those of the router that was asked, of routers that run, and
// of shards.
func VersionsOf(s *catalog.Snapshot) (list []Version) {
	texts := append([]string{s.Parts().Version}, diagnosis.RouterVersions(s)...)
	for _, shard := range s.Shards() {
		texts = append(texts, shard.Version)
	}
	for _, text := range texts {
		if v, err := ParseVersion(text); err == nil && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, Version.Compare)
	return list
}
