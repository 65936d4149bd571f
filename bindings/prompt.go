package bindings

import (
	"context"
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/server"
)

// Prompt returns what a REPL shows before an input (rules/04-command-line-and-prompt §2.2). A global
// named prompt, a string or a function that gives one, replaces it.
func (s *Shell) Prompt() string {
	if text, ok := s.ownPrompt(); ok {
		return text
	}
	if s.db == nil {
		return "> "
	}
	prompt := s.edition()
	if s.cfg.SetName != "" {
		prompt += s.cfg.SetName + " "
	}
	if s.cfg.Deployment != "" {
		prompt += "[" + s.cfg.Deployment + "] "
	}
	if s.cfg.Mode != "" {
		prompt += "[" + s.cfg.Mode + "] "
	}
	return plaintext.VisibleLine(prompt + s.db.Name + "> ")
}

const (
	// editionWait is how long the first prompt waits to learn the server's edition.
	editionWait = time.Second
	// promptWait is how long a prompt of the user's own may take: nobody could
	// stop it.
	promptWait = 5 * time.Second
)

// edition returns what the prompt puts in front for servers that are not the
// plain ones. It is asked for once.
func (s *Shell) edition() string {
	if s.db.on.edition != nil {
		return *s.db.on.edition
	}
	ctx, cancel := context.WithTimeout(context.Background(), editionWait)
	defer cancel()
	text := ""
	modules, _ := server.Quietly(ctx, s.db.on.Client, "admin", server.Command("buildInfo")).Lookup("modules").ArrayOK()
	if values, err := modules.Values(); err == nil && slices.ContainsFunc(values, isEnterprise) {
		text = "Enterprise "
	}
	s.db.on.edition = &text
	return text
}

func isEnterprise(module bson.RawValue) bool {
	name, _ := module.StringValueOK()
	return name == "enterprise"
}

func (s *Shell) ownPrompt() (string, bool) {
	v := s.JS.Runtime.GlobalObject().Get("prompt")
	if v == nil {
		return "", false
	}
	if f, ok := goja.AssertFunction(v); ok {
		ctx, cancel := context.WithTimeout(context.Background(), promptWait)
		defer cancel()
		result, err := s.JS.Within(ctx, func() (goja.Value, error) { return f(goja.Undefined()) })
		switch {
		case err != nil:
			s.tellPrompt(v, err.Error())
			return "", false
		case !goja.IsString(result):
			s.tellPrompt(v, "it returned no text")
			return "", false
		}
		v = result
	}
	if !goja.IsString(v) {
		return "", false
	}
	return v.String(), true
}

// tellPrompt says, once for each function, why a prompt of the user's own is not
// shown.
func (s *Shell) tellPrompt(of goja.Value, why string) {
	if s.promptTold != nil && s.promptTold.SameAs(of) {
		return
	}
	s.promptTold = of
	s.JS.Out.Warn("Warning: prompt() failed, and the usual prompt is shown: " + why)
}
