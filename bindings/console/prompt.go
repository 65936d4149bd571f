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
func (p *Prompt) Text() string {
	if text, ok := p.customPrompt(); ok {
		return text
	}
	db := p.DB()
	if db == nil {
		return "> "
	}
	prompt := p.edition(db.Conn)
	if p.SetName != "" {
		prompt += p.SetName + " "
	}
	if p.Deployment != "" {
		prompt += "[" + p.Deployment + "] "
	}
	if p.Mode != "" {
		prompt += "[" + p.Mode + "] "
	}
	return plaintext.EscapeLine(prompt + db.Name + "> ")
}

const (
	// editionWait is how long the first prompt waits for the server's edition.
	editionWait = time.Second
	// promptWait is how long a user-defined prompt may take, because the user could not interrupt it.
	promptWait = 5 * time.Second
)

// edition returns the edition that the prompt shows for servers other than the community edition. It
// asks the server once.
func (p *Prompt) edition(conn *server.Conn) string {
	if known, ok := p.editions[conn]; ok {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), editionWait)
	defer cancel()
	text := ""
	modules, _ := server.RunOrNil(ctx, conn.Client, "admin", server.Command("buildInfo")).Lookup("modules").ArrayOK()
	if values, err := modules.Values(); err == nil && slices.ContainsFunc(values, isEnterprise) {
		text = "Enterprise "
	}
	if p.editions == nil {
		p.editions = make(map[*server.Conn]string)
	}
	p.editions[conn] = text
	return text
}

func isEnterprise(module bson.RawValue) bool {
	name, _ := module.StringValueOK()
	return name == "enterprise"
}

func (p *Prompt) customPrompt() (string, bool) {
	v := p.JS.Runtime.GlobalObject().Get("prompt")
	if v == nil {
		return "", false
	}
	if f, ok := goja.AssertFunction(v); ok {
		ctx, cancel := context.WithTimeout(context.Background(), promptWait)
		defer cancel()
		result, err := p.JS.RunProtected(ctx, func() (goja.Value, error) { return f(goja.Undefined()) })
		switch {
		case err != nil:
			p.warnOnce(v, err.Error())
			return "", false
		case !goja.IsString(result):
			p.warnOnce(v, "it returned no text")
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
func (p *Prompt) warnOnce(prompt goja.Value, why string) {
	if p.warned != nil && p.warned.SameAs(prompt) {
		return
	}
	p.warned = prompt
	p.JS.Out.Warn("Warning: prompt() failed, and the usual prompt is shown: " + why)
}
