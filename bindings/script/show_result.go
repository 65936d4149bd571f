package script

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// shown is what show commands return: a text, and the value behind it.
type shown struct {
	Hidden
	text string
}

func (sh *shown) PrintText() string { return sh.text }

// ShownText returns a value that is shown as a text.
func (s *Engine) ShownText(text string) goja.Value { return s.ShownStyled(plaintext.Visible(text)) }

// ShownStyled is ShownText of what has colours: what Paint and Inspect return.
func (s *Engine) ShownStyled(text string) goja.Value {
	return s.instanceOfShown(&shown{text: strings.TrimRight(text, "\n")})
}

func (s *Engine) instanceOfShown(sh *shown) goja.Value {
	o := s.Runtime.NewDynamicObject(sh)
	Must(o.SetPrototype(Prototype(s, "ShowResult", []Method[*shown]{
		{Name: "print", Call: func(c *Call, sh *shown) goja.Value {
			if sh.text != "" {
				c.JS.Out.WriteOwn(sh.text + "\n")
			}
			return nil
		}},
		{Name: "toString", Call: func(c *Call, sh *shown) goja.Value { return c.JS.Runtime.ToValue(sh.text) }},
	})))
	return o
}
