package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/term"

	"shardsh/bindings"
	"shardsh/scripts"
)

// run does what the command line says and gives the exit code.
func (env environment) run(ctx context.Context) int {
	if command, env, ok := env.subcommand(); ok {
		return env.finish(ctx, command.run(env, ctx))
	}
	o, err := parseOptions(env.args)
	switch {
	case err != nil:
	case o.help:
		env.printHelp()
	case o.version:
		fmt.Fprintln(env.stdout, version())
	default:
		err = env.shell(ctx, o)
	}
	return env.finish(ctx, err)
}

// finish tells about an error, once, and gives the exit code.
func (env environment) finish(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	var usage usageError
	var quit *bindings.ExitError
	var findings findingsError
	switch {
	case err == nil, errors.As(err, &quit), errors.As(err, &findings), errors.As(err, new(reportedError)):
	case code == exitSIGINT || code == exitSIGTERM:
		fmt.Fprintln(env.stderr, "Stopping execution...")
	case errors.As(err, &usage):
		fmt.Fprintf(env.stderr, "shardsh: %s\nSee shardsh --help.\n", redact(err.Error()))
	default:
		fmt.Fprintln(env.stderr, redact(errorText(err)))
	}
	return code
}

// errorText is an error with the place in the script where it arose, and the
// line itself for a syntax error.
func errorText(err error) string {
	var script *bindings.ScriptError
	if !errors.As(err, &script) {
		return "shardsh: " + err.Error()
	}
	text := script.Text()
	if at := script.At(); at != "" {
		text += "\n    at " + at
	}
	if script.IsSyntax() && script.SourceLine != "" {
		text += "\n    " + script.SourceLine + "\n    " + strings.Repeat(" ", max(0, script.Column-1)) + "^"
	}
	return text
}

// version is the module's, as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return info.Main.Version
}

// shell runs evals and scripts, then the REPL where one is wanted.
func (env environment) shell(ctx context.Context, o commandLine) error {
	scripted := len(o.evals)+len(o.files) > 0
	if !scripted && !o.shell && !isTerminal(env.stdin) {
		// A pipe is a script.
		o.files = append(o.files, "-")
		scripted = true
	}
	interactive := !scripted || o.shell
	conn, err := env.connect(ctx, o, interactive)
	if err != nil {
		return err
	}
	defer conn.close()
	if o.usesMock() && o.mock == "" {
		notice(env.stderr, o.quiet, "No address given: using the embedded %s.", conn.cluster)
	}
	shell, err := bindings.New(bindings.Config{
		Client: conn.client, Address: conn.address, Database: conn.database, Deployment: conn.deployment,
		Stdin: env.stdin, Stdout: env.stdout, Stderr: env.stderr,
		Clock: conn.clock, Color: env.color(), Terminal: isTerminal(env.stdout), Interactive: interactive,
		Args: o.args, Executable: os.Args[0], Version: version(),
		Guard: env.guard(o), Scripts: scripts.Files,
		SetName: conn.setName, ReadPreference: conn.readPreference, NoRetryWrites: conn.noRetryWrites, Settings: conn.settings,
	})
	if err != nil {
		return err
	}
	err = env.runScripts(ctx, o, shell)
	if err == nil && interactive {
		err = env.repl(ctx, o, conn, shell)
	}
	// What scripts left to do at the end is done however they ended.
	if closeErr := shell.Close(ctx); err == nil && closeErr != nil {
		return closeErr
	}
	if code := shell.ExitCode(); err == nil && code != exitOK {
		return &bindings.ExitError{Code: code}
	}
	return err
}

// runScripts runs the evals, prints the last one's result, then the files.
func (env environment) runScripts(ctx context.Context, o commandLine, shell *bindings.Shell) error {
	var last bindings.Result
	for _, source := range o.evals {
		result, err := shell.Eval(ctx, "eval", source)
		if err != nil {
			return env.report(o, err)
		}
		last = result
	}
	if len(o.evals) > 0 && (o.json == "" || len(o.files) == 0) {
		if err := env.print(ctx, o, shell, last); err != nil {
			return env.report(o, err)
		}
	}
	for i, path := range o.files {
		result, err := shell.RunFile(ctx, path)
		if err != nil {
			return env.report(o, err)
		}
		if o.json != "" && i == len(o.files)-1 {
			if err := env.print(ctx, o, shell, result); err != nil {
				return env.report(o, err)
			}
		}
	}
	return nil
}

// report tells about a script's error as a document, where JSON was asked
// for (spec 04 §1.8).
func (env environment) report(o commandLine, err error) error {
	var script *bindings.ScriptError
	if o.json == "" || !errors.As(err, &script) {
		return err
	}
	doc := bson.D{
		{Key: "ok", Value: 0},
		{Key: "name", Value: script.Name},
		{Key: "message", Value: redact(script.Message)},
	}
	if script.Code != 0 {
		doc = append(doc, bson.E{Key: "code", Value: script.Code}, bson.E{Key: "codeName", Value: script.CodeName},
			bson.E{Key: "errmsg", Value: redact(script.Message)})
	}
	if at := script.At(); at != "" {
		doc = append(doc, bson.E{Key: "at", Value: at})
	}
	text, marshalErr := bson.MarshalExtJSONIndent(doc, false, false, "", "  ")
	if marshalErr != nil {
		return err
	}
	fmt.Fprintln(env.stdout, string(text))
	return reportedError{err}
}

// print shows a result as the shell does, or as extended JSON.
func (env environment) print(ctx context.Context, o commandLine, shell *bindings.Shell, result bindings.Result) error {
	render := shell.Render
	if o.json != "" {
		render = func(ctx context.Context, r bindings.Result) (string, error) {
			return shell.RenderJSON(ctx, r, o.json == "canonical")
		}
	}
	text, err := render(ctx, result)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, text)
	return err
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// color: only on a terminal that has it, and not where NO_COLOR forbids it.
func (env environment) color() bool {
	noColor, _ := env.getenv("NO_COLOR")
	terminal, _ := env.getenv("TERM")
	return isTerminal(env.stdout) && noColor == "" && terminal != "dumb"
}
