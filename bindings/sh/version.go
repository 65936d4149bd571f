package sh

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

func (h *Helpers) version() catalog.ServerVersion { return h.current().Conn.Version() }

// requireVersion throws when the server is older than the helper requires. advice says what to use
// instead; it may be empty.
func (h *Helpers) requireVersion(helper string, least catalog.ServerVersion, advice string) {
	has := h.version()
	if has.AtLeast(least) {
		return
	}
	text := fmt.Sprintf("sh.%s needs MongoDB %s or newer; this server is %s", helper,
		shortVersion(least), shortVersion(has))
	if advice != "" {
		text += ". " + advice
	}
	h.host.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented, "%s", text)
}

// shortVersion formats a version; a patch level of 0 is left out.
func shortVersion(v catalog.ServerVersion) string { return strings.TrimSuffix(v.String(), ".0") }

// requiringVersion wraps a helper that requires a newer server.
func requiringVersion(
	helper string, least catalog.ServerVersion, f func(*call, *Helpers) goja.Value,
) func(*call, *Helpers) goja.Value {
	return withMongosWarning(func(c *call, sh *Helpers) goja.Value {
		sh.requireVersion(helper, least, "")
		return f(c, sh)
	})
}
