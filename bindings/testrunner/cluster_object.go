package testrunner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// defineCluster defines the object cluster: mock, and methods that schedule actions.
func (f *file) defineCluster() {
	js := f.shell.JS
	js.DefineLazyGlobal("cluster", func() goja.Value {
		o := js.Runtime.CreateObject(js.Runtime.GlobalObject().Get("mock").(*goja.Object))
		for name, call := range map[string]func(c *script.Call) goja.Value{
			"atCommand": f.atCommand, "onMigration": f.onMigration, "cutAfter": f.cutAfter, "failAt": f.failAt,
		} {
			script.Define(o, name, js.NewFunction(name, func(c *script.Call) goja.Value {
				if f.testCluster == nil {
					js.Throw("Error", "cluster.%s works inside of tests and hooks: there is no cluster before", name)
				}
				return call(c)
			}))
		}
		f.clusterObject = o
		return o
	})
}

// commandNumberArg returns the number of a command, from 1.
func (f *file) commandNumberArg(c *script.Call, name string) int {
	n := c.Arg(0).ToFloat()
	if !goja.IsNumber(c.Arg(0)) || n < 1 || n != float64(int(n)) {
		f.shell.JS.Throw("Error", "cluster.%s takes the number of a command, from 1, not %s", name, c.Arg(0))
	}
	return int(n)
}

// atCommand schedules an action before the n-th command that scripts send from now on.
func (f *file) atCommand(c *script.Call) goja.Value {
	what := f.actionArg(c.Arg(1), "atCommand")
	calls := f.callbacks
	f.testCluster.recorder.addTrigger(
		&trigger{countdown: f.commandNumberArg(c, "atCommand"), text: "cluster.atCommand(" + c.Text(0) + ")",
			before: func() { calls.call(what) }},
	)
	return nil
}

// cutAfter schedules a lost connection after the n-th command, so that its reply is lost.
func (f *file) cutAfter(c *script.Call) goja.Value {
	f.testCluster.recorder.addTrigger(
		&trigger{countdown: f.commandNumberArg(c, "cutAfter"), text: "cluster.cutAfter(" + c.Text(0) + ")",
			cutsConnection: true},
	)
	return nil
}

// failAt schedules an error in place of the n-th command.
func (f *file) failAt(c *script.Call) goja.Value {
	code, message := mongoerr.OperationFailed, "made to fail by the test"
	if o := c.Object(1); o != nil {
		if v := script.Property(o, "code"); v != nil {
			code = mongoerr.Code(v.ToInteger())
		}
		if v := script.Property(o, "errmsg"); v != nil {
			message = v.String()
		}
	}
	f.testCluster.recorder.addTrigger(
		&trigger{countdown: f.commandNumberArg(c, "failAt"), text: "cluster.failAt(" + c.Text(0) + ")",
			replyError: mongoerr.New(code, "%s", message)},
	)
	return nil
}

// onMigration schedules an action for the next time that a migration reaches an event or, with {every:
// true}, for each time.
func (f *file) onMigration(c *script.Call) goja.Value {
	js := f.shell.JS
	name := c.Text(0)
	if !slices.Contains(mock.MigrationEvents(), name) {
		js.Throw("Error", "a migration has the events %s, not %q%s", strings.Join(mock.MigrationEvents(), ", "), name,
			plaintext.DidYouMean(name, mock.MigrationEvents()))
	}
	what := f.actionArg(c.Arg(1), "onMigration")
	f.testCluster.onMigration(f.callbacks,
		&migrationTrigger{event: name, every: script.Flag(c.Object(2), "every", false), action: what})
	return nil
}

// migrationTrigger is an action at an event of a migration.
type migrationTrigger struct {
	event  string
	every  bool
	fired  int
	action goja.Callable
}

// onMigration adds a trigger. The functions run without the cluster's lock.
func (t *testCluster) onMigration(calls *callbacks, a *migrationTrigger) {
	t.cluster.Lock()
	defer t.cluster.Unlock()
	t.migrationTriggers = append(t.migrationTriggers, a)
	t.cluster.Migrations().Watch(func(e mock.MigrationEvent) {
		for _, a := range slices.Clone(t.migrationTriggers) {
			if a.event != e.Name || a.fired > 0 && !a.every {
				continue
			}
			a.fired++
			_ = t.cluster.ClockUnderLock().WithoutLock(func() error {
				calls.call(a.action, calls.runtime.ToValue(map[string]any{
					"event": e.Name, "ns": e.Namespace, "from": string(e.From), "to": string(e.To)}))
				return nil
			})
		}
	})
}

// actionArg returns the action in an argument: a function, or methods of cluster with their arguments,
// as in {crash: "shard1"}.
func (f *file) actionArg(v goja.Value, where string) goja.Callable {
	if call, ok := goja.AssertFunction(v); ok {
		return call
	}
	js := f.shell.JS
	o, ok := v.(*goja.Object)
	if !ok || len(o.Keys()) == 0 {
		js.Throw("Error", "cluster.%s takes a function, or methods of cluster such as {crash: \"shard1\"}", where)
	}
	cluster := js.Runtime.GlobalObject().Get("cluster").(*goja.Object)
	var calls []func() (goja.Value, error)
	for _, name := range o.Keys() {
		method, ok := goja.AssertFunction(cluster.Get(name))
		if !ok {
			js.Throw("Error", "cluster.%s: cluster has no method %q", where, name)
		}
		args := argumentsOf(o.Get(name))
		calls = append(calls, func() (goja.Value, error) { return method(cluster, args...) })
	}
	return func(goja.Value, ...goja.Value) (goja.Value, error) {
		for _, call := range calls {
			if _, err := call(); err != nil {
				return nil, err
			}
		}
		return goja.Undefined(), nil
	}
}

// argumentsOf returns the arguments for a method: true stands for none, an array for several.
func argumentsOf(v goja.Value) []goja.Value {
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Array" {
		return script.Items(o)
	}
	if b, ok := v.Export().(bool); ok && b {
		return nil
	}
	return []goja.Value{v}
}

// reportPending fails a test whose faults did not occur, because it does not test what it was written
// for.
func (f *file) reportPending() {
	note := func(format string, args ...any) {
		f.currentRun.otherProblems = append(f.currentRun.otherProblems, Problem{Text: fmt.Sprintf(format, args...)})
	}
	for _, t := range f.testCluster.recorder.pending() {
		note("%s did not happen: the scripts of the test sent too few commands after it", t.text)
	}
	f.testCluster.cluster.Lock()
	defer f.testCluster.cluster.Unlock()
	for _, t := range f.testCluster.migrationTriggers {
		if t.fired == 0 {
			note("cluster.onMigration(%q) did not happen: no migration has come to it", t.event)
		}
	}
}
