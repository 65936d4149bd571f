package sh

import (
	"fmt"

	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

func (h *Helpers) version() server.Version { return h.current().Conn.Version() }

// requireVersion throws when the server is older than the helper requires. advice says what to use
// instead; it may be empty.
func (h *Helpers) requireVersion(helper string, least server.Version, advice string) {
	has := h.version()
	if has.AtLeast(least) {
		return
	}
	text := fmt.Sprintf("sh.%s needs MongoDB %s or newer; this server is %s", helper, least, has)
	if advice != "" {
		text += ". " + advice
	}
	h.host.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented, "%s", text)
}

// requiringVersion wraps a helper that requires a newer server.
func requiringVersion(
	helper string,
	least server.Version,
	f func(*call, *Helpers) goja.Value,
) func(*call, *Helpers) goja.Value {
	return withMongosCheck(func(c *call, sh *Helpers) goja.Value {
		sh.requireVersion(helper, least, "")
		return f(c, sh)
	})
}
