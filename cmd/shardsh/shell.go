package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/repl"
	"shardsh/scripts"
)

// run executes the command line and returns the exit code.
func (env environment) run(ctx context.Context) int {
	if v, env, ok := findVerb(env); ok {
		return finish(ctx, env, v.execute(ctx, env))
	}
	return finish(ctx, env, runShell(ctx, env))
}

// runShell runs the program without a subcommand.
func runShell(ctx context.Context, env environment) error {
	if len(env.args) > 0 && env.args[0] == "help" {
		if len(env.args) > 1 {
			if intro, ok := helpPages()[env.args[1]]; ok {
				return printPage(env.stdout, env.args[1], intro)
			}
		}
		return printTopHelp(env.stdout)
	}
	o, ask := new(shellFlags), new(helpFlags)
	usage := shellCommand(o, ask)
	words, rest, warnings, err := cmdline.Parse(usage.Groups, env.args)
	switch {
	case err != nil:
		return err
	case ask.all:
		return ask.print(env.stdout, usage)
	case ask.help:
		return printTopHelp(env.stdout)
	case o.version:
		_, err := fmt.Fprintln(env.stdout, buildinfo.Version())
		return err
	case o.buildInfo:
		return printBuildInfo(env)
	}
	o.args, o.warnings = rest, warnings
	if err := o.parseArgs(words); err != nil {
		return err
	}
	return reportError(ctx, env, o, runScriptsAndREPL(ctx, env, o))
}

// finish prints an error, once, and returns the exit code.
func finish(ctx context.Context, env environment, err error) int {
	code := exitCode(ctx, err)
	var usage usageError
	var quit *script.ExitError
	var findings findingsError
	switch {
	case err == nil, errors.As(err, &quit), errors.As(err, &findings), errors.As(err, new(reportedError)),
		errors.As(err, new(nagiosError)):
	case code == exitSIGINT || code == exitSIGTERM:
		fmt.Fprintln(env.stderr, "Stopping execution...")
	case errors.As(err, &usage):
		fmt.Fprintf(env.errOut(), "shardsh: %s\nSee shardsh%s --help.\n", secret.Redact(err.Error()), env.command)
	default:
		fmt.Fprintln(env.stderr, env.escapeText(secret.Redact(errorText(err))))
	}
	return code
}

// errorText returns an error with its position in the script, and the source line for a syntax error.
func errorText(err error) string {
	var thrown *script.Error
	if !errors.As(err, &thrown) {
		return "shardsh: " + live.ShortenUnauthorized(err.Error())
	}
	text := thrown.Text()
	if at := thrown.Position(); at != "" {
		text += "\n    at " + at
	}
	if thrown.IsSyntax() && thrown.SourceLine != "" {
		text += "\n    " + thrown.SourceLine + "\n    " + strings.Repeat(" ", max(0, thrown.Column-1)) + "^"
	}
	return text
}

