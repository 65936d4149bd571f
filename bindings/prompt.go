package bindings

import (
	"context"

	"github.com/dop251/goja"
)

// Prompt is what a REPL shows before an input (spec 04 §2.2). A global named
// prompt, a string or a function that gives one, replaces it.
func (s *Shell) Prompt() string {
	if text, ok := s.ownPrompt(); ok {
		return text
	}
	if s.db == nil {
		return "> "
	}
	prompt := ""
	if s.cfg.SetName != "" {
		prompt = s.cfg.SetName + " "
	}
	if s.cfg.Deployment != "" {
		prompt += "[" + s.cfg.Deployment + "] "
	}
	return prompt + s.db.name + "> "
}

func (s *Shell) ownPrompt() (string, bool) {
	v := s.rt.GlobalObject().Get("prompt")
	if v == nil {
		return "", false
	}
	if f, ok := goja.AssertFunction(v); ok {
		result, err := s.within(context.Background(), func() (goja.Value, error) { return f(goja.Undefined()) })
		if err != nil {
			return "", false
		}
		v = result
	}
	if !goja.IsString(v) {
		return "", false
	}
	return v.String(), true
}
