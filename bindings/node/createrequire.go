package node

import (
	"net/url"
	"path/filepath"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newModule is module, with what packages use to find their own dependencies:
// createRequire(file) is a require as code of that file has it. It takes the
// file's path or its URL.
func (s *Globals) newModule() *goja.Object {
	m := s.newModuleBuilder()
	m.add("createRequire", func(c *call) any {
		c.Check("createRequire", script.ParseSignature("filename:any"))
		file := c.Arg(0).String()
		if u, err := url.Parse(file); err == nil && u.Scheme == "file" {
			file = u.Path
		}
		if !filepath.IsAbs(file) {
			c.JS.Throw("TypeError", "createRequire takes an absolute path or a file URL, not %q", file)
		}
		return c.JS.Modules.NewRequire(filepath.Dir(file))
	})
	return m.o
}
