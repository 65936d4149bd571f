package script

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// showResult is the result of show commands, a text.
type showResult struct {
	OpaqueObject
	text string
}

func (sh *showResult) PrintText() string { return sh.text }

// TextResult returns a value that is shown as a text.
func (s *Engine) TextResult(text string) goja.Value {
	return s.StyledResult(plaintext.EscapeText(text))
}

// StyledResult works like TextResult, for text with colours: the result of Paint and Inspect.
func (s *Engine) StyledResult(text string) goja.Value {
	return s.newShowResult(&showResult{text: strings.TrimRight(text, "\n")})
}

func (s *Engine) newShowResult(sh *showResult) goja.Value {
	o := s.Runtime.NewDynamicObject(sh)
	Must(o.SetPrototype(Prototype(s, "ShowResult", []Method[*showResult]{
		{Name: "print", Call: func(c *Call, sh *showResult) goja.Value {
			if sh.text != "" {
				c.JS.Out.WriteRaw(sh.text + "\n")
			}
			return nil
		}},
		{Name: "toString", Call: func(c *Call, sh *showResult) goja.Value { return c.JS.Runtime.ToValue(sh.text) }},
	})))
	return o
}
