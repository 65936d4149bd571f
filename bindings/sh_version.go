package bindings

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
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
func (m *mongoObject) serverVersion() serverVersion {
	if m.version == (serverVersion{}) {
		m.version = parseVersion(rawdoc.Text(m.database("admin").run(command("buildInfo"), reads), "version"))
	}
	return m.version
}

func (sh *shard) version() serverVersion { return sh.current().on.serverVersion() }

// need throws when the server is older than what a helper works with. The
// advice says what there is instead, and may be empty.
func (sh *shard) need(helper string, least serverVersion, advice string) {
	has := sh.version()
	if has.atLeast(least) {
		return
	}
	text := fmt.Sprintf("sh.%s needs MongoDB %s or newer; this server is %s", helper, least, has)
	if advice != "" {
		text += ". " + advice
	}
	sh.s.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented, "%s", text)
}

// needing wraps a helper that only newer servers can serve.
func needing(helper string, least serverVersion, f func(*call, *shard) goja.Value) func(*call, *shard) goja.Value {
	return checked(func(c *call, sh *shard) goja.Value {
		sh.need(helper, least, "")
		return f(c, sh)
	})
}
