package server

import (
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/bindings/rawdoc"
)

// Version is a version of MongoDB: major, minor and patch.
type Version [3]int

// parseVersion parses a version such as 8.0.10 or 8.3.0-rc1. Invalid parts count as 0.
func parseVersion(text string) Version {
	v, _ := catalog.ParseServerVersion(text)
	return Version{int(v.Major), int(v.Minor), int(v.Patch)}
}

// String formats the version; a patch level of 0 is left out.
func (v Version) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// AtLeast reports whether the version is the other version or a later one.
func (v Version) AtLeast(other Version) bool {
	return slices.Compare(v[:], other[:]) >= 0
}

// Version returns the server's version. It asks once for each connection.
func (c *Conn) Version() Version {
	if c.version == (Version{}) {
		c.version = parseVersion(rawdoc.Text(databaseOf(c, "admin").Run(Command("buildInfo"), Repeatable), "version"))
	}
	return c.version
}
