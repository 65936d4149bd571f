package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/complete"
	"shardsh/bindings/database"
	"shardsh/bindings/server"
	"shardsh/bindings/settings"
)

// completerShell implements complete.Shell: it tells package complete what names mean in the shell.
type completerShell struct{ s *Shell }

func (c completerShell) Current() *server.Database { return c.s.current.ServerDatabase() }

func (c completerShell) CurrentObject() *goja.Object { return c.s.current.DB.Object() }

func (c completerShell) NamespaceOf(v goja.Value) (d *server.Database, collectionName string) {
	return database.NamespaceOf(v)
}

func (c completerShell) MethodResult(on goja.Value, method, argument string) (v goja.Value, proto *goja.Object,
	ours bool) {
	return c.s.database.MethodResult(on, method, argument)
}

func (c completerShell) CursorPrototype() *goja.Object { return c.s.database.Cursors.Prototype() }

func (c completerShell) ShowWords() []string { return c.s.show.Words() }

func (c completerShell) SettingNames() []string { return settings.Names() }

func (c completerShell) SamplesFields() bool { return !c.s.settings.DisableSchemaSampling }

var _ complete.Shell = completerShell{}

// Complete completes an input like [complete.Completer.Complete].
func (s *Shell) Complete(input string) (head string, completions []string) {
	return s.completer.Complete(input)
}
