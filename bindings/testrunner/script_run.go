package testrunner

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// scriptRun is one run of a script, like a run of the program.
type scriptRun struct {
	name  string
	args  []string
	env   map[string]string
	stdin string
}

// scriptResult is the result of a script.
type scriptResult struct {
	exitCode       int
	output, errors string
	commands       []*Command
}

// maxOutput is the maximum size of a script's output: more is probably an endless loop.
const maxOutput = 32 << 20

// errOutputTooLong ends a script whose output is too long.
var errOutputTooLong = errors.New("the script has written more than 32 MB")

// outputBuffer stores the output of a script.
type outputBuffer struct{ bytes.Buffer }

func (o *outputBuffer) Write(p []byte) (int, error) {
	if o.Len()+len(p) > maxOutput {
		return 0, errOutputTooLong
	}
	return o.Buffer.Write(p)
}

// runOptionsSignature are the options of run().
const runOptionsSignature = "options?:object{args,env,stdin}"

// defineRun defines run(script, options), which runs a script as the program would.
func (f *file) defineRun() {
	js := f.shell.JS
	script.Define(js.Runtime.GlobalObject(), "run", js.NewCheckedFunction("run", "script:string "+runOptionsSignature,
		"Runs a script on the test's cluster, and returns its result.", func(c *script.Call) goja.Value {
			if f.testCluster == nil {
				js.Throw("Error", "run() works only inside tests and hooks")
			}
			return f.resultObject(f.runScriptOfTest(f.readRun(c)))
		}))
}

// readRun returns the arguments of run().
func (f *file) readRun(c *script.Call) scriptRun {
	js, o := f.shell.JS, c.Object(1)
	r := scriptRun{name: c.Text(0), env: map[string]string{}}
	if o == nil {
		return r
	}
	for _, name := range o.Keys() {
		v := o.Get(name)
		switch name {
		case "args":
			list, ok := v.(*goja.Object)
			if !ok || list.ClassName() != "Array" {
				js.Throw("Error", "run: args has to be an array of strings")
			}
			for _, item := range script.Items(list) {
				r.args = append(r.args, item.String())
			}
		case "env":
			env, ok := v.(*goja.Object)
			if !ok {
				js.Throw("Error", "run: env has to be an object of strings")
			}
			for _, key := range env.Keys() {
				r.env[key] = env.Get(key).String()
			}
		case "stdin":
			r.stdin = v.String()
		default:
			js.Throw("Error", "run has no option %q; there are args, env and stdin", name)
		}
	}
	return r
}

// runScript runs a script on the test's cluster. It throws if the test itself has ended.
func (f *file) runScript(r scriptRun) scriptResult {
	w, js := f.testCluster, f.shell.JS
	w.scriptRuns++
	w.takeInventory()
	w.recorder.takeCommands()
	ctx := js.Context()
	var out, errs outputBuffer
	var code int
	client, err := mongo.Connect(w.clientOptions(scriptHost))
	if err == nil {
		code, err = f.runShell(ctx, client, r, &out, &errs)
		_ = client.Disconnect(context.WithoutCancel(ctx))
	}
	if ctx.Err() != nil {
		js.Abort(context.Cause(ctx))
	}
	if err != nil {
		errs.WriteString(strings.TrimRight(f.options.ErrorText(err), "\n") + "\n")
	}
	w.recordLosses()
	js.Check(f.callbacks.takeFailure())
	return scriptResult{exitCode: code, output: out.String(), errors: errs.String(), commands: w.recorder.takeCommands()}
}

// runShell runs a script in its own shell. It returns the exit code, and the error if it has not been
// printed yet.
func (f *file) runShell(ctx context.Context, client *mongo.Client, r scriptRun, out, errs *outputBuffer) (int, error) {
	path := r.name
	if !strings.HasPrefix(path, script.ShippedPrefix) {
		path = besideFile(f.path, path)
		f.noteFileRead(path) // record it even if it is missing
	}
	var cover func([]script.Line) func(int)
	if f.options.Coverage != nil {
		cover = f.options.Coverage.watchFunc(shortPath)
	}
	shell, err := bindings.New(bindings.Config{
		Cover: cover, Client: client, Address: address, Deployment: "mock: mongos", Clock: f.testCluster.cluster.Clock(),
		Stdin: strings.NewReader(r.stdin), Stdout: out, Stderr: errs,
		Args: r.args, Environment: r.env, Executable: f.options.Executable, Version: f.options.Version,
		Scripts: f.options.Scripts, OnStuck: f.options.OnStuck, ClientOptions: f.testCluster.clientOptions(scriptHost),
		ParseURI: f.clientOptions(scriptHost), OnLoad: f.noteFileRead,
	})
	if err != nil {
		return 1, err
	}
	_, err = shell.RunFile(ctx, path)
	if closeErr := shell.Close(ctx); err == nil {
		err = closeErr
	}
	var quit *script.ExitError
	switch {
	case errors.As(err, &quit):
		return quit.Code, nil
	case script.IsUnreachableState(err):
		return 3, err
	case err != nil:
		return 1, err
	}
	return shell.JS.ExitCode(), nil
}

// clientOptions returns the options for connections that scripts open: all of them reach the test's
// cluster.
func (f *file) clientOptions(host string) func(context.Context, string) (*options.ClientOptions, error) {
	return func(_ context.Context, uri string) (*options.ClientOptions, error) {
		bare, _, _ := strings.Cut(strings.TrimPrefix(uri, "mongodb://"), "/")
		bare = bare[strings.LastIndex(bare, "@")+1:] // without credentials
		known := map[string]bool{"mock:27017": true, "mock": true, "localhost": true, "localhost:27017": true,
			"127.0.0.1:27017": true, "127.0.0.1": true}
		switch {
		case f.testCluster != nil && known[bare]:
			return f.testCluster.clientOptions(host), nil
		case f.testCluster != nil && slices.Contains(f.testCluster.routers, bare):
			return f.testCluster.clientOptions(host + "@" + bare), nil
		}
		return nil, errOtherServer
	}
}

// resultObject returns the result of run(). Expensive fields are computed when they are read.
func (f *file) resultObject(r scriptResult) goja.Value {
	js := f.shell.JS
	o := js.NewObject("exitCode", r.exitCode, "output", r.output, "errors", r.errors)
	js.Values.DefineLazy(o, "json", func() goja.Value {
		v, err := js.Values.ParseEJSON(strings.TrimSpace(r.output), true)
		if err != nil || v == nil {
			return goja.Undefined()
		}
		return v
	})
	js.Values.DefineLazy(o, "commands", func() goja.Value {
		list := make([]any, len(r.commands))
		for i, c := range r.commands {
			list[i] = f.commandObject(c)
		}
		return js.Runtime.NewArray(list...)
	})
	return o
}

// commandObject returns a command of a script for tests.
func (f *file) commandObject(c *Command) *goja.Object {
	js := f.shell.JS
	o := js.NewObject("db", c.Database, "name", c.Name, "ms", c.Took.Milliseconds())
	document := func(name string, raw func() bson.Raw) {
		js.Values.DefineLazy(o, name, func() goja.Value {
			if doc := raw(); doc != nil {
				return js.Values.DocToJS(doc)
			}
			return goja.Undefined()
		})
	}
	document("command", c.redacted)
	document("reply", func() bson.Raw { return c.Reply })
	if c.Error != "" {
		script.Must(o.Set("error", server.Redact(c.Error)))
	}
	return o
}
