package bindings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/bindings/complete"
	"shardsh/bindings/console"
	"shardsh/bindings/database"
	"shardsh/bindings/display"
	"shardsh/bindings/node"
	"shardsh/bindings/oldshell"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/settings"
	"shardsh/bindings/sh"
	"shardsh/bindings/show"
)

// Shell is a JavaScript runtime with the objects of scripts and their connection.
type Shell struct {
	JS      *script.Engine
	cfg     Config
	gateway *server.Gateway
	display *display.Display

	settings  *settings.Values
	current   *database.Current
	database  *database.Host
	sharding  *sh.Host
	oldShell  oldshell.Host
	show      show.Host
	completer *complete.Completer
	node      *node.Globals
	console   *console.Console
	prompt    *console.Prompt
}

// New returns a Shell. It sends no command.
func New(cfg Config) (*Shell, error) {
	cfg.Database = cmp.Or(cfg.Database, "test")
	if !database.IsValidDatabaseName(cfg.Database) {
		return nil, fmt.Errorf("invalid database name: %s", cfg.Database)
	}
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	s := &Shell{cfg: cfg, settings: settings.Default(), current: &database.Current{}}
	s.display = display.New(display.Options{
		Interactive: cfg.Interactive, Terminal: cfg.Terminal, Color: cfg.Color, LimitDepth: cfg.LimitDepth,
		Columns:  cfg.Columns,
		Settings: func() display.InspectSettings { return s.settings.Inspect }, RenderSpecial: s.renderSpecial,
	})
	s.JS = script.NewEngine(script.Options{
		Clock:         cfg.Clock,
		Stdin:         cfg.Stdin,
		Stdout:        cfg.Stdout,
		Stderr:        cfg.Stderr,
		Color:         cfg.Color,
		Interactive:   cfg.Interactive,
		MemoryLimit:   cfg.MemoryLimit,
		OnStuck:       cfg.OnStuck,
		StuckTimeout:  cfg.StuckTimeout,
		Scripts:       cfg.Scripts,
		OnLoad:        cfg.OnLoad,
		Cover:         cfg.Cover,
		OnClassMade:   s.defineBSONHelp,
		Inspect:       s.display.InspectOptions,
		RenderValue:   s.display.Render,
		BeforeRun:     s.warnAboutRunning,
		RewordMessage: s.collectionCalledText,
		SuggestMethod: s.suggestMethod,
		CheckMayRun:   cfg.Sandbox.CheckMayRun,
		BuiltinModule: func(name string) goja.Value { return s.node.Module(name) },
		ReceiverNames: receiverForms,
	})
	s.display.JS = s.JS
	checks := server.Checks{Guard: cfg.Guard, Confirm: cfg.Confirm, OnSend: cfg.OnSend}
	s.gateway = server.NewGateway(s.JS, checks, cfg.NoRetryWrites)
	s.makePackageHosts()
	s.completer = complete.New(s.JS, completerShell{s}, cfg.Scripts)
	s.node = node.New(s.JS, s.display, node.Options{
		Args: cfg.Args, Executable: cfg.Executable, Version: cfg.Version, Environment: cfg.Environment,
		Interactive: cfg.Interactive, Color: cfg.Color, Sandbox: cfg.Sandbox,
	})
	if cfg.Client != nil {
		m := database.NewMongo(s.database, cfg.Client, cfg.Address)
		m.ReadPreference, m.ClientOptions = cfg.ReadPreference, cfg.ClientOptions
		s.current.Mongo = m
		s.current.Use(m.Database(cfg.Database))
	}
	s.defineGlobals()
	return s, nil
}

// Connect connects db, sh and mock to another cluster, such as that of the next test. The caller owns
// both clients; nil means no connection.
func (s *Shell) Connect(client *mongo.Client, address string) {
	if client == nil {
		s.current.Mongo = nil
		s.current.Use(nil)
		return
	}
	s.current.Mongo = database.NewMongo(s.database, client, address)
	s.current.Use(s.current.Mongo.Database(s.cfg.Database))
}

// Eval runs one input like [script.Engine.Eval].
func (s *Shell) Eval(ctx context.Context, name, source string) (script.Result, error) {
	s.completer.Invalidate()
	return s.JS.Eval(ctx, name, source)
}

// RunFile runs a script like [script.Engine.RunFile].
func (s *Shell) RunFile(ctx context.Context, path string) (script.Result, error) {
	return s.JS.RunFile(ctx, path)
}

// Close runs the functions that scripts registered with atExit, and closes the connections that scripts
// opened, but not Config.Client. If an abandoned script still runs, it only closes the connections.
func (s *Shell) Close(ctx context.Context) error {
	err := s.JS.Close(ctx)
	if errors.Is(err, script.ErrRunning) {
		err = nil
	} else {
		s.database.EndSessions(ctx)
	}
	s.completer.Close()
	return errors.Join(err, s.gateway.OpenConnections.Close(ctx))
}

// Incomplete reports whether source is an incomplete program, so that a REPL should read another line
// (rules/04-command-line-and-prompt §2.3).
func (s *Shell) Incomplete(source string) bool { return script.Incomplete(source) }
