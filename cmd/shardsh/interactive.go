package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"shardsh/bindings"
	"shardsh/bindings/changes"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
	"shardsh/repl"
	"shardsh/repl/history"
	"shardsh/repl/terminal"
)

// runREPL runs the interactive loop until the user leaves.
func runREPL(ctx context.Context, env environment, o *shellFlags, conn *connection, shell *bindings.Shell,
	screen *repl.DeferredOutput, may *changes.Confirmation) error {
	var kept *history.File
	var editor repl.LineEditor
	console := bindings.ConsoleHooks{
		SettingsFile: settingsFile(env, o),
		History:      func() []string { return kept.Entries() },
		RunProgram: func(program *exec.Cmd) error {
			if editor == nil { // a script that runs before the first prompt
				return program.Run()
			}
			return editor.LendTerminal(program.Run)
		},
		Getenv: env.getenv,
	}
	if !isTerminal(env.stdin) {
		editor = lineEditor(env)
		console.ReadLine = func() (string, error) { return editor.ReadLine("") }
	}
	if err := shell.Attach(console); err != nil {
		notice(env.stderr, o.quiet.On, "Settings could not be loaded: %s", err)
	}
	kept, err := history.Open(sessionFile(env, historyPath), func() history.Rules {
		length, redact := shell.HistoryRules()
		return history.Rules{Limit: length, Redact: history.ParseRedactMode(redact)}
	})
	if err != nil {
		notice(env.stderr, o.quiet.On, "The history is not saved: %s", err)
	}
	if err := runRC(ctx, env, o, shell); err != nil {
		return err
	}
	if env.releaseInterrupt != nil {
		env.releaseInterrupt()
	}
	if editor == nil {
		editor = lineEditor(env)
	}
	may.WithTerminal, may.ResetAfterQuit = editor.LendTerminal, true
	var timers repl.Timers
	if isTerminal(env.stdin) && !conn.virtualTime { // virtual time does not advance at the prompt
		timers = shell.JS
	}
	code, err := repl.Run(ctx, shell, repl.Config{
		Editor:                  editor,
		Out:                     env.stdout,
		History:                 kept,
		Banner:                  plaintext.EscapeText(banner(ctx, o, conn)),
		Color:                   env.usesColor(),
		ExitCode:                quitCode,
		Explain:                 newFailure,
		Page:                    newResultPager(env, shell, editor),
		Suggestion:              shell.TakeSuggestion,
		MidLine:                 shell.JS.Out.IsMidLine,
		Timers:                  timers,
		DeferredOutput:          screen,
		ListenForMoreInterrupts: script.WithMoreInterrupts,
	})
	if err != nil {
		return err
	}
	if code != exitOK {
		return &script.ExitError{Code: code}
	}
	return nil
}

// settingsFile returns the path of the settings; empty in a sandbox, because the settings name the
// editor to start.
func settingsFile(env environment, o *shellFlags) string {
	if o.sandbox {
		return ""
	}
	return sessionFile(env, settingsPath)
}

// sessionFile returns the path of a file that is kept between sessions. It is empty if the input is a
// pipe, because that is no session of the user.
func sessionFile(env environment, path func(lookupEnv func(string) (string, bool), home string) string) string {
	if !isTerminal(env.stdin) {
		return ""
	}
	return path(env.getenv, homeDirectory())
}

// lineEditor returns an editor for a terminal, or a plain line reader for other inputs.
func lineEditor(env environment) repl.LineEditor {
	if isTerminal(env.stdin) && isTerminal(env.stdout) {
		return terminal.New()
	}
	return terminal.NewPlain(env.stdin, env.stdout)
}

func quitCode(err error) (int, bool) {
	var quit *script.ExitError
	if !errors.As(err, &quit) {
		return 0, false
	}
	return quit.Code, true
}

// newFailure converts a script's error for display by the REPL.
func newFailure(err error) repl.Failure {
	var thrown *script.Error
	if !errors.As(err, &thrown) {
		return repl.Failure{Message: plaintext.EscapeText(secret.Redact(fmt.Sprint(err)))}
	}
	f := repl.Failure{
		Name: plaintext.EscapeText(thrown.Name), CodeName: plaintext.EscapeText(thrown.CodeName),
		Message: thrown.ShownMessage(),
		Details: thrown.Details, File: plaintext.EscapeText(thrown.File), Line: thrown.Line, Column: thrown.Column,
	}
	if thrown.IsSyntax() {
		f.SourceLine = plaintext.EscapeText(thrown.SourceLine)
	}
	return f
}