// runScriptsAndREPL runs evals and scripts, then the REPL if it is requested.
func runScriptsAndREPL(ctx context.Context, env environment, o *shellFlags) error {
	scripted := o.hasScripts()
	if !scripted && !o.shell && !o.interactive && !isTerminal(env.stdin) {
		// A pipe is a script.
		o.files = append(o.files, "-")
		scripted = true
	}
	interactive := !scripted || o.shell || o.interactive
	env.stdinIsScript = interactive || slices.Contains(o.files, "-") || slices.Contains(o.files, "/dev/stdin")
	for _, w := range o.warnings {
		fmt.Fprintln(env.errOut(), w)
	}
	bounded, cancel := o.withTimeout(ctx)
	defer cancel()
	defer tuneGCForScripts()()
	may, asking, err := newConfirmation(env, o.confirm)
	if err != nil {
		return err
	}
	o.rehearses = o.dryRun && !o.readOnly
	conn, err := connect(bounded, env, &o.clusterFlags, connectOptions{
		readsOnly: o.dryRun, interactive: interactive, quiet: !o.wantsNotices(interactive), safetyMode: o.mode(),
		rehearses: o.rehearses, rules: o.sandboxRules(),
	})
	if err != nil {
		return preferTimeout(bounded, suggestVerb(&o.clusterFlags, err))
	}
	defer conn.close()
	if err := checkDatabase(bounded, &o.clusterFlags, conn); err != nil {
		return err
	}
	screen := new(repl.DeferredOutput)
	rehearsing, err := startRehearsals(bounded, env, o, conn, screen, interactive)
	if err != nil {
		return preferTimeout(bounded, err)
	}
	defer rehearsing.close()
	env.transcript = conn.transcript
	switch {
	case interactive: // the banner shows it
	case o.snapshot != "":
		notice(env.stderr, o.quiet.On, "Using a %s.", conn.clusterSummary)
	case o.usesMock() && o.mock == "":
		notice(env.stderr, o.quiet.On, "No address given: using the embedded %s.", conn.clusterSummary)
	case conn.address != "":
		notice(env.stderr, !o.wantsNotices(interactive), "Connected to %s", conn.address)
	}
	if conn.memberText != "" {
		notice(env.stderr, o.quiet.On,
			"Warning: this is %s, not a mongos: it has only its own part of the data, with orphans, "+
				"and the helpers of sh need a mongos.", conn.memberText)
	}
	sending, closeAudit := conn.scriptGuardHook(env)
	defer closeAudit()
	shell, err := bindings.New(bindings.Config{
		Client:         conn.client,
		Address:        conn.address,
		Database:       conn.database,
		Deployment:     conn.deployment,
		PromptMode:     o.mode(),
		Stdin:          scriptInput(bounded, env, interactive),
		Stdout:         screen.Writer(env.stdout),
		Stderr:         screen.Writer(env.stderr),
		Clock:          conn.clock,
		Color:          env.usesColor(),
		Terminal:       isTerminal(env.stdout),
		Columns:        env.columns,
		Interactive:    interactive,
		Args:           o.args,
		Executable:     os.Args[0],
		Version:        buildinfo.Version(),
		Guard:          readOnlyGuard(o.readOnly),
		Confirm:        asking,
		Scripts:        scripts.Files,
		SetName:        conn.setName,
		ReadPreference: conn.readPreference,
		NoRetryWrites:  conn.noRetryWrites,
		ClientOptions:  conn.clientOptions,
		Routers:        conn.routers,
		OnStuck:        func(cause error) { exitWhenStuck(env, cause) },
		StuckTimeout:   env.stuckTimeout,
		Compat:         o.compat,
		Sandbox:        o.sandboxRules(),
		ResultLimit:    o.pageLimit(),
		LimitDepth:     o.deepInspect.Given && !o.deepInspect.On,
		ParseURI: func(ctx context.Context, uri string) (*options.ClientOptions, error) {
			return scriptClientOptions(ctx, env, uri)
		},
		Connect: rehearsing.connect,
		Consent: conn.consent,
		OnSend:  sending,
	})
	if err != nil {
		return err
	}
	may.Context = shell.JS.Context
	if err := o.defineGlobals(shell); err != nil {
		return err
	}
	err = runAll(bounded, env, o, shell, interactive)
	if err == nil && interactive {
		cancel()
		err = runREPL(ctx, env, o, conn, shell, screen, may)
	}
	// The functions of atExit run however the scripts ended.
	if closeErr := shell.Close(ctx); err == nil && closeErr != nil {
		return closeErr
	}
	if code := shell.JS.ExitCode(); err == nil && code != exitOK {
		return &script.ExitError{Code: code}
	}
	return err
}

// preferTimeout returns the timeout or signal that stopped a run, in place of the resulting error.
func preferTimeout(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var timeout timeoutError
	if errors.As(context.Cause(ctx), &timeout) {
		return timeout
	}
	return err
}

// runAll runs the evals, prints the result of the last one, then runs the files.
func runAll(ctx context.Context, env environment, o *shellFlags, shell *bindings.Shell, interactive bool) error {
	err := runEvals(ctx, env, o, shell, interactive)
	for i, path := range o.files {
		if err != nil {
			break
		}
		notice(env.stderr, !o.verbose.On || o.quiet.On, "Loading file: %s", path)
		var result script.Result
		shell.JS.IsLastInput = !interactive && i == len(o.files)-1
		result, err = shell.RunFile(ctx, path)
		if err == nil && o.wantsJSON() && i == len(o.files)-1 {
			err = printResult(ctx, env, o, shell, result)
		}
	}
	return preferTimeout(ctx, err)
}

func runEvals(ctx context.Context, env environment, o *shellFlags, shell *bindings.Shell, interactive bool) error {
	var last script.Result
	for i, source := range o.evals {
		shell.JS.IsLastInput = !interactive && i == len(o.evals)-1 && len(o.files) == 0
		result, err := shell.Eval(ctx, "eval", source)
		if err != nil {
			return err
		}
		last = result
	}
	if len(o.evals) == 0 || o.wantsJSON() && len(o.files) > 0 {
		return nil
	}
	return printResult(ctx, env, o, shell, last)
}
