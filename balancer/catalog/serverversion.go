package catalog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ServerVersion is the version of a server as numbers, such as 8.0.20. In contrast to a Release, it can
// be any version.
type ServerVersion struct{ Major, Minor, Patch uint16 }

// ParseServerVersion parses a version such as 8.0.20, with an optional suffix such as -rc1; 8.0 is
// 8.0.0.
func ParseServerVersion(text string) (v ServerVersion, err error) {
	numbers, _, _ := strings.Cut(text, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return v, fmt.Errorf("%q is not a version such as 8.0.20", text)
	}
	for i, into := range []*uint16{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return ServerVersion{}, fmt.Errorf("%q is not a version such as 8.0.20", text)
		}
		*into = uint16(n)
	}
	return v, nil
}

// Compare orders by major, minor, patch.
func (v ServerVersion) Compare(o ServerVersion) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch))
}

// AtLeast reports whether the version is the other version or a later one.
func (v ServerVersion) AtLeast(o ServerVersion) bool { return v.Compare(o) >= 0 }

// String returns the version, such as "8.0.20".
func (v ServerVersion) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// MarshalText returns the same text as String.
func (v ServerVersion) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
