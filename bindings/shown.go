package bindings

import (
	"strings"

	"github.com/dop251/goja"
)

// shown is what show commands return: a text, and the value behind it.
type shown struct {
	tail
	text string
}

func (sh *shown) PrintText() string { return sh.text }

func (s *Engine) shownText(text string) goja.Value {
	return s.instanceOfShown(&shown{text: strings.TrimRight(text, "\n")})
}

func (s *Engine) instanceOfShown(sh *shown) goja.Value {
	o := s.rt.NewDynamicObject(sh)
	must(o.SetPrototype(classPrototype(s, "ShowResult", []Method[*shown]{
		{"print", "", func(c *Call, sh *shown) goja.Value {
			if sh.text != "" {
				c.JS.write(sh.text + "\n")
			}
			return nil
		}, ""},
		{"toString", "", func(c *Call, sh *shown) goja.Value { return c.JS.rt.ToValue(sh.text) }, ""},
	})))
	return o
}
