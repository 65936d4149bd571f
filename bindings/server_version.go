package bindings

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/bindings/rawdoc"
)

// serverVersion is a version of MongoDB: major, minor and patch.
type serverVersion [3]int

// parseVersion reads a version such as 8.0.10 or 8.3.0-rc1. What is no number
// counts as 0.
func parseVersion(text string) (v serverVersion) {
	text, _, _ = strings.Cut(text, "-")
	_, _ = fmt.Sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2])
	return v
}

func (v serverVersion) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// atLeast reports whether a server of this version has what came with another.
func (v serverVersion) atLeast(other serverVersion) bool {
	return slices.Compare(v[:], other[:]) >= 0
}

// serverVersion asks the server, once for each connection.
func (m *Conn) serverVersion() serverVersion {
	if m.version == (serverVersion{}) {
		m.version = parseVersion(rawdoc.Text(newServerDatabase(m, "admin").run(command("buildInfo"), reads), "version"))
	}
	return m.version
}
