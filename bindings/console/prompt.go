package console

import (
	"context"
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Prompt computes the prompt before an input.
type Prompt struct {
	JS *script.Engine
	// Deployment, Mode and SetName precede the name of the database, unless they are empty.
	Deployment, Mode, SetName string
	// DB returns the current database; nil without a connection.
	DB func() *server.Database

	editions map[*server.Conn]string
	warned   goja.Value // the user-defined prompt whose failure was reported
}

// Text returns the prompt before an input (rules/04-command-line-and-prompt §2.2). A global named
// prompt, a string or a function that returns one, replaces the default prompt.
func (s *Prompt) Text() string {
	if text, ok := s.customPrompt(); ok {
		return text
	}
	db := s.DB()
	if db == nil {
		return "> "
	}
	prompt := s.edition(db.Conn)
	if s.SetName != "" {
		prompt += s.SetName + " "
	}
	if s.Deployment != "" {
		prompt += "[" + s.Deployment + "] "
	}
	if s.Mode != "" {
		prompt += "[" + s.Mode + "] "
	}
	return plaintext.VisibleLine(prompt + db.Name + "> ")
}

const (
	// editionWait is how long the first prompt waits for the server's edition.
	editionWait = time.Second
	// promptWait is how long a user-defined prompt may take, because the user could not interrupt it.
	promptWait = 5 * time.Second
)

// edition returns the edition that the prompt shows for servers other than the community edition. It
// asks the server once.
func (s *Prompt) edition(of *server.Conn) string {
	if known, ok := s.editions[of]; ok {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), editionWait)
	defer cancel()
	text := ""
	modules, _ := server.TryRun(ctx, of.Client, "admin", server.Command("buildInfo")).Lookup("modules").ArrayOK()
	if values, err := modules.Values(); err == nil && slices.ContainsFunc(values, isEnterprise) {
		text = "Enterprise "
	}
	if s.editions == nil {
		s.editions = make(map[*server.Conn]string)
	}
	s.editions[of] = text
	return text
}

func isEnterprise(module bson.RawValue) bool {
	name, _ := module.StringValueOK()
	return name == "enterprise"
}

func (s *Prompt) customPrompt() (string, bool) {
	v := s.JS.Runtime.GlobalObject().Get("prompt")
	if v == nil {
		return "", false
	}
	if f, ok := goja.AssertFunction(v); ok {
		ctx, cancel := context.WithTimeout(context.Background(), promptWait)
		defer cancel()
		result, err := s.JS.RunProtected(ctx, func() (goja.Value, error) { return f(goja.Undefined()) })
		switch {
		case err != nil:
			s.warnOnce(v, err.Error())
			return "", false
		case !goja.IsString(result):
			s.warnOnce(v, "it returned no text")
			return "", false
		}
		v = result
	}
	if !goja.IsString(v) {
		return "", false
	}
	return v.String(), true
}

// warnOnce says, once for each function, why a user-defined prompt is not shown.
func (s *Prompt) warnOnce(of goja.Value, why string) {
	if s.warned != nil && s.warned.SameAs(of) {
		return
	}
	s.warned = of
	s.JS.Out.Warn("Warning: prompt() failed, and the usual prompt is shown: " + why)
}
