package node

import (
	"net/url"
	"path/filepath"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newModuleModule returns the module "module". Packages use its createRequire(file) to find their own
// dependencies: it returns the require of that file. file is a path or a URL.
func (s *Globals) newModuleModule() *goja.Object {
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
	return m.object
}
