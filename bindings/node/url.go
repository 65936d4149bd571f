package node

import (
	neturl "net/url"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja_nodejs/url"

	"shardsh/bindings/script"
)

// newURLModule returns the module url: the classes, and parse for old scripts.
func (s *Globals) newURLModule() *goja.Object {
	m := s.JS.NewObject("exports", s.JS.Runtime.NewObject())
	url.Require(s.JS.Runtime, m)
	exports := m.Get("exports").(*goja.Object)
	add := moduleBuilder{globals: s, object: exports}.add
	add("parse", func(c *call) any {
		u, err := c.JS.Runtime.New(exports.Get("URL"), c.Arg(0))
		c.JS.Check(err)
		o := c.JS.Runtime.NewObject()
		for _, name := range []string{"protocol", "host", "port", "hostname", "hash", "search", "pathname", "href"} {
			script.Must(o.Set(name, u.Get(name)))
		}
		search := u.Get("search").String()
		script.Must(o.Set("path", u.Get("pathname").String()+search))
		script.Must(o.Set("query", strings.TrimPrefix(search, "?")))
		return o
	})
	add("fileURLToPath", func(c *call) any {
		u, err := c.JS.Runtime.New(exports.Get("URL"), c.JS.Runtime.ToValue(c.Text(0)))
		c.JS.Check(err)
		return script.UnescapeSourceName(u.Get("pathname").String())
	})
	add("pathToFileURL", func(c *call) any {
		path := filepath.ToSlash(script.IgnoreError(filepath.Abs(c.Text(0))))
		file := neturl.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")} // C:/ has none
		u, err := c.JS.Runtime.New(exports.Get("URL"), c.JS.Runtime.ToValue(file.String()))
		c.JS.Check(err)
		return u
	})
	return exports
}
