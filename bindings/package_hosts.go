package bindings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/console"
	"shardsh/bindings/cursor"
	"shardsh/bindings/database"
	"shardsh/bindings/oldshell"
	"shardsh/bindings/sh"
	"shardsh/bindings/show"
	"shardsh/bindings/write"
)

// makePackageHosts creates and connects the packages that define the shell's objects.
func (s *Shell) makePackageHosts() {
	maxTime := func() int64 { return s.settings.MaxTimeMS }
	cursors := &cursor.Host{
		JS: s.JS, Gateway: s.gateway, Display: s.display,
		OnNew: func(cur *cursor.Cursor) { s.current.Cursor = cur },
	}
	s.sharding = &sh.Host{
		JS: s.JS, Display: s.display, Gateway: s.gateway, Compat: s.cfg.Compat, MaxTimeMS: maxTime,
		DB: s.current.ServerDatabase, Objects: shardingObjects{s.current, cursors}, Sandbox: s.cfg.Sandbox,
		Consent: s.cfg.Consent,
		IsMock:  strings.HasPrefix(s.cfg.Deployment, "mock"),
	}
	s.database = database.New(database.Host{
		JS: s.JS, Gateway: s.gateway, Display: s.display, Cursors: cursors, Sharding: s.sharding, Current: s.current,
		MaxTimeMS: maxTime,
		ConnectSettings: database.ConnectSettings{
			Address: s.cfg.Address, Routers: s.cfg.Routers, ClientOptions: s.cfg.ClientOptions, Sandbox: s.cfg.Sandbox,
			Connect: s.cfg.Connect, ParseURI: s.cfg.ParseURI, Interactive: s.cfg.Interactive,
		},
	})
	s.oldShell = oldshell.Host{
		JS: s.JS, Display: s.display, Settings: s.settings, Sharding: s.sharding, Current: s.current,
		Prototypes: s.database.Prototypes, Cursors: cursors, Results: write.ResultBuilder{JS: s.JS, Gateway: s.gateway},
	}
	s.show = show.Host{JS: s.JS, Display: s.display, DB: s.current.ServerDatabase, Sharding: s.sharding.ShowCommands}
	s.console = &console.Console{
		JS: s.JS, Stdout: s.cfg.Stdout, Sandbox: s.cfg.Sandbox,
		Editor:  func() string { return s.settings.Editor },
		ValueOf: func(name string) goja.Value { return s.completer.ValueOf(name) },
	}
	s.prompt = &console.Prompt{
		JS: s.JS, Deployment: s.cfg.Deployment, Mode: s.cfg.PromptMode, SetName: s.cfg.SetName, DB: s.current.ServerDatabase,
	}
}
