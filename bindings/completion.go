package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/complete"
	"shardsh/bindings/database"
	"shardsh/bindings/server"
	"shardsh/bindings/settings"
)

// completion implements complete.Shell: it tells package complete what names mean in the shell.
type completion struct{ s *Shell }

func (c completion) Current() *server.Database { return c.s.current.Server() }

func (c completion) CurrentObject() *goja.Object { return c.s.current.DB.Object() }

func (c completion) NamespaceOf(v goja.Value) (d *server.Database, collectionName string) {
	return database.NamespaceOf(v)
}

func (c completion) MethodResult(on goja.Value, method, argument string) (v goja.Value, proto *goja.Object, ours bool) {
	return c.s.database.MethodResult(on, method, argument)
}

func (c completion) CursorPrototype() *goja.Object { return c.s.database.Cursors.Prototype() }

func (c completion) ShowWords() []string { return c.s.show.Words() }

func (c completion) SettingNames() []string { return settings.Names() }

func (c completion) SamplesFields() bool { return !c.s.settings.DisableSchemaSampling }

var _ complete.Shell = completion{}

// Complete completes an input like [complete.Completer.Complete].
func (s *Shell) Complete(input string) (head string, completions []string) {
	return s.completer.Complete(input)
}
